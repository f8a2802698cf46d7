package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

// row is one line of the report on a single run.
type row struct {
	name, tag string
	always    bool   // shown although the twin from the schedule says the same
	adjusted  string // the metric in which failures count as infinitely slow
}

// rows are the distributions people look at first.
var rows = []row{
	{"TTFT", metrics.TimeToFirstToken, true, metrics.AdjustedTimeToFirstToken},
	{"TTFT from schedule", metrics.TimeToFirstTokenFromIntended, false, ""},
	{"TTFO", metrics.TimeToFirstOutputToken, false, ""},
	{"ITL", metrics.InterTokenLatency, true, ""},
	{"Request latency", metrics.RequestLatency, true, metrics.AdjustedRequestLatency},
	{"Latency from schedule", metrics.RequestLatencyFromIntended, false, ""},
}

// The columns of a single run: the names of lines of text, and its figures with room for
// a mark.
const (
	labelColumn = 17
	valueColumn = 8
)

// headOfOne is the verdict on a run with how far its numbers can be relied on.
func (r *Report) headOfOne(s *sheet) {
	said, try := r.certainty()
	switch {
	case r.Verdict == validity.Valid && try == "":
		s.wrapped("", "VALID: "+said)
	case r.Verdict == validity.Valid:
		s.wrapped("", "VALID, but short: "+said)
		s.wrapped("  ", "try "+try)
	default:
		r.doubtsOfOne(s, said, try)
		return
	}
	r.doubts(s)
}

// doubtsOfOne puts the worst finding first.
func (r *Report) doubtsOfOne(s *sheet, said, try string) {
	if len(r.Doubts) == 0 {
		s.wrapped("", r.Verdict.String()+": "+said)
	}
	r.doubts(s)
	if len(r.Doubts) > 0 && try != "" {
		s.wrapped("  ", said+"; try "+try)
	}
}

// shownPercentiles are those of the table.
var shownPercentiles = []string{"p50", "p90", "p99"}

// certainty says which percentiles can be relied on, and what gives the others.
func (r *Report) certainty() (said, try string) {
	n := r.Requests.In(record.Answered)
	said = words.Count(n, "request")
	d, timed := r.Full.Get(metrics.BenchmarkDuration)
	if timed = timed && d.Avg > 0; timed {
		said += " in " + words.Amount(1e3*d.Avg, "ms")
		if d.Avg >= 0.1 {
			said = words.Count(n, "request") + " in " + words.Number(d.Avg) + " s"
		}
	}
	latency, ok := r.headline(metrics.RequestLatency)
	if !ok {
		return said, ""
	}
	sure := slices.DeleteFunc(slices.Clone(shownPercentiles), func(p string) bool {
		return !stats.Certified(percentileOf[p], latency.NEff)
	})
	switch len(sure) {
	case 0:
		said += "; too few for any percentile"
	case 1:
		said += "; only medians can be relied on"
	case 2:
		said += "; percentiles up to p90 can be relied on"
	default:
		return said + "; every percentile shown can be relied on", ""
	}
	need := moreFor(float64(stats.Floor(0.99)), latency.NEff, float64(latency.Count))
	try = fmt.Sprintf("--request-count %.0f for a p99", need)
	if timed {
		try += ", about " + words.Span(time.Duration(need/float64(n)*d.Avg*1e9)) + " at this rate"
	}
	if latency.NEff < 0.9*float64(latency.Count) { // else nobody sees why so many are needed
		try += fmt.Sprintf(" (these %d are worth %.3g independent ones)", latency.Count, math.Floor(latency.NEff))
	}
	return said, try
}

// single is the report on one run: each metric over the steady window where there is
// one, below it the same with failures, where there are any.
func (r *Report) single(s *sheet) {
	_, ok := r.headline(metrics.RequestLatency)
	if about := r.about(); about != "" {
		s.wrapped("", about)
	}
	if !ok {
		return
	}
	r.marked = nil
	var lines []tableLine
	for _, x := range rows {
		st, ok := r.headline(x.tag)
		if !ok || !x.always && r.redundant(x.tag, st) {
			continue
		}
		lines = append(lines, r.distribution(x.name, st))
		if adj, ok := r.Full.Get(x.adjusted); ok && r.Requests.Failed > 0 {
			lines = append(lines, r.distribution("  failures as ∞", adj))
		}
	}
	head := tableLine{values: [4]string{"mean ", "p50 ", "p90 ", "p99 "}}
	if r.Steady != nil {
		head.unit = "   steady " + words.Span(r.SteadyFor)
	}
	writeTable(s, append([]tableLine{head}, lines...))
	r.throughput(s)
	r.good(s)
	r.parts(s)
	if len(r.marked) > 0 {
		s.wrapped("", strings.Join(r.marked, " · ")+": aiperf checks "+r.Dir)
	}
}

// tableLine is one line of the table: mean, p50, p90 and p99 in one unit, each with a
// mark or a blank behind it.
type tableLine struct {
	name, unit string
	values     [4]string
}

// writeTable writes lines below each other, the names in a column as wide as they need.
func writeTable(s *sheet, lines []tableLine) {
	names, gap := labelColumn, ""
	for _, l := range lines {
		names = max(names, words.Width(l.name))
		if !strings.HasSuffix(l.values[3], " ") {
			gap = " "
		}
	}
	for _, l := range lines {
		line := words.Pad(l.name, names)
		for _, v := range l.values {
			line += strings.Repeat(" ", max(valueColumn-words.Width(v), 1)) + v
		}
		s.line(line + gap + l.unit)
	}
}

