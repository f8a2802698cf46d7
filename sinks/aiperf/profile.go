// Package aiperf writes AIPerf's own files: its names, keys, orders and number
// formats, so that what reads AIPerf's results reads ours. A run's journal and
// summary go in, files come out.
//
// The steps: while a run goes on, Details keeps what records leave out, if that
// is asked for. When it has ended, a Writer makes the run's files from its
// records and its summary. When all runs have ended, WriteAggregate, WriteSweep
// and WriteDesign write what trials and cells say together. RecheckProfile recomputes such files from their
// records; Differences says where ours are not AIPerf's.
package aiperf

import (
	"cmp"
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
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks"
)

// Profile says what is to be written of one finished run, and how.
type Profile struct {
	Dir, Prefix string
	Info        *RunInfo
	Options     metrics.Options // what the run can have; its window is the profiling phases'
	Span        metrics.Window  // first sent .. last ended of what counts; slices of time begin there

	JSON, Records bool          // artifacts.summary, artifacts.records
	Raw, Outputs  bool          // Details writes them
	Slice         time.Duration // artifacts.slice_duration, 0 for none
	Trace         string        // path of what Details kept for trace_data, "" for none
	ShowTrace     bool          // artifacts.show_trace_timing
	Title         string        // of the console's tables: LLM, Embeddings, …
	Log           string        // where the log is, for the console's last lines

	GPUs    *GPUs                              // nil where nobody was asked
	Network *Network                           `json:",omitempty"` // nil where the round trip is not asked for
	Pages   *Pages                             // of server metrics; nil where none were read
	Samples func(func(telemetry.Sample)) error `json:"-"` // goes through what was sampled in the run; nil for nothing
	// Answers goes through those to questions with known answers; nil where none was asked.
	Answers func(func(*sinks.Answer)) error `json:"-"`
}

// Writer writes a run's AIPerf files. It takes the records in the order of the
// journal, each once, and then the summary.
type Writer struct {
	Profile
	names   Names
	out     *sinks.Artifact // of the lines; nil where none are wanted
	rows    int64
	lines   *recordWriter
	traces  *traceReader
	phases  []*phaseResult
	pages   *pageSet // what servers said; nil for nothing
	slicer  *metrics.Slicer
	summary *metrics.Summary
	errors  errorSummary
	ok      int64
	files   []sinks.FileInfo
}

// NewWriter opens the file of the records, if it is wanted.
func NewWriter(p Profile) (*Writer, error) {
	names, err := ProfileNames(p.Prefix)
	if err != nil {
		return nil, err
	}
	w := &Writer{Profile: p, names: names, lines: newRecordWriter(p.Info, p.Options), phases: newPhases(&p)}
	if p.Slice > 0 {
		w.slicer = metrics.NewSlicer(p.Options, p.Span, int64(p.Slice))
	}
	if !p.Records {
		return w, nil
	}
	if w.out, err = sinks.CreateArtifact(p.Dir, names.Records); err != nil {
		return nil, err
	}
	if p.Trace != "" {
		if w.traces, err = openTraces(p.Trace); err != nil {
			w.Abort()
			return nil, err
		}
	}
	return w, nil
}

// Add takes a record: it becomes a line and is counted. AIPerf knows of nothing that
// was not sent.
func (w *Writer) Add(r *record.Record) error {
	if r.Part() == record.InUnsent {
		return nil
	}
	kept, err := w.traces.next()
	if err != nil || !w.note(r) || w.out == nil {
		return err
	}
	w.rows++
	_, err = w.out.Write(w.lines.line(r, kept))
	return err
}

// EndRecords completes the file of the records, which waits for the disk. Close
// does it where nobody has before. A nil Writer has none.
func (w *Writer) EndRecords() error {
	if w == nil || w.out == nil {
		return nil
	}
	f, err := w.out.Commit("records", "", w.rows)
	if err != nil {
		return err
	}
	w.files, w.out = append(w.files, f), nil
	return nil
}

