// Package report is what people read: the screen that shows progress, the report
// on a finished plan for the console and as Markdown, and AIPerf's table where a
// script waits for it. It decides nothing: verdicts, estimates and sentences come
// from the stations before it.
package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// Report is what a person is told about a finished plan, in one place for the
// console, Markdown and JSON.
type Report struct {
	Plan    *sweep.Plan
	Results *decide.Results
	Verdict validity.Verdict
	Doubts  []Doubt // checks that are not clean, worst first
	Elapsed time.Duration
	Dir     string
	View    string // file name of the page with charts, "" for none
	Summary string // file name of AIPerf's summary of a single run
	Stopped string // why the plan ended early; "" if it did not
	Broken  int    // runs that gave up, or lost their server
	Why     string // the first of them did

	// One run, when the plan is a single one.
	Full, Steady *metrics.Summary
	SteadyFor    time.Duration    // length of the steady window
	Parts        []metrics.Part   // of several targets and models: each
	Taints       validity.Taints  // what findings do to the numbers of the only run
	Missed       map[string]int64 // by SLO: requests that missed it first
	Client       string           // what the client itself used: "client 11 % of 2 cores · lag p99 0.09 ms"
	Asked        string           // what was asked for, where it can be compared: "asked 64"

	Errors     []verdict.ErrorCount // of requests, most frequent first
	FailedRuns []FailedRun          // of which no number is used, in the order of execution
	Requests   record.Counts        // over all runs
	Notices    []string             // one line each, said once

	marked touched // what is behind the marks that the table of a single run shows
}

// Doubt is one check of the verdict that is not clean, over all runs.
type Doubt struct {
	Verdict            validity.Verdict
	Check, Detail, Try string
	Runs               int // how many say so
}

// WriteConsole prints the report for a terminal: 80 columns, plain text.
func (r *Report) WriteConsole(w io.Writer) error {
	var b strings.Builder
	r.head(&b)
	b.WriteByte('\n')
	if r.Full != nil {
		r.single(&b)
		r.gates(&b)
	} else {
		r.matrix(&b)
	}
	r.problems(&b)
	fmt.Fprintf(&b, "\n%s/   %s\n", r.Dir, r.files())
	_, err := io.WriteString(w, words.Clean(b.String())) // servers' words are in it, and names of directories
	return err
}

// head is the verdict with what it is about.
func (r *Report) head(b *strings.Builder) {
	parts := []string{}
	if r.Full != nil {
		if r.Client != "" {
			parts = append(parts, r.Client)
		}
	} else {
		parts = append(parts, fmt.Sprintf("%s × %s", words.Count(len(r.Plan.Cells), "cell"), words.Count(r.Plan.Trials, "trial")), words.Span(r.Elapsed))
	}
	if n := len(r.Doubts); n > 0 && r.Full == nil {
		parts = append(parts, words.Count(n, "check")+" not clean")
	}
	fmt.Fprintf(b, "%s   %s\n", r.Verdict, strings.Join(parts, " · "))
	if r.Verdict == validity.Invalid && r.Plan.Experiment.AllowInvalid {
		b.WriteString("  allow_invalid is set: the exit code does not tell\n")
	}
	if why := r.Failure(); why != "" {
		wrapped(b, "  ", why)
	}
	for i, d := range r.Doubts {
		if i == maxDoubts {
			fmt.Fprintf(b, "  … and %d more\n", len(r.Doubts)-maxDoubts)
			break
		}
		in := ""
		if d.Runs > 1 {
			in = fmt.Sprintf(" (%d runs)", d.Runs)
		}
		wrapped(b, "  "+d.Verdict.String()+" "+d.Check+": ", d.Detail+in)
		if d.Verdict == validity.Invalid && d.Try != "" {
			wrapped(b, "    try: ", d.Try)
		}
	}
	if len(r.Doubts) > 0 {
		fmt.Fprintf(b, "  what to try: aiperf checks %s\n", r.Dir)
	}
	if r.Stopped != "" {
		fmt.Fprintf(b, "PARTIAL: %s; --resume measures the rest\n", r.Stopped)
	}
}

