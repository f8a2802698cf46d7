package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// duel is one cell of both arms.
type duel struct {
	label           string
	base, candidate Estimates
	window          string
	paired, closed  bool
	judged          string
	primary, other  []Key
	failed, invalid [2]int // runs that gave nothing, and those that are wrong through this program
}

func newDuel(a, b *ArmCell, t Terms) *duel {
	d := &duel{
		label: a.Label, paired: t.Paired, closed: a.Closed && b.Closed, window: Full,
		judged: sweep.Lower(cmp.Or(a.Judged, sweep.Percentile(0)), cmp.Or(b.Judged, sweep.Percentile(0))),
	}
	arms := [2]CellResult{}
	for side, cell := range [2]*ArmCell{a, b} {
		for i := range cell.Runs {
			o := &cell.Runs[i]
			switch {
			case o.Verdict == validity.Invalid && !t.Invalid:
				d.invalid[side]++
				continue
			case o.Interrupted: // by whoever ran it: that says nothing of the server
				continue
			case !o.measured():
				d.failed[side]++
				continue
			}
			arms[side].runs = append(arms[side].runs, o)
		}
	}
	if t.Paired {
		arms[0].runs, arms[1].runs = inBoth(arms[0].runs, arms[1].runs), inBoth(arms[1].runs, arms[0].runs)
	}
	if arms[0].steady() && arms[1].steady() {
		d.window = Steady
	}
	d.base = Estimates{runs: arms[0].runs, window: d.window, level: 0.95, invalid: t.Invalid}
	d.candidate = d.base.of(arms[1].runs)
	return d
}

// inBoth are the runs whose trial others has, too: the points of both arms are then
// those of the pairs, and do not contradict the change. All of them where no trial is
// common.
func inBoth(runs, others []*Outcome) []*Outcome {
	lone := func(o *Outcome) bool {
		return !slices.ContainsFunc(others, func(x *Outcome) bool { return x.Run.Trial == o.Run.Trial })
	}
	if common := slices.DeleteFunc(slices.Clone(runs), lone); len(common) > 0 {
		return common
	}
	return runs
}

// choose decides which metrics are compared, and which of them decide.
func (d *duel) choose(primary []Key) {
	d.primary = primary
	if len(primary) == 0 {
		d.primary = d.defaults()
	}
	for _, k := range explored {
		if d.base.measured(k) && !slices.Contains(d.primary, k) {
			d.other = append(d.other, k)
		}
	}
}

// defaults are the primary metrics: throughput where the load waits for the server, the
// first token at the median and at the percentile that the plan fixes, the gap between
// tokens, the share of good requests, and that of right answers where questions are asked;
// of an endpoint that does not stream the whole request instead of tokens. Throughput of an
// open loop is its offered rate.
func (d *duel) defaults() []Key {
	var out []Key
	take := func(keys ...Key) bool {
		for _, k := range keys {
			if d.base.measured(k) {
				out = append(out, k)
				return true
			}
		}
		return false
	}
	if d.closed {
		take(Key{metrics.OutputTokenThroughput, "avg"}, Key{metrics.RequestThroughput, "avg"})
	}
	first := metrics.TimeToFirstToken
	if !take(Key{first, "p50"}) {
		first = metrics.RequestLatency
		take(Key{first, "p50"})
	}
	if d.judged != "p50" {
		take(Key{first, d.judged})
	}
	take(Key{metrics.InterTokenLatency, "p50"})
	if !take(Key{metrics.GoodRequestFraction, "avg"}) {
		take(Key{metrics.ErrorRate, "avg"})
	}
	take(Key{metrics.Accuracy, "avg"})
	return out
}

// explored is what is shown beside: unadjusted, and never the reason of a failure.
var explored = []Key{
	{metrics.OutputTokenThroughput, "avg"},
	{metrics.RequestThroughput, "avg"},
	{metrics.RequestLatency, "p50"},
	{metrics.RequestLatency, "p99"},
	{metrics.TimeToFirstToken, "p99"},
	{metrics.InterTokenLatency, "p99"},
	{metrics.OutputTokenThroughputPerUser, "p50"},
	{metrics.OutputSequenceLength, "avg"},
	{metrics.ErrorRate, "avg"},
}

func (d *duel) rows(c *Comparison) []Row {
	var out []Row
	if len(d.base.runs) == 0 || len(d.candidate.runs) == 0 {
		return []Row{d.nothing(c.terms)}
	}
	for _, k := range d.primary {
		out = append(out, d.row(k, c.terms, c.level(), true))
	}
	for _, k := range d.other {
		out = append(out, d.row(k, c.terms, c.level(), false))
	}
	return out
}

// nothing is the row of a cell in which one side has no usable run. A candidate whose
// runs all failed is WORSE; one whose runs are INVALID was not measured.
func (d *duel) nothing(t Terms) Row {
	nan := math.NaN()
	r := Row{
		Cell: d.label, Primary: true, Key: Key{metrics.RequestThroughput, "avg"}, Header: "Usable runs", Unit: inRuns,
		Base: float64(len(d.base.runs)), Candidate: float64(len(d.candidate.runs)), Change: nan, Low: nan, High: nan,
		EqualLow: nan, EqualHigh: nan, P: nan, Margin: marginOf(Key{}, t), Outcome: Unclear, Detectable: nan,
	}
	switch {
	case len(d.base.runs) > 0:
		r.Note = d.unusable("candidate", 1)
		if d.failed[1] > 0 && d.invalid[1] == 0 {
			r.Outcome = Worse
		}
	case len(d.candidate.runs) > 0:
		r.Note = d.unusable("baseline", 0)
	default:
		r.Note = "neither side has a usable run"
	}
	r.Undecidable = r.Outcome == Unclear
	return r
}

// unusable says why a side has no usable run.
func (d *duel) unusable(side string, i int) string {
	all := d.failed[i] + d.invalid[i]
	switch {
	case all == 0:
		return "the " + side + " was not measured"
	case d.invalid[i] == 0 && all == 1:
		return "the only " + side + " run gave no result"
	case d.invalid[i] == 0:
		return fmt.Sprintf("none of %s gave a result", words.Count(all, side+" run"))
	}
	return fmt.Sprintf("none of %s gave a usable result; INVALID: %d", words.Count(all, side+" run"), d.invalid[i])
}

// describe is a row with what is known of its metric.
func (d *duel) describe(k Key, t Terms) Row {
	nan := math.NaN()
	r := Row{
		Cell: d.label, Key: k, Header: k.Tag, Window: d.window, Base: nan, Candidate: nan, Change: nan, Low: nan,
		High: nan, EqualLow: nan, EqualHigh: nan,
		P: nan, Margin: marginOf(k, t), Outcome: Unclear, Detectable: nan, MustDetect: t.mustDetect(k),
		judged: d.judged, left: d.left(k),
	}
	if m, ok := metrics.Lookup(k.Tag); ok {
		r.Header, r.Unit, r.LargerIsBetter = m.Header, m.Unit, m.LargerIsBetter
	}
	return r
}
