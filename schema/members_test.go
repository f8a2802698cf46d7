package schema

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema/flags"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// Extra inputs and headers reach the program in the user's order, with null and 1.0,
// wherever they are said; so do the shown body and the one that is kept.
func TestMembersAreAsTheUserHasThem(t *testing.T) {
	t.Parallel()
	const (
		body    = `{"z":1.0,"temperature":0.7,"a":null,"stop":["x",null],"kwargs":{"zz":1,"b":2.0,"n":null},"big":9007199254740993,"small":0.0001}`
		headers = `{"X-Zone":"a","accept-Language":"b","X-Api":"c"}`
		rest    = "benchmark: {model: m, endpoint: {url: 'h:1'}, dataset: {prompts: {isl: 4}}, phases: {type: concurrency, concurrency: 1, requests: 1}}"
	)
	words := map[string][]string{
		"extra-inputs": {"z:1.0", "temperature:0.7", "a:none", `stop:["x",null]`, `{"kwargs":{"zz":1,"b":2.0,"n":null},"big":9007199254740993}`, "small:0.0001"},
		"header":       {"X-Zone:a", "accept-Language:b", "X-Api:c"},
	}
	var said []lower.Assignment
	for _, o := range flags.Options() {
		if w := words[o.Names[0]]; w != nil {
			as, err := o.Parse(o.Names[0], w)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, as...)
		}
	}
	var set []lower.Assignment
	for _, text := range []string{"endpoint.extra=" + body, "endpoint.headers=" + headers} {
		a, err := flags.ParseSet(text)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, a)
	}
	endpoint := `{"url": "h:1", "extra": ` + body + `, "headers": ` + headers + `}`
	const others = `"model": "m", "dataset": {"prompts": {"isl": 4}}, "phases": {"type": "concurrency", "concurrency": 1, "requests": 1}`
	for name, src := range map[string]Source{
		"flags": {File: write(t, "x.yaml", rest), Assignments: said},
		"--set": {File: write(t, "x.yaml", rest), Assignments: set},
		"YAML":  {File: write(t, "x.yaml", `benchmark: {`+others+`, "endpoint": `+endpoint+`}`)},
		"JSON":  {File: write(t, "x.json", `{"benchmark": {`+others+`, "endpoint": `+endpoint+`}}`)},
		"CUE":   {File: write(t, "x.cue", `benchmark: {`+others+`, "endpoint": `+endpoint+`}`)},
	} {
		src.Command = "run"
		d, err := Load(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := resolved(t, d)
		if got := r.Benchmark.Endpoint.Extra.String(); got != body {
			t.Errorf("%s: extra\n got %s\nwant %s", name, got, body)
		}
		if got := r.Benchmark.Endpoint.Headers; len(got) != 3 || got[0].Name != "X-Zone" ||
			got[1].Name != "accept-Language" || got[2].Name != "X-Api" {
			t.Errorf("%s: headers %v", name, got)
		}
		for what, text := range map[string][]byte{
			"resolved": r.JSON, "as AIPerf's": OnlyAIPerf(r.AsAIPerf()),
			"given": r.Given,
		} {
			var shown Benchmark
			if err := json.Unmarshal(text, &shown); err != nil {
				t.Fatal(err)
			}
			if got := shown.Endpoint.Extra.String(); got != body {
				t.Errorf("%s, %s: extra\n got %s\nwant %s", name, what, got, body)
			}
		}
	}
}

// The values of an axis keep what their members are.
func TestMembersOfAnAxis(t *testing.T) {
	t.Parallel()
	d := mustLoad(t, "x.yaml", `
benchmark: {model: m, endpoint: {url: 'h:1'}, dataset: {prompts: {isl: 4}}, phases: {type: concurrency, concurrency: 1, requests: 1}}
sweep: {parameters: {endpoint.extra: [{z: 1.0, a: null}, {z: 1, a: 2}]}}
`)
	for i, want := range []string{`{"z":1.0,"a":null}`, `{"z":1,"a":2}`} {
		r := resolved(t, d, d.Sweep().Axes[0].Assignment(i, source.Origin{}))
		if got := r.Benchmark.Endpoint.Extra.String(); got != want {
			t.Errorf("value %d: %s, want %s", i, got, want)
		}
	}
}

// A value that could not be read is told once, and not what templates make of it.
func TestNothingFollowsFromWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, variables, concurrency, want string }{
		{"by a template", "n: 99999999999999999999", `"{{ n - 1 }}"`, "x.yaml:1:16: whole number 99999999999999999999 is out of range | in quotes it is a text"},
		{"by way of another variable", `n: 99999999999999999999, m: "{{ n - 1 }}"`, `"{{ m * 2 }}"`, "x.yaml:1:16: whole number 99999999999999999999 is out of range | in quotes it is a text"},
		{"of the environment", `n: "${NOBODY_SAID_THIS}"`, `"{{ n - 1 }}"`, "x.yaml:1:16: variables.n: environment variable NOBODY_SAID_THIS is not set | export it or write ${NOBODY_SAID_THIS:default}"},
		{"what does not follow", "n: 99999999999999999999", "0", "x.yaml:1:16: whole number 99999999999999999999 is out of range | in quotes it is a text\nx.yaml:2:131: benchmark.phases.concurrency: must be at least 1, got 0"},
		{"a template that reads another one", "n: 99999999999999999999, one: 1", `"{{ one - 1 }}"`, "x.yaml:1:16: whole number 99999999999999999999 is out of range | in quotes it is a text\nx.yaml:2:131: benchmark.phases.concurrency: must be at least 1, got 0"},
	} {
		file := write(t, "x.yaml", "variables: {"+c.variables+
			"}\nbenchmark: {model: m, endpoint: {url: 'h:1'}, dataset: {prompts: {isl: 4}}, phases: {type: concurrency, requests: 1, concurrency: "+c.concurrency+"}}\n")
		_, err := Load(Source{File: file, Command: "run", Env: func(string) (string, bool) { return "", false }})
		if err == nil {
			t.Errorf("%s: no mistake", c.name)
			continue
		}
		if got := strings.ReplaceAll(lines(err, ""), filepath.Dir(file)+"/", ""); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// What JSON has no number for is refused where it stands, and digits are never cut.
func TestNumbersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		".inf":                 `x.yaml:1:48: benchmark.endpoint.extra.a: JSON has no infinite numbers, so it cannot be sent`,
		"[1, {b: -.inf}]":      `x.yaml:1:56: benchmark.endpoint.extra.a.1.b: JSON has no infinite numbers, so it cannot be sent`,
		"99999999999999999999": `x.yaml:1:48: whole number 99999999999999999999 is out of range`,
	} {
		file := write(t, "x.yaml", "benchmark: {model: m, endpoint: {url: h, extra: {a: "+value+
			"}}, dataset: {prompts: {isl: 4}}, phases: {type: concurrency, concurrency: 1, requests: 1}}")
		_, err := Load(Source{File: file, Command: "run"})
		if err == nil || !strings.Contains(lines(err, ""), want[strings.Index(want, ": ")+2:]) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
}
