package schema

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema/flags"
	"aiperf.dev/aiperf/schema/lower"
)

// said is what an experiment is refused with: each mistake in one line, its
// hint below, the directory of the file left out.
func said(t *testing.T, name, text string, flags ...lower.Assignment) string {
	t.Helper()
	file := write(t, name, text)
	d, err := Load(Source{File: file, Command: "run", Assignments: flags, Env: noEnv})
	if err == nil {
		_, err = d.Resolve(d.firstPoint())
	}
	return lines(err, filepath.Dir(file))
}

func noEnv(string) (string, bool) { return "", false }

func lines(err error, dir string) string {
	if err == nil {
		return ""
	}
	var bad Errors
	if !errors.As(err, &bad) {
		return "not Errors: " + err.Error()
	}
	var out []string
	for _, e := range bad {
		line := e.Error()
		if dir != "" {
			line = strings.ReplaceAll(line, dir+"/", "")
		}
		if e.Hint != "" {
			line += " | " + strings.ReplaceAll(e.Hint, dir+"/", "")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// One change each to an experiment that is right.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{"streaming", "streming", "exp.yaml:4:37: benchmark.endpoint.streming: unknown field | did you mean streaming?"},
		{"gracePeriod", "gracePeroid", "exp.yaml:6:64: benchmark.profiling.gracePeroid: unknown field | did you mean grace_period?"},
		{"type: concurrency", "type: concurency", `exp.yaml:6:21: benchmark.profiling.type: "concurency" is not one of concurrency, constant, poisson, gamma, user_centric, fixed_schedule, agentic_replay | did you mean concurrency?`},
		{"streaming: true", "connection_reuse: poled", `exp.yaml:4:55: benchmark.endpoint.connection_reuse: "poled" is not one of pooled, never, sticky-user-sessions | did you mean pooled?`},
		{"concurrency: 8", "concurrency: 0", "exp.yaml:6:47: benchmark.profiling.concurrency: must be at least 1, got 0"},
		{"concurrency: 8", "concurrency: [1, [2]]", "exp.yaml:6:51: benchmark.profiling.concurrency.1: expected one value, got a list | an axis is one list of values: [1, 4, 16]"},
		{`url: "localhost:8000"`, "url: null", "exp.yaml:4:19: benchmark.endpoint.url: expected text, got nothing"},
		{`url: "localhost:8000"`, "urls: [null]", "exp.yaml:4:21: benchmark.endpoint.urls.0: expected text, got nothing"},
		{"concurrency: 8", `concurrency: "1_0"`, `exp.yaml:6:47: benchmark.profiling.concurrency: expected a whole number or a list, got text "1_0"`},
		{"concurrency: 8", "concurrency: 1:30", `exp.yaml:6:47: benchmark.profiling.concurrency: expected a whole number or a list, got text "1:30"`},
		{"concurrency: 8", "concurrency: many", `exp.yaml:6:47: benchmark.profiling.concurrency: expected a whole number or a list, got text "many"`},
		{"concurrency: 8", "concurrency: 2.5", "exp.yaml:6:47: benchmark.profiling.concurrency: expected a whole number or a list, got number 2.5"},
		{"2m", "2 weeks", `exp.yaml:6:60: benchmark.profiling.duration: "2 weeks" is not a duration such as 90, 30s, 500ms, 2m, 1h or inf`},
		{"streaming: true", "timeout: -3", "exp.yaml:4:46: benchmark.endpoint.timeout: must be above 0, got -3"},
		{"stddev: 8", "stdev: 8", "exp.yaml:5:40: benchmark.dataset.osl.stdev: unknown field | did you mean stddev?"},
		{"{mean: 128, stddev: 8}", "{p50: 9, p99: 4}", "exp.yaml:5:42: benchmark.dataset.osl.p99: must be above p50"},
		{"stddev: 8", "stddev: -8", "exp.yaml:5:48: benchmark.dataset.osl.stddev: must be at least 0, got -8"},
		{"duration: 2m, ", "requests: 9, ", "exp.yaml:6:76: benchmark.profiling.gracePeriod: needs duration | add one or drop grace_period"},
		{"concurrency: 8", "concurrency: 8, rate: 3", "exp.yaml:6:56: benchmark.profiling.rate: cannot be combined with type: concurrency | use type: poisson, gamma or constant"},
		{"concurrency: 8", "concurrency: 8, prefill_concurrency: 9", "exp.yaml:6:71: benchmark.profiling.prefill_concurrency: must not be above concurrency"},
		{"model: demo", "model: demo\n  models: [a]", "exp.yaml:3:3: benchmark.model: cannot be combined with models at exp.yaml:4:3 | keep one of them"},
		{"  endpoint: {url: \"localhost:8000\", streaming: true}\n", "", "exp.yaml:3:3: benchmark.endpoint: required | add endpoint"},
		{"  model: demo\n", "", "exp.yaml:3:3: benchmark.models: required | add model: NAME (-m NAME)"},
		{"model: demo", "model: demo\n  model: b", "exp.yaml:4:3: model is given twice, first on line 3 | keep one of them"},
		{"model: demo", "model: demo\n  x: 1", "exp.yaml:4:3: benchmark.x: unknown field"},
		{"type: concurrency, concurrency: 8", "type: user_centric, users: 8, rate: 1", "exp.yaml:6:21: benchmark.profiling.type: user_centric needs conversations of 2 turns or more | set turns (--conversation-turn-mean 2)"},
		{"model: demo", "model: demo\n  artifacts: {slice_duration: 10ms}", "exp.yaml:4:31: benchmark.artifacts.slice_duration: 0.01 s cuts the 120 s that are measured into more than 10000 slices | take 0.012 s or more"},
		{"duration: 2m, gracePeriod: 20", "seamless: false", "exp.yaml:6:14: benchmark.profiling: no stop condition is given | add requests, duration or sessions (--request-count, --benchmark-duration, --num-sessions)"},
		{"model: demo", "model: ${NOPE_XYZ}", "exp.yaml:3:10: benchmark.model: environment variable NOPE_XYZ is not set | export it or write ${NOPE_XYZ:default}"},
		{"model: demo", "model: [demo, 5]", "exp.yaml:3:17: benchmark.model.1: expected text, got number 5"},
		{"localhost:8000", "http://h:99999", `exp.yaml:4:19: benchmark.endpoint.url: the port of "http://h:99999" is not between 1 and 65535`},
		{"localhost:8000", "http://[::1", `exp.yaml:4:19: benchmark.endpoint.url: "http://[::1" is not an address: its host is incomplete | an IPv6 address stands in brackets, such as http://[::1]:8000`},
		{"localhost:8000", "::1:8000", `exp.yaml:4:19: benchmark.endpoint.url: "http://::1:8000" is not an address: its host is incomplete | an IPv6 address stands in brackets, such as http://[::1]:8000`},
		{"localhost:8000", "http://[::1]:x", `exp.yaml:4:19: benchmark.endpoint.url: the port of "http://[::1]:x" is not between 1 and 65535`},
		{"localhost:8000", "http://h?a=b c", `exp.yaml:4:19: benchmark.endpoint.url: "http://h?a=b c" is not an address: it holds a blank | write %20 for a blank`},
		{"localhost:8000", ":8000", `exp.yaml:4:19: benchmark.endpoint.url: "http://:8000" names no host | such as http://localhost:8000`},
		{"isl: 512", "isl: {}", "exp.yaml:5:18: benchmark.dataset.isl: no distribution is given | a number, or such as {mean: 128, stddev: 16}"},
		{"isl: 512", "isl: {max: 9}", "exp.yaml:5:18: benchmark.dataset.isl: no distribution is given | a number, or such as {mean: 128, stddev: 16}"},
		{"isl: 512", "isl: '{{ concurrency }}'", "exp.yaml:5:18: benchmark.dataset.isl: template {{ concurrency }}: concurrency is not defined | write phases.profiling.concurrency"},
		{"benchmark:", "sweep: {type: grdi}\nbenchmark:", `exp.yaml:2:15: sweep.type: "grdi" is not one of grid, zip, scenarios, sobol, latin_hypercube, adaptive_search | did you mean grid?`},
		{"benchmark:", "sweep: {type: sobol, samples: 4, dimensions: [{path: concurrency, lo: 9, hi: 9}]}\nbenchmark:", "exp.yaml:2:71: sweep.dimensions.0.lo: must be below hi"},
		{"localhost:8000", "h:http", `exp.yaml:4:19: benchmark.endpoint.url: the port of "http://h:http" is not between 1 and 65535`},
		{"benchmark:", "sweep: 5\nbenchmark:", "exp.yaml:2:8: sweep: expected an object, got a number | such as sweep: {parameters: {concurrency: [1, 4]}}"},
		{"localhost:8000", "ftp://h", `exp.yaml:4:19: benchmark.endpoint.url: "ftp://h" is not an address of an HTTP server | such as http://localhost:8000, grpc://localhost:8001, or mock: for the built-in server`},
		{`"2.0"`, "2.0", `exp.yaml:1:16: schemaVersion: expected text, got a number | in quotes, such as "2.1"`},
		{`"2.0"`, `"2.2"`, `exp.yaml:1:16: schemaVersion: "2.2" is newer than this program | this program knows up to 2.1; update aiperf`},
		{`"2.0"`, `"1.0"`, `exp.yaml:1:16: schemaVersion: "1.0" is not a version of the schema | this program knows up to 2.1: 2.0, 2.1`},
		{`"2.0"`, `[2]`, `exp.yaml:1:16: schemaVersion: expected text, got a list | such as "2.1"`},
		{"isl: 512", "isl: '{{ islx }}'", `exp.yaml:5:18: benchmark.dataset.isl: template {{ islx }}: islx is not defined | known: benchmark, datasets, endpoint, models, phases, schema_version`},
		{"isl: 512", "isl: '{{ islx }'", `exp.yaml:5:18: benchmark.dataset.isl: template {{ islx }: } without its beginning, or a tag without its end`},
		{"gracePeriod", "gracePeriod: 1, grace_period", "exp.yaml:6:64: gracePeriod: is the same key as grace_period, which is given too | keep one of them"},
		{"streaming: true", `api_key: [1]`, `exp.yaml:4:46: benchmark.endpoint.api_key: expected text, got a list`},
		{"dataset: {isl: 512, osl: {mean: 128, stddev: 8}}", "dataset: 5", "exp.yaml:5:12: benchmark.dataset: expected an object, got number 5"},
	} {
		got := said(t, "exp.yaml", strings.Replace(good, c.old, c.new, 1))
		if got != c.want {
			t.Errorf("%s -> %s\n got %s\nwant %s", c.old, c.new, got, c.want)
		}
	}
}

// Unknown keys come first, then all values.
func TestAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	bad := strings.NewReplacer("streaming", "streming", "stddev", "stdev",
		"concurrency: 8", "concurrency: 0").Replace(good)
	want := "exp.yaml:4:37: benchmark.endpoint.streming: unknown field | did you mean streaming?\n" +
		"exp.yaml:5:40: benchmark.dataset.osl.stdev: unknown field | did you mean stddev?\n" +
		"exp.yaml:6:47: benchmark.profiling.concurrency: must be at least 1, got 0"
	if got := said(t, "exp.yaml", bad); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	bad = strings.NewReplacer("stddev: 8", "stddev: -8", "concurrency: 8", "concurrency: 0", "2m", "soon").Replace(good)
	want = "exp.yaml:5:48: benchmark.dataset.osl.stddev: must be at least 0, got -8\n" +
		"exp.yaml:6:47: benchmark.profiling.concurrency: must be at least 1, got 0\n" +
		`exp.yaml:6:60: benchmark.profiling.duration: "soon" is not a duration such as 90, 30s, 500ms, 2m, 1h or inf`
	if got := said(t, "exp.yaml", bad); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A value from a flag is reported as that flag, under the name it was typed.
func TestMistakesNameFlags(t *testing.T) {
	t.Parallel()
	var flags []lower.Assignment
	for _, f := range [][2]string{
		{"--concurrency", "0"},
		{"--endpoint-type", "chatt"},
		{"--isl", "-1"},
		{"--request-timeout-seconds", "abc"},
	} {
		flags = append(flags, flag1(t, f[0], f[1])...)
	}
	got := said(t, "exp.yaml", good, flags...)
	for i, want := range []string{
		"--endpoint-type: \"chatt\" is not one of",
		"--request-timeout-seconds: expected a number, got text \"abc\"", "--isl: must be at least 0, got -1", "--concurrency: must be at least 1, got 0",
	} {
		if lines := strings.Split(got, "\n"); i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d of\n%s\nwant %s…", i, got, want)
		}
	}
}

