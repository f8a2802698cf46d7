package acceptance

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// interpreter is that of internal/repo/venv.sh outlets, which takes a package index and a
// minute: make outlets gives it.
var interpreter = flag.String("outlets", "", "Python with mlflow, prometheus_client and opentelemetry-proto: compares with what they receive and serve")

func outlets(t *testing.T) string {
	t.Helper()
	if *interpreter == "" {
		t.Skip("make outlets compares with real receivers and exporters")
	}
	return *interpreter
}

// script is a server in testdata, of Python.
func script(t *testing.T, python, name string) *foreign {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, python, "python", file)
}

// number is a cell of a table; NaN for none.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// What arrives of OpenTelemetry's own messages are the requests of the table, and so it is
// when a collector is between.
func TestCollectorReceivesTheTable(t *testing.T) {
	py := outlets(t)
	inbox := script(t, py, "otlp.py")
	t.Run("receiver", func(t *testing.T) { receives(t, inbox, inbox.url) })
	t.Run("collector", func(t *testing.T) {
		inbox := script(t, py, "otlp.py")
		receives(t, inbox, collector(t, py, inbox.url))
	})
}

// collector starts rotel, which sends on what it takes.
func collector(t *testing.T, py, to string) string {
	t.Helper()
	found, err := exec.Command(py, "-c", "import os, rotel; print(os.path.join(os.path.dirname(rotel.__file__), 'rotel-agent'))").Output()
	if err != nil {
		t.Fatal(err)
	}
	at := freeAddress(t)
	cmd := exec.Command(strings.TrimSpace(string(found)), "start", "--otlp-http-endpoint", at, "--otlp-grpc-endpoint", freeAddress(t),
		"--exporter", "otlp", "--otlp-exporter-endpoint", to, "--otlp-exporter-protocol", "http")
	running(t, cmd, "http://"+at+"/v1/metrics")
	return "http://" + at
}

