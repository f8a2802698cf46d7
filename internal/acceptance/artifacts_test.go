package acceptance

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// scenario is a run of AIPerf 0.13 that was recorded.
type scenario struct {
	Name       string
	Argv       []string
	ServerArgs []string `json:"server_args"`
	Files      []string
}

// The same command lines against the same server give files of AIPerf's shape:
// names, keys and their order, units, statistics, counts and tokens. What
// differs is on aiperf.Differences.
func TestArtifactsHaveAIPerfsShape(t *testing.T) {
	t.Parallel()
	allowed := newAllowance()
	for _, s := range lines[scenario](t, recording("scenarios.jsonl")) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			c := &comparison{T: t, scenario: s, allowed: allowed, ours: replay(t, s), theirs: recording(s.Name)}
			c.files()
			c.each("profile_export_aiperf.json", c.summary)
			c.each("profile_export_aiperf.csv", c.summaryCSV)
			c.each("profile_export.jsonl", c.records)
			c.each("profile_export_raw.jsonl", c.raw)
			c.each("run_config.json", c.document)
			c.each("phase_manifest.json", c.document)
			c.each("outputs.json", c.outputs)
			c.each("profile_export_aiperf_timeslices.json", c.slices)
			c.each("profile_export_aiperf_timeslices.csv", c.sliceCSV)
			c.recomputed()
		})
	}
}

func recording(parts ...string) string {
	return filepath.Join(append([]string{"..", "..", "testdata", "aiperf", "artifacts"}, parts...)...)
}

// replay starts the recorded server and runs the scenario against it.
func replay(t *testing.T, s scenario) string {
	t.Helper()
	py, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("python3 is needed in CI")
		}
		t.Skip("no python3")
	}
	dir := t.TempDir()
	server := exec.Command(py, append([]string{
		filepath.Join(repository(t), "testdata", "tools", "recserver.py"),
		"--log", filepath.Join(dir, "server.jsonl"),
	}, s.ServerArgs...)...)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	port, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ready {
		t.Fatalf("the server said %q, %v", line, err)
	}
	args := []string{"profile"}
	for _, arg := range s.Argv {
		args = append(args, strings.NewReplacer("PORT", port, "TOKDIR", "builtin").Replace(arg))
	}
	cmd := exec.Command(built(t), args...)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 4 {
		t.Fatalf("aiperf %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	return filepath.Join(dir, "out")
}

// allowance is aiperf.Differences, to be asked.
type allowance map[aiperf.Difference]bool

func newAllowance() allowance {
	a := allowance{}
	for _, d := range aiperf.Differences() {
		d.Why = ""
		a[d] = true
	}
	return a
}

func (a allowance) has(kind aiperf.DifferenceKind, what string) bool {
	return a[aiperf.Difference{Kind: kind, What: what}]
}

// comparison is one scenario's files beside AIPerf's.
type comparison struct {
	*testing.T
	scenario     scenario
	allowed      allowance
	ours, theirs string
}

// each compares every recorded file of a name, in whatever directory.
func (c *comparison) each(name string, compare func(where string, ours, theirs []byte)) {
	err := filepath.WalkDir(c.theirs, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != name {
			return err
		}
		rel, err := filepath.Rel(c.theirs, path)
		if err != nil {
			return err
		}
		theirs, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		ours, err := os.ReadFile(filepath.Join(c.ours, rel))
		if err != nil {
			c.Errorf("%v", err)
			return nil
		}
		compare(rel, ours, theirs)
		return nil
	})
	if err != nil {
		c.Fatal(err)
	}
}

// files: all that AIPerf writes.
func (c *comparison) files() {
	for _, f := range c.scenario.Files {
		if _, err := os.Stat(filepath.Join(c.ours, f)); err != nil && !c.allowed.has(aiperf.Absent, filepath.Base(f)) {
			c.Errorf("no %s", f)
		}
	}
}

