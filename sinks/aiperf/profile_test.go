package aiperf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// run is a made-up run with everything AIPerf's files are made of.
type run struct {
	dir, journal string
	records      []record.Record
	info         aiperf.RunInfo
	sum          metrics.Summary
	span         metrics.Window // first sent .. last ended
}

const ms = int64(time.Millisecond)

// chatRun is four warmup requests and 24 of profiling, two at a time, each
// eight tokens of 5 ms after 30 ms. bad turns a request into a failure.
func chatRun(t *testing.T, bad func(i int, r *record.Record)) *run {
	t.Helper()
	v := &run{dir: t.TempDir()}
	v.journal = filepath.Join(v.dir, "stream.arrow")
	t0 := time.Date(2026, 11, 21, 9, 30, 0, 123_456_000, time.Local)
	var warm, prof metrics.Window
	for i := range 28 {
		r := record.New()
		at := int64(i) * 40 * ms
		r.RequestID, r.SessionNum, r.Phase, r.InWindow, r.Warmup = int64(i), int64(i), "profiling", i >= 4, i < 4
		if r.Warmup {
			r.Phase = "warmup"
		}
		r.ConversationID, r.SessionID = fmt.Sprintf("session_%06d", i%12), fmt.Sprintf("s%d", i)
		r.XRequestID, r.XCorrelationID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i),
			fmt.Sprintf("10000000-0000-4000-8000-%012d", i)
		r.Intended, r.Admitted, r.Sent, r.WriteEnd, r.FirstByte = at, at+ms/10, at+ms/5, at+ms/2, at+ms
		r.Status, r.HTTPStatus, r.Streamed, r.FinishReason = record.OK, 200, true, "length"
		for k := range int64(8) {
			t := r.Sent + 30*ms + k*5*ms + int64(i)*1000
			r.Chunks = append(r.Chunks, record.Chunk{At: t, Low: t, Bytes: 170, Kind: record.Content})
		}
		r.FirstToken, r.LastToken = r.Chunks[0].At, r.Chunks[7].At
		r.FirstOutput, r.End = r.FirstToken, r.LastToken+ms
		r.Chunks = append(r.Chunks, record.Chunk{At: r.End, Low: r.End, Bytes: 6, Kind: record.Done})
		r.ISL, r.OSL, r.OSLRequested, r.OutputTokens = 40, 8, 8, 8
		r.UsagePrompt, r.UsageCompletion, r.UsageTotal, r.Cached = 32, 8, 40, 8
		r.BytesSent, r.BytesReceived, r.Reused, r.DNS, r.Dial, r.TLS = 279, 1960, i > 1, record.None, record.None,
			record.None
		if bad != nil {
			bad(i, &r)
		}
		v.records = append(v.records, r)
		if r.Warmup {
			warm.End = max(warm.End, r.End)
			continue
		}
		if prof.Start == 0 {
			prof.Start = r.Intended
		}
		if r.InWindow {
			prof.End = max(prof.End, r.End)
			if v.span.End == 0 {
				v.span.Start = r.Sent
			}
			v.span.End = max(v.span.End, r.End)
		}
	}
	prof.Start, prof.End = prof.Start/1000*1000, (prof.End+999)/1000*1000 // the files tell µs
	profiling := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true, Window: prof})
	for i := range v.records {
		if !v.records[i].Warmup {
			profiling.Add(&v.records[i])
		}
	}
	v.sum = profiling.Summaries()[0]
	j, err := sinks.NewJournal(v.journal, sinks.RunMeta{T0: t0})
	if err != nil {
		t.Fatal(err)
	}
	for i := range v.records {
		if err := j.Write(&v.records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	v.info = aiperf.RunInfo{
		Version: "0.1.0", BenchmarkID: "fd65b137fa11", Seed: 7,
		CLICommand: "aiperf profile -m 'rec-model' --api-key '<redacted>'",
		Config:     aiperf.InputConfig{All: sample(t, "chat_stream")["input_config"]}, T0: t0,
		GPUs:  true,
		Start: t0.Add(time.Duration(prof.Start)), End: t0.Add(time.Duration(prof.End)),
		Phases: []aiperf.PhaseName{
			{Name: "warmup", Warmup: true, Start: warm.Start, End: warm.End},
			{Name: "profiling", Start: prof.Start, End: prof.End},
		},
	}
	return v
}

func (v *run) write(t *testing.T) []sinks.FileInfo {
	t.Helper()
	return v.writeAs(t, aiperf.Profile{JSON: true, Records: true})
}

// writeAs writes the run's files as p says.
func (v *run) writeAs(t *testing.T, p aiperf.Profile) []sinks.FileInfo {
	t.Helper()
	p.Dir, p.Info, p.Options, p.Span = v.dir, &v.info, metrics.Options{Streaming: true, Tokens: true}, v.span
	w, err := aiperf.NewWriter(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sinks.ReadJournal(v.journal, w.Add); err != nil {
		t.Fatal(err)
	}
	files, err := w.Close(&v.sum)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func load(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sample is a recorded summary, by member.
func sample(t *testing.T, name string) map[string]json.RawMessage {
	t.Helper()
	return object(t, load(t, filepath.Join("testdata", name+".json")))
}

func object(t *testing.T, b []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%v in %.200s", err, b)
	}
	return m
}

// keys are an object's keys in the order they stand in the file.
func keys(t *testing.T, b []byte) []string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	var out []string
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k.(string))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// shape is a value without its content: keys in order, and what kind of thing
// stands there; Python's readers tell 12 from 12.0.
func shape(t *testing.T, b []byte) string {
	t.Helper()
	b = bytes.TrimSpace(b)
	switch {
	case b[0] == '{':
		m := object(t, b)
		var parts []string
		for _, k := range keys(t, b) {
			parts = append(parts, k+":"+shape(t, m[k]))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case b[0] == '[':
		var l []json.RawMessage
		if err := json.Unmarshal(b, &l); err != nil {
			t.Fatal(err)
		}
		if len(l) == 0 {
			return "[]"
		}
		return "[" + shape(t, l[0]) + "]"
	case b[0] == '"':
		return "string"
	case b[0] == 't' || b[0] == 'f':
		return "bool"
	case b[0] == 'n':
		return "null"
	case bytes.ContainsAny(b, ".e"):
		return "float"
	}
	return "int"
}

// sameShape compares the members two objects share and returns how many.
func sameShape(t *testing.T, what string, got, want []byte, skip ...string) int {
	t.Helper()
	g, w := object(t, got), object(t, want)
	common := 0
	for k := range g {
		if w[k] == nil || slices.Contains(skip, k) {
			continue
		}
		common++
		if a, b := shape(t, g[k]), shape(t, w[k]); a != b {
			t.Errorf("%s: %s has shape %s, AIPerf's %s", what, k, a, b)
		}
	}
	return common
}

func TestSummaryJSONHasAIPerfsShape(t *testing.T) {
	t.Parallel()
	v := chatRun(t, nil)
	v.write(t)
	got := load(t, filepath.Join(v.dir, "profile_export_aiperf.json"))
	for _, name := range []string{"chat_stream", "warmup"} {
		want := load(t, filepath.Join("testdata", name+".json"))
		if n := sameShape(t, name, got, want, "input_config", "warmup_metrics"); n < 55 {
			t.Errorf("%s: only %d members in common", name, n)
		}
		if n := sameShape(t, name+" warmup_metrics", object(t, got)["warmup_metrics"],
			sample(t, "warmup")["warmup_metrics"]); n < 45 {
			t.Errorf("warmup_metrics: only %d members in common", n)
		}
	}
	// Everything up to the tail stands in AIPerf's order, nothing is missing.
	head := func(b []byte) []string {
		ks := keys(t, b)
		return ks[:slices.Index(ks, "end_time")+2]
	}
	want := append(slices.DeleteFunc(head(load(t, "testdata/chat_stream.json")),
		func(k string) bool { return k == "usage_completion_tokens" }), "warmup_metrics")
	if diff := cmp.Diff(want, head(got)); diff != "" {
		t.Errorf("keys up to the tail (-AIPerf +ours):\n%s", diff)
	}
	for _, line := range []string{`  "schema_version": "1.4",`, `    "avg": 24.0`, `  "was_cancelled": false,`} {
		if !strings.Contains(string(got), "\n"+line) {
			t.Errorf("no line %q", line)
		}
	}
	if bytes.HasSuffix(got, []byte("\n")) || bytes.Contains(got, []byte("NaN")) || bytes.Contains(got, []byte("Inf")) {
		t.Error("newline at the end, NaN or Inf in the file")
	}
	start := object(t, got)["start_time"]
	if string(start) != `"2026-11-21T09:30:00.283456"` { // T0 + 4 warmup requests of 40 ms, local time
		t.Errorf("start_time %s", start)
	}
}

func TestSweepRunSaysMoreAboutItself(t *testing.T) {
	t.Parallel()
	v := chatRun(t, nil)
	v.info.SweepID, v.info.RunLabel, v.info.VariationLabel, v.info.VariationIndex = "ad69",
		"run_0002", "phases.profiling.concurrency=2", 1
	v.info.VariationValues = []aiperf.Parameter{{
		Name:  "phases.profiling.concurrency",
		Value: aiperf.Plain{V: int64(2)},
	}}
	v.info.Trial, v.info.WasCancelled = 1, true
	v.write(t)
	got := object(t, load(t, filepath.Join(v.dir, "profile_export_aiperf.json")))
	want := `{benchmark_id:string sweep_id:string random_seed:int trial:int run_label:string variation_label:string variation_index:int variation_values:{phases.profiling.concurrency:int} cli_command:string}`
	if s := shape(t, got["run_info"]); s != want {
		t.Errorf("run_info %s, want %s", s, want)
	}
	cancelled := sample(t, "sigint_once")
	for _, k := range []string{"was_cancelled", "is_complete", "incomplete_reason"} {
		if !bytes.Equal(got[k], cancelled[k]) {
			t.Errorf("%s = %s, AIPerf's %s", k, got[k], cancelled[k])
		}
	}
	ready := load(t, filepath.Join(v.dir, ".aiperf_results_ready.json"))
	if string(ready) != `{"ready":true,"was_cancelled":true,"partial":false}` {
		t.Errorf("ready mark %s", ready)
	}
}

func TestSummaryCSVHasAIPerfsShape(t *testing.T) {
	t.Parallel()
	v := chatRun(t, nil)
	v.write(t)
	got, want := load(t, filepath.Join(v.dir, "profile_export_aiperf.csv")), load(t, "testdata/chat_stream.csv")
	if n := bytes.Count(got, []byte("\n")); bytes.Count(got, []byte("\r\n")) != n ||
		!bytes.HasSuffix(got, []byte("\r\n")) {
		t.Error("not every line ends in CRLF")
	}
	blocks := func(b []byte) []string { return strings.Split(string(b), "\r\n\r\n") }
	g, w := blocks(got), blocks(want)
	if len(g) != len(w) {
		t.Fatalf("%d blocks, AIPerf has %d", len(g), len(w))
	}
	if g[2] != w[2] {
		t.Errorf("GPU block %q, AIPerf's %q", g[2], w[2])
	}
	for i := range 2 {
		names := func(s string) []string {
			var out []string
			for _, l := range strings.Split(s, "\r\n") {
				out = append(out, strings.SplitN(l, ",", 2)[0])
			}
			return out
		}
		a, b := names(g[i]), names(w[i])
		a = slices.DeleteFunc(a, func(s string) bool { return !slices.Contains(b, s) })
		b = slices.DeleteFunc(b, func(s string) bool { return !slices.Contains(a, s) })
		if diff := cmp.Diff(b, a); diff != "" || len(a) < 15 {
			t.Errorf("block %d: %d names in common, order (-AIPerf +ours):\n%s", i, len(a), diff)
		}
	}
	if !strings.HasPrefix(g[0], "Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std\r\n") ||
		!strings.HasPrefix(g[1], "Metric,Value\r\n") {
		t.Errorf("headers %.80q %.20q", g[0], g[1])
	}
	for _, line := range []string{"Request Count,24.00", "Output Sequence Length (tokens),8.00,8.00,8.00,192.00,8.00"} {
		if !strings.Contains(string(got), line) {
			t.Errorf("no %q", line)
		}
	}
	v.info.GPUs = false
	v.write(t)
	if b := load(t, filepath.Join(v.dir, "profile_export_aiperf.csv")); bytes.Contains(b, []byte("GPU")) {
		t.Error("a GPU block though no GPU was asked about")
	}
}

// failures turns one request of each kind into a failure.
func failures(i int, r *record.Record) {
	kinds := map[int]record.Status{
		6: record.HTTPError, 9: record.HTTPError, 12: record.Truncated, 14: record.Cancelled,
		16: record.ParseError, 18: record.Connection,
	}
	s, ok := kinds[i]
	if !ok {
		return
	}
	r.Status, r.ErrorKind, r.ErrorMessage = s, "kind", "the server's own <words>"
	r.FirstToken, r.LastToken, r.FirstOutput, r.OSL, r.OutputTokens = record.None, record.None, record.None,
		record.None, record.None
	r.Chunks, r.UsageCompletion, r.UsagePrompt, r.UsageTotal, r.Cached = nil, record.None, record.None, record.None,
		record.None
	switch s {
	case record.HTTPError:
		r.HTTPStatus, r.End = 500, r.FirstByte+ms
	case record.Connection:
		r.HTTPStatus, r.Sent, r.WriteEnd, r.FirstByte = record.None, record.None, record.None, record.None
	}
}

func TestRecordsHaveAIPerfsShape(t *testing.T) {
	t.Parallel()
	v := chatRun(t, failures)
	v.write(t)
	lines := bytes.Split(bytes.TrimSuffix(load(t, filepath.Join(v.dir, "profile_export.jsonl")), []byte("\n")),
		[]byte("\n"))
	if len(lines) != len(v.records) {
		t.Fatalf("%d lines, want %d", len(lines), len(v.records))
	}
	want := bytes.Split(bytes.TrimSpace(load(t, "testdata/records.jsonl")), []byte("\n"))
	find := func(code string) []byte { // AIPerf's line of a kind
		for _, l := range want {
			if bytes.Contains(l, []byte(code)) {
				return l
			}
		}
		t.Fatalf("no sample with %s", code)
		return nil
	}
	for _, c := range []struct {
		what      string
		got, want []byte
	}{
		{"success", lines[5], want[0]},
		{"warmup", lines[0], find(`"phase_kind":"warmup"`)},
		{"status error", lines[6], find(`"code":500`)},
		{"cut stream", lines[12], find("ClientPayloadError")},
		{"nothing useful", lines[16], find("InvalidInferenceResultError")},
	} {
		g, w := object(t, c.got), object(t, c.want)
		// AIPerf gives a status error no request_ack_ns; the answer did come.
		a := strings.Replace(shape(t, g["metadata"]), " request_ack_ns:int", "", 1)
		b := strings.Replace(shape(t, w["metadata"]), " request_ack_ns:int", "", 1)
		if a != b {
			t.Errorf("%s: metadata %s\nAIPerf's %s", c.what, a, b)
		}
		if n := sameShape(t, c.what, g["metrics"], w["metrics"]); n == 0 || c.what == "success" && n < 25 {
			t.Errorf("%s: only %d metrics in common", c.what, n)
		}
		if (g["error"] == nil) != (w["error"] == nil) {
			t.Errorf("%s: error %s, AIPerf's %s", c.what, g["error"], w["error"])
		}
	}
	for i, e := range map[int]string{
		6:  `{"code":500,"type":"Internal Server Error","message":"the server's own <words>"}`,
		14: `{"code":499,"type":"RequestCancellationError","message":"the server's own <words>"}`,
		12: `{"type":"ClientPayloadError","message":"the server's own <words>","cause":"kind","cause_chain":["ClientPayloadError","kind"]}`,
		18: `{"type":"ClientConnectorError","message":"the server's own <words>","cause":"kind","cause_chain":["ClientConnectorError","kind"]}`,
	} {
		if got := object(t, lines[i])["error"]; string(got) != e {
			t.Errorf("record %d: error %s, want %s", i, got, e)
		}
	}
	cancelled := object(t, object(t, lines[14])["metadata"])
	if string(cancelled["was_cancelled"]) != "true" || !bytes.Equal(cancelled["cancellation_time_ns"],
		cancelled["request_end_ns"]) {
		t.Errorf("cancelled record: %s", object(t, lines[14])["metadata"])
	}
	sum := object(t, load(t, filepath.Join(v.dir, "profile_export_aiperf.json")))
	var summary []struct {
		Details json.RawMessage `json:"error_details"`
		Count   int             `json:"count"`
	}
	if err := json.Unmarshal(sum["error_summary"], &summary); err != nil || len(summary) != 5 || summary[0].Count != 2 {
		t.Errorf("error_summary %s", sum["error_summary"])
	}
	if n := sameShape(t, "errors", load(t, filepath.Join(v.dir, "profile_export_aiperf.json")),
		load(t, "testdata/errors.json"), "input_config", "error_summary", "run_info"); n < 55 {
		t.Errorf("errors: only %d members in common", n)
	}
}

// Without a success there is neither summary nor mark; the records are there.
func TestAllFailed(t *testing.T) {
	t.Parallel()
	v := chatRun(t, func(i int, r *record.Record) {
		if i >= 4 {
			failures(6, r)
		}
	})
	var names []string
	for _, f := range v.write(t) {
		names = append(names, f.Path)
	}
	if diff := cmp.Diff([]string{"profile_export.jsonl"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, name := range []string{"profile_export_aiperf.json", ".aiperf_results_ready.json"} {
		if _, err := os.Stat(filepath.Join(v.dir, name)); err == nil {
			t.Errorf("%s without a success", name)
		}
	}
}

// What was cut off at the end of the run does not count in the summary, so it
// is not among the records either.
func TestRecordsOutsideTheWindow(t *testing.T) {
	t.Parallel()
	v := chatRun(t, func(i int, r *record.Record) {
		if i == 27 {
			failures(14, r)
			r.InWindow = false
		}
	})
	v.write(t)
	if b := load(t, filepath.Join(v.dir, "profile_export.jsonl")); bytes.Count(b, []byte("\n")) != 27 ||
		bytes.Contains(b, []byte(`"error"`)) {
		t.Errorf("%d lines, want 27 without errors", bytes.Count(b, []byte("\n")))
	}
}

// Each record says which worker sent it.
func TestRecordsOfWorkers(t *testing.T) {
	t.Parallel()
	v := chatRun(t, func(i int, r *record.Record) { r.Worker = int64(i % 3) })
	v.write(t)
	lines := bytes.Split(load(t, filepath.Join(v.dir, "profile_export.jsonl")), []byte("\n"))
	for i := range 6 {
		line := bytes.ReplaceAll(lines[i], []byte(`": "`), []byte(`":"`))
		if want := fmt.Sprintf(`"worker_id":"worker_%d"`, i%3); !bytes.Contains(line, []byte(want)) {
			t.Errorf("line %d has no %s: %s", i, want, lines[i])
		}
	}
}

// seen are the failures a server can have seen.
func seen(i int, r *record.Record) {
	if i != 18 {
		failures(i, r)
	}
}

// The independent recomputation finds every number in the files, and the
// records agree with what the server saw.
func TestRecompute(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("python3 is needed in CI")
		}
		t.Skip("no python3")
	}
	for name, bad := range map[string]func(int, *record.Record){"clean": nil, "failures": seen} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := chatRun(t, bad)
			v.write(t)
			log := filepath.Join(v.dir, "server_log.jsonl")
			if err := os.WriteFile(log, v.serverLog(t), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("python3", "testdata/recompute.py", v.dir,
				log, "-v", "--late-ms", "0.3").CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte(" 0 mismatches")) {
				t.Errorf("recompute.py: %v\n%s", err, out)
			}
		})
	}
}

