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
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
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
	if r.Stopped != "" { // before what its requests are good for
		r.partial(s)
		try = ""
	}
	if len(r.Raised) > 0 { // they are the answer; figures are of several loads, of which more would say no more
		for _, line := range r.Raised {
			s.wrapped("", line)
		}
		said, try = "the figures below are of all its loads together", ""
	}
	met := r.metLimits()
	if met != "" && r.Verdict == validity.Valid { // what was asked is the answer
		s.wrapped("", met)
	}
	switch {
	case r.Verdict == validity.Valid && try == "":
		s.wrapped("", "VALID: "+said)
	case r.Verdict == validity.Valid && r.waiting().Asked > 0:
		s.wrapped("", "VALID, but the server fell behind: "+said)
		s.wrapped("  ", "try "+try)
	case r.Verdict == validity.Valid:
		s.wrapped("", "VALID, but short: "+said)
		s.wrapped("  ", "try "+try)
	default:
		r.doubtsOfOne(s, said, try)
		if s.part(missed); met != "" {
			s.wrapped("", met)
		}
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
		s.part(doubtful)
		s.wrapped("  ", said+"; try "+try)
	}
}

// shownPercentiles are those of the table.
var shownPercentiles = []string{"p50", "p90", "p99"}

// Enough says for which of the percentiles of the table the requests of a run are enough.
func Enough(certified func(stat string) bool) (said string, all bool) {
	var sure, open []string
	for _, p := range shownPercentiles {
		if certified(p) {
			sure = append(sure, p)
		} else {
			open = append(open, p)
		}
	}
	switch {
	case len(open) == 0:
		return ", enough for " + words.And(sure), true
	case len(sure) == 0:
		return ", too few for any percentile", false
	}
	return ", enough for " + words.And(sure) + ", not for " + words.And(open), false
}

// certainty says for which percentiles there are requests enough, and what gives the
// others.
func (r *Report) certainty() (said, try string) {
	n := r.Requests.In(record.Answered)
	said = words.Count(n, "request")
	switch sent := r.Requests.In(record.WasSent); {
	case n < sent: // as the table counts them
		said = words.Whole(n) + " of " + words.Count(sent, "request") + " answered"
	case r.Requests.Failed > 0 && r.failuresSaid(): // the figures are of the others
		said = words.Whole(r.Requests.OK) + " of " + words.Whole(n) + " succeeded"
	case r.Requests.Failed > 0:
		said = r.failures(n)
	}
	d, timed := r.Full.Get(metrics.BenchmarkDuration)
	if timed = timed && d.Avg > 0; timed && d.Avg >= 0.1 {
		said += " in " + words.Number(d.Avg) + " s"
	} else if timed {
		said += " in " + words.Amount(1e3*d.Avg, "ms")
	}
	latency, ok := r.headline(metrics.RequestLatency)
	if !ok {
		return said, ""
	}
	for _, x := range rows { // of those that every table has, the one that is worth least
		if st, ok := r.headline(x.tag); ok && x.always && st.Count > 0 && st.NEff < latency.NEff {
			latency = st
		}
	}
	planned := int64(0)
	if c := r.Plan.Cells; len(c) > 0 && c[0].Resolved != nil {
		planned = sweep.Planned(c[0].Resolved.Benchmark.Phases)
	}
	enough, all := Enough(func(p string) bool {
		return decide.Certain(percentileOf[p], cmp.Or(planned, n),
			latency.NEff)
	})
	if r.spoiled() { // a number that is marked below is not one that can be relied on
		return said, ""
	}
	if w := r.waiting(); w.Asked > 0 && r.Verdict == validity.Valid { // of which no longer run is better
		return said, slower(w, metrics.Series(latency.Tag, ""))
	}
	if said += enough; all {
		return said, ""
	}
	if t := r.Taints.Of(metrics.RequestLatency, "p99"); !t.None() && (!byErrors(t) || r.mostFailed()) {
		return said, "" // the finding comes first: more requests would not cure it
	}
	of := sample{
		metrics.Series(latency.Tag, ""), float64(latency.Count), latency.NEff,
		max(float64(latency.Count), float64(r.Requests.In(record.WasSent))), r.waiting(),
	}
	need, ok := of.need(0.99)
	if !ok {
		return said, of.unsteady()
	}
	span := ""
	if timed {
		span = words.Span(time.Duration(need / float64(n) * d.Avg * 1e9))
	}
	switch {
	case planned > 0 || span == "":
		try = fmt.Sprintf("--request-count %.0f for a certain p99", need)
		if span != "" {
			try += ", about " + span + " at this rate"
		}
	default:
		try = fmt.Sprintf("--benchmark-duration %.0f for a certain p99", decide.RoundSeconds(need/float64(n)*d.Avg))
	}
	if r.folded == 0 { // why so many is not to be seen
		try += of.alike(0.99)
	}
	return said, try
}

