package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

// stay is one request in the system: from when the schedule wanted it, or from
// when it was sent, until it ended, in ns. A wait for a slot is part of it: a cap
// moves the server's queue to this side.
type stay struct {
	from, end int64
	ok        bool
}

const (
	// backlogLimit is the share of the requests that may wait at the end beyond
	// what the answers explain. Of 1,000 requests at 130 % of what 64 servers with
	// heavy tails (cv 2) can do, 10 % would find 95 in 100 runs and 9.5 % finds 96; of those at
	// 90 % of what one such server can do 9.5 % takes 2 in 100 for overload, 8.5 % 3.
	// The counts with other seeds, servers and arrivals are in docs/simulations.md.
	backlogLimit = 0.095
	// backlogSigmas is how far beyond chance the requests in flight must be: of
	// answers of the early length m are expected, and their number varies by √m.
	backlogSigmas = 3
	// fewestStays is the least number of requests: of fewer, the first tenth is
	// nothing to measure by.
	fewestStays = 50
	// shortStay is the share of the time of sending that an early answer may take.
	// Above it the first queue has no time to show itself.
	shortStay = 0.25
)

// balance is what came in and what went out of an open loop, over the time in
// which requests were due.
type balance struct {
	came     float64 // requests that were due
	waiting  float64 // of them, those that were not over when the last was due
	expected float64 // as many as answers of the early length leave in flight
	sending  float64 // ms from the first to the last
	early    float64 // ms: the median of the first tenth of the requests
	mean     float64 // ms: what their mean may be: one standard error above what it is
}

// share is the backlog: how many more were waiting at the end than the answers
// explain, of all that came.
func (b balance) share() float64 { return (b.waiting - b.expected) / b.came }

// tooShort reports whether the run is too short to tell.
func (b balance) tooShort() bool { return b.early > shortStay*b.sending }

// limit is the share above which the server did not keep up. Answers with heavy
// tails leave as many in flight as their mean says, and the median says less: of cv 2
// 1/√(1+cv²) = 45 %. So more must wait than the mean explains, too; by it alone
// nothing is judged, for of a tenth of the requests it is known badly.
func (b balance) limit() float64 {
	return max(backlogLimit, backlogSigmas*math.Sqrt(b.expected)/b.came, (b.mean-b.early)/b.sending)
}

// balance counts the requests of an open loop whose rate is constant; false where
// there is nothing to count.
//
//	backlog = (in flight when the last was due − rate · median of the early stays) / requests
//
// Arrivals that still waited for a slot when the phase ended are in flight, too:
// then the end is the last sending.
func (p *PhaseEvidence) balance() (balance, bool) {
	n := len(p.stays)
	if p.Result.Closed || p.Result.Varying || n < fewestStays {
		return balance{}, false
	}
	slices.SortFunc(p.stays, func(a, b stay) int {
		return cmp.Or(cmp.Compare(a.from, b.from),
			cmp.Compare(a.end, b.end))
	})
	first, last := p.stays[0].from, p.stays[n-1].from
	stopped := float64(p.Result.Skipped["stopped"])
	if stopped > 0 {
		last = max(last, p.lastSent)
	}
	every := float64(max(p.every, 1)) // of so many requests one is kept
	b := balance{came: every*float64(n) + stopped, waiting: stopped, sending: float64(last-first) / 1e6}
	for _, s := range p.stays {
		if s.end > last {
			b.waiting += every
		}
	}
	var early []float64
	for _, s := range p.stays[:(n+9)/10] {
		if s.ok {
			early = append(early, float64(s.end-s.from)/1e6)
		}
	}
	stats.Sort(early)
	b.early = median(early)
	b.mean = stats.Mean(early) + stats.OneSample(early).SE
	b.expected = b.came / b.sending * b.early
	return b, !math.IsNaN(b.expected) && !math.IsInf(b.expected, 0)
}

// Backlog is the share of requests of a run that waited at its end beyond what its
// answers explain, and the limit for it; NaN where that cannot be told.
func (e *Evidence) Backlog() (share, limit float64) {
	if len(e.Phases) != 1 {
		return math.NaN(), math.NaN()
	}
	b, ok := e.Phases[0].balance()
	if !ok || b.tooShort() {
		return math.NaN(), math.NaN()
	}
	return b.share(), b.limit()
}

// queueSigmas is how far above chance the latency must go with what is in flight
// before it is taken for that of a queue: one-sided 5 %. Where there is none it
// costs an interval in one run of twenty.
const queueSigmas = 1.645

