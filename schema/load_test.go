package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/flags"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

func resolved(t *testing.T, d *Document, point ...lower.Assignment) *Resolved {
	t.Helper()
	r, err := d.Resolve(point)
	if err != nil {
		t.Fatal(lines(err, ""))
	}
	return r
}

// One experiment in three spellings is one experiment.
func TestThreeSpellings(t *testing.T) {
	t.Parallel()
	const inYAML = `
benchmark:
  model: demo
  endpoint: {url: "localhost:9", streaming: true}
  datasets: [{name: main, prompts: {isl: {mean: 512}, osl: {mean: 64}}}]
  phases: {type: poisson, rate: 4, duration: 500ms, grace_period: 30}
`
	const inCUE = `package x
import "aiperf.dev/schema"
schema.#Experiment & {benchmark: {
	models: ["demo"]
	endpoint: {urls: ["http://localhost:9"], streaming: true}
	dataset: {name: "main", isl: {mean: 512}, osl: {mean: 64, stddev: 0}}
	profiling: {type: "POISSON", rate: 4, duration: 0.5, gracePeriod: "30s"}
}}
`
	var flags []lower.Assignment
	for _, f := range [][]string{
		{"-m", "demo"},
		{"-u", "localhost:9"},
		{"--streaming"},
		{"--isl", "512"},
		{"--osl", "64"},
		{"--request-rate", "4"},
		{"--benchmark-duration", "0.5"},
		{"--ui", "dashboard"},
	} {
		flags = append(flags, flag1(t, f[0], f[1:]...)...)
	}
	byFlags, err := Load(Source{Command: "profile", Assignments: flags})
	if err != nil {
		t.Fatal(lines(err, ""))
	}
	want := string(resolved(t, mustLoad(t, "a.yaml", inYAML)).JSON)
	if got := string(resolved(t, mustLoad(t, "a.cue", inCUE)).JSON); got != want {
		t.Errorf("CUE differs from YAML: %s", cmp.Diff(want, got))
	}
	if got := string(resolved(t, byFlags).JSON); got != want {
		t.Errorf("flags differ from YAML: %s", cmp.Diff(want, got))
	}
}

func TestResolvedBenchmark(t *testing.T) {
	t.Parallel()
	b := resolved(t, mustLoad(t, "exp.yaml",
		good+"  slos: {time_to_first_token: 200}\n  artifacts: {records: false}\n")).Benchmark
	if len(b.Phases) != 1 || b.Phases[0].Concurrency != 8 || *b.Phases[0].Duration != 120 ||
		*b.Phases[0].GracePeriod != 20 || b.Phases[0].Kind != "profiling" {
		t.Errorf("phases %+v", b.Phases)
	}
	d := b.Datasets[0]
	if *d.Prompts.ISL.Value != 512 || *d.Prompts.OSL.Mean != 128 || *d.Prompts.OSL.StdDev != 8 || d.Entries != 100 ||
		d.Type != "synthetic" {
		t.Errorf("dataset %+v", d)
	}
	if b.Endpoint.URLs[0] != "http://localhost:8000" || !b.Endpoint.Streaming || b.Endpoint.Timeout != 21600 ||
		b.Endpoint.Type != "chat" {
		t.Errorf("endpoint %+v", b.Endpoint)
	}
	if b.Models.Items[0].Name != "demo" || b.SLOs["time_to_first_token"] != 200 || b.Artifacts.Records != nil ||
		b.Artifacts.Summary[0] != "json" {
		t.Errorf("rest %+v", b)
	}
}

