package sinks

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// Profile is one finished run, about to be written as AIPerf writes it.
type Profile struct {
	Dir, Prefix string
	Journal     string // path
	Info        *RunInfo
	Summary     *metrics.Summary
	Options     metrics.Options // what the phases and slices are summed up with

	JSON, Records bool          // artifacts.summary, artifacts.records
	Slice         time.Duration // artifacts.slice_duration, 0 for none
	Trace         string        // path of what Details kept for trace_data, "" for none
	ShowTrace     bool          // artifacts.show_trace_timing
	Title         string        // of the console's tables: LLM, Embeddings, …
	Log           string        // where the log is, for the console's last lines
}

// Write writes the run's AIPerf files: the records of its journal as JSON lines
// and, when at least one request succeeded, the summaries of the run, of its
// phases and its slices. Last comes the mark that the results are complete.
func (p *Profile) Write() ([]FileInfo, error) {
	names, err := ProfileNames(p.Prefix)
	if err != nil {
		return nil, err
	}
	w, err := newProfileWriter(p, names)
	if err != nil {
		return nil, err
	}
	if err := w.readJournal(); err != nil {
		return nil, err
	}
	if w.ok > 0 {
		if err := w.writeSummaries(); err != nil {
			return w.files, err
		}
	}
	return w.files, writeReady(p.Dir, names.Ready, p.Info)
}

// profileWriter goes through a run's journal once and writes its files.
type profileWriter struct {
	*Profile
	names  Names
	lines  *recordWriter
	traces *traceReader
	phases []*phaseResult
	slicer *metrics.Slicer
	errors errorSummary
	ok     int64
	files  []FileInfo
}

func newProfileWriter(p *Profile, names Names) (*profileWriter, error) {
	w := &profileWriter{Profile: p, names: names, lines: newRecordWriter(p.Info, p.Summary)}
	w.phases = newPhases(p)
	if p.Slice > 0 {
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		_, err := ReadMeasured(p.Journal, func(r *record.Record) error {
			if !r.Warmup && r.InWindow && r.Sent != record.None && r.End != record.None {
				first, last = min(first, r.Sent), max(last, r.End)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		w.slicer = metrics.NewSlicer(p.Options, metrics.Window{Start: first, End: last}, int64(p.Slice))
	}
	return w, nil
}

// readJournal writes the lines of the records and counts the rest.
func (w *profileWriter) readJournal() error {
	if !w.Records {
		_, err := ReadMeasured(w.Journal, func(r *record.Record) error { w.note(r); return nil })
		return err
	}
	a, err := createArtifact(w.Dir, w.names.Records)
	if err != nil {
		return err
	}
	defer a.f.Abort()
	if w.Trace != "" {
		if w.traces, err = openTraces(w.Trace); err != nil {
			return err
		}
		defer w.traces.close()
	}
	rows := int64(0)
	_, err = ReadJournal(w.Journal, func(r *record.Record) error {
		kept, err := w.traces.next()
		if err != nil || !w.note(r) {
			return err
		}
		rows++
		_, err = a.Write(w.lines.line(r, kept))
		return err
	})
	if err != nil {
		return err
	}
	f, err := a.commit("records", "", rows)
	w.files = append(w.files, f)
	return err
}

// note counts a record and tells whether it belongs into the files: warmup and
// what ended inside the profiling window. What was cut off at the end of the
// run is in the tables only, as the summary does not count it.
func (w *profileWriter) note(r *record.Record) bool {
	if w.slicer != nil {
		w.slicer.Add(r)
	}
	for _, p := range w.phases {
		if p.Name == r.Phase {
			p.add(r)
		}
	}
	switch {
	case r.Warmup:
	case !r.InWindow:
		return false
	case r.Failed():
		w.errors.add(errorDetails(r))
	default:
		w.ok++
	}
	return true
}

// writeSummaries writes what a run with at least one success has.
func (w *profileWriter) writeSummaries() error {
	w.Info.Warmup = warmupOf(w.phases)
	if err := w.writePhases(); err != nil {
		return err
	}
	if err := w.writeSummary(w.Dir, w.Info, w.Summary, w.errors.list()); err != nil {
		return err
	}
	if err := w.writeSlices(); err != nil {
		return err
	}
	return w.writeConsole()
}

func (w *profileWriter) writeSummary(dir string, info *RunInfo, sum *metrics.Summary, errs []object) error {
	if w.JSON {
		b, err := summaryJSON(info, sum, errs)
		if err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(dir, w.names.JSON), err)
		}
		if err := w.put(dir, w.names.JSON, "summary", b); err != nil {
			return err
		}
	}
	return w.put(dir, w.names.CSV, "summary", summaryCSV(sum, info.Telemetry != nil))
}

// put writes a small file and remembers it.
func (w *profileWriter) put(dir, name, kind string, data []byte) error {
	f, err := writeArtifact(dir, name, kind, data)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(w.Dir, filepath.Join(dir, name))
	if err != nil {
		return err
	}
	f.Path = filepath.ToSlash(rel)
	w.files = append(w.files, f)
	return nil
}

// headOrder are the metrics that stand before the run's own members; the
// others follow after them.
func headOrder() []string {
	return []string{
		"request_throughput", "request_latency", "request_count", "time_to_first_token", "time_to_second_token",
		"inter_token_latency", "output_token_throughput", "output_token_throughput_per_user", "output_sequence_length",
		"input_sequence_length", "goodput", "good_request_count", "output_token_count", "reasoning_token_count",
		"inter_chunk_latency", "total_output_tokens", "total_reasoning_tokens", "benchmark_duration", "total_isl",
		"total_osl", "error_request_count", "error_isl", "total_error_isl",
	}
}

// summaryJSON is profile_export_aiperf.json, schema 1.4.
func summaryJSON(info *RunInfo, sum *metrics.Summary, errs []object) ([]byte, error) {
	head := headOrder()
	o := object{}.with("schema_version", "1.4").with("aiperf_version", info.Version).with("benchmark_id", info.BenchmarkID)
	for _, tag := range head {
		if s, ok := sum.Get(tag); ok {
			o = o.with(tag, statJSON(s))
		}
	}
	if info.Telemetry != nil {
		o = o.with("telemetry_data", info.Telemetry)
	}
	input, err := info.Config.json()
	if err != nil {
		return nil, err
	}
	o = o.with("input_config", input).with("run_info", info.runInfo()).
		with("was_cancelled", info.WasCancelled).with("is_complete", info.complete())
	if !info.complete() {
		o = o.with("incomplete_reason", info.incompleteReason())
	}
	o = o.with("error_summary", errs).with("start_time", localTime(info.Start)).with("end_time", localTime(info.End))
	if info.Warmup != nil {
		o = o.with("warmup_metrics", allStats(info.Warmup))
	}
	for _, s := range sum.Stats {
		if !slices.Contains(head, s.Tag) {
			o = o.with(s.Tag, statJSON(s))
		}
	}
	return indented(o)
}

func allStats(sum *metrics.Summary) object {
	o := object{}
	for _, s := range sum.Stats {
		o = o.with(s.Tag, statJSON(s))
	}
	return o
}

// jsonStats are the statistics of a distribution, in AIPerf's order.
func jsonStats() []string {
	return []string{"avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std", "count", "sum"}
}

// statJSON is one metric; what could not be computed is left out.
func statJSON(s metrics.Stat) object {
	o := object{}.with("unit", s.Unit)
	if s.Scalar {
		return o.with("avg", number(s.Avg))
	}
	for _, name := range jsonStats() {
		switch v := s.Value(name); {
		case !isFinite(v):
		case name == "count":
			o = o.with(name, s.Count)
		default:
			o = o.with(name, number(v))
		}
	}
	return o
}

func isFinite(f float64) bool { return f-f == 0 }

// csvStats are the columns of the summary CSV.
func csvStats() []string {
	return []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}
}

