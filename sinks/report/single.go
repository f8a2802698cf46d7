package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
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