// serverLog is what a server 0.1 ms away would have logged.
func (v *run) serverLog(t *testing.T) []byte {
	t.Helper()
	const way = ms / 10
	var b bytes.Buffer
	for i := range v.records {
		r := &v.records[i]
		if r.Sent == record.None {
			continue
		}
		status, chunks := 200, [][]any{}
		if r.Status == record.HTTPError {
			status = 500
		}
		for _, c := range r.Chunks {
			chunks = append(chunks, []any{c.At - way, c.At - way, c.Kind.String(), 1, c.Bytes})
		}
		line := map[string]any{
			"n": i, "headers": [][]string{{"X-Request-ID", r.XRequestID}}, "recv_ns": r.Sent + way, "body_ns": r.Sent + way,
			"wall_off": v.info.T0.UnixNano(), "status": status, "chunks": chunks, "end_ns": r.End - way, "out_tok": 8,
		}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.Bytes()
}

func TestProfileNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, json, csv, records, err string }{
		{"", "profile_export_aiperf.json", "profile_export_aiperf.csv", "profile_export.jsonl", ""},
		{"run1", "run1.json", "run1.csv", "run1.jsonl", ""},
		{"run1.json", "run1.json", "run1.csv", "run1.jsonl", ""},
		{"run1.jsonl", "run1.json", "run1.csv", "run1.jsonl", ""},
		{"run1_raw.jsonl", "run1.json", "run1.csv", "run1.jsonl", ""},
		{"run1_timeslices.csv", "run1.json", "run1.csv", "run1.jsonl", ""},
		{"v1.2", "v1.2.json", "v1.2.csv", "v1.2.jsonl", ""},
		{"outputs", "outputs.json", "outputs.csv", "outputs.jsonl", ""},
		{".csv", "", "", "", "leaves no file name"},
		{"..", "", "", "", "leaves no file name"},
		{"a/b", "a/b.json", "a/b.csv", "a/b.jsonl", ""},
		{"/somewhere/foo.json", "foo.json", "foo.csv", "foo.jsonl", ""},
		{"run1.txt", "run1.txt.json", "run1.txt.csv", "run1.txt.jsonl", ""},
		{"/", "", "", "", "leaves no file name"},
		{"a/.json", "", "", "", "leaves no file name"},
		{"../x", "", "", "", "is not a path inside"},
		{"a/../../x", "", "", "", "is not a path inside"},
		{"a\\b", "", "", "", "is not a path inside"},
		{"logs/x", "", "", "", "would replace"},
		{"inputs", "", "", "", "would replace"},
		{"requests.csv", "", "", "", "would replace"},
	} {
		n, err := aiperf.ProfileNames(c.prefix)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("ProfileNames(%q) = %v, want %q", c.prefix, err, c.err)
			}
			continue
		}
		if err != nil || n.JSON != c.json || n.CSV != c.csv || n.Records != c.records {
			t.Errorf("ProfileNames(%q) = %+v, %v", c.prefix, n, err)
		}
	}
}

func TestWriteInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sessions := func(n int) iter.Seq2[string, []json.RawMessage] {
		return func(yield func(string, []json.RawMessage) bool) {
			for i := range n {
				if !yield(fmt.Sprintf("session_%06d", i), []json.RawMessage{[]byte(`{"model":"m<1>","n":[1,2]}`)}) {
					return
				}
			}
		}
	}
	for n := range 3 {
		if _, err := aiperf.WriteInputs(dir, sessions(n)); err != nil {
			t.Fatal(err)
		}
		got := load(t, filepath.Join(dir, "inputs.json"))
		var v any
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatalf("%d sessions: %v\n%s", n, err, got)
		}
		var whole bytes.Buffer
		if err := json.Indent(&whole, got, "", "  "); err != nil || whole.String() != string(got) {
			t.Errorf("%d sessions: not indented by two:\n%s", n, got)
		}
		if l := len(v.(map[string]any)["data"].([]any)); l != n || n > 0 && !bytes.Contains(got, []byte("m<1>")) {
			t.Errorf("%d sessions: %d in the file\n%s", n, l, got)
		}
	}
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v := chatRun(t, nil)
	a := &aiperf.Aggregate{Version: "0.1.0", Level: 0.95, Failed: []aiperf.FailedRun{}}
	for i, x := range []float64{10, 12, 14} {
		s := metrics.Summary{Stats: slices.Clone(v.sum.Stats)}
		for k := range s.Stats {
			if s.Stats[k].Tag == "request_throughput" {
				s.Stats[k].Avg = x
			}
		}
		a.Runs = append(a.Runs, aiperf.AggregateRun{Label: fmt.Sprintf("run_%04d", i+1), Summary: &s})
	}
	if _, err := aiperf.WriteAggregate(dir, a); err != nil {
		t.Fatal(err)
	}
	got, want := load(t, filepath.Join(dir, "profile_export_aiperf_aggregate.json")), load(t, "testdata/aggregate.json")
	if a, b := keys(t, got), keys(t, want); !slices.Equal(a, b) {
		t.Errorf("keys %q, AIPerf's %q", a, b)
	}
	if a, b := shape(t, object(t, got)["metadata"]), shape(t, object(t, want)["metadata"]); a != b {
		t.Errorf("metadata %s, AIPerf's %s", a, b)
	}
	m := object(t, object(t, got)["metrics"])
	// mean 12, s = 2, se = 2/√3, t(0.975, 2) = 4.30265: 12 ∓ 4.9683
	var row map[string]any
	if err := json.Unmarshal(m["request_throughput_avg"], &row); err != nil {
		t.Fatal(err)
	}
	for k, x := range map[string]float64{
		"mean": 12, "std": 2, "min": 10, "max": 14, "cv": 1. / 6,
		"se": 1.1547005383792517, "ci_low": 7.031724, "ci_high": 16.968276, "t_critical": 4.302652729749462,
	} {
		if d := row[k].(float64) - x; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s = %v, want %v", k, row[k], x)
		}
	}
	if a, b := shape(t, m["request_throughput_avg"]),
		shape(t, object(t, object(t, want)["metrics"])["request_throughput_avg"]); a != b {
		t.Errorf("row %s, AIPerf's %s", a, b)
	}
	text := string(load(t, filepath.Join(dir, "profile_export_aiperf_aggregate.csv")))
	tail := text[strings.Index(text, "\r\n\r\n"):]
	sampleText := string(load(t, "testdata/aggregate.csv"))
	if want := sampleText[strings.Index(sampleText, "\r\n\r\n"):]; tail != want {
		t.Errorf("metadata block %q, AIPerf's %q", tail, want)
	}
	if !strings.Contains(text, "\r\nrequest_throughput_avg,12.00,2.00,10.00,14.00,0.1667,1.1547,7.03,16.97,4.3027,requests/sec\r\n") {
		t.Errorf("no right row for request_throughput_avg in\n%.400s", text)
	}
}