// flag1 is one flag with one value as assignments.
func flag1(t *testing.T, name string, words ...string) []lower.Assignment {
	t.Helper()
	for _, o := range flags.Options() {
		if slices.Contains(o.Names, strings.TrimLeft(name, "-")) || "-"+o.Short == name || "--"+o.Neg == name {
			as, err := o.Parse(name, words)
			if err != nil {
				t.Fatal(err)
			}
			return as
		}
	}
	t.Fatalf("no flag %s", name)
	return nil
}

// One mistake reads the same in CUE and in YAML.
func TestMistakesInCUE(t *testing.T) {
	t.Parallel()
	const right = `package experiment

import "aiperf.dev/schema"

let users = 4

schema.#Experiment & {
	benchmark: {
		model: "demo"
		endpoint: {url: "mock:", streaming: true}
		dataset: {isl: 512, osl: 64}
		phases: {type: "concurrency", concurrency: users, requests: 10 * users}
	}
	sweep: parameters: {concurrency: [1, 4], "dataset.isl": [128, 1024]}
}
`
	if got := said(t, "exp.cue", right); got != "" {
		t.Fatal(got)
	}
	for _, c := range []struct{ old, new, want string }{
		{"streaming", "streming", "exp.cue:10:28: benchmark.endpoint.streming: unknown field | did you mean streaming?"},
		{`"concurrency", con`, `"concurency", con`, `exp.cue:12:18: benchmark.phases.type: "concurency" is not one of concurrency, constant, poisson, gamma, user_centric, fixed_schedule, agentic_replay | did you mean concurrency?`},
		{"let users = 4", "let users = 0.25", "exp.cue:12:63: benchmark.phases.requests: expected a whole number or a list, got number 2.5"},
		{"concurrency: [1", "concurency: [1", "exp.cue:14:22: sweep.parameters.concurency: unknown field | did you mean concurrency?"},
		{`"aiperf.dev/schema"`, `"tool/file"`, `exp.cue:3:8: import "tool/file" is not allowed in an experiment | allowed are aiperf.dev/schema, list, math, strings, struct, strconv`},
		{"let users = 4", "let users = [for x in list.Range(0, 10000000, 1) {x}]", "exp.cue:5:23: Range is not allowed in an experiment | write the values, or make them axes of sweep.parameters"},
		{"let users = 4", "let users = [for a in [1] for b in [1] for c in [1] for d in [1] for e in [1] {1}]", "exp.cue:5:66: more than 4 for clauses | write the values, or make them axes of sweep.parameters"},
		{"requests: 10 * users", "requests: int", "exp.cue:12:63: benchmark.phases.requests: needs a value"},
		{"isl: 512", "isl: 512 & 513", "exp.cue:11:24: benchmark.dataset.isl: conflicting values 513 and 512 | the other one is at exp.cue:11:18"},
		{"isl: 512", "isl: 512 512", "exp.cue:11:22: missing ',' in struct literal | look at this place and the line above: braces, brackets, quotes, colons; cue fmt points at it, too"},
	} {
		if got := said(t, "exp.cue", strings.Replace(right, c.old, c.new, 1)); got != c.want {
			t.Errorf("%s -> %s\n got %s\nwant %s", c.old, c.new, got, c.want)
		}
	}
}

