package schema

import (
	"strings"
	"testing"
)

// Small mistakes, each with its place and what to do about it.
func TestSlips(t *testing.T) {
	t.Parallel()
	const body = "benchmark: {model: demo, endpoint: {url: 'mock:'}, dataset: {isl: 8, entries: 2}, profiling: {requests: 2}}\n"
	for _, c := range []struct{ name, text, want string }{
		{"e.yaml", body + "sweep: {type: scenarios, runs: [{name: ../../up, benchmark: {profiling: {concurrency: 2}}}]}\n", `e.yaml:2:40: sweep.runs.0.name: "../../up" cannot be the name of a folder | a cell's name is the name of its folder: it cannot hold a path or control characters`},
		{"e.yaml", body + "sweep: {type: scenarios, runs: [{name: /etc, benchmark: {profiling: {concurrency: 2}}}]}\n", `e.yaml:2:40: sweep.runs.0.name: "/etc" cannot be the name of a folder | a cell's name is the name of its folder: it cannot hold a path or control characters`},
		{"e.yaml", body + "sweep: {type: scenarios, runs: [{name: org/model, benchmark: {profiling: {concurrency: 2}}}]}\n", ""},
		{"e.yaml", body + "sweep: {type: scenarios, parameters: {concurrency: [1, 2]}, runs: [{name: b, benchmark: {profiling: {concurrency: 1}}}]}\n", "e.yaml:2:38: sweep.parameters: cannot be combined with type: scenarios | use type: grid or zip"},
		{"e.yaml", body + "sweep: {parameters: {concurrency: [1, 2]}, runs: [{name: b, benchmark: {profiling: {concurrency: 1}}}]}\n", "e.yaml:2:50: sweep.runs: needs type: scenarios | use type: scenarios"},
		{"e.yaml", "benchmark: {model: demo, endpoint: {url: 'mock:'}, dataset: {isl: 8, entries: 2, turns: 0}, profiling: {requests: 2}}\n", "e.yaml:1:89: benchmark.dataset.turns: must be at least 1"},
		{"e.yaml", "benchmark:\n  model: \"a\x01b\"\n", `e.yaml:2:12: the control character U+0001 | take it out, or write it as \x.. in double quotes`},
		{"e.cue", "package e\n\nschema.#Experiment & {benchmark: model: \"demo\"}\n", `e.cue:3:1: reference "schema" not found | it is a package: write import "aiperf.dev/schema" below the package line`},
		{"e.cue", "package e\nimport \"aiperf.dev/schema\"\nschema.#Experiment & {\n\tbenchmark: {model: \"demo\"\n}\n", "e.cue:5:3: expected '}', found 'EOF' | look at this place and the line above: braces, brackets, quotes, colons; cue fmt points at it, too"},
		{"e.yaml", strings.Replace(body, "profiling:", "slos: {time_to_first_token: 0.3s, output_token_count: 20 tokens}, profiling:", 1), `e.yaml:1:111: benchmark.slos.time_to_first_token: expected a number, got "0.3s" | write 300: limits on times are in milliseconds
e.yaml:1:137: benchmark.slos.output_token_count: expected a number, got "20 tokens" | write 20, without a unit`},
		{"e.yaml", "random_seed: 5s\n" + body, `e.yaml:1:14: random_seed: expected a whole number, got "5s" | write 5, without a unit`},
	} {
		if got := said(t, c.name, c.text); got != c.want {
			t.Errorf("%s\n  refused with\n%s\n  want\n%s", c.text, got, c.want)
		}
	}
}