// recomputed: the records support what the summaries say.
func (c *comparison) recomputed() {
	runs, err := aiperf.RecheckDirs(c.ours)
	if err != nil || len(runs) == 0 {
		c.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, dir := range runs {
		r, err := aiperf.RecheckProfile(dir)
		if err != nil {
			c.Fatal(err)
		}
		for _, b := range r.Bad {
			c.Errorf("%s: %s", dir, b)
		}
	}
}

// members decodes an object and gives its keys in order.
func members(t *testing.T, raw []byte) (map[string]json.RawMessage, []string) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%v in %.100s", err, raw)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	var keys []string
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, fmt.Sprint(k))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return m, keys
}

// same keys, but for the differences that are listed; ordered says that those
// in common come in one order.
func (c *comparison) keys(where string, ours, theirs []string, ordered bool) {
	c.Helper()
	for _, k := range theirs {
		if !slices.Contains(ours, k) && !c.allowed.has(aiperf.Absent, k) {
			c.Errorf("%s: no %s", where, k)
		}
	}
	for _, k := range ours {
		if !slices.Contains(theirs, k) && !c.allowed.has(aiperf.Added, k) {
			c.Errorf("%s: %s is not AIPerf's", where, k)
		}
	}
	common := func(a, b []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(a), func(k string) bool { return !slices.Contains(b, k) }),
			" ")
	}
	if a, b := common(ours, theirs), common(theirs, ours); ordered && a != b {
		c.Errorf("%s: order\n%s\nAIPerf's\n%s", where, a, b)
	}
}

func (c *comparison) summary(where string, ours, theirs []byte) {
	a, ak := members(c.T, ours)
	b, bk := members(c.T, theirs)
	c.keys(where, ak, bk, false)
	upTo := func(keys []string) []string { return keys[:slices.Index(keys, "end_time")+1] }
	c.keys(where+" head", both(upTo(ak), upTo(bk)), both(upTo(bk), upTo(ak)), true)
	for tag := range b {
		if a[tag] != nil {
			c.metric(where+": "+tag, tag, a[tag], b[tag])
		}
	}
	for _, k := range []string{"schema_version", "aiperf_version", "was_cancelled", "is_complete"} {
		if !bytes.Equal(a[k], b[k]) {
			c.Errorf("%s: %s %s, AIPerf's %s", where, k, a[k], b[k])
		}
	}
	c.values(where+": input_config", a["input_config"], b["input_config"])
	_, ar := members(c.T, a["run_info"])
	_, br := members(c.T, b["run_info"])
	c.keys(where+": run_info", ar, br, true)
	if (compact(c.T, b["error_summary"]) == "[]") != (compact(c.T, a["error_summary"]) == "[]") {
		c.Errorf("%s: error_summary %s", where, a["error_summary"])
	}
	if w, ok := b["warmup_metrics"]; ok {
		_, mine := members(c.T, a["warmup_metrics"])
		_, them := members(c.T, w)
		c.keys(where+": warmup_metrics", mine, them, false)
	}
}

// both are the members of a that are in b.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(k string) bool { return !slices.Contains(b, k) })
}

// exact are the metrics whose numbers do not depend on time or tokenizer.
var exact = []string{
	"request_count", "error_request_count", "completed_request_count", "request_error_rate", "output_sequence_length", "output_token_count",
	"reasoning_token_count", "total_osl", "total_output_tokens", "total_reasoning_tokens", "usage_completion_tokens", "usage_reasoning_tokens",
	"total_usage_completion_tokens", "total_usage_reasoning_tokens", "osl_mismatch_count", "osl_mismatch_diff_pct", "context_overflow_count",
	"usage_completion_tokens_diff_pct", "http_req_chunks_sent", "http_req_blocked", "http_req_dns_lookup",
}

