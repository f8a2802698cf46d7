package aiperf_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// configAll is a resolved body with defaults.
const configAll = `{"models":{"strategy":"round_robin","items":[{"name":"m"}]},
"endpoint":{"urls":["http://h"],"type":"chat","streaming":true,"timeout":21600},
"datasets":[{"name":"main","type":"synthetic","entries":12,"random_seed":7,"prompts":{"isl":{"mean":40,"stddev":0}},"turns":{"mean":3,"stddev":0}}],
"phases":[{"name":"warmup","kind":"warmup","type":"concurrency","requests":4,"concurrency":2,"rate":2},{"name":"profiling","kind":"profiling","type":"concurrency","requests":12,"concurrency":2}],
"artifacts":{"dir":"out","records":["jsonl"],"raw":true,"auto_plot":false,"plot_required":false},
"slos":{"request_latency":90},"network_latency":{"enabled":false,"ping_interval":1}}`

func TestInputConfig(t *testing.T) {
	t.Parallel()
	said := `{"models":{"items":[{"name":"m"}]},"endpoint":{"urls":["http://h"],"streaming":true},` +
		`"datasets":[{"prompts":{"isl":{"mean":40}}}],"phases":[{"kind":"warmup","requests":4},{"requests":12}],"artifacts":{"raw":true},"slos":{"request_latency":90}}`
	for _, c := range []struct {
		name string
		cfg  aiperf.InputConfig
		want string
	}{
		{"a file says what it says", aiperf.InputConfig{All: []byte(configAll), Said: []byte(said), Dir: "/r"}, `{"models":{"items":[{"name":"m"}]},` +
			`"endpoint":{"urls":["http://h"],"streaming":true},"datasets":[{"prompts":{"isl":{"mean":40.0}}}],` +
			`"phases":[{"kind":"warmup","exclude_from_results":true,"requests":4},{"kind":"profiling","requests":12}],` +
			`"artifacts":{"dir":"/r","raw":true},"slos":{"request_latency":90.0},"network_latency":{"enabled":false}}`},
		{"flags say more", aiperf.InputConfig{All: []byte(configAll), Said: []byte(said), Flags: true, Dir: "/r"}, `{"models":{"items":[{"name":"m"}]},` +
			`"endpoint":{"urls":["http://h"],"streaming":true},` +
			`"datasets":[{"name":"main","type":"synthetic","entries":12,"random_seed":7,"prompts":{"isl":{"mean":40.0}}}],` +
			`"phases":[{"name":"warmup","kind":"warmup","type":"concurrency","exclude_from_results":true,"requests":4,"concurrency":2},` +
			`{"name":"profiling","kind":"profiling","type":"concurrency","requests":12}],` +
			`"artifacts":{"dir":"/r","records":["jsonl"],"raw":true,"auto_plot":false,"plot_required":false},"slos":{"request_latency":90.0},` +
			`"tokenizer":{},"network_latency":{"enabled":false},"otel":{},"mlflow":{},"wandb":{}}`},
		{"a cell says all", aiperf.InputConfig{All: []byte(configAll), Dir: "/r/c"}, `{"models":{"strategy":"round_robin","items":[{"name":"m"}]},` +
			`"endpoint":{"urls":["http://h"],"type":"chat","timeout":21600.0,"streaming":true},` +
			`"datasets":[{"name":"main","type":"synthetic","entries":12,"random_seed":7,"prompts":{"isl":{"mean":40.0,"stddev":0.0}},"turns":{"mean":3.0,"stddev":0.0}}],` +
			`"phases":[{"name":"warmup","kind":"warmup","type":"concurrency","requests":4,"concurrency":2,"rate":2.0},` +
			`{"name":"profiling","kind":"profiling","type":"concurrency","requests":12,"concurrency":2}],` +
			`"artifacts":{"dir":"/r/c","records":["jsonl"],"raw":true,"auto_plot":false,"plot_required":false},"slos":{"request_latency":90.0},` +
			`"network_latency":{"enabled":false,"ping_interval":1.0}}`},
		{"lengths have a mean", aiperf.InputConfig{
			All:   []byte(`{"datasets":[{},{}]}`),
			Said:  []byte(`{"datasets":[{"prompts":{"isl":{},"osl":{"mean":2}}},{"prompts":{"isl":{"stddev":10}}}]}`),
			Flags: true,
		}, `{"datasets":[{"prompts":{"isl":{"mean":550.0},"osl":{"mean":2.0}}},{"prompts":{"isl":{"mean":550.0,"stddev":10.0}}}],"tokenizer":{},"otel":{},"mlflow":{},"wandb":{}}`},
		{"recorded requests have no lengths of texts", aiperf.InputConfig{
			All:   []byte(`{"datasets":[{"type":"file","name":"main"}]}`),
			Said:  []byte(`{"datasets":[{"type":"file","prompts":{"isl":{"mean":5},"osl":{"mean":8,"stddev":4},"batch_size":5},"images":{"batch_size":2}}]}`),
			Flags: true,
		}, `{"datasets":[{"name":"main","type":"file","osl":{"mean":8.0,"stddev":4.0}}],"tokenizer":{},"otel":{},"mlflow":{},"wandb":{}}`},
		{"the type of a data set may be left out", aiperf.InputConfig{
			All:  []byte(`{"datasets":[{"type":"public","prompts":{"osl":3}},{"type":"synthetic"}]}`),
			Said: []byte(`{"datasets":[{"prompts":{"osl":3,"corpus":"coding"}},{"prompts":{},"force_min_tokens":false,"synthesis":{"max_isl":9}}]}`),
		}, `{"datasets":[{"prompts":{"corpus":"coding"},"osl":3},{"prompts":{}}]}`},
		{"bounds of a phase are a list", aiperf.InputConfig{
			All:  []byte(`{"phases":[{"kind":"profiling"}]}`),
			Said: []byte(`{"phases":[{"sla":{"request_latency":{"p95":{"le":100}},"time_to_first_token":{"avg":{"lt":5,"ge":1}}}}]}`),
		}, `{"phases":[{"kind":"profiling","sla":[{"metric_tag":"request_latency","stat":"p95","op":"le","threshold":100.0},` +
			`{"metric_tag":"time_to_first_token","stat":"avg","op":"lt","threshold":5.0},{"metric_tag":"time_to_first_token","stat":"avg","op":"ge","threshold":1.0}]}]}`},
		{"nothing", aiperf.InputConfig{}, `{}`},
	} {
		v := chatRun(t, nil)
		c.cfg.Fraction = schema.TakesFraction
		v.info.Config = c.cfg
		v.write(t)
		got := object(t, load(t, filepath.Join(v.dir, "profile_export_aiperf.json")))["input_config"]
		var b bytes.Buffer
		if err := json.Compact(&b, got); err != nil || b.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, b.String(), c.want)
		}
	}
}