// running starts a program for as long as the test lasts, and waits until it answers.
func running(t *testing.T, cmd *exec.Cmd, page string) {
	t.Helper()
	log := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	for range 600 {
		if _, err := read(page); err == nil {
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", cmd.Path, log)
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not listen", cmd.Path)
}

func receives(t *testing.T, inbox *foreign, url string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	measure(t, "profile", "-m", "demo", "-u", "mock:?step=2ms&error_rate=0.1&seed=3", "--tokenizer", "builtin", "--streaming",
		"--request-count", "60", "--concurrency", "4", "--isl", "40", "--osl", "12", "--otel-url", url,
		"--otel-resource-attributes", "team=perf", "--artifact-dir", dir)
	var got struct {
		Seen     map[string]struct{ Count, Sum float64 }
		Resource map[string]string
		Messages int
	}
	for range 100 { // a collector sends on when it has time
		if inbox.ask(t, "/", &got); got.Messages > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	type total struct{ count, sum float64 }
	of := map[string]*total{}
	for key, v := range got.Seen {
		name, labels, _ := strings.Cut(key, "|")
		for _, kind := range []string{"gen_ai.token.type=input", "gen_ai.token.type=output"} {
			if strings.Contains(labels, kind) {
				name += "|" + kind
			}
		}
		if of[name] == nil {
			of[name] = &total{}
		}
		of[name].count += v.Count
		of[name].sum += v.Sum
	}
	want := map[string]*total{}
	add := func(name string, v float64) {
		if want[name] == nil {
			want[name] = &total{}
		}
		if !math.IsNaN(v) {
			want[name].count++
			want[name].sum += v
		}
	}
	for _, row := range table(t, dir, "requests") {
		add("gen_ai.client.operation.duration", (number(row["end_ns"])-number(row["sent_ns"]))/1e9)
		add("aiperf.timing.requests.sent", 1)
		if row["status"] != "ok" {
			add("aiperf.timing.requests.errors", 1)
			continue
		}
		add("aiperf.timing.requests.completed", 1)
		add("gen_ai.client.operation.time_to_first_chunk", (number(row["first_token_ns"])-number(row["sent_ns"]))/1e9)
		add("gen_ai.client.token.usage|gen_ai.token.type=input", number(row["isl"]))
		add("gen_ai.client.token.usage|gen_ai.token.type=output", number(row["osl"]))
	}
	if want["aiperf.timing.requests.errors"] == nil || got.Messages == 0 {
		t.Fatalf("%d messages, and no request failed: %v", got.Messages, want)
	}
	for name, w := range want {
		g := of[name]
		counter := strings.HasPrefix(name, "aiperf.timing.")
		if g == nil || math.Abs(g.sum-w.sum) > 1e-9*w.sum || !counter && g.count != w.count {
			t.Errorf("%s: %+v, want %+v", name, g, w)
		}
	}
	if got.Resource["service.name"] != "aiperf" || got.Resource["team"] != "perf" {
		t.Errorf("resource %v", got.Resource)
	}
	t.Logf("%d messages, %d points: %d requests lasted %.6f s in all", got.Messages, len(got.Seen),
		int(of["gen_ai.client.operation.duration"].count), of["gen_ai.client.operation.duration"].sum)
}

// MLflow's own server has the plan with its trials below it, each with the figures of the
// table, and files as they are here.
func TestMLflowServerHasTheTable(t *testing.T) {
	py := outlets(t)
	kept := t.TempDir()
	server := serve(t, py, "mlflow", "server", "--host", "127.0.0.1", "--port", "0", "--workers", "1",
		"--backend-store-uri", "sqlite:///"+filepath.Join(kept, "mlflow.db"), "--artifacts-destination", filepath.Join(kept, "files"))
	dir := filepath.Join(t.TempDir(), "out")
	measure(t, "profile", "-m", "demo", "-u", "mock:?step=2ms", "--tokenizer", "builtin", "--streaming", "--request-count", "12",
		"--concurrency", "1,3", "--num-profile-runs", "2", "--isl", "40", "--osl", "6", "--mlflow-tracking-uri", server.url,
		"--mlflow-experiment", "loads", "--mlflow-tag", "team:perf", "--artifact-dir", dir)
	type pair struct{ Key, Value string }
	type filed struct {
		Info struct {
			ID     string `json:"run_id"`
			Name   string `json:"run_name"`
			Status string
		}
		Data struct {
			Metrics []struct {
				Key   string
				Value float64
			}
			Params, Tags []pair
		}
	}
	var experiment struct {
		Experiment struct {
			ID string `json:"experiment_id"`
		}
	}
	server.ask(t, "/api/2.0/mlflow/experiments/get-by-name?experiment_name=loads", &experiment)
	var found struct{ Runs []filed }
	post(t, server.url+"/api/2.0/mlflow/runs/search", map[string]any{"experiment_ids": []string{experiment.Experiment.ID}}, &found)
	tag := func(r *filed, key string) string {
		i := slices.IndexFunc(r.Data.Tags, func(p pair) bool { return p.Key == key })
		if i < 0 {
			return ""
		}
		return r.Data.Tags[i].Value
	}
	figures := map[string]float64{} // by run and AIPerf's name of it
	for _, row := range table(t, dir, "metrics") {
		if row["level"] != "run" || row["span"] != "full" || row["part"] != "" {
			continue
		}
		name := row["metric"] + "." + row["stat"]
		if row["stat"] == "avg" {
			name = row["metric"]
		}
		figures[row["run_id"]+" "+name] = number(row["value"])
	}
	parents, trials, compared := 0, 0, 0
	var whole *filed
	for i := range found.Runs {
		r := &found.Runs[i]
		id := tag(r, "aiperf.run")
		if id == "" {
			parents++
			whole = r
			continue
		}
		trials++
		for _, m := range r.Data.Metrics {
			if v, ok := figures[id+" "+m.Key]; ok {
				compared++
				if math.Abs(v-m.Value) > 1e-9*math.Abs(v) {
					t.Errorf("%s, %s: %v, the table has %v", id, m.Key, m.Value, v)
				}
			}
		}
	}
	if parents != 1 || trials != 4 || compared < 4*40 {
		t.Fatalf("%d plans with %d trials, %d figures", parents, trials, compared)
	}
	for i := range found.Runs {
		if r := &found.Runs[i]; r != whole && tag(r, "mlflow.parentRunId") != whole.Info.ID || r.Info.Status != "FINISHED" {
			t.Errorf("%s: parent %q, %s", r.Info.Name, tag(r, "mlflow.parentRunId"), r.Info.Status)
		}
	}
	if tag(whole, "team") != "perf" {
		t.Errorf("tags %v", whole.Data.Tags)
	}
	var told struct {
		Files []string `json:"uploaded_artifacts"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "mlflow_export.json"))
	if err != nil || json.Unmarshal(text, &told) != nil || len(told.Files) < 3 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, name := range told.Files {
		here, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(name, "exports/")))
		there, status := read(server.url + "/get-artifact?" + url.Values{"run_id": {whole.Info.ID}, "path": {name}}.Encode())
		if err != nil || status != nil || !bytes.Equal(here, there) {
			t.Errorf("%s: %v %v, %d bytes here, there %.80q", name, err, status, len(here), there)
		}
	}
	t.Logf("1 plan, %d trials, %d figures as in the table, %d files as they are here", trials, compared, len(told.Files))
}

func post(t *testing.T, to string, body, v any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(to, "application/json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", to, resp.Status, err)
	}
}

// What Prometheus' client serves is in the table telemetry, reading for reading.
func TestPrometheusClientIsRead(t *testing.T) {
	py := outlets(t)
	page, dir := script(t, py, "exporter.py"), filepath.Join(t.TempDir(), "out")
	measure(t, "profile", "-m", "demo", "-u", "mock:?ttft=50ms", "--tokenizer", "builtin", "--request-count", "60",
		"--server-metrics", page.url+"/metrics", "--artifact-dir", dir)
	var said []map[string]float64
	page.ask(t, "/said", &said)
	got := map[string][]float64{}
	for _, row := range table(t, dir, "telemetry") {
		if row["source"] == page.url+"/metrics" && row["value"] != "" {
			name := strings.TrimSuffix(row["metric"], "_total")
			switch row["kind"] {
			case "sum", "count":
				name += "_" + row["kind"]
			case "counter":
				name += "_total"
				if !strings.Contains(row["labels"], `"a \"b\" \\ c\nd"`) {
					t.Fatalf("labels %s", row["labels"])
				}
			case "bucket":
				continue
			}
			got[name] = append(got[name], number(row["value"]))
		}
	}
	if len(said) < 5 {
		t.Fatalf("read %d times", len(said))
	}
	for name := range said[0] {
		var want []float64 // as it changes
		for _, s := range said {
			if v := s[name]; len(want) == 0 || want[len(want)-1] != v {
				want = append(want, v)
			}
		}
		// A look beforehand is not part of the run.
		if n := len(got[name]); n < 4 || n > len(want) || !slices.Equal(got[name], want[len(want)-n:]) {
			t.Errorf("%s: %v, served were %v", name, got[name], want)
		}
	}
	t.Logf("%d readings, the last: %v", len(said), said[len(said)-1])
}

// served is how the program says where its page is.
var served = regexp.MustCompile(`progress is served at (http://127\.0\.0\.1:\d+/metrics)`)

// The page that --serve-metrics serves is read by the parser of Prometheus' client, and
// counts what the table holds: between two trials, of the first.
func TestPageIsReadByPrometheusClient(t *testing.T) {
	py := outlets(t)
	dir := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(built(t), "profile", "-m", "demo", "-u", "mock:?step=2ms", "--tokenizer", "builtin", "--streaming",
		"--request-count", "20", "--concurrency", "2", "--num-profile-runs", "2", "--profile-run-cooldown-seconds", "8", "--isl", "40", "--osl", "6",
		"--serve-metrics", "127.0.0.1:0", "--artifact-dir", dir)
	said := &bytes.Buffer{}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	at := make(chan string, 1)
	go func() {
		defer close(at)
		b := make([]byte, 4096)
		for told := false; ; {
			n, err := pipe.Read(b)
			said.Write(b[:n])
			if m := served.FindSubmatch(said.Bytes()); m != nil && !told {
				at <- string(m[1])
				told = true
			}
			if err != nil {
				return
			}
		}
	}()
	address, ok := <-at
	if !ok {
		t.Fatalf("no page: %s", said)
	}
	var between []byte // the page while only the first trial is over
	for {
		page, err := read(address)
		if err != nil {
			break // the program is over
		}
		if between == nil && bytes.Contains(page, []byte("aiperf_runs_finished 1\n")) && !bytes.Contains(page, []byte("aiperf_run_info")) {
			between = page
		}
		time.Sleep(50 * time.Millisecond)
	}
	for range at {
	}
	_ = cmd.Wait() // 4 where the machine is busy
	if between == nil {
		t.Fatalf("no page between two trials: %s", said)
	}
	parse := exec.Command(py, filepath.Join("testdata", "page.py"))
	parse.Stdin = bytes.NewReader(between)
	out, err := parse.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, between)
	}
	got, want := map[string]float64{}, map[string]float64{}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, row := range table(t, dir, "requests") {
		if row["trial"] != "0" {
			continue
		}
		want["aiperf_requests_total|phase="+row["phase"]+",status="+row["status"]]++
		want["aiperf_input_tokens_total|"] += number(row["isl"])
		want["aiperf_output_tokens_total|"] += number(row["osl"])
		latency := (number(row["end_ns"]) - number(row["sent_ns"])) / 1e9
		want["aiperf_request_latency_seconds_count|"]++
		want["aiperf_request_latency_seconds_sum|"] += latency
		want["aiperf_time_to_first_token_seconds_sum|"] += (number(row["first_token_ns"]) - number(row["sent_ns"])) / 1e9
		for _, edge := range []string{"0.05", "0.1"} {
			if latency <= number(edge) {
				want["aiperf_request_latency_seconds_bucket|le="+edge]++
			}
		}
	}
	for name, w := range want {
		if g, ok := got[name]; !ok || math.Abs(g-w) > 1e-9*w {
			t.Errorf("%s: %v, the table has %v", name, g, w)
		}
	}
	t.Logf("%d samples read, %d compared: %v", len(got), len(want), want)
}

func read(address string) ([]byte, error) {
	resp, err := http.Get(address)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	return b.Bytes(), err
}

// Node exporter's page is in the table telemetry: every figure that it has, and those that
// do not change with their values.
func TestNodeExporterIsRead(t *testing.T) {
	outlets(t)
	exe, err := exec.LookPath("prometheus-node-exporter")
	if err != nil {
		t.Skip("prometheus-node-exporter is not installed: a package of Debian's has it")
	}
	address := freeAddress(t)
	page := "http://" + address + "/metrics"
	running(t, exec.Command(exe, "--web.listen-address", address), page)
	dir := filepath.Join(t.TempDir(), "out")
	measure(t, "profile", "-m", "demo", "-u", "mock:?ttft=50ms", "--tokenizer", "builtin", "--request-count", "40",
		"--server-metrics", page, "--artifact-dir", dir)
	text, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]float64{} // the last value, by name and labels
	for _, row := range table(t, dir, "telemetry") {
		if row["source"] == page && row["value"] != "" {
			if got[row["metric"]] == nil {
				got[row["metric"]] = map[string]float64{}
			}
			got[row["metric"]][row["labels"]] = number(row["value"])
		}
	}
	same := 0
	for name, f := range families {
		series := got[name]
		if series == nil && got[strings.TrimSuffix(name, "_total")] == nil {
			t.Errorf("%s is not in the table", name)
		}
		constant := []string{"node_memory_MemTotal_bytes", "node_boot_time_seconds", "node_exporter_build_info", "node_filesystem_size_bytes"}
		if !slices.Contains(constant, name) {
			continue
		}
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			key, _ := json.Marshal(labels)
			if len(labels) == 0 {
				key = nil
			}
			if v, ok := series[string(key)]; !ok || v != m.GetGauge().GetValue() {
				t.Errorf("%s %s: %v, the page has %v", name, key, v, m.GetGauge().GetValue())
			}
			same++
		}
	}
	if same < 3 {
		t.Errorf("%d figures compared", same)
	}
	t.Logf("%d families, all of them in the table, %d figures that do not change are equal", len(families), same)
}

// freeAddress is one on loopback where nobody listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}