// Close writes the rest: when at least one request succeeded, the summaries of
// the run, of its phases and its slices, and last the mark that the results are
// complete. Without a success there is neither, as in AIPerf.
func (w *Writer) Close(sum *metrics.Summary) ([]sinks.FileInfo, error) {
	defer w.Abort()
	w.summary = sum
	if err := w.EndRecords(); err != nil {
		return nil, err
	}
	if w.ok == 0 {
		return w.files, nil
	}
	if err := w.writeSummaries(); err != nil {
		return w.files, err
	}
	return w.files, writeReady(w.Dir, w.names.Ready, w.Info)
}

// Abort gives back what is open; a file that is not complete goes away.
func (w *Writer) Abort() {
	if w == nil {
		return
	}
	if w.out != nil {
		w.out.Abort()
	}
	if w.traces != nil {
		w.traces.close()
		w.traces = nil
	}
}

// note counts a record and tells whether it belongs into the files: warmup and
// what ended inside the profiling window. What was cut off at the end of the
// run is in the tables only, as the summary does not count it.
func (w *Writer) note(r *record.Record) bool {
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
	case !r.Succeeded():
		w.errors.add(errorDetails(r))
	default:
		w.ok++
	}
	return true
}

// writeSummaries writes what a run with at least one success has.
func (w *Writer) writeSummaries() error {
	w.Info.Warmup = warmupOf(w.phases)
	if err := w.writeScales(); err != nil {
		return err
	}
	gpus, err := w.readGPUs()
	if err != nil {
		return err
	}
	w.Info.gpus = gpus
	if w.pages, err = w.readPages(); err != nil {
		return err
	}
	if err := w.writePhases(); err != nil {
		return err
	}
	if err := w.readAnswers(); err != nil {
		return err
	}
	if err := w.writeNetwork(); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(w.Dir, w.names.Network), err)
	}
	w.addPower(gpus)
	if len(gpus.sources) > 0 {
		if err := w.stream(w.names.GPUs, gpus.lines); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(w.Dir, w.names.GPUs), err)
		}
	}
	if err := w.writeSummary(w.Dir, w.Info, w.summary, w.errors.list()); err != nil {
		return err
	}
	if err := w.writeSlices(); err != nil {
		return err
	}
	if err := w.writePages(); err != nil {
		return err
	}
	if err := w.writeAnswers(); err != nil {
		return err
	}
	return w.writeConsole()
}

func (w *Writer) writeSummary(dir string, info *RunInfo, sum *metrics.Summary, errs []object) error {
	if w.JSON {
		b, err := summaryJSON(info, sum, errs)
		if err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(dir, w.names.JSON), err)
		}
		if err := w.put(dir, w.names.JSON, "summary", b); err != nil {
			return err
		}
	}
	return w.put(dir, w.names.CSV, "summary", summaryCSV(sum, info))
}