// configPath is a field of AIPerf's schema.
type configPath struct {
	Path            string
	Types, Variants []string
}

func configPaths(t *testing.T) (out []configPath) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "aiperf", "config", "config_paths.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row configPath
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// A number is written with a point where AIPerf's schema has a number that need not
// be whole, and only there. Where it takes both it keeps what is given.
func TestFractionsAreAIPerfs(t *testing.T) {
	t.Parallel()
	n := 0
	for _, row := range configPaths(t) {
		path, body := strings.CutPrefix(strings.ReplaceAll(row.Path, "[]", ".*"), "benchmark.")
		first, _, _ := strings.Cut(path, ".")
		l := fields.New().At("benchmark." + path)
		if one := first == "phases" && !strings.HasPrefix(path, "phases.*"); one || !body ||
			slices.Contains([]string{"model", "dataset", "warmup", "profiling"}, first) || l != nil && l.Lower != "" {
			continue // another spelling of the same
		}
		if absent, at := fields.AbsentAt("benchmark." + path); l == nil && (absent == nil || absent.Idle[at] == "") {
			continue // not built, and not written either
		}
		number, whole := slices.Contains(row.Types, "number"), slices.Contains(row.Types, "integer")
		if shapes := slices.ContainsFunc(row.Types,
			func(s string) bool { return strings.HasPrefix(s, "object") }); number && whole || shapes {
			continue
		}
		if n++; schema.TakesFraction(path) != number {
			t.Errorf("%s: written with a point: %v; %v in AIPerf", path, !number, row.Types)
		}
	}
	if n < 150 {
		t.Errorf("only %d fields were compared", n)
	}
}

// A setting of ours that AIPerf knows has its place in the order of AIPerf's files.
func TestEveryMemberHasAPlace(t *testing.T) {
	t.Parallel()
	index := fields.New()
	for _, path := range []string{"", "endpoint", "datasets.*", "phases.*", "artifacts"} {
		at := strings.TrimSuffix("benchmark."+path, ".")
		order := aiperf.ConfigOrder(path)
		for _, key := range index[at].Keys {
			if l := index[at+"."+key]; !l.Has(fields.IsOurs) && l.Lower == "" && !slices.Contains(order, key) {
				t.Errorf("%s: configOrder does not say where %s stands", at, key)
			}
		}
	}
}

// What AIPerf's data sets hold is what its schema says.
func TestDatasetMembers(t *testing.T) {
	t.Parallel()
	theirs := map[string][]string{}
	for _, row := range configPaths(t) {
		if name, is := strings.CutPrefix(row.Path, "benchmark.datasets[]."); is && !strings.ContainsAny(name, ".[") {
			for _, v := range row.Variants {
				theirs[v] = append(theirs[v], name)
			}
		}
	}
	for variant, kind := range map[string]string{
		"SyntheticDataset": "synthetic",
		"FileDataset":      "file", "PublicDataset": "public",
	} {
		ours, want := aiperf.DatasetMembers(kind), theirs[variant]
		slices.Sort(ours)
		slices.Sort(want)
		if diff := cmp.Diff(want, ours); diff != "" {
			t.Errorf("%s (-AIPerf's +ours):\n%s", kind, diff)
		}
	}
}