// Failure says that runs gave up, or lost their server, and why; "" where none did.
func (r *Report) Failure() string {
	switch {
	case r.Broken == 0:
		return ""
	case len(r.Plan.Runs) == 1:
		return "the run failed: " + r.Why
	}
	return fmt.Sprintf("%d of %s failed, the first one: %s", r.Broken, words.Count(len(r.Plan.Runs), "run"), r.Why)
}

// What a screen holds; summary.md has all.
const (
	maxDoubts  = 5
	maxNotices = 2
	maxErrors  = 3
)

// endings are how requests ended that neither succeeded nor failed.
var endings = []struct {
	name, said string
	part, of   record.Parts
}{
	{"Cut off", ", by the end of the phase: they lasted at least until then", record.InCut, record.WasSent},
	{"Cancelled", ", as the experiment asks", record.InCancelled, record.WasSent},
	{"Never sent", " that were due", record.InUnsent, record.Due},
}

// problems are errors and notices.
func (r *Report) problems(b *strings.Builder) {
	n := r.Requests
	if n.In(record.WasSent) > 0 && (n.Failed > 0 || r.Full != nil) {
		fmt.Fprintf(b, "%-17s%s of %s\n", "Errors", words.Whole(n.Failed), words.Whole(n.In(record.Answered)))
	}
	listErrors(b, r.Errors)
	for _, x := range endings {
		if count := n.In(x.part); count > 0 {
			fmt.Fprintf(b, "%-17s%s of %s%s\n", x.name, words.Whole(count), words.Whole(n.In(x.of)), x.said)
		}
	}
	if len(r.FailedRuns) > 0 {
		what := "Failed runs"
		if !slices.ContainsFunc(r.FailedRuns, func(f FailedRun) bool { return !f.Interrupted }) {
			what = "Interrupted runs"
		}
		fmt.Fprintf(b, "%-17s%s of %s; in no average\n", what, words.Whole(len(r.FailedRuns)), words.Whole(len(r.Plan.Runs)))
		r.failedRuns(b)
	}
	notes := r.notes()
	for i, n := range notes {
		if i == maxNotices {
			fmt.Fprintf(b, "note: %d more in summary.md\n", len(notes)-maxNotices)
			break
		}
		wrapped(b, "note: ", n)
	}
}

// FailedRun is a run without a result, and its place in the experiment.
type FailedRun struct {
	Cell  string
	Trial int // 1-based, as Place is
	// Sentinel is which of the sentinel's runs it is, 0 for a trial.
	Sentinel int
	Place    int // among the runs of its trial, which are one block
	Of       int
	Why      string
	// Interrupted says that a signal cut it short: no fault of the run.
	Interrupted bool
}

// FailedRunsOf are the outcomes of plan that gave nothing.
func FailedRunsOf(plan *sweep.Plan, outcomes []decide.Outcome) (out []FailedRun) {
	place, of := map[string]int{}, map[int]int{}
	for _, run := range plan.Runs { // each run of the sentinel is a trial that the plan does not have
		of[run.Trial]++
		place[run.ID] = of[run.Trial]
	}
	for _, o := range outcomes {
		if o.Err != "" && len(plan.Runs) > 1 {
			out = append(out, FailedRun{o.Run.Cell.Short(), o.Run.Trial + 1, o.Run.Sentinel, place[o.Run.ID], of[o.Run.Trial], o.Err, o.Interrupted})
		}
	}
	return out
}

// String is where the run stood.
func (f FailedRun) String() string {
	if f.Sentinel > 0 {
		return fmt.Sprintf("%s, sentinel %d", f.Cell, f.Sentinel)
	}
	if f.Of == 1 {
		return fmt.Sprintf("%s, trial %d", f.Cell, f.Trial)
	}
	return fmt.Sprintf("%s, trial %d (run %d of %d in it)", f.Cell, f.Trial, f.Place, f.Of)
}

