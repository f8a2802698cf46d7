package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// outside keeps what a run tells an MLflow server and an OpenTelemetry collector.
type outside struct {
	mu      sync.Mutex
	metrics map[string]bool // of OTLP, with their units
	params  map[string]bool // of MLflow
	tags    map[string]bool
}

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a short body is none that can be read below
	o.mu.Lock()
	defer o.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/otel") {
		var m collector.ExportMetricsServiceRequest
		if proto.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, rm := range m.ResourceMetrics {
			for _, s := range rm.ScopeMetrics {
				for _, one := range s.Metrics {
					o.metrics[one.Name] = true
				}
			}
		}
		return
	}
	var said struct{ Params, Tags []struct{ Key string } }
	_ = json.Unmarshal(body, &said) // a file is none, and has neither
	for _, p := range said.Params {
		o.params[p.Key] = true
	}
	for _, p := range said.Tags {
		o.tags[p.Key] = true
	}
	fmt.Fprint(w, `{"experiment":{"experiment_id":"7"},"run":{"info":{"run_id":"r1","artifact_uri":"mlflow-artifacts:/7/r1/artifacts"}}}`)
}

// keyPaths are the places of a document's members, with * for names that are a server's own.
func keyPaths(v any, at string, own *regexp.Regexp, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if strings.HasPrefix(k, "_") { // a note on how the sample was cut
				continue
			}
			if own != nil && own.MatchString(at) {
				k = "*"
			}
			into[at+"/"+k] = true
			keyPaths(x, at+"/"+k, own, into)
		}
	case []any:
		for _, x := range v {
			keyPaths(x, at+"[]", own, into)
		}
	}
}

// sampled are the parts that a file of telemetry consists of: members of JSON, columns and first
// cells of tables, and words of a console.
type sampled func(t *testing.T, b []byte) map[string]bool

func membersOf(own string) sampled {
	names := regexp.MustCompile(own)
	return func(t *testing.T, b []byte) map[string]bool {
		t.Helper()
		out := map[string]bool{}
		for d := json.NewDecoder(bytes.NewReader(b)); ; {
			var v any
			if err := d.Decode(&v); err == io.EOF {
				return out
			} else if err != nil {
				t.Fatal(err)
			}
			keyPaths(v, "", names, out)
		}
	}
}

// headings are the headings of a table's columns, each with its part's kind.
func headings(own ...string) sampled {
	return func(_ *testing.T, b []byte) map[string]bool {
		out := map[string]bool{}
		for text := range strings.Lines(string(b)) {
			if !strings.HasPrefix(text, "Endpoint,") {
				continue
			}
			for _, name := range strings.Split(strings.TrimSpace(text), ",") {
				if !slices.Contains(own, name) {
					out[name] = true
				}
			}
		}
		return out
	}
}

// consoleRows are the first cells of the rows of the console's tables, and their titles.
func consoleRows(_ *testing.T, b []byte) map[string]bool {
	out := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	last := ""
	for lines.Scan() {
		text := lines.Text()
		if cells := strings.Split(text, "│"); len(cells) > 2 {
			cell := strings.TrimSpace(cells[1])
			if strings.HasPrefix(cell, "(") { // the rest of one that did not fit
				delete(out, last)
				cell = last + " " + cell
			}
			out[cell], last = true, cell
		} else if strings.Contains(text, "GPU Power Efficiency") || strings.Contains(text, "GPU Telemetry Summary") {
			out[strings.TrimSpace(text)] = true
		}
	}
	return out
}