// A field that nobody knows, in the body or among the axes, hides nothing of what is
// wrong elsewhere; what the axis may have given is not asked for.
func TestUnknownFieldsHideNothing(t *testing.T) {
	t.Parallel()
	bad := strings.NewReplacer("streaming: true", "streming: true, timeout: -3", "benchmark:",
		"sweep: {parameters: {durationn: [1, 2]}}\nbenchmark:").Replace(good)
	want := "exp.yaml:5:37: benchmark.endpoint.streming: unknown field | did you mean streaming?\n" +
		"exp.yaml:2:22: sweep.parameters.durationn: unknown field | did you mean duration?\n" +
		"exp.yaml:5:62: benchmark.endpoint.timeout: must be above 0, got -3"
	for _, text := range []string{bad, strings.Replace(bad, "duration: 2m, gracePeriod: 20", "seamless: false", 1)} {
		if got := said(t, "exp.yaml", text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// An object under its name, where there is a list of objects, is told where the name
// belongs.
func TestNameOfAListedObject(t *testing.T) {
	t.Parallel()
	want := `x.yaml:2:10: phases.profiling: unknown field | the name stands inside: phases: [{name: "profiling", …}]`
	if got := said(t, "x.yaml", "model: m\nphases: {profiling: {type: poisson, rate: 3}}\n"); !strings.HasPrefix(got,
		want) {
		t.Errorf(" got %s\nwant %s", got, want)
	}
}

// A flag typed with underscores is the same flag to the rules about flags.
func TestRulesKnowAFlagHoweverItIsTyped(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"user-centric-rate", "user_centric_rate"} {
		var as []lower.Assignment
		for _, o := range flags.Options() {
			switch o.Names[0] {
			case "model", "request-rate":
				as = append(as, parsed(t, o, o.Names[0], "2")...)
			case "user-centric-rate":
				as = append(as, parsed(t, o, name, "2")...)
			}
		}
		_, err := Load(Source{Assignments: as, Command: "profile"})
		if want := "--user-centric-rate and --request-rate say two rates"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("--%s beside --request-rate: %v, want %q", name, err, want)
		}
	}
}

func parsed(t *testing.T, o flags.Option, name string, words ...string) []lower.Assignment {
	t.Helper()
	as, err := o.Parse(name, words)
	if err != nil {
		t.Fatal(err)
	}
	return as
}