// One trial has no spread: what AIPerf prints as 0 and as an interval without
// width is null.
func TestAggregateOfOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v := chatRun(t, nil)
	a := &aiperf.Aggregate{
		Version: "0.1.0", Level: 0.95, VariationLabel: "phases.profiling.concurrency=1", SweepMode: "repeated",
		Model:           "rec-model",
		VariationValues: []aiperf.Parameter{{Name: "phases.profiling.concurrency", Value: aiperf.Plain{V: int64(1)}}},
		Runs:            []aiperf.AggregateRun{{Label: "run_0001", Summary: &v.sum}},
	}
	if _, err := aiperf.WriteAggregate(dir, a); err != nil {
		t.Fatal(err)
	}
	got, want := load(t, filepath.Join(dir, "profile_export_aiperf_aggregate.json")),
		load(t, "testdata/aggregate_cell.json")
	if a, b := string(compact(t, object(t, got)["metadata"])), string(compact(t, object(t, want)["metadata"])); a != b {
		t.Errorf("metadata %s\nAIPerf's %s", a, b)
	}
	row := shape(t, object(t, object(t, got)["metrics"])["request_throughput_avg"])
	if want := "{mean:float std:null min:float max:float cv:null se:null ci_low:null ci_high:null t_critical:null unit:string}"; row != want {
		t.Errorf("row %s, want %s", row, want)
	}
}