// metric: unit, statistics and their order; the numbers where they must agree.
func (c *comparison) metric(where, tag string, ours, theirs []byte) {
	var b struct{ Unit string }
	if json.Unmarshal(theirs, &b) != nil || b.Unit == "" {
		return
	}
	a, ak := members(c.T, ours)
	t, bk := members(c.T, theirs)
	if !strings.HasPrefix(tag, "adj_") { // which of its statistics are finite is chance
		c.keys(where, ak, bk, true)
	}
	if !bytes.Equal(a["unit"], t["unit"]) {
		c.Errorf("%s: unit %s, AIPerf's %s", where, a["unit"], t["unit"])
	}
	if !bytes.Equal(a["count"], t["count"]) && !c.allowed.has(aiperf.Counted, tag) && !strings.HasPrefix(tag, "adj_") {
		c.Errorf("%s: count %s, AIPerf's %s", where, a["count"], t["count"])
	}
	// in slices it is chance which request is where
	if slices.Contains(exact, tag) && !strings.Contains(where, "timeslices") &&
		compact(c.T, ours) != compact(c.T, theirs) {
		c.Errorf("%s: %s\nAIPerf's %s", where, ours, theirs)
	}
}

// compact is JSON without its spaces.
func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// values: every leaf of a configuration, with its type.
func (c *comparison) values(where string, ours, theirs []byte) {
	a, b := leaves(c.T, ours), leaves(c.T, theirs)
	for path, want := range b {
		got, ok := a[path]
		switch {
		case strings.Contains(path, "endpoint.headers.") && ok && strings.Contains(got, "<redacted>"):
			// docs/differences.md: values of unknown headers are masked
		case !ok:
			c.Errorf("%s%s: absent, AIPerf's %s", where, path, want)
		case got != want && !slices.Contains([]string{
			".endpoint.urls.0", ".artifacts.dir", ".tokenizer.name",
			".cfg.endpoint.urls.0", ".cfg.artifacts.dir", ".cfg.tokenizer.name",
		}, path):
			c.Errorf("%s%s: %s, AIPerf's %s", where, path, got, want)
		}
	}
	for path, got := range a {
		if _, ok := b[path]; !ok {
			c.Errorf("%s%s: %s is not AIPerf's", where, path, got)
		}
	}
}

// leaves are the values of a document by path, as they are written: 40.0 is
// not 40.
func leaves(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %.100s", err, raw)
	}
	out := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				walk(path+"."+k, x)
			}
			if len(v) == 0 {
				out[path] = "{}"
			}
		case []any:
			for i, x := range v {
				walk(fmt.Sprintf("%s.%d", path, i), x)
			}
			if len(v) == 0 {
				out[path] = "[]"
			}
		default:
			out[path] = fmt.Sprintf("%T %v", v, v)
		}
	}
	walk("", v)
	return out
}

// document: the same paths, whatever the values.
func (c *comparison) document(where string, ours, theirs []byte) {
	if strings.HasSuffix(where, "run_config.json") {
		a, ak := members(c.T, ours)
		b, bk := members(c.T, theirs)
		c.keys(where, ak, bk, true)
		c.values(where, []byte(`{"cfg":`+string(a["cfg"])+"}"), []byte(`{"cfg":`+string(b["cfg"])+"}"))
		return
	}
	a, b := leaves(c.T, ours), leaves(c.T, theirs)
	for path := range b {
		if _, ok := a[path]; !ok {
			c.Errorf("%s: no %s", where, path)
		}
	}
	for path, got := range a {
		want, ok := b[path]
		if !ok {
			c.Errorf("%s: %s is not AIPerf's", where, path)
			continue
		}
		if last := path[strings.LastIndexByte(path, '.')+1:]; strings.HasSuffix(last, "_count") ||
			strings.HasPrefix(last, "phase_") || strings.HasPrefix(last, "metrics_") || last == "profiling_index" {
			if got != want {
				c.Errorf("%s%s: %s, AIPerf's %s", where, path, got, want)
			}
		}
	}
}

// records: of each kind of record the first.
func (c *comparison) records(where string, ours, theirs []byte) {
	mine, them := firstOfKind(c.T, ours), firstOfKind(c.T, theirs)
	for kind, line := range them {
		got, ok := mine[kind]
		if !ok {
			c.Errorf("%s: no record of the kind %s", where, kind)
			continue
		}
		c.record(where+": "+kind, got, line)
	}
}