// failedRuns names the first of them, with their places.
func (r *Report) failedRuns(b *strings.Builder) {
	for i, f := range r.FailedRuns {
		if i == maxErrors {
			fmt.Fprintf(b, "  … and %d more, in summary.md\n", len(r.FailedRuns)-maxErrors)
			return
		}
		wrapped(b, "  "+f.String()+": ", words.Clip(f.Why, 200))
	}
}

// listErrors names the most frequent kinds; the last line counts the others, so
// that the lines add up to the number above them.
func listErrors(b *strings.Builder, kinds []verdict.ErrorCount) {
	for i, e := range kinds {
		if i == maxErrors {
			fmt.Fprintf(b, "  %s× of %s\n", words.Whole(total(kinds[i:])), words.Count(len(kinds)-i, "other kind"))
			break
		}
		said := ": "
		if e.Alike {
			said = ", such as: "
		}
		if e.Kind == "" {
			said = ""
		}
		wrapped(b, fmt.Sprintf("  %s× %s%s", words.Whole(e.Count), e.Kind, said), words.Clip(e.Message, 200))
	}
}

func total(kinds []verdict.ErrorCount) (n int64) {
	for _, e := range kinds {
		n += e.Count
	}
	return n
}

// notes are the notices that no doubt has said already.
func (r *Report) notes() []string {
	var out []string
	for _, n := range r.Notices {
		if !slices.ContainsFunc(r.Doubts, func(d Doubt) bool { return d.Detail == n }) {
			out = append(out, n)
		}
	}
	return out
}

func (r *Report) files() string {
	files := "summary.md · *.parquet · *.arrow · *.csv"
	if r.Full != nil {
		files = "requests.parquet · "
		if r.Summary != "" {
			files += r.Summary + " · "
		}
		files += resultdir.MarkdownName
	}
	if r.View != "" {
		files = r.View + " · " + files
	}
	return files
}

// row is one line of the report on a single run.
type row struct {
	name, tag string
	always    bool   // shown although the from-intended twin says the same
	adjusted  string // the metric in which failures count as infinitely slow
}

// rows are the distributions people look at first.
var rows = []row{
	{"TTFT", metrics.TimeToFirstToken, true, metrics.AdjustedTimeToFirstToken},
	{"TTFT from intended", metrics.TimeToFirstTokenFromIntended, false, ""},
	{"TTFO", metrics.TimeToFirstOutputToken, false, ""},
	{"ITL", metrics.InterTokenLatency, true, ""},
	{"Request latency", metrics.RequestLatency, true, metrics.AdjustedRequestLatency},
	{"Latency from intended", metrics.RequestLatencyFromIntended, false, ""},
	{"Output tok/s/user", metrics.OutputTokenThroughputPerUser, true, ""},
}

// single is the report on one run: each metric over the steady window where there
// is one, beside it the interval of its furthest percentile that has one, below it
// the same over the full window and with failures, where they say something else.
func (r *Report) single(b *strings.Builder) {
	latency, ok := r.Full.Get(metrics.RequestLatency)
	if !ok {
		return
	}
	if s, ok := r.steady(metrics.RequestLatency); ok {
		latency = s
	}
	about := fmt.Sprintf("n=%s, ", words.Grouped(float64(latency.Count)))
	if r.Steady != nil {
		about += "steady " + words.Span(r.SteadyFor)
	} else {
		about += "no steady window"
	}
	line(b, "", "p50", "p90", "p99", about)
	var small unsupported
	r.marked = nil
	for _, x := range rows {
		s, ok := r.headline(x.tag)
		if !ok || !x.always && r.redundant(x.tag, s) {
			continue
		}
		small.percentiles(b, x.name+r.doubtful(x.tag), s, amounts(s), furthest(s))
		if full, ok := r.Full.Get(x.tag); ok && differ(s, full) {
			small.percentiles(b, "  full window", full, amounts(full), furthest(full))
		}
		if adj, ok := r.Full.Get(x.adjusted); ok {
			if math.IsNaN(adj.NEff) { // failures have no order in time: what it is worth its twin says
				adj.NEff = s.NEff
			}
			small.percentiles(b, "  failures as ∞", adj, endless, "")
		}
	}
	r.rates(b)
	r.parts(b, &small)
	if len(r.marked) > 0 {
		wrapped(b, "", strings.Join(r.marked, " · ")+": aiperf checks "+r.Dir)
	}
	if need := small.need(); need != "" {
		wrapped(b, "?: ", fmt.Sprintf("indicative: %s values are worth %.0f (%s); raise requests", words.Grouped(float64(latency.Count)), latency.NEff, need))
	}
}