// put writes a small file and remembers it.
func (w *Writer) put(dir, name, kind string, data []byte) error {
	f, err := sinks.WriteArtifact(dir, name, kind, data)
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

// told is a summary as AIPerf's files have it: without counters that counted
// nothing, and without what is said about failures where there are none.
func told(sum *metrics.Summary) []metrics.Stat {
	failed, _ := sum.Get(metrics.ErrorRequestCount)
	failed = theirs(failed)
	out := make([]metrics.Stat, 0, len(sum.Stats))
	for _, s := range sum.Stats {
		p := place(s)
		s = theirs(s)
		switch {
		case p.Ours, p.NoZero && s.Avg == 0, p.Failing && !(failed.Avg > 0):
		case s.Count == 0 && !s.Scalar && s.Tag == "": // nothing failed by AIPerf's definition
		default:
			out = append(out, s)
		}
	}
	return out
}

// theirs is a metric by AIPerf's definition.
func theirs(s metrics.Stat) metrics.Stat {
	if s.Plain != nil {
		return *s.Plain
	}
	return s
}

// place is where AIPerf's files have a metric.
func place(s metrics.Stat) metrics.Place {
	m, ok := metrics.Lookup(s.Tag)
	if !ok {
		return metrics.Place{}
	}
	return m.AIPerf
}

// summaryJSON is profile_export_aiperf.json, schema 1.4.
func summaryJSON(info *RunInfo, sum *metrics.Summary, errs []object) ([]byte, error) {
	stats := told(sum)
	slices.SortStableFunc(stats, func(a, b metrics.Stat) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	o := object{}.with("schema_version", "1.4").with("aiperf_version", info.Version).with("benchmark_id",
		info.BenchmarkID)
	for len(stats) > 0 && place(stats[0]).Head > 0 {
		o, stats = o.with(stats[0].Tag, statJSON(stats[0])), stats[1:]
	}
	if info.GPUs {
		o = o.with("telemetry_data", info.telemetry().json())
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
	if info.Branches != nil {
		o = o.with("branch_stats", branchStats(info.Branches))
	}
	for _, s := range stats {
		o = o.with(s.Tag, statJSON(s))
	}
	for _, tag := range rates() {
		if s, ok := sum.Get(tag); ok && isFinite(s.Avg) {
			o = o.with(tag, object{}.with("unit", s.Unit).with("avg", number(s.Avg)))
		}
	}
	return indented(info.scores.members(o))
}

// rates are the shares and rates of answers to questions, of which AIPerf's file has counts
// alone.
func rates() []string {
	return []string{metrics.Accuracy, metrics.NotJudgedShare, metrics.RightAnswerThroughput}
}

// rankOf orders the metrics before the run's own members; the others keep
// their order behind.
func rankOf(s metrics.Stat) int {
	if h := place(s).Head; h > 0 {
		return h
	}
	return math.MaxInt
}

// branchStats is the member branch_stats. A failed child never fails its parent
// here: that takes a setting which is refused.
func branchStats(b *record.Branches) object {
	return object{}.with("children_spawned", b.Spawned).with("children_completed", b.Completed).with("children_errored",
		b.Failed).
		with("children_truncated", b.Truncated).with("children_delayed", b.Delayed).with("parents_suspended",
		b.Suspended).
		with("parents_resumed", b.Resumed).with("parents_failed_due_to_child_error", 0).with("joins_suppressed",
		b.Suppressed).
		with("graphs_admitted", b.Graphs).with("graphs_completed_to_end", b.GraphsDone)
}

func allStats(sum *metrics.Summary) object {
	o := object{}
	for _, s := range told(sum) {
		o = o.with(s.Tag, statJSON(s))
	}
	return o
}

// jsonStats are the statistics of a distribution, in AIPerf's order.
func jsonStats() []string {
	return []string{
		"avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std", "count",
		"sum",
	}
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
func summaryCSV(sum *metrics.Summary, info *RunInfo) []byte {
	byTag := sortedByTag(told(sum))
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
	b = info.scores.csvRows(csvLine(append(b, "\r\n"...), "Metric", "Value"))
	for _, s := range byTag {
		if s.Scalar {
			b = csvLine(b, title(s), decimals(s.Avg, 2))
		}
	}
	if info.GPUs {
		b = info.telemetry().csv(b)
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
			b = sinks.AppendCSV(b, c)
		}
	}
	return append(b, "\r\n"...)
}

// writeReady writes the mark by which watchers see that everything is there.
// Partial means that a file could not be written: then there is no mark.
// "partial" says of AIPerf's files that an exporter failed; where one of ours
// fails there is no mark at all. A run that was cut short is "was_cancelled".
func writeReady(dir, name string, info *RunInfo) error {
	b, err := appendJSON(nil, object{}.with("ready", true).with("was_cancelled", info.WasCancelled).with("partial",
		false))
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