// TestTelemetryHasAIPerfsParts measures once with every collector and outlet, and asks of each
// recorded sample of AIPerf's telemetry that all of its parts are there, save what is listed
// with a reason. What values follow from which pages is compared with AIPerf's own code
// elsewhere (TestPagesAreAIPerfs, TestGPUsAreAIPerfs).
func TestTelemetryHasAIPerfsParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := &outside{metrics: map[string]bool{}, params: map[string]bool{}, tags: map[string]bool{}}
	there := httptest.NewServer(out)
	t.Cleanup(there.Close)
	asked := aiperf(t, dir, "mock-server", "--port", "0", "step=5ms", "batch=8", "kv_blocks=4000", "cache=1000", "gpus=2", "power_cap=650", "reasoning=2", "accepted=1", "rejected=1")
	if !asked.until("its address", func() bool { return strings.HasSuffix(asked.out.String(), "\n") }) {
		t.Fatalf("ended: %s", &asked.err)
	}
	server, _ := strings.CutPrefix(strings.TrimSpace(asked.out.String()), "listening ")
	p := aiperf(t, dir, "profile", "-m", "demo", "-u", server, "--streaming", "--tokenizer", "builtin", "--isl", "40", "--osl", "10",
		"--concurrency", "4", "--request-count", "240", "--warmup-request-count", "4", "--slice-duration", "1", "--random-seed", "1",
		"--gpu-telemetry", server+"/dcgm/metrics", "--server-metrics-formats", "json", "csv", "jsonl", "parquet",
		"--network-latency-automatic", "--otel-url", there.URL+"/otel", "--mlflow-tracking-uri", there.URL, "--mlflow-tag", "team:perf", "env:dev",
		"--wandb-project", "p", "--artifact-dir", "out", "--ui", "none")
	p.wants(0)
	for _, c := range []struct {
		sample, ours string
		parts        sampled
		without      map[string]string // a part of the sample's, and why ours has none
	}{
		{"gpu_telemetry_export.jsonl", "gpu_telemetry_export.jsonl", membersOf("^$ never"), nil},
		{"profile_export_network_latency.jsonl", "profile_export_network_latency.jsonl", membersOf("^$ never"), nil},
		{"phase_manifest.json", "phase_manifest.json", membersOf("^$ never"), nil},
		{"profile_export_aiperf.telemetry.json", "profile_export_aiperf.json", membersOf("/endpoints$|/gpus$"), nil},
		{"profile_export_aiperf.gpu_block.csv", "profile_export_aiperf.csv", headings(), nil},
		{"console_gpu.txt", "profile_export_console.txt", consoleRows, nil},
		{"server_metrics_export.json", "server_metrics_export.json", membersOf("/endpoint_info$|^/metrics$|^/warmup_metrics$|/buckets$|/labels$"), nil},
		{"server_metrics_export.jsonl", "server_metrics_export.jsonl", membersOf("^/metrics$|/buckets$|/labels$"), nil},
		{"server_metrics_export.csv", "server_metrics_export.csv", headings("method", "status", "endpoint", "model"), nil},
		{"mlflow_export.json", "mlflow_export.json", membersOf("^$ never"), nil},
	} {
		theirs := c.parts(t, []byte(read(t, filepath.Join("..", "..", "testdata", "aiperf", "telemetry", c.sample))))
		b, err := os.ReadFile(filepath.Join(dir, "out", c.ours))
		if err != nil {
			t.Error(err)
			continue
		}
		lacking(t, c.sample, theirs, c.parts(t, b), c.without)
	}
	var otlp struct {
		Names []string `json:"_metric_names_in_order"`
	}
	readJSON(t, "../../testdata/aiperf/telemetry/otlp_request.json", &otlp)
	theirs := map[string]bool{}
	for _, name := range otlp.Names { // with its unit: ours are in seconds, see docs/telemetry.md
		name, _, _ = strings.Cut(name, " ")
		theirs[name] = true
	}
	const moment, counted = "a histogram of moments says nothing", "it is a count of the run, in the files and tables"
	const under = "records are told when a request is over, and no record says that a session is"
	lacking(t, "otlp_request.json", theirs, out.metrics, map[string]string{
		"aiperf.min_request_timestamp": moment, "aiperf.max_response_timestamp": moment,
		"aiperf.credit_drop_latency": "requests need no credits: the program knows its whole schedule",
		"aiperf.osl_mismatch_count":  counted, "aiperf.usage_discrepancy_count": counted,
		"aiperf.timing.sessions.completed": under, "aiperf.timing.sessions.in_flight": under,
	})
	var filed struct{ Params, Tags map[string]string }
	readJSON(t, "../../testdata/aiperf/telemetry/mlflow_run.json", &filed)
	lacking(t, "mlflow_run.json: params", setOf(slices.Collect(maps.Keys(filed.Params))), out.params, nil)
	lacking(t, "mlflow_run.json: tags", setOf(slices.Collect(maps.Keys(filed.Tags))), out.tags,
		map[string]string{"mlflow.runName": "the server sets it from the name of the run"})
	var table, ours struct{ Columns []string }
	readJSON(t, "../../testdata/aiperf/telemetry/wandb_summary_metrics.table.json", &table)
	readJSON(t, filepath.Join(dir, "out", "wandb_export.json"), &ours)
	if !slices.Equal(table.Columns, ours.Columns) {
		t.Errorf("columns of the table for W&B are %q, want %q", ours.Columns, table.Columns)
	}
	var keys struct{ Top []string }
	readJSON(t, "../../testdata/aiperf/telemetry/phases_profiling_gpu_telemetry.keys.json", &keys)
	var top map[string]any
	readJSON(t, filepath.Join(dir, "out", "phases", "profiling", "gpu_telemetry.json"), &top)
	if got := slices.Sorted(maps.Keys(top)); !slices.Equal(got, keys.Top) {
		t.Errorf("gpu_telemetry.json of a phase has %q, want %q", got, keys.Top)
	}
	for _, phase := range []string{"warmup", "profiling"} {
		var said struct {
			Data struct {
				Endpoints map[string]struct {
					GPUs map[string]struct {
						Metrics map[string]struct{ Avg, Count float64 }
					}
				}
				Summaries map[string]struct{ Metrics map[string]any } `json:"endpoint_summaries"`
			}
			Phase struct {
				Name string `json:"phase_name"`
			}
		}
		at := filepath.Join(dir, "out", "phases", phase)
		readJSON(t, filepath.Join(at, "gpu_telemetry.json"), &said)
		readJSON(t, filepath.Join(at, "server_metrics.json"), &said)
		if said.Phase.Name != phase || len(said.Data.Endpoints) != 1 || len(said.Data.Summaries) != 1 {
			t.Errorf("phase %s: %+v", phase, said)
		}
		for _, e := range said.Data.Endpoints {
			if power := e.GPUs["gpu_1"].Metrics["nvidia_power_usage"]; !(power.Avg > 0) || power.Count < 1 {
				t.Errorf("phase %s: power of GPU 1 is %+v", phase, power)
			}
		}
		for _, e := range said.Data.Summaries {
			if e.Metrics["vllm:generation_tokens"] == nil {
				t.Errorf("phase %s: no tokens among %d metrics", phase, len(e.Metrics))
			}
		}
	}
}

func setOf(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// lacking says which parts of a sample ours has not, and which reasons are of nothing.
func lacking(t *testing.T, sample string, theirs, ours map[string]bool, without map[string]string) {
	t.Helper()
	if len(theirs) == 0 {
		t.Errorf("%s has no parts", sample)
	}
	var lacks []string
	for part := range theirs {
		if !ours[part] && without[part] == "" {
			lacks = append(lacks, part)
		}
	}
	slices.Sort(lacks)
	if len(lacks) > 0 {
		t.Errorf("%s: ours lacks\n\t%s", sample, strings.Join(lacks, "\n\t"))
	}
	for part := range without {
		if ours[part] || !theirs[part] {
			t.Errorf("%s: %s is listed as lacking, and is not", sample, part)
		}
	}
}
