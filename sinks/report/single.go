package report

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
)

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
		r.percentiles(b, &small, x.name+r.doubtful(x.tag), s, amounts(s), furthest(s))
		if full, ok := r.Full.Get(x.tag); ok && differ(s, full) {
			r.percentiles(b, &small, "  full window", full, amounts(full), furthest(full))
		}
		if adj, ok := r.Full.Get(x.adjusted); ok {
			if math.IsNaN(adj.NEff) { // failures have no order in time: what it is worth its twin says
				adj.NEff = s.NEff
			}
			r.percentiles(b, &small, "  failures as ∞"+r.doubtful(x.adjusted), adj, endless, "")
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

// line is one line of the table.
func line(b *strings.Builder, name, p50, p90, p99, beside string) {
	text := fmt.Sprintf("%-22s %10s %10s %10s   %s", name, p50, p90, p99, beside) // long numbers stay apart
	b.WriteString(strings.TrimRight(text, " ") + "\n")
}

// percentiles is the line of a distribution; as says how its numbers are written.
func (r *Report) percentiles(b *strings.Builder, small *unsupported, name string, s metrics.Stat, as func(float64) string, beside string) {
	at := func(stat string) string {
		return small.mark(stat, s.NEff, as(s.Value(stat))) + r.doubtfulAt(s.Tag, stat)
	}
	line(b, name, at("p50"), at("p90"), at("p99"), beside)
}

// amounts writes numbers with the unit that a row shows.
func amounts(s metrics.Stat) func(float64) string {
	unit := shownUnit(s)
	return func(v float64) string { return words.Amount(v, unit) }
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