func compact(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSweep(t *testing.T) {
	t.Parallel()
	v := chatRun(t, nil)
	// throughput and TTFT p99 of three cells: the third is beaten by the second
	point := [][2]float64{{10, 50}, {20, 60}, {19, 70}}
	for _, trials := range []int{1, 2} {
		dir := t.TempDir()
		s := &aiperf.SweepSummary{
			Parameters: []aiperf.SweepParameter{{
				Path:   "phases.profiling.concurrency",
				Values: aiperf.Plains([]any{int64(1), int64(2), int64(4)}),
			}},
			NumRuns: 3 * trials, Successful: 3 * trials, Mode: "repeated", Level: 0.95, Trials: trials,
		}
		for i, p := range point {
			c := aiperf.SweepCell{Point: []aiperf.Parameter{{
				Name:  "phases.profiling.concurrency",
				Value: s.Parameters[0].Values[i],
			}}}
			for range trials {
				sum := &metrics.Summary{Stats: slices.Clone(v.sum.Stats)}
				for k := range sum.Stats {
					switch sum.Stats[k].Tag {
					case "request_throughput":
						sum.Stats[k].Avg = p[0]
					case "time_to_first_token":
						sum.Stats[k].P99 = p[1]
					}
				}
				c.Runs = append(c.Runs, sum)
			}
			s.Cells = append(s.Cells, c)
		}
		if _, err := aiperf.WriteSweep(dir, s); err != nil {
			t.Fatal(err)
		}
		got := object(t, load(t, filepath.Join(dir, "profile_export_aiperf_sweep.json")))
		if trials == 1 {
			want := load(t, "testdata/sweep.json")
			if a, b := keys(t, load(t, filepath.Join(dir, "profile_export_aiperf_sweep.json"))),
				keys(t, want); !slices.Equal(a, b) {
				t.Errorf("keys %q, AIPerf's %q", a, b)
			}
			if a, b := string(compact(t, got["metadata"])), string(compact(t, object(t, want)["metadata"])); a != b {
				t.Errorf("metadata %s\nAIPerf's %s", a, b)
			}
			rowShape(t, got["per_combination_metrics"], object(t, want)["per_combination_metrics"])
		}
		if g := string(got["pareto_optimal"]); g != `[{"concurrency":1},{"concurrency":2}]` {
			t.Errorf("%d trials: pareto_optimal %s", trials, g)
		}
		if g := string(got["best_configurations"]); g != `{"best_throughput":{"parameters":{"concurrency":2},"metric":20.0,"unit":"requests/sec"},"best_latency_p99":{"parameters":{"concurrency":1},"metric":50.0,"unit":"ms"}}` {
			t.Errorf("%d trials: best_configurations %s", trials, g)
		}
		text := string(load(t, filepath.Join(dir, "profile_export_aiperf_sweep.csv")))
		for _, part := range []string{
			"\r\n\r\nBest Configurations\r\nConfiguration,concurrency,Metric,Unit\r\nBest Throughput,2,20.00,requests/sec\r\nBest Latency P99,1,50.00,ms\r\n",
			"\r\n\r\nPareto Optimal Points\r\nconcurrency\r\n1\r\n2\r\n\r\nMetadata\r\nField,Value\r\nAggregation Type,sweep\r\nSweep Parameters,concurrency\r\nNumber of Combinations,3\r\n",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%d trials: no %q in ...%q", trials, part, text[max(0, len(text)-500):])
			}
		}
	}
}