// waiting is how the load of the only cell makes its requests wait.
func (r *Report) waiting() (w decide.Waiting) {
	if r.Results != nil && len(r.Results.Cells) == 1 {
		w = r.Results.Cells[0].Waiting()
	}
	return w
}

// slower says what an open loop that the server fell behind was asked for and gave, and what to try.
func slower(w decide.Waiting, metric string) string {
	return fmt.Sprintf("a lower rate, such as %s: %s requests/s were asked for and %s answered, "+
		"so the queue grew, and %s with it; "+
		"it depends on how long the run is", w.Slower(), words.Number(w.Asked), words.Number(w.Answered), metric)
}

// failuresSaid reports whether a finding says how many requests failed, and why.
func (r *Report) failuresSaid() bool {
	return slices.ContainsFunc(r.Doubts, func(d Doubt) bool { return d.Check == validity.Errors })
}

// failures is how many of n requests failed, and the most frequent reason.
func (r *Report) failures(n int64) string {
	said := fmt.Sprintf("%s of %s failed", words.Whole(r.Requests.Failed), words.Count(n, "request"))
	if why := verdict.MostFrequent(r.Errors); why != "" {
		said += " (" + why + ")"
	}
	return said
}

// spoiled reports whether a finding makes a percentile of the table invalid.
func (r *Report) spoiled() bool {
	for _, x := range rows {
		if _, ok := r.headline(x.tag); !ok || !x.always {
			continue
		}
		for _, p := range shownPercentiles {
			if r.Taints.Of(x.tag, p).Level == validity.Wrong {
				return true
			}
		}
	}
	return false
}

// single is the report on one run: each metric over the steady window where there is
// one, below it the same with failures, where there are any.
func (r *Report) single(s *sheet) {
	_, ok := r.headline(metrics.RequestLatency)
	r.marked, r.common, r.endless = nil, r.commonTaint(), false
	s.part(advice) // without it nobody knows what the figures are of
	if about := r.about(); about != "" {
		s.wrapped("", about)
	}
	if !ok {
		return
	}
	var lines []tableLine
	for _, x := range rows {
		st, ok := r.headline(x.tag)
		if !ok || !x.always && (r.redundant(x.tag, st) || r.folded >= withoutCauses && r.closed()) {
			continue
		}
		line := r.distribution(x.name, st)
		if !x.always {
			line.weight = further
		}
		r.endless = r.endless || slices.ContainsFunc(line.values[:],
			func(v string) bool { return strings.HasPrefix(v, endlessMark) })
		lines = append(lines, line)
		if adj, ok := r.Full.Get(x.adjusted); ok && r.Requests.Failed > 0 {
			of := r.distribution("  failures as ∞", adj)
			of.weight = further
			lines = append(lines, of)
		}
	}
	if r.mostFailed() && !(byErrors(r.common) && r.Requests.OK > 0) { // else said below the table
		s.part(missed)
		s.wrapped("", fmt.Sprintf("figures of the %s that did not fail; – where these are too few",
			words.Count(r.Requests.OK, "request")))
	}
	head := tableLine{values: [4]string{"mean ", "p50 ", "p90 ", "p99 "}}
	writeTable(s, append([]tableLine{head}, lines...))
	s.part(advice)
	r.throughput(s)
	s.part(missed)
	r.good(s)
	r.answersOfOne(s)
	r.pluginsOfOne(s)
	s.part(further)
	r.parts(s)
	s.part(missed)
	if len(r.marked) > 0 {
		s.part(advice)
		s.wrapped("", strings.Join(r.doubted(r.marked), " · "))
	}
	s.part(missed)
	switch {
	case byErrors(r.common) && r.Requests.OK > 0: // no figure has the mark
		s.wrapped("", asSentence(strings.TrimPrefix(r.survivors(), validity.FailedMark+" ")))
	case !r.common.None():
		s.wrapped("", strings.Join(r.doubted(touched{"Every figure above is " + r.common.Sentence()}), ""))
	}
}

// byErrors reports whether nothing but failed requests is behind a doubt.
func byErrors(t validity.Taint) bool { return t.Check == "errors" && t.Level == validity.Doubtful }