// maxPartsShown is how many targets, or models, a screen holds; the table of
// metrics has all.
const maxPartsShown = 8

// parts tell several targets apart, and several models.
func (r *Report) parts(b *strings.Builder, small *unsupported) {
	for _, kind := range []string{"target", "model"} {
		of := slices.DeleteFunc(slices.Clone(r.Parts), func(p metrics.Part) bool { return p.Kind != kind })
		if len(of) == 0 {
			continue
		}
		g := grid{head: []string{"By " + kind, "n", "errors", "TTFT p50", "latency p50", "p99", ""}, left: 1}
		names := partNames(of)
		for i, p := range of {
			if i == maxPartsShown {
				g.rows = append(g.rows, []string{fmt.Sprintf("… and %d more in metrics", len(of)-maxPartsShown), "", "", "", "", "", ""})
				break
			}
			g.rows = append(g.rows, partRow(names[i], p, small))
		}
		g.write(b)
	}
}

// partNames are the names of parts without what all addresses have in common:
// the scheme and the path.
func partNames(of []metrics.Part) (names []string) {
	paths := map[string]bool{}
	for _, p := range of {
		_, address, _ := strings.Cut(p.Name, "://")
		host, path, _ := strings.Cut(address, "/")
		path, mark, marked := strings.Cut(path, "#")
		if marked {
			mark = "#" + mark
		}
		paths[path] = true
		names = append(names, host+mark)
	}
	for i, p := range of {
		if p.Kind != "target" || len(paths) > 1 {
			names[i] = p.Name
		}
		names[i] = words.Clip(names[i], 28)
	}
	return names
}

// partRow is a line about one target or model.
func partRow(name string, p metrics.Part, small *unsupported) []string {
	const none = "–"
	count := func(tag string) string {
		if s, ok := p.Full(tag); ok {
			return words.Whole(int64(s.Avg))
		}
		return "0"
	}
	row := []string{name, count(metrics.RequestCount), count(metrics.ErrorRequestCount), none, none, none, ""}
	if s, ok := p.Full(metrics.TimeToFirstToken); ok {
		row[3] = small.mark("p50", s.NEff, words.Millis(s.P50))
	}
	if s, ok := p.Full(metrics.RequestLatency); ok {
		row[4], row[5] = small.mark("p50", s.NEff, words.Millis(s.P50)), small.mark("p99", s.NEff, words.Millis(s.P99))
	}
	return row
}

// line is one line of the table.
func line(b *strings.Builder, name, p50, p90, p99, beside string) {
	text := fmt.Sprintf("%-22s %10s %10s %10s   %s", name, p50, p90, p99, beside) // long numbers stay apart
	b.WriteString(strings.TrimRight(text, " ") + "\n")
}

// percentiles is the line of a distribution; as says how its numbers are written.
func (u *unsupported) percentiles(b *strings.Builder, name string, s metrics.Stat, as func(float64) string, beside string) {
	line(b, name, u.mark("p50", s.NEff, as(s.P50)), u.mark("p90", s.NEff, as(s.P90)), u.mark("p99", s.NEff, as(s.P99)), beside)
}

// amounts writes numbers with the unit that a row shows.
func amounts(s metrics.Stat) func(float64) string {
	unit := shownUnit(s)
	return func(v float64) string { return words.Amount(v, unit) }
}

