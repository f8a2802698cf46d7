package schema

import (
	"path/filepath"
	"testing"
)

// guarded is an experiment in CUE with this in the place of its body's last members.
func guarded(above, body string) string {
	return "package experiment\nimport \"aiperf.dev/schema\"\n" + above +
		"\nschema.#Experiment & {\n\tbenchmark: {\n\t\tmodel: \"demo\"\n\t\tdataset: entries: 2\n\t\t" + body + "\n\t}\n}\n"
}

// A value behind a guard or a comprehension has the place where it stands
// in there, and a guard that is false leaves what stands around it.
func TestMistakesBehindGuards(t *testing.T) {
	t.Parallel()
	const good = `endpoint: {url: "mock:"}, dataset: isl: 8`
	for _, c := range []struct{ above, body, want string }{
		{"", good + ", profiling: {if true {reqests: 4}, requests: 4}", "e.cue:8:67: benchmark.profiling.reqests: unknown field | did you mean requests?"},
		{"", good + ", profiling: {if true {if true {requests: 0}}}", "e.cue:8:86: benchmark.profiling.requests: must be at least 1, got 0"},
		{"", good + `, profiling: {for k, v in {requests: 0} {(k): v}}`, "e.cue:8:90: benchmark.profiling.requests: must be at least 1, got 0"},
		{"", good + ", profiling: {requests: 4, if false {concurrency: 2}}", ""},
		{"", good + ", profiling: {requests: 4, for x in [] {concurrency: x}}", ""},
		{"", good + ", profiling: {requests: 4, if false {concurrency: 2}, zzz: 1}", "e.cue:8:98: benchmark.profiling.zzz: unknown field"},
		{"", good + ", profiling: requests: 4, slos: {if false {time_to_first_token: 200}}", ""},
		{"", good + ", profiling: requests: 4, tokenizer: {if false {name: \"x\"}}, zzz: 1", "e.cue:8:105: benchmark.zzz: unknown field"},
		{"_x: {if false {name: \"x\"}}", good + ", profiling: requests: 4, tokenizer: _x", ""},
		{"", good + ", profiling: {if false {requests: 4}}", "e.cue:8:57: benchmark.profiling: no stop condition is given | add requests, duration or sessions (--request-count, --benchmark-duration, --num-sessions)"},
		{"_fast: true", good + ", profiling: {if _fast {requests: 4}, if !_fast {requests: 40}}", ""},
		{"#P: schema.#Phase & {requests: int, if requests > 2 {concurrency: 0}}", good + ", profiling: #P & {requests: 5}", "e.cue:3:67: benchmark.profiling.concurrency: must be at least 1, got 0"},
		{"", good + `, phases: [if true {name: "a", kind: "warmup", requests: 2}, if false {name: "b"}, for n in ["c"] {name: n, kind: "profiling", requets: 2}]`, "e.cue:8:171: benchmark.phases.c.requets: unknown field | did you mean requests?"},
		{"_fast: bool", good + ", profiling: {if _fast {requests: 4}}, zzz: 1", "e.cue:8:83: benchmark.zzz: unknown field\ne.cue:3:8: benchmark.profiling: waits for a value that is not given (bool) | write the value, or a default: *VALUE | bool"},
	} {
		file := write(t, "e.cue", guarded(c.above, c.body))
		d, err := Load(Source{File: file, Command: "run", Env: noEnv})
		if err == nil {
			_, err = d.Resolve(nil)
		}
		if got := lines(err, filepath.Dir(file)); got != c.want {
			t.Errorf("%s\n%s\n  refused with\n%s\n  want\n%s", c.above, c.body, got, c.want)
		}
	}
}