// survivors says in which way figures are in doubt of which failed requests have no part.
func (r *Report) survivors() string {
	if r.folded > 0 && r.Full == nil {
		return fmt.Sprintf("%s without the %s that failed", validity.FailedMark, words.Count(r.Requests.Failed, "request"))
	}
	said := fmt.Sprintf("%s latencies, tok/s and req/s are of the %s that succeeded", validity.FailedMark,
		words.Count(r.Requests.OK, "request"))
	if r.folded == 0 {
		said += fmt.Sprintf(", without the %s that failed: a server that answers all of them may be slower",
			words.Whole(r.Requests.Failed))
	}
	if r.Full != nil && r.mostFailed() {
		said += "; " + noneMark + " where these are too few"
	}
	return said
}

// closed tells whether nothing but answers sets the pace: latencies from schedule say
// little then.
func (r *Report) closed() bool {
	c := r.Plan.Cells
	return len(c) > 0 && c[0].Resolved != nil && sweep.AxisNamed("request_rate").Of(&c[0].Resolved.Benchmark) == nil &&
		!r.endless
}

// commonTaint is what touches all figures of the table alike, so that a mark behind each
// tells nothing apart; none where some are touched and others are not.
func (r *Report) commonTaint() validity.Taint {
	first := r.Taints.Of(metrics.RequestLatency, "p50")
	for _, x := range rows {
		if _, ok := r.headline(x.tag); !ok {
			continue
		}
		for _, stat := range []string{"avg", "p50", "p90", "p99"} {
			if r.Taints.Of(x.tag, stat) != first {
				return validity.Taint{}
			}
		}
	}
	for _, x := range rateParts {
		if _, ok := r.headline(x.tag); ok && r.Taints.Of(x.tag, x.stat) != first {
			return validity.Taint{}
		}
	}
	return first
}

// mostFailed tells whether more requests failed than not: what the others took says
// little.
func (r *Report) mostFailed() bool { return r.Requests.Failed > r.Requests.OK }

// tableLine is one line of the table: mean, p50, p90 and p99 in one unit, each with a
// mark or a blank behind it.
type tableLine struct {
	name, unit string
	values     [4]string
	weight     weight
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
		s.part(l.weight)
		s.line(line + gap + l.unit)
	}
}

// distribution is the line of a metric, in one unit.
func (r *Report) distribution(name string, st metrics.Stat) tableLine {
	unit, by := unitOf(st)
	line := tableLine{name: name + r.doubtful(st.Tag), unit: unit}
	for i, stat := range [4]string{"avg", "p50", "p90", "p99"} {
		v := st.Value(stat) / by
		text := words.Number(v)
		if q, ok := percentileOf[stat]; ok && r.mostFailed() && !math.IsInf(v, 1) && !stats.Certified(q, st.NEff) {
			text = noneMark // of the few that did not fail
		} else if math.IsNaN(v) || math.IsInf(v, 1) { // of failures: they never end
			text = endlessMark
		} else if most, known := r.atMost(decide.Key{Tag: st.Tag, Stat: stat}, st.Value(stat)); known {
			text = atMostMark + words.Number(most/by)
		}
		line.values[i] = text + cmp.Or(strings.TrimSpace(r.doubtfulAt(st.Tag, stat)), " ")
	}
	return line
}

// atMost is the upper end of what is known of a percentile of the only run, where tokens that
// arrived together leave it open; false where they do not.
func (r *Report) atMost(k decide.Key, v float64) (most float64, open bool) {
	if r.Results == nil || len(r.Results.Cells) != 1 || len(r.Results.Cells[0].Runs()) != 1 {
		return 0, false
	}
	for _, e := range r.Results.Cells[0].Runs()[0].Ends {
		if e.Key == k {
			most = max(v, e.High)
			return most, min(v, e.Low) < 0.98*most
		}
	}
	return 0, false
}