// An axis of labelled endpoints is laid over the common one; the label is no
// part of what the cell is.
func TestSweep(t *testing.T) {
	t.Parallel()
	d := mustLoad(t, "sweep.yaml", good+`sweep:
  parameters:
    concurrency: [1, 4]
    dataset.isl: [128, {mean: 1024, stddev: 9}]
    warmup.concurrency: [2]
    endpoint:
      - {label: baseline, url: "mock:?ttft=40ms"}
      - {label: candidate, url: "mock:?ttft=35ms", streaming: false}
  derive: {requests: "max(10*concurrency, 50)"}
  where: isl < 2000
`)
	s := d.Sweep()
	var got []string
	for _, a := range s.Axes {
		got = append(got, fmt.Sprint(a.Name, " ", a.Path, " ", a.Labels))
	}
	want := []string{
		"isl benchmark.datasets.default.prompts.isl [128 {mean: 1024, stddev: 9}]",
		"endpoint benchmark.endpoint [baseline candidate]",
		"profiling_concurrency benchmark.phases.profiling.concurrency [1 4]",
		"warmup_concurrency benchmark.phases.warmup.concurrency [2]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Type != "grid" || s.Where != "isl < 2000" || s.Derive[0].Path != "benchmark.phases.profiling.requests" ||
		!strings.HasSuffix(s.Derive[0].Origin.Where, "sweep.yaml:15:22") {
		t.Errorf("%+v", s)
	}
	point := []lower.Assignment{
		s.Axes[0].Assignment(0, source.Origin{}),
		s.Axes[1].Assignment(1, source.Origin{}),
		s.Axes[2].Assignment(1, source.Origin{}),
		lower.Assign("benchmark.phases.warmup.requests", int64(3), source.Origin{}),
	}
	r := resolved(t, d, point...)
	e := r.Benchmark.Endpoint
	if e.Label != "candidate" || e.URLs[0] != "mock:?ttft=35ms" || e.Streaming ||
		bytes.Contains(r.JSON, []byte("candidate")) {
		t.Errorf("endpoint %+v\n%s", e, r.JSON)
	}
	if p := r.Benchmark.Phases; len(p) != 2 || p[0].Name != "warmup" || p[0].Requests != 3 || p[1].Concurrency != 4 ||
		*r.Benchmark.Datasets[0].Prompts.ISL.Value != 128 {
		t.Errorf("phases %+v", p)
	}
	names, err := d.Names(point)
	if err != nil || names["concurrency"] != int64(4) || names["isl"] != int64(128) || names["osl"] != int64(128) ||
		names["duration"] != 120.0 {
		t.Errorf("names %v %v", names, err)
	}
}

// An axis of labelled prompts is laid over the common ones; a distribution in
// it replaces the one there, and the label is no part of the body.
func TestLabelledPrompts(t *testing.T) {
	t.Parallel()
	d := mustLoad(t, "prompts.yaml", strings.Replace(good, "isl: 512, osl: {mean: 128, stddev: 8}", "prompts: {isl: 512, osl: 9, batch_size: 3}", 1)+`sweep:
  parameters:
    dataset.prompts: [{label: chat, isl: 128, osl: 32}, {label: code, isl: {mean: 64, stddev: 3}}]
`)
	a := d.Sweep().Axes[0]
	if a.Path != "benchmark.datasets.default.prompts" || fmt.Sprint(a.Labels) != "[chat code]" {
		t.Fatalf("axis %s %s", a.Path, a.Labels)
	}
	chat := resolved(t, d, a.Assignment(0, source.Origin{}))
	if p := chat.Benchmark.Datasets[0].Prompts; *p.ISL.Value != 128 || *p.OSL.Value != 32 || p.BatchSize != 3 ||
		bytes.Contains(chat.JSON, []byte("chat\"}")) {
		t.Errorf("%s", chat.JSON)
	}
	code := resolved(t, d, a.Assignment(1, source.Origin{}))
	if p := code.Benchmark.Datasets[0].Prompts; *p.ISL.Mean != 64 || *p.ISL.StdDev != 3 || *p.OSL.Value != 9 {
		t.Errorf("%s", code.JSON)
	}
}

// A rate over time comes from the file or from a file of points, and its times
// rise.
func TestRateSeries(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "points.json")
	if err := os.WriteFile(file, []byte(`[{"time_s": 0, "qps": 1}, {"time_s": 9, "qps": 3}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(series string) string {
		return "benchmark:\n  model: m\n  endpoint: {url: \"mock:\"}\n  dataset: {isl: 8}\n  phases: {type: poisson, duration: 5, rate_series: " + series + "}\n"
	}
	d := mustLoad(t, "r.yaml", text("{path: "+strconv.Quote(file)+"}"))
	if s := resolved(t, d).Benchmark.Phases[0].RateSeries; len(s) != 2 || s[1] != (RatePoint{TimeS: 9, QPS: 3}) {
		t.Errorf("points %v", s)
	}
	for series, want := range map[string]string{
		"{}":                   "needs path or points",
		"{path: nothere.json}": "nothere.json: no such file",
		"[{time_s: 0, qps: 1}, {time_s: 0, qps: 2}]":                                "points.1.time_s: 0 does not come after 0",
		"{points: [{time_s: 0, qps: 1}, {time_s: 5, qps: 2}, {time_s: 3, qps: 2}]}": "points.2.time_s: 3 does not come after 5",
		"{path: a, points: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}":             "cannot be combined with path",
	} {
		name := filepath.Join(t.TempDir(), "bad.yaml")
		if err := os.WriteFile(name, []byte(text(series)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Source{File: name, Command: "run"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", series, err, want)
		}
	}
}

// A flag pins an axis of the file; a list on a flag is an axis.
func TestFlagsOverSweep(t *testing.T) {
	t.Parallel()
	file := write(t, "s.yaml", good+"sweep: {type: grid, parameters: {concurrency: [1, 4], isl: [5, 6]}}\n")
	set, err := flags.ParseSet("datasets.default.prompts.osl.mean=[16, 32]")
	if err != nil {
		t.Fatal(err)
	}
	as := append([]lower.Assignment{set}, append(flag1(t, "--concurrency", "7,"),
		flag1(t, "--request-count", "10, 20,")...)...)
	d, err := Load(Source{File: file, Assignments: as, Command: "run"})
	if err != nil {
		t.Fatal(lines(err, ""))
	}
	var got []string
	var givers []source.Giver
	for _, a := range d.Sweep().Axes {
		got = append(got, fmt.Sprint(a.Name, a.Values, a.Origin.Flag))
		givers = append(givers, a.Origin.Source)
	}
	if diff := cmp.Diff([]string{
		"isl[5 6]", "osl[16 32]datasets.default.prompts.osl.mean",
		"requests[10 20]request-count",
	}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]source.Giver{source.ByFile, source.BySet, source.ByFlag}, givers); diff != "" {
		t.Error(diff)
	}
	if c := resolved(t, d, d.firstPoint()...).Benchmark.Phases[0].Concurrency; c != 7 {
		t.Errorf("concurrency %d, the flag says 7", c)
	}
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	d := mustLoad(t, "s.yaml", good+`sweep:
  type: scenarios
  runs:
    - {name: low, benchmark: {phases: [{name: profiling, concurrency: 1}]}}
    - {benchmark: {dataset: {isl: 32}, profiling: {concurrency: 64}}}
`)
	s := d.Sweep().Scenarios
	if len(s) != 2 || s[0].Name != "low" || s[1].Name != "scenario_1" {
		t.Fatalf("%+v", s)
	}
	if p := resolved(t, d, s[0].Assignments...).Benchmark.Phases; len(p) != 1 ||
		p[0].Concurrency != 1 || *p[0].Duration != 120 {
		t.Errorf("low %+v", p)
	}
	b := resolved(t, d, s[1].Assignments...).Benchmark
	if b.Phases[0].Concurrency != 64 || *b.Datasets[0].Prompts.ISL.Value != 32 {
		t.Errorf("scenario_1 %+v", b)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("concurrency: 8", `concurrency: "{{ n * 2 }}", rate_ramp: null`, "isl: 512",
		`isl: "{{ phases.profiling.concurrency * 100 }}"`, "model: demo", "model: ${MODEL:demo}-${X}").Replace(good)
	file := write(t, "t.yaml", "variables: {n: 3}\n"+text+"sweep: {parameters: {variables.n: [3, 5]}}\n")
	env := func(k string) (string, bool) { return "7b", k == "X" }
	d, err := Load(Source{File: file, Env: env, Command: "run"})
	if err != nil {
		t.Fatal(lines(err, ""))
	}
	for i, want := range []int{6, 10} {
		b := resolved(t, d, d.Sweep().Axes[0].Assignment(i, source.Origin{})).Benchmark
		if b.Phases[0].Concurrency != want || *b.Datasets[0].Prompts.ISL.Value != float64(want*100) ||
			b.Models.Items[0].Name != "demo-7b" {
			t.Errorf("cell %d: %+v", i, b)
		}
	}
	for text, want := range map[string]string{
		"{{ a }}":                 "t.yaml:1:16: variables.a: templates refer to each other in a circle",
		"{% include '/etc/x' %}":  "t.yaml:1:16: variables.a: template {% include '/etc/x' %}: templates read no files",
		"{{ concurency }}":        "t.yaml:1:16: variables.a: template {{ concurency }}: concurency is not defined | known: a, benchmark, datasets, endpoint, models, phases, schema_version, variables",
		"{{ benchmark.nothing }}": "t.yaml:1:16: variables.a: template {{ benchmark.nothing }}: benchmark has no member nothing",
	} {
		if got := said(t, "t.yaml", fmt.Sprintf("variables: {a: %q}\n", text)+good); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	file := write(t, "e.yaml", strings.Replace(good, "streaming: true",
		"streaming: true, apiKey: hunter2, headers: {Authorization: Bearer abc, X-Run: one}, type: CHAT", 1)+"sweep: {parameters: {concurrency: [8, 16]}}\n")
	as := append(flag1(t, "--isl", "64"), flag1(t, "-u", "http://me:pw@h:1")...)
	d, err := Load(Source{File: file, Assignments: as, Command: "run"})
	if err != nil {
		t.Fatal(lines(err, ""))
	}
	var b bytes.Buffer
	if err := d.Explain(&b, 0); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(b.String(), filepath.Dir(file)+"/", "")
	rows := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		rows[f[0]] = strings.Join(f[1:], " ")
	}
	for path, want := range map[string]string{
		"benchmark.phases.profiling.concurrency":          "8 e.yaml:7:36 (axis)",
		"benchmark.phases.profiling.duration":             "120 e.yaml:6:60 (2m)",
		"benchmark.phases.profiling.exclude_from_results": "false default: kind profiling",
		"benchmark.datasets.default.prompts.isl.mean":     "64 --isl",
		"benchmark.datasets.default.entries":              "100 default: type synthetic",
		"benchmark.endpoint.apiKey":                       `<redacted> e.yaml:4:62`,
		"benchmark.endpoint.headers.Authorization":        `"<redacted>" e.yaml:4:96`,
		"benchmark.endpoint.headers.X-Run":                `"<redacted>" e.yaml:4:115`,
		"benchmark.endpoint.urls.0":                       `"http://<redacted>@h:1" -u`,
		"benchmark.endpoint.type":                         `"chat" e.yaml:4:127 (CHAT)`,
		"benchmark.endpoint.timeout":                      "21600 default",
		"schemaVersion":                                   `"2.0" e.yaml:1:16`,
	} {
		if rows[path] != want {
			t.Errorf("%s: got %q, want %q", path, rows[path], want)
		}
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "pw@") || strings.Contains(text, "Bearer") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	b.Reset()
	if err := d.Explain(&b, 0, "isl"); err != nil || strings.Count(b.String(), "\n") != 2 {
		t.Errorf("explain isl: %v\n%s", err, b.String())
	}
	if err := d.Explain(&b, 0, "endpoint.tpye"); err == nil ||
		lines(err, "") != "endpoint.tpye: unknown field | did you mean type?" {
		t.Errorf("explain endpoint.tpye: %v", err)
	}
}

// What derive computes has its expression as its origin.
func TestExplainDerived(t *testing.T) {
	t.Parallel()
	d := mustLoad(t, "e.yaml", strings.Replace(good, "duration: 2m, gracePeriod: 20", "seamless: false",
		1)+"sweep: {parameters: {isl: [3]}, derive: {requests: \"max(10*concurrency, 50) + isl\"}}\n")
	var b bytes.Buffer
	if err := d.Explain(&b, 0, "requests"); err != nil {
		t.Fatal(lines(err, ""))
	}
	if got := strings.Join(strings.Fields(b.String()), " "); !strings.HasPrefix(got,
		"benchmark.phases.profiling.requests 83 ") || !strings.HasSuffix(got, "(max(10*concurrency, 50) + isl)") {
		t.Error(got)
	}
}

func TestUnsupportedInSweeps(t *testing.T) {
	t.Parallel()
	for sweep, want := range map[string]string{
		"{type: scenarios, runs: [{benchmark: {metrics: {a: {b: 1}}}}]}":                             "u.yaml:7:63: sweep.runs.0.benchmark.metrics: not supported yet",
		"{parameters: {runtime: [{workers_min: 3}], concurrency: [1, 2]}}":                           "u.yaml:7:46: benchmark.runtime.workers_min: not supported yet",
		"{parameters: {\"phases.profiling.adaptive_scale_base_step\": [1, 2], concurrency: [1, 2]}}": "u.yaml:7:22: benchmark.phases.profiling.adaptive_scale_base_step: not supported yet",
	} {
		d := mustLoad(t, "u.yaml", good+"sweep: "+sweep+"\n")
		if got := lines(d.Unsupported(), filepath.Dir(d.cells.src.File)); !strings.HasPrefix(got, want+" | ") &&
			!strings.Contains(got, "\n"+want+" | ") {
			t.Errorf("%s\n got %s\nwant %s", sweep, got, want)
		}
	}
}

// What repeats a default of AIPerf's asks for nothing; what asks for something
// is named with what to do instead.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("  dataset:",
		"  gpu_telemetry: {enabled: false, collector: DCGM}\n  mlflow: {experiment: aiperf}\n  wandb: {project: p}\n  server_metrics: {enabled: true, discovery: {mode: kubernetes}}\n  dataset:").Replace(good)
	d := mustLoad(t, "u.yaml", text)
	got := lines(d.Unsupported(), filepath.Dir(d.cells.src.File))
	want := "u.yaml:8:53: benchmark.server_metrics.discovery: not supported yet | name them: --server-metrics http://HOST:PORT/metrics …"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	d := mustLoad(t, "isl-by-concurrency.yaml", good+`
multi_run: {num_runs: 5}
random_seed: 7
variables: {a: 1}
gates: ["error_rate == 0"]
budget: {time: 2h, requests: 1000}
verdict: {client_cpu: {warn: 0.5}}
tables: {chunks: false, formats: [csv]}
`)
	e := d.Envelope()
	if e.Name != "isl-by-concurrency" || e.MultiRun.NumRuns != 5 ||
		e.MultiRun.ConfidenceLevel != 0.95 || *e.RandomSeed != 7 ||
		e.Gates[0] != "error_rate == 0" || *e.Budget.Time != 7200 || *e.Budget.Requests != 1000 ||
		*e.Verdict["client_cpu"].Warn != 0.5 || e.Tables.Chunks || e.Tables.Formats[0] != "csv" {
		js, _ := json.Marshal(e)
		t.Errorf("%s", js)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{
		"90": 90, "1.5s": 1.5, "90 sec": 90, "2m": 120, "2 min": 120, "1h": 3600,
		"1hr": 3600, "0.5hour": 1800, "250ms": 0.25, "INF": math.Inf(1),
	} {
		if got, ok := fields.Seconds(in); !ok || got != want {
			t.Errorf("seconds(%q) = %v, %v; want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "s", "-1s", "1d", "1e3s", "1..5s", "nan"} {
		if got, ok := fields.Seconds(in); ok {
			t.Errorf("seconds(%q) = %v", in, got)
		}
	}
}

// What is too large or goes round in circles is refused at once.
func TestBombs(t *testing.T) {
	t.Parallel()
	lol := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'k'; c++ {
		p := string(c - 1)
		lol += fmt.Sprintf("%c: &%c [*%s, *%s, *%s, *%s, *%s, *%s, *%s, *%s, *%s, *%s]\n", c, c, p, p, p, p, p, p, p, p,
			p, p)
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"aliases":   {"b.yaml", lol, "more than 200000 values once aliases are expanded"},
		"circle":    {"b.yaml", "a: &a\n  b: *a\n", "b.yaml:2:6: alias *a contains itself"},
		"depth":     {"b.yaml", strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper than 64 levels"},
		"deep CUE":  {"b.cue", "a: " + strings.Repeat("{a: ", 300) + "1" + strings.Repeat("}", 300), "nested deeper than 64 levels"},
		"size":      {"b.yaml", strings.Repeat("# padding\n", source.MaxBytes/10+1), "b.yaml: larger than 4 MB"},
		"empty":     {"b.yaml", "# nothing\n", "b.yaml: empty file"},
		"not UTF-8": {"b.yaml", "a: é\nb: é\xff\xfe", "b.yaml:2:6: is not UTF-8 text"},
		"two":       {"b.yaml", good + "---\na: 1\n", "b.yaml:7:1: a second document"},
		"tag":       {"b.yaml", "variables: {x: !!python/object/apply:os.getcwd []}\n", "b.yaml:1:16: the tag !!python/object/apply:os.getcwd is not known"},
		"tab":       {"b.yaml", "a:\n\tb: 1\n", "b.yaml:2:1: a tab in the indentation"},
		"a list":    {"b.yaml", "[1]\n", "b.yaml:1:1: an experiment is a mapping, this is a list"},
		"integer":   {"b.yaml", "random_seed: 123456789012345678901234567890\n", "b.yaml:1:14: whole number 123456789012345678901234567890 is out of range | in quotes it is a text"},
		"nan":       {"b.yaml", "random_seed: .nan\n", "b.yaml:1:14: .nan is not a number"},
		"embed":     {"b.cue", "@extern(embed)\npackage x\na: _ @embed(file=secret.txt)\n", "is not allowed in an experiment"},
	} {
		got := said(t, c.file, c.text)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want …%s…", name, got, c.want)
		}
	}
	dir := t.TempDir()
	for file, want := range map[string]string{
		dir:                dir + ": is a directory, not an experiment file",
		dir + "/none.yaml": dir + "/none.yaml: no such file",
	} {
		if _, err := Load(Source{File: file}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
}

// YAML anchors and merges, and every value kind, come out as data.
func TestYAML(t *testing.T) {
	t.Parallel()
	n, bad := source.ReadYAML("y.yaml",
		[]byte("base: &b {a: 1, b: .5, c: -.inf, d: 0x1f}\nm:\n  <<: *b\n  a: 2\n  t: yes\n  n: ~\n  f: 1_000.5\n  s: '1'\n"))
	if bad != nil {
		t.Fatal(bad)
	}
	want := map[string]any{
		"a": int64(2), "b": 0.5, "c": math.Inf(-1), "d": int64(31), "t": "yes", "n": nil,
		"f": 1000.5, "s": "1",
	}
	if diff := cmp.Diff(want, n.Get("m").Plain()); diff != "" {
		t.Error(diff)
	}
	if o := n.At("m.a").Origin.Where; o != "y.yaml:4:6" {
		t.Errorf("m.a is at %s", o)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"concurrency": "benchmark.phases.profiling.concurrency", "rate": "benchmark.phases.profiling.rate", "isl": "benchmark.datasets.default.prompts.isl",
		"dataset.isl": "benchmark.datasets.default.prompts.isl", "datasets.main.osl.mean": "benchmark.datasets.main.prompts.osl.mean",
		"phases.warmup.rate": "benchmark.phases.warmup.rate", "warmup.gracePeriod": "benchmark.phases.warmup.grace_period", "model": "benchmark.model",
		"endpoint.url": "benchmark.endpoint.urls", "endpoint.extra.maxTokens": "benchmark.endpoint.extra.maxTokens", "benchmark.endpoint.type": "benchmark.endpoint.type",
		"variables.n": "variables.n", "multiRun.num_runs": "multi_run.num_runs", "random_seed": "random_seed", "phases.0.requests": "benchmark.phases.0.requests",
	} {
		if got := fields.Canonical(in); got != want {
			t.Errorf("Canonical(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseSet(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]any{
		"concurrency=8": int64(8), "endpoint.streaming=true": true, "model='7'": "7", "rate=2.5": 2.5, "endpoint.extra={a: [1, x]}": map[string]any{"a": []any{int64(1), "x"}}, "name=": "",
	} {
		a, err := flags.ParseSet(in)
		if err != nil || cmp.Diff(want, a.Value.Plain()) != "" || a.Origin.Source != source.BySet {
			t.Errorf("ParseSet(%q) = %#v, %v", in, a, err)
		}
	}
	for _, in := range []string{"concurrency", "=4", "a={", "a=&x [*x]"} {
		if a, err := flags.ParseSet(in); err == nil {
			t.Errorf("ParseSet(%q) = %v", in, a)
		}
	}
	got := said(t, "x.yaml", good, lower.Assign(fields.Canonical("concurency"), int64(1),
		source.Origin{Source: source.BySet, Where: "--set concurency"}))
	if got != "--set concurency: unknown field concurency | did you mean concurrency?" {
		t.Error(got)
	}
}

func TestVendorAndPrint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Vendor(dir); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(filepath.Join(dir, "cue.mod/pkg/aiperf.dev/schema/phase.cue"))
	if err != nil || !bytes.HasPrefix(src, []byte("// Copied by aiperf")) ||
		!bytes.Contains(src, []byte("gracePeriod?:")) {
		t.Errorf("%v %.80s", err, src)
	}
	// A vendored copy beside the experiment changes nothing.
	if err := os.WriteFile(filepath.Join(dir, "e.cue"),
		[]byte("package e\nimport \"aiperf.dev/schema\"\nschema.#Experiment & {benchmark: {model: \"m\", endpoint: url: \"mock:\", dataset: {isl: 4}, phases: {requests: 1}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Load(Source{File: filepath.Join(dir, "e.cue"), Command: "run"})
	if err != nil {
		t.Fatal(lines(err, ""))
	}
	if p := resolved(t, d).Benchmark.Phases[0]; p.Type != "concurrency" || p.Concurrency != 1 {
		t.Errorf("%+v", p)
	}
	if text, err := CUE(); err != nil || bytes.Count(text, []byte("package schema\n")) != 1 {
		t.Errorf("the printed schema has %d package clauses, %v", bytes.Count(text, []byte("package schema\n")), err)
	}
}

func TestJSONSchema(t *testing.T) {
	t.Parallel()
	js, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		ID   string `json:"$id"`
		Defs map[string]struct {
			Properties map[string]map[string]any
		} `json:"$defs"`
	}
	if err := json.Unmarshal(js, &doc); err != nil {
		t.Fatal(err)
	}
	phase := doc.Defs["Phase"].Properties
	if doc.ID == "" || phase["grace_period"] == nil || phase["gracePeriod"] == nil ||
		phase["seamless"]["default"] != false {
		t.Errorf("$id %q, phase %v", doc.ID, phase["seamless"])
	}
	if !bytes.Contains(js, []byte(`[{][{%]`)) || bytes.Contains(js, []byte("#rules")) {
		t.Error("no templates, or rules in the schema")
	}
}