// distribution is the line of a metric, its figures with the same decimals.
func (r *Report) distribution(name string, st metrics.Stat) tableLine {
	unit, by := unitOf(st)
	stats := [4]string{"avg", "p50", "p90", "p99"}
	var values []float64
	for _, stat := range stats {
		values = append(values, st.Value(stat)/by)
	}
	line := tableLine{name: name + r.doubtful(st.Tag), unit: unit}
	for i, text := range words.Alike(values) {
		if v := values[i]; math.IsNaN(v) || math.IsInf(v, 1) { // of failures: they never end
			text = "∞"
		}
		line.values[i] = text + cmp.Or(strings.TrimSpace(r.doubtfulAt(st.Tag, stats[i])), " ")
	}
	return line
}

// unitOf is the one unit of a line, and how many ms it has.
func unitOf(st metrics.Stat) (unit string, by float64) {
	switch {
	case st.Unit != "ms":
		return metrics.ShortUnit(st.Unit), 1
	case st.P50 >= 10_000:
		return "s", 1e3
	case st.P99 < 0.1:
		return "µs", 1e-3
	}
	return "ms", 1
}

// headline is the metric over the steady window, or over the full one where there
// is none.
func (r *Report) headline(tag string) (metrics.Stat, bool) {
	if s, ok := r.steady(tag); ok {
		return s, true
	}
	return r.Full.Get(tag)
}

func (r *Report) steady(tag string) (metrics.Stat, bool) {
	if r.Steady == nil {
		return metrics.Stat{}, false
	}
	return r.Steady.Get(tag)
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

// rateParts are what came out per second, and how much was in flight: what is printed
// together agrees, rate × latency = in flight and rate × length = tokens per second.
var rateParts = []struct{ tag, stat, unit string }{
	{metrics.OutputTokenThroughput, "avg", "tok/s"},
	{metrics.RequestThroughput, "avg", "req/s"},
	{metrics.OutputTokenThroughputPerUser, "p50", "tok/s per user"},
	{metrics.EffectiveConcurrency, "avg", "in flight"},
}

// rates are the first so many of them in a window.
func (r *Report) rates(most int, of func(tag string) (metrics.Stat, bool)) string {
	var parts []string
	for _, x := range rateParts[:most] {
		if st, ok := of(x.tag); ok && !math.IsNaN(st.Value(x.stat)) {
			parts = append(parts, words.Number(st.Value(x.stat))+strings.TrimSpace(r.doubtfulStat(x.tag, x.stat))+" "+x.unit)
		}
	}
	return strings.Join(parts, " · ")
}

// throughput is the line of rates; where the whole run has another one than its steady
// window, which leaves out how it began and ended, that one follows.
func (r *Report) throughput(s *sheet) {
	line := r.rates(len(rateParts), r.headline)
	if line == "" {
		return
	}
	s.wrapped(words.Pad("Throughput", labelColumn), line)
	rate, _ := r.headline(metrics.RequestThroughput)
	if full, ok := r.Full.Get(metrics.RequestThroughput); ok && r.Steady != nil && math.Abs(full.Avg/rate.Avg-1) > 0.02 {
		s.wrapped(words.Pad("Whole run", labelColumn), r.rates(2, r.Full.Get)+", first request to last answer")
	}
}

// lengths are the mean lengths of prompts and answers.
func (r *Report) lengths() string {
	in, ok := r.headline(metrics.InputSequenceLength)
	out, also := r.headline(metrics.OutputSequenceLength)
	var parts []string
	if ok {
		parts = append(parts, words.Grouped(in.Avg)+" tokens in"+r.doubtfulMean(metrics.InputSequenceLength))
	}
	if also {
		text := words.Grouped(out.Avg) + " out"
		if r.Asked != "" && r.Asked != "asked "+fmt.Sprintf("%.4g", out.Avg) {
			text += " (" + r.Asked + ")"
		}
		parts = append(parts, text+r.doubtfulMean(metrics.OutputSequenceLength))
	}
	return strings.Join(parts, ", ")
}

// good is how the requests met the limits.
func (r *Report) good(s *sheet) {
	g, ok := r.headline(metrics.Goodput)
	if !ok || math.IsNaN(g.Avg) {
		return
	}
	share, _ := r.headline(metrics.GoodRequestFraction)
	text := fmt.Sprintf("%s req/s (%s)", words.Number(g.Avg), words.Percent(share.Avg))
	if share.Open > 0 { // requests were cut off before it was known whether they are good
		text = fmt.Sprintf("%s to %s req/s (%s to %s)", words.Number(g.Avg), words.Number(g.Avg+g.Open), words.Percent(share.Avg), words.Percent(share.Avg+share.Open))
	}
	text += r.doubtfulMean(metrics.GoodRequestFraction)
	if c := r.Plan.Cells; len(c) > 0 && c[0].Resolved != nil {
		text += " met " + r.limits(c[0])
	}
	if sent, ok := r.headline(metrics.GoodRequestFractionFromSent); ok && sent.Avg != share.Avg {
		text += ", " + words.Percent(sent.Avg) + " from sending"
	}
	for _, tag := range slices.Sorted(maps.Keys(r.Missed)) {
		text += fmt.Sprintf("; %s missed %s", words.Whole(r.Missed[tag]), metrics.Series(tag, ""))
	}
	s.wrapped(words.Pad("Goodput", labelColumn), text)
}

// client is what the client itself used.
func (r *Report) client(s *sheet) {
	if r.Client != "" {
		s.wrapped(words.Pad("Client", labelColumn), r.Client)
	}
}