// unitOf is the one unit of a line, and how many ms it has; none where nothing has an end.
func unitOf(st metrics.Stat) (unit string, by float64) {
	switch {
	case st.Unit != "ms":
		return metrics.ShortUnit(st.Unit), 1
	case math.IsInf(st.P50, 1) && !(st.Avg < math.Inf(1)):
		return "", 1
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
		metrics.TimeToFirstTokenFromIntended: metrics.TimeToFirstToken,
		metrics.TimeToFirstOutputToken:       metrics.TimeToFirstToken,
		metrics.RequestLatencyFromIntended:   metrics.RequestLatency,
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
	{metrics.EffectiveConcurrency, "avg", "in flight"},
}

// rates are the first so many of them in a window.
func (r *Report) rates(most int, of func(tag string) (metrics.Stat, bool)) string {
	var parts []string
	for _, x := range rateParts[:most] {
		if st, ok := of(x.tag); ok && !math.IsNaN(st.Value(x.stat)) {
			parts = append(parts, words.Number(st.Value(x.stat))+strings.TrimSpace(r.doubtfulStat(x.tag, x.stat))+" "+
				x.unit)
		}
	}
	return strings.Join(parts, " · ")
}

// throughput is the line of rates. The window that they are of follows, which leaves out
// how the run began and ended, with the rates of the whole run where these are others.
func (r *Report) throughput(s *sheet) {
	line := r.rates(len(rateParts), r.headline)
	if line == "" {
		return
	}
	st, ok := r.headline(metrics.OutputTokenThroughputPerUser)
	if ok {
		line += " · " + words.Number(st.P50) + strings.TrimSpace(r.doubtfulStat(st.Tag, "p50")) + " tok/s per user"
	}
	s.wrapped(words.Pad("Throughput", labelColumn), line)
	if r.Steady == nil || r.SteadyFor >= r.FullFor {
		return
	}
	whole, steady := words.Span(r.FullFor), words.Span(r.SteadyFor)
	if whole == steady { // nothing was cut that can be seen
		return
	}
	rate, _ := r.headline(metrics.RequestThroughput)
	if full, ok := r.Full.Get(metrics.RequestThroughput); ok && math.Abs(full.Avg/rate.Avg-1) > 0.02 {
		s.part(further)
		s.wrapped(words.Pad("Whole run", labelColumn), r.rates(2, r.Full.Get)+" in "+whole+"; above: its steady "+
			steady)
		return
	}
	if r.folded >= withoutCauses { // a window with the same rates is not worth a line
		return
	}
	s.part(design)
	s.wrapped(words.Pad("Window", labelColumn), "steady: "+steady+" of "+whole+", without the start and the end")
}

// BesideTables says what AIPerf's tables, which stand above, are of, and what the screen
// is of: its figures are those of the steady window, where there is one.
func (r *Report) BesideTables() string {
	const theirs = "AIPerf's tables above are of the whole run"
	const each = "Above is AIPerf's table of each run, over the whole of it; below the trials are taken together"
	switch {
	case r.Full == nil && windowOfAll(r.Results.Cells) == decide.Full:
		return each
	case r.Full == nil:
		return each + ", in their steady windows"
	case r.Steady == nil || r.SteadyFor >= r.FullFor:
		return theirs + "; so are the figures below"
	}
	whole, steady := words.Span(r.FullFor), words.Span(r.SteadyFor)
	if whole == steady {
		return theirs + "; below, nearly all of it"
	}
	return fmt.Sprintf("%s; below, its steady %s of %s", theirs, steady, whole)
}

// windowOfAll is the window that the figures of a table are of: the steady one where some
// cell has it.
func windowOfAll(cells []decide.CellResult) string {
	if slices.ContainsFunc(cells, func(c decide.CellResult) bool { return c.Headline().Window() == decide.Steady }) {
		return decide.Steady
	}
	return decide.Full
}

// lengths are the mean lengths of prompts and answers.
func (r *Report) lengths() string {
	if r.Full == nil {
		return ""
	}
	in, ok := r.headline(metrics.InputSequenceLength)
	out, also := r.headline(metrics.OutputSequenceLength)
	var parts []string
	if ok {
		text := words.Grouped(in.Avg) + " tokens in"
		if r.DefaultISL && r.folded == 0 {
			text += " (default of --isl)"
		}
		parts = append(parts, text+r.doubtfulMean(metrics.InputSequenceLength))
	}
	if also {
		text := words.Grouped(out.Avg) + " out"
		if r.Asked != "" && r.Asked != "asked "+fmt.Sprintf("%.4g", out.Avg) {
			text += " (" + r.Asked + ")"
		}
		parts = append(parts, text+r.doubtfulMean(metrics.OutputSequenceLength))
	}
	return strings.Join(parts, ", ") + r.withoutQuestions()
}

// withoutQuestions are the mean lengths of what asks no question, where some requests do:
// these have lengths of their own.
func (r *Report) withoutQuestions() string {
	var lengths []string
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Kind == "request" && p.Name == metrics.Other {
			for _, of := range [][2]string{{metrics.InputSequenceLength, "in"}, {metrics.OutputSequenceLength, "out"}} {
				if s, ok := p.Headline(of[0]); ok {
					lengths = append(lengths, words.Grouped(s.Avg)+" "+of[1])
				}
			}
		}
	}
	if len(lengths) == 0 {
		return ""
	}
	return "; without the questions " + strings.Join(lengths, ", ")
}