// unsupported are the percentiles that were shown of too few values, in their order.
type unsupported []string

// percentileOf are the statistics that need a number of values.
var percentileOf = map[string]float64{"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}

// take tells whether a statistic of n effective values is not supported, and keeps it.
func (u *unsupported) take(stat string, n float64) bool {
	q, ok := percentileOf[stat]
	if !ok || stats.Certified(q, n) {
		return false
	}
	if !slices.Contains(*u, stat) {
		*u = append(*u, stat)
		slices.SortFunc(*u, func(a, b string) int { return cmp.Compare(percentileOf[a], percentileOf[b]) })
	}
	return true
}

// mark is text, marked where the statistic is not supported.
func (u *unsupported) mark(stat string, n float64, text string) string {
	if u.take(stat, n) {
		return text + " ?"
	}
	return text
}

// need says how many values they take, "" for none: "p50 needs 11, p99 662".
func (u *unsupported) need() string {
	var parts []string
	for i, stat := range *u {
		text := fmt.Sprintf("%s %d", stat, stats.Floor(percentileOf[stat]))
		if i == 0 {
			text = fmt.Sprintf("%s needs %d", stat, stats.Floor(percentileOf[stat]))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// shownUnit is the unit behind the numbers of a row; its name tells any other.
func shownUnit(s metrics.Stat) string {
	if s.Unit == "ms" {
		return s.Unit
	}
	return ""
}

// furthest is the 95 % interval of the highest of the row's percentiles that has
// one: "p99 [60.1, 71.0]".
func furthest(s metrics.Stat) string {
	for _, p := range []string{"p99", "p90", "p50"} {
		if in, ok := s.Interval(p); ok {
			return p + " " + ends(in.Low, in.High, shownUnit(s))
		}
	}
	return ""
}

// ends are an interval, with its unit where that is not the ms of most rows.
func ends(low, high float64, unit string) string {
	a, b := words.Amount(low, unit), words.Amount(high, unit)
	if unit == "" {
		return "[" + a + ", " + b + "]"
	}
	of := func(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }
	switch u := of(b); {
	case of(a) != u && low != 0:
		return "[" + a + ", " + b + "]"
	case u == "ms":
		return "[" + words.Number(low) + ", " + words.Number(high) + "]"
	case low == 0:
		return "[0, " + b + "]"
	default:
		return "[" + strings.TrimSuffix(a, " "+u) + ", " + strings.TrimSuffix(b, " "+u) + "] " + u
	}
}

// endless is a percentile of a distribution in which failures never end.
func endless(v float64) string {
	if math.IsNaN(v) {
		return "∞"
	}
	return words.Amount(v, "ms")
}

// headline is the metric over the steady window, or over the full one where there
// is none.
func (r *Report) headline(tag string) (metrics.Stat, bool) {
	if s, ok := r.steady(tag); ok {
		return s, true
	}
	return r.Full.Get(tag)
}

// touched collects what the legend of the marks says.
type touched []string

func (t *touched) take(taint validity.Taint) string {
	mark := taint.Mark()
	if mark == "" {
		return ""
	}
	if line := mark + ": " + taint.Sentence(); !slices.Contains(*t, line) {
		*t = append(*t, line)
		slices.Sort(*t)
	}
	return mark
}

// doubtful is the mark of a metric of the only run, "" for none.
func (r *Report) doubtful(tag string) string {
	if mark := r.marked.take(r.Taints.Metric(tag)); mark != "" {
		return " " + mark
	}
	return ""
}

func (r *Report) steady(tag string) (metrics.Stat, bool) {
	if r.Steady == nil {
		return metrics.Stat{}, false
	}
	return r.Steady.Get(tag)
}

// differ tells whether a percentile of the row is more than 2 % another.
func differ(a, b metrics.Stat) bool {
	for _, p := range [][2]float64{{a.P50, b.P50}, {a.P90, b.P90}, {a.P99, b.P99}} {
		if math.Abs(p[1]/p[0]-1) > 0.02 {
			return true
		}
	}
	return false
}

// redundant tells whether a row says nothing that its twin has not said: they
// are within 5 % at p99.
func (r *Report) redundant(tag string, s metrics.Stat) bool {
	twin := map[string]string{
		metrics.TimeToFirstTokenFromIntended: metrics.TimeToFirstToken, metrics.TimeToFirstOutputToken: metrics.TimeToFirstToken,
		metrics.RequestLatencyFromIntended: metrics.RequestLatency,
	}[tag]
	of := r.Full.Get
	if _, ok := r.steady(tag); ok { // of the window that s is of
		of = r.steady
	}
	t, ok := of(twin)
	return ok && math.Abs(s.P99/t.P99-1) <= 0.05
}

// rateTags are the scalars that stand in one line.
var rateTags = []string{metrics.OutputTokenThroughput, metrics.RequestThroughput, metrics.OutputSequenceLength, metrics.InputSequenceLength}

// throughput is what came out, per second.
func (r *Report) throughput(of func(tag string) (metrics.Stat, bool)) (parts []string) {
	for i, unit := range []string{" out tok/s", " req/s"} {
		if s, ok := of(rateTags[i]); ok && !math.IsNaN(s.Avg) {
			parts = append(parts, words.Grouped(s.Avg)+unit+r.doubtful(rateTags[i]))
		}
	}
	return parts
}

// rates are the scalars, with goodput when SLOs are set.
func (r *Report) rates(b *strings.Builder) {
	scalar := func(tag string) (float64, bool) {
		s, ok := r.headline(tag)
		return s.Avg, ok && !math.IsNaN(s.Avg)
	}
	parts := r.throughput(r.headline)
	if v, ok := scalar(metrics.OutputSequenceLength); ok {
		osl := "OSL " + words.Grouped(v)
		if r.Asked != "" {
			osl += " (" + r.Asked + ")"
		}
		osl += r.doubtful(metrics.OutputSequenceLength)
		parts = append(parts, osl)
	}
	if v, ok := scalar(metrics.InputSequenceLength); ok {
		parts = append(parts, "ISL "+words.Grouped(v)+r.doubtful(metrics.InputSequenceLength))
	}
	fmt.Fprintf(b, "%-17s%s\n", "Throughput", strings.Join(parts, "   "))
	if rate, ok := scalar(metrics.RequestThroughput); ok {
		if full, ok := r.Full.Get(metrics.RequestThroughput); ok && math.Abs(full.Avg/rate-1) > 0.02 {
			fmt.Fprintf(b, "%-17s%s\n", "  full window", strings.Join(r.throughput(r.Full.Get), "   "))
		}
	}
	of := r.headline // the window of the rates above it
	if g, ok := of(metrics.Goodput); ok && !math.IsNaN(g.Avg) {
		share, _ := of(metrics.GoodRequestFraction)
		text := fmt.Sprintf("%s req/s (%s)", words.Grouped(g.Avg), words.Percent(share.Avg))
		if share.Open > 0 { // requests were cut off before it was known whether they are good
			text = fmt.Sprintf("%s to %s req/s (%s to %s)", words.Grouped(g.Avg), words.Grouped(g.Avg+g.Open), words.Percent(share.Avg), words.Percent(share.Avg+share.Open))
		}
		text += r.doubtful(metrics.GoodRequestFraction)
		if sent, ok := of(metrics.GoodRequestFractionFromSent); ok && sent.Avg != share.Avg {
			text += fmt.Sprintf("   from sending %s", words.Percent(sent.Avg))
		}
		for _, tag := range slices.Sorted(maps.Keys(r.Missed)) {
			text += fmt.Sprintf("   missed: %s %s", tag, words.Grouped(float64(r.Missed[tag])))
		}
		fmt.Fprintf(b, "%-17s%s\n", "Goodput", text)
	}
}