// Two axes whose paths end with the same word have their whole paths as names,
// and a third keeps its short one: as AIPerf writes a sweep of both lengths.
func TestSweepOfBothLengths(t *testing.T) {
	t.Parallel()
	v := chatRun(t, nil)
	const isl, osl, slots = "datasets.default.prompts.isl.mean", "datasets.default.prompts.osl.mean",
		"phases.profiling.concurrency"
	s := &aiperf.SweepSummary{
		Parameters: []aiperf.SweepParameter{
			{Path: isl, Values: aiperf.Plains([]any{20, 30})},
			{Path: osl, Values: aiperf.Plains([]any{4})},
			{Path: slots, Values: aiperf.Plains([]any{1})},
		},
		NumRuns: 2, Successful: 2, Mode: "repeated", Level: 0.95, Trials: 1,
	}
	for _, n := range []any{20, 30} {
		s.Cells = append(s.Cells, aiperf.SweepCell{
			Point: []aiperf.Parameter{
				{Name: isl, Value: aiperf.Plain{V: n}},
				{Name: osl, Value: aiperf.Plain{V: 4}},
				{Name: slots, Value: aiperf.Plain{V: 1}},
			}, Runs: []*metrics.Summary{&v.sum},
		})
	}
	dir := t.TempDir()
	if _, err := aiperf.WriteSweep(dir, s); err != nil {
		t.Fatal(err)
	}
	text := string(compact(t, load(t, filepath.Join(dir, "profile_export_aiperf_sweep.json"))))
	for _, part := range []string{
		`"sweep_parameters":[{"name":"` + isl + `","values":[20,30]},{"name":"` + osl +
			`","values":[4]},{"name":"concurrency","values":[1]}]`,
		`"parameters":{"` + isl + `":20,"` + osl + `":4,"concurrency":1}`,
		`"parameters":{"` + isl + `":30,"` + osl + `":4,"concurrency":1}`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the JSON file lacks %s:\n%.600s", part, text)
		}
	}
	if text := string(load(t, filepath.Join(dir, "profile_export_aiperf_sweep.csv"))); !strings.HasPrefix(text,
		isl+","+osl+",concurrency,") || !strings.Contains(text, "\r\n30,4,1,") {
		t.Errorf("the CSV file is %.400q", text)
	}
}

// rowShape compares a metric of the first cell: the same keys in the same
// order; what one run cannot tell is null instead of 0.
func rowShape(t *testing.T, got, want json.RawMessage) {
	t.Helper()
	first := func(b json.RawMessage) map[string]json.RawMessage {
		var l []struct {
			Parameters, Metrics json.RawMessage
		}
		if err := json.Unmarshal(b, &l); err != nil {
			t.Fatal(err)
		}
		return object(t, l[0].Metrics)
	}
	g, w := first(got), first(want)
	for _, tag := range []string{"request_throughput", "time_to_first_token"} {
		if a, b := keys(t, g[tag]), keys(t, w[tag]); !slices.Equal(a, b) {
			t.Errorf("%s has keys %q, AIPerf's %q", tag, a, b)
		}
		if r := object(t, g[tag]); string(r["ci_low"]) != "null" || string(r["std"]) != "null" {
			t.Errorf("%s: an interval from one run: %s", tag, g[tag])
		}
	}
}