// summaryCSV is profile_export_aiperf.csv: a block of distributions, a block
// of scalars, both by tag, and the header of the GPU block when GPUs were
// asked about. CRLF; two decimals; an absent statistic is an empty cell.
func summaryCSV(sum *metrics.Summary, gpu bool) []byte {
	byTag := slices.Clone(sum.Stats)
	slices.SortFunc(byTag, func(a, b metrics.Stat) int {
		if a.Tag < b.Tag {
			return -1
		}
		return 1
	})
	b := csvLine(nil, append([]string{"Metric"}, csvStats()...)...)
	for _, s := range byTag {
		if s.Scalar {
			continue
		}
		row := []string{title(s)}
		for _, name := range csvStats() {
			row = append(row, decimals(s.Value(name), 2))
		}
		b = csvLine(b, row...)
	}
	b = csvLine(append(b, "\r\n"...), "Metric", "Value")
	for _, s := range byTag {
		if s.Scalar {
			b = csvLine(b, title(s), decimals(s.Avg, 2))
		}
	}
	if gpu {
		b = append(b, "\r\n\r\n"...)
		b = csvLine(b, append([]string{"Endpoint", "GPU_Index", "GPU_Name", "GPU_UUID", "Platform", "Metric"}, csvStats()...)...)
	}
	return b
}

// title is a metric's name in a CSV: counts go without their unit.
func title(s metrics.Stat) string {
	if s.Unit == "" || s.Unit == "count" || s.Unit == "requests" {
		return s.Header
	}
	return s.Header + " (" + s.Unit + ")"
}

// decimals is v with n decimals, "" when there is no v.
func decimals(v float64, n int) string {
	if !isFinite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

func csvLine(b []byte, cells ...string) []byte {
	for i, c := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		if c != "" {
			b = appendCSV(b, c)
		}
	}
	return append(b, "\r\n"...)
}

// writeReady writes the mark by which watchers see that everything is there.
func writeReady(dir, name string, info *RunInfo) error {
	b, err := appendJSON(nil, object{}.with("ready", true).with("was_cancelled", info.WasCancelled).with("partial", !info.complete()))
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := f.Chmod(os.FileMode(0o600)); err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Commit()
}