// The name of a model is typed by somebody, too: the text of the tables holds no escape sequence of it.
func TestConsoleFileIsHarmless(t *testing.T) {
	t.Parallel()
	v := chatRun(t, failures)
	v.info.CLICommand = "aiperf profile -m 'm\x1b[31mred\x1b]0;title\a'"
	v.writeAs(t, aiperf.Profile{Prefix: "run1", JSON: true})
	if text := string(load(t, filepath.Join(v.dir, "run1_console.txt"))); !strings.Contains(text,
		"CLI Command: aiperf profile -m 'mred'\n") || strings.ContainsRune(text, '\x1b') {
		t.Errorf("%q", text)
	}
}

// Phases and slices of one run, and the text of its tables.
func TestPhasesSlicesConsole(t *testing.T) {
	t.Parallel()
	v := chatRun(t, failures)
	files := v.writeAs(t, aiperf.Profile{
		Prefix: "run1", JSON: true, Records: true, Slice: 200 * time.Millisecond, ShowTrace: true, Title: "LLM",
		Log: "logs/aiperf.log",
	})
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	want := "run1.jsonl phases/warmup/run1.json phases/warmup/run1.csv phases/profiling/run1.json phases/profiling/run1.csv phase_manifest.json " +
		"run1.json run1.csv run1_timeslices.json run1_timeslices.csv run1_console.txt"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("files %s\nwant  %s", got, want)
	}
	var manifest struct {
		Phases []struct {
			OK     int    `json:"successful_request_count"`
			Failed int    `json:"error_request_count"`
			Name   string `json:"phase_name"`
			Path   string `json:"metrics_json"`
		}
	}
	if err := json.Unmarshal(load(t, filepath.Join(v.dir, "phase_manifest.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Phases) != 2 || manifest.Phases[0].OK != 4 || manifest.Phases[1].OK != 18 ||
		manifest.Phases[1].Failed != 6 || manifest.Phases[0].Path != "phases/warmup/run1.json" {
		t.Errorf("manifest %+v", manifest)
	}
	var slices struct {
		Timeslices []struct {
			Start    int64                 `json:"start_ns"`
			End      int64                 `json:"end_ns"`
			Requests struct{ Avg float64 } `json:"request_count"`
			Rate     struct{ Avg float64 } `json:"request_throughput"`
		}
	}
	if err := json.Unmarshal(load(t, filepath.Join(v.dir, "run1_timeslices.json")), &slices); err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, s := range slices.Timeslices {
		total += s.Requests.Avg
		if rate := s.Requests.Avg / (float64(s.End-s.Start) / 1e9); rate-s.Rate.Avg > 1e-9 || s.Rate.Avg-rate > 1e-9 {
			t.Errorf("%v requests/s in a slice of %v", s.Rate.Avg, rate)
		}
	}
	if total != 18 || len(slices.Timeslices) < 3 {
		t.Errorf("%v requests in %d slices", total, len(slices.Timeslices))
	}
	text := string(load(t, filepath.Join(v.dir, "run1_console.txt")))
	log, err := filepath.Abs("logs/aiperf.log")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, part := range []string{
		"NVIDIA AIPerf | Error Summary", "│  500 │       Internal Server Error │", "│  N/A │", "NVIDIA AIPerf | HTTP Trace Timing", "HTTP Blocked (ms)", "HTTP Total Time (ms) │",
		"NVIDIA AIPerf | LLM Metrics: Effective", "NVIDIA AIPerf | LLM Metrics: Active", "NVIDIA AIPerf | LLM Metrics: Usage", "NVIDIA AIPerf | LLM Metrics\n", " Metric ┃",
		" Time to First Token (ms) │", " Completed Requests (Success + Error) │", "(requests) │ ", " Request Count (requests) │", " Error Request Count (requests) │",
		"Request Latency (error-adjusted) │", "─ Token Count Discrepancy Warning ─", "18 of 18 requests (100.0%)",
		"CLI Command: aiperf profile", "CSV Export: ", "JSON Export: ", "Timeslice CSV Export: ", "Log File: " + log,
	} {
		i := strings.Index(text[at:], part)
		if i < 0 {
			t.Fatalf("no %q after byte %d in\n%s", part, at, text)
		}
		at += i
	}
	for _, line := range strings.Split(text, "\n") {
		if n := len([]rune(line)); n > 140 && !strings.HasPrefix(line, "CLI Command") &&
			!strings.Contains(line, "Export: ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