// goodRequests is the share of requests within the limits, and in words how many these are of all that
// were attempted in the whole run: a range where some were cut off before it was known. False where
// there are no limits.
func (r *Report) goodRequests() (share metrics.Stat, met string, ok bool) {
	share, ok = r.Full.Get(metrics.GoodRequestFraction)
	if !ok || math.IsNaN(share.Avg) {
		return share, "", false
	}
	all := r.Requests.In(record.Attempted)
	count := func(share float64) string { return words.Whole(int64(math.Round(share * float64(all)))) }
	part := words.Percent(share.Avg)
	met = count(share.Avg)
	if most := share.Avg + share.Open; share.Open > 0 {
		met, part = met+" to "+count(most), part+" to "+words.Percent(most)
	}
	return share, fmt.Sprintf("%s of %s (%s)%s", met, words.Count(all, "request"), part,
		strings.TrimSpace(r.doubtfulMean(metrics.GoodRequestFraction))), true
}

// metLimits says how many requests met the limits; "" where there are none.
func (r *Report) metLimits() string {
	_, met, ok := r.goodRequests()
	if !ok {
		return ""
	}
	limits := "the limits"
	if c := r.Plan.Cells; len(c) > 0 && c[0].Resolved != nil {
		limits = r.limits(c[0])
	}
	return met + " met " + limits
}

// good is the line of the requests that met the limits: their rate, and of all that were attempted in
// the whole run how many did not, and why.
func (r *Report) good(s *sheet) {
	share, _, ok := r.goodRequests()
	if !ok {
		return
	}
	rate, _ := r.headline(metrics.Goodput) // of the time that the other rates are of
	text := words.Number(rate.Avg)
	if share.Open > 0 {
		text += " to " + words.Number(rate.Avg+rate.Open)
	}
	text += " req/s" + r.goodSpan()
	if sent, ok := r.Full.Get(metrics.GoodRequestFractionFromSent); ok && sent.Avg != share.Avg {
		text += "; " + words.Percent(sent.Avg) + " met the limits if timed from sending"
	}
	text += r.missedLimits()
	for _, x := range []struct {
		n   int64
		how string
	}{{r.Requests.Failed, "failed"}, {r.Requests.Cut, "were cut off"}, {r.Requests.Unsent, "were never sent"}} {
		if x.n > 0 {
			text += "; " + words.Whole(x.n) + " " + x.how
		}
	}
	s.wrapped(words.Pad("Goodput", labelColumn), text+r.unlessGated())
}

// missedLimits counts the requests that missed each limit, and, as one may miss several, how many did:
// "; 16 missed ITL; 98 missed TTFT (4 missed both)".
func (r *Report) missedLimits() (said string) {
	for _, tag := range slices.Sorted(maps.Keys(r.Missed)) {
		said += fmt.Sprintf("; %s missed %s", words.Whole(r.Missed[tag]), metrics.Series(tag, ""))
	}
	switch {
	case r.MissedSeveral > 0 && len(r.Missed) == 2:
		said += fmt.Sprintf(" (%s missed both)", words.Whole(r.MissedSeveral))
	case r.MissedSeveral > 0:
		said += fmt.Sprintf(" (%s missed more than one)", words.Whole(r.MissedSeveral))
	}
	return said
}

// goodSpan says that the rate of good requests is of the steady window, where that of the
// whole run, of which the counts are, is another.
func (r *Report) goodSpan() string {
	steady, ok := r.steady(metrics.Goodput)
	full, _ := r.Full.Get(metrics.Goodput)
	if !ok || r.folded > 0 || words.Number(full.Avg) == words.Number(steady.Avg) {
		return ""
	}
	return " in the steady window"
}

// client is what the client itself used. It goes first where a screen is too long.
func (r *Report) client(s *sheet) {
	name := "client"
	if r.Full != nil {
		name = "Client"
	}
	if s.part(design); r.Client != "" && (r.Full != nil || r.folded == 0) {
		s.wrapped(words.Pad(name, r.labelWidth()), r.Client)
	}
}