func (c *comparison) record(where string, ours, theirs []byte) {
	a, ak := members(c.T, ours)
	b, bk := members(c.T, theirs)
	c.keys(where, ak, bk, true)
	for _, part := range []string{"metadata", "trace_data", "error"} {
		if a[part] == nil || b[part] == nil {
			continue
		}
		_, x := members(c.T, a[part])
		_, y := members(c.T, b[part])
		c.keys(where+" "+part, x, y, true)
	}
	if a["metrics"] == nil {
		return
	}
	am, amk := members(c.T, a["metrics"])
	bm, bmk := members(c.T, b["metrics"])
	c.keys(where+" metrics", amk, bmk, false)
	for tag, m := range bm {
		var x, y struct{ Unit string }
		if am[tag] == nil {
			continue
		}
		if json.Unmarshal(m, &y) != nil || json.Unmarshal(am[tag], &x) != nil || x != y {
			c.Errorf("%s: %s is in %q, AIPerf's in %q", where, tag, x.Unit, y.Unit)
		}
	}
}

// firstOfKind are the first successes and failures of each type.
func firstOfKind(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for line := range bytes.Lines(b) {
		var r struct {
			Metadata struct {
				Kind string `json:"phase_kind"`
			}
			Error *struct{ Type string }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		kind := r.Metadata.Kind
		if r.Error != nil {
			kind += " " + r.Error.Type
		}
		if out[kind] == nil {
			out[kind] = bytes.Clone(line)
		}
	}
	return out
}

func (c *comparison) raw(where string, ours, theirs []byte) {
	first := func(b []byte) []byte { line, _, _ := bytes.Cut(b, []byte("\n")); return line }
	ours, theirs = first(ours), first(theirs)
	c.record(where, ours, theirs)
	a, b := leaves(c.T, ours), leaves(c.T, theirs)
	for path := range b {
		if _, ok := a[path]; !ok {
			c.Errorf("%s: no %s", where, path)
		}
	}
	for _, same := range []string{
		".status", ".payload.model", ".payload.stream", ".payload.max_completion_tokens",
		".request_headers.X-Session-Affinity", ".responses.11.packets.0.value",
	} {
		if a[same] != b[same] {
			c.Errorf("%s%s: %s, AIPerf's %s", where, same, a[same], b[same])
		}
	}
	if strings.Contains(string(ours), "\n") {
		c.Errorf("%s: a line is not one line", where)
	}
}

func (c *comparison) outputs(where string, ours, theirs []byte) {
	var a, b struct {
		Data []json.RawMessage
	}
	for _, f := range []struct {
		raw []byte
		to  any
	}{{ours, &a}, {theirs, &b}} {
		if err := json.Unmarshal(f.raw, f.to); err != nil {
			c.Fatal(err)
		}
	}
	_, ak := members(c.T, ours)
	_, bk := members(c.T, theirs)
	c.keys(where, ak, bk, true)
	am, ak := members(c.T, a.Data[0])
	bm, bk := members(c.T, b.Data[0])
	c.keys(where+" entry", ak, bk, true)
	_, ak = members(c.T, am["metrics"])
	_, bk = members(c.T, bm["metrics"])
	c.keys(where+" entry's metrics", ak, bk, true)
	last := int64(-1)
	for _, e := range a.Data {
		var x struct {
			Session int64  `json:"session_num"`
			Text    string `json:"response_text"`
		}
		if err := json.Unmarshal(e, &x); err != nil || x.Session <= last || x.Text == "" {
			c.Errorf("%s: %.200s after session %d, %v", where, e, last, err)
		}
		last = x.Session
	}
}

func (c *comparison) slices(where string, ours, theirs []byte) {
	var a, b struct {
		Slices []json.RawMessage `json:"timeslices"`
	}
	if err := json.Unmarshal(ours, &a); err != nil {
		c.Fatal(err)
	}
	if err := json.Unmarshal(theirs, &b); err != nil {
		c.Fatal(err)
	}
	_, ak := members(c.T, ours)
	_, bk := members(c.T, theirs)
	c.keys(where, ak, bk, true)
	if len(a.Slices) < 3 {
		c.Fatalf("%s: %d slices", where, len(a.Slices))
	}
	total := 0.0
	for i, s := range a.Slices {
		m, keys := members(c.T, s)
		t, want := members(c.T, b.Slices[0])
		var at struct {
			Start int64 `json:"start_ns"`
			End   int64 `json:"end_ns"`
			Whole *bool `json:"is_complete"`
		}
		if err := json.Unmarshal(s, &at); err != nil {
			c.Fatal(err)
		}
		if at.Whole != nil {
			t, want = members(c.T, b.Slices[len(b.Slices)-1])
		}
		if length := at.End - at.Start; length > 5e8 || (length == 5e8) != (at.Whole == nil) {
			c.Errorf("%s: slice %d of %d ns, is_complete %v", where, i, length, at.Whole)
		}
		c.keys(fmt.Sprintf("%s slice %d", where, i), keys, want, false)
		for tag := range t {
			var shape struct{ Unit string }
			if json.Unmarshal(t[tag], &shape) == nil && shape.Unit != "" && m[tag] != nil {
				var x struct{ Unit string }
				if err := json.Unmarshal(m[tag], &x); err != nil || x != shape {
					c.Errorf("%s slice %d: %s in %q, AIPerf's in %q", where, i, tag, x.Unit, shape.Unit)
				}
			}
		}
		var n struct {
			Avg float64
		}
		if err := json.Unmarshal(m["request_count"], &n); err != nil {
			c.Fatal(err)
		}
		total += n.Avg
	}
	if total != 40 {
		c.Errorf("%s: %v requests in all slices, 40 were sent", where, total)
	}
}

func (c *comparison) sliceCSV(where string, ours, theirs []byte) {
	a, b := csvRows(c.T, ours), csvRows(c.T, theirs)
	if strings.Join(a[0], ",") != strings.Join(b[0], ",") {
		c.Errorf("%s: %v, AIPerf's %v", where, a[0], b[0])
	}
	rows := map[string]bool{}
	for _, r := range a {
		rows[strings.Join(r[3:6], ",")] = true
	}
	for _, r := range b[1:] {
		if !rows[strings.Join(r[3:6], ",")] {
			c.Errorf("%s: no row %v", where, r[3:6])
		}
	}
}

// summaryCSV: the blocks, their rows in order and the columns.
func (c *comparison) summaryCSV(where string, ours, theirs []byte) {
	for _, b := range [][]byte{ours, theirs} {
		if bytes.Count(b, []byte("\n")) != bytes.Count(b, []byte("\r\n")) {
			c.Errorf("%s: line ends", where)
		}
	}
	headers := map[string]string{} // header → tag
	for tag, h := range metricHeaders() {
		headers[h] = tag
	}
	names := func(rows [][]string) []string {
		var out []string
		for _, r := range rows {
			name := r[0]
			if name == "Endpoint" || strings.HasPrefix(name, "http") {
				continue
			}
			if i := strings.LastIndex(name, " ("); i > 0 && headers[name[:i]] != "" {
				name = name[:i]
			}
			if tag := headers[name]; tag != "" {
				name = tag
			}
			out = append(out, name)
		}
		return out
	}
	c.keys(where, names(csvRows(c.T, ours)), names(csvRows(c.T, theirs)), true)
}

func csvRows(t *testing.T, b []byte) [][]string {
	t.Helper()
	in := csv.NewReader(bytes.NewReader(b))
	in.FieldsPerRecord = -1
	rows, err := in.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// metricHeaders are the names of the metrics by their tags.
func metricHeaders() map[string]string {
	out := map[string]string{}
	for _, m := range metrics.Catalogue() {
		out[m.Tag] = m.Header
	}
	return out
}
