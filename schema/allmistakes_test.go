package schema

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema/flags"
)

// All mistakes that can be known are said at once: unknown keys, values around
// the body, values in it. What only follows from another one is not.
func TestMistakesOfAllSteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"three kinds": {
			strings.NewReplacer("model: demo", "modle: demo", "concurrency: 8", "concurrency: 0").Replace(good) +
				"multi_run: {num_runs: many}\n",
			"exp.yaml:3:3: benchmark.modle: unknown field | did you mean model?\n" +
				`exp.yaml:7:23: multi_run.num_runs: expected a whole number, got text "many"` + "\n" +
				"exp.yaml:6:47: benchmark.profiling.concurrency: must be at least 1, got 0",
		},
		"in a sweep": {
			strings.NewReplacer("streaming: true", "streeming: true", "isl: 512", "isl: many").Replace(good) +
				"sweep: {parameters: {concurrency: [1, 2]}, order: sideways}\n",
			"exp.yaml:4:37: benchmark.endpoint.streeming: unknown field | did you mean streaming?\n" +
				`exp.yaml:7:51: sweep.order: "sideways" is not one of alphabetical, as_written, shuffled, interleaved` +
				"\n" +
				`exp.yaml:5:18: benchmark.dataset.isl: expected a number, got text "many"`,
		},
		"url and urls": {
			strings.Replace(good, "streaming: true", "urls: [a], streaming: 5", 1),
			"exp.yaml:4:14: benchmark.endpoint.url: cannot be combined with urls at exp.yaml:4:37 | keep one of them\n" +
				"exp.yaml:4:59: benchmark.endpoint.streaming: expected true or false, got number 5",
		},
		"beside the body and in it": {
			"model: other\nprofiling: {requests: 3}\n" + good,
			"exp.yaml:1:1: model: is given in benchmark, too | keep one of them\n" +
				"exp.yaml:2:1: profiling: is given in benchmark, too | keep one of them",
		},
		"a header of nothing": {
			strings.Replace(good, "streaming: true", "headers: {X-A: null}", 1),
			"exp.yaml:4:47: benchmark.endpoint.headers.X-A: expected text, got null | leave it out",
		},
		"a sweep of an order": {
			good + "sweep: {order: shuffled}\n",
			"exp.yaml:7:8: sweep.parameters: required by type: grid | name a path and its values",
		},
		"a label": {
			strings.Replace(good, "streaming: true", "label: [a]", 1),
			"exp.yaml:4:44: benchmark.endpoint.label: expected text, got a list",
		},
	} {
		if got := said(t, "exp.yaml", c.text); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// What is not finite is refused in the words of the expression, also where a
// whole number is asked for.
func TestExpressionsAreFinite(t *testing.T) {
	t.Parallel()
	names := map[string]any{"concurrency": 0, "rate": 0.5}
	for src, want := range map[string]string{
		"10 / concurrency":               "not a finite number",
		"int(10 / concurrency)":          "not a finite number",
		"int(concurrency / concurrency)": "not a finite number",
		"10 % concurrency":               "division by zero",
	} {
		p, err := CompileExpr(src, names, false)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if v, err := p.Run(names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", src, v, err, want)
		}
	}
	for src, want := range map[string]any{
		"int(7.9)": int64(7), "int('12')": int64(12), "int(rate * 10)": int64(5),
		"max(3, int(-2.5))": int64(3),
	} {
		p, err := CompileExpr(src, names, false)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if v, err := p.Run(names); err != nil || v != want {
			t.Errorf("%s: %v, %v, want %v", src, v, err, want)
		}
	}
}

// A word that is not a number as JSON writes it stays a word.
func TestExtraInputsKeepWords(t *testing.T) {
	t.Parallel()
	o := flags.Options()
	for _, x := range o {
		if x.Names[0] != "extra-inputs" {
			continue
		}
		as, err := x.Parse("extra-inputs", []string{"name:007", "n:7", "f:1.5", "t:True", "p:+5", "v:1.2.3", "l:[1]"})
		if err != nil {
			t.Fatal(err)
		}
		got := as[0].Value.Plain().(map[string]any)
		for k, want := range map[string]any{
			"name": "007", "n": int64(7), "f": 1.5, "t": true, "p": "+5",
			"v": "1.2.3",
		} {
			if got[k] != want {
				t.Errorf("%s: got %#v, want %#v", k, got[k], want)
			}
		}
	}
}