// Queued reports whether something speaks of a queue: the server did not keep up, or
// latencies go with the number of requests that are in the system when each comes.
// Then the requests of a run tell less about each other than any estimate from that
// run says: of the intervals within one run that were printed at 70 to 95 % load
// as few as none held the truth. A closed loop fixes what is in flight.
func (e *Evidence) Queued() bool {
	return slices.ContainsFunc(e.Phases, func(p *PhaseEvidence) bool {
		if p.Result.Closed || len(p.stays) < 2 {
			return false
		}
		b, ok := p.balance()
		return ok && !b.tooShort() && b.share() > b.limit() ||
			p.crowding() > queueSigmas/math.Sqrt(float64(len(p.stays)))
	})
}

// crowding is Spearman's correlation of the latency with what is in the system; NaN
// where one of them does not vary.
func (p *PhaseEvidence) crowding() float64 {
	slices.SortFunc(p.stays, func(a, b stay) int {
		return cmp.Or(cmp.Compare(a.from, b.from),
			cmp.Compare(a.end, b.end))
	})
	ends := make([]int64, len(p.stays))
	for i, s := range p.stays {
		ends[i] = s.end
	}
	slices.Sort(ends)
	var there, took []float64
	for i, s := range p.stays {
		if s.ok {
			over, _ := slices.BinarySearch(ends, s.from)
			there, took = append(there, float64(i-over)), append(took, float64(s.end-s.from))
		}
	}
	return stats.RankCorrelation(there, took)
}

// overloaded is everything that belongs to a load, not to a server: a rate that is
// more than the server keeps up with has no latency and no share of good requests,
// they depend on how long the run is.
var overloaded = slices.Concat(firstToken, wholeAnswer, fromIntended, rates, outcomes)

const keepUpTry = "a lower rate; a sweep over the rate shows the highest that holds"

// backlog says what this run saw, whatever the server's long-run load is.
func backlog(p *PhaseEvidence) (Reading, bool) {
	b, ok := p.balance()
	if !ok {
		return Reading{}, false
	}
	r := Reading{Value: b.share(), Warn: b.limit(), Fail: never, Try: keepUpTry}
	switch {
	case b.tooShort():
		r.Warn = never
		r.Detail = fmt.Sprintf("too short to tell whether the server keeps up: early answers took %s, and requests were sent for %s",
			words.Millis(b.early), words.Millis(b.sending))
	case b.share() > b.limit():
		answered := (b.came - b.waiting) / b.sending * 1e3
		r.Detail = fmt.Sprintf("%s requests/s were due and %s answered: "+
			"%s of the requests were in a queue when the last one was due",
			words.Number(b.came/b.sending*1e3), words.Number(answered), words.Percent(b.share()))
		r.Try = fmt.Sprintf("a lower rate, such as %s; a sweep over the rate shows the highest that holds",
			words.Number(0.8*answered))
		r.So = ": the server did not keep up; latencies grow with the length of the run"
	default:
		r.Detail = fmt.Sprintf("%.0f of %s were open when the last one was due, as the length of the answers explains",
			b.waiting, words.Count(int64(b.came), "request"))
	}
	return r, true
}

// backlogNotices say that a run is too short to tell, where it looks as if the
// server did not keep up.
func (p *PhaseEvidence) backlogNotices() []Notice {
	b, ok := p.balance()
	if !ok || !b.tooShort() || b.share() <= b.limit() {
		return nil
	}
	return []Notice{{
		validity.Backlog,
		fmt.Sprintf("too short to tell whether the server keeps up: %.0f of %s were still waiting when the last one was due",
			b.waiting, words.Count(int64(b.came), "request")), b.share(),
	}}
}

// fallenBehind judges the cells over their trials: the mean decides, and its
// interval says how surely.
func fallenBehind(e *PlanEvidence) []Reading {
	var out []Reading
	for _, c := range e.Cells {
		if len(c.Backlogs) < 2 {
			continue
		}
		d := stats.OneSample(c.Backlogs)
		low, high := d.Interval(0.95)
		r := Reading{
			Value: d.Mean, Warn: max(backlogLimit, c.BacklogLimit), Fail: never,
			Try: keepUpTry, At: []Spot{{c.Index, WholeCell}},
		}
		r.Detail = fmt.Sprintf("cell %s: %s of the requests [%s, %s] were in a queue when the last one was due (%s)",
			c.Label, words.Percent(d.Mean), words.Percent(low), words.Percent(high), words.Count(d.N, "trial"))
		r.So = ": the server does not keep up with this load"
		out = append(out, r)
	}
	return out
}
