package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

// answered is one successful request: when the schedule wanted it, when it was
// sent, and its time in the system, in ms.
type answered struct {
	intended, sent int64
	ms             float64
}

// series is the time in the system of successes in order of their intended
// times, over the steady window where there is one: the ramp is no part of it.
func (p *PhaseEvidence) series() []float64 {
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if g := p.Result.Gauge; g.SteadyStart != record.None && g.SteadyEnd > g.SteadyStart {
		from, to = g.SteadyStart, g.SteadyEnd
	}
	slices.SortStableFunc(p.answered, func(a, b answered) int { return cmp.Compare(a.intended, b.intended) })
	var ms []float64
	for _, a := range p.answered {
		if a.sent >= from && a.sent <= to {
			ms = append(ms, a.ms)
		}
	}
	return ms
}

const (
	// fewestSettling is the least number of answers from which MSER-5 can say
	// something: twenty batches of five.
	fewestSettling = 100
	// fewestWaves is how often a closed loop must have gone round.
	fewestWaves = 5
)

// timeline is the series, if it can tell about time: enough answers under a load
// that is meant to be constant, and in a closed loop several waves of them, for
// requests that are sent at once have no order in time.
func (p *PhaseEvidence) timeline() (x []float64, ok bool) {
	x = p.series()
	few := fewestSettling
	if p.Result.Rate == 0 {
		few = max(few, fewestWaves*p.Result.Target)
	}
	return x, !p.Result.Varying && len(x) >= few
}

// HalfShift is h = ln(median latency of the second half / of the first), for the
// plan's checks on warmup and trend; NaN where a run has not exactly one phase
// that can tell.
func (e *Evidence) HalfShift() float64 {
	if len(e.Phases) != 1 {
		return math.NaN()
	}
	x, ok := e.Phases[0].timeline()
	if !ok {
		return math.NaN()
	}
	return stats.HalfShift(x)
}

// settling describes how the latency went over the phase. Within one run every
// test either cries wolf or finds nothing, so nothing is judged: trials are.
func settling(p *PhaseEvidence) (Reading, bool) {
	x, ok := p.timeline()
	h := stats.HalfShift(x)
	if !ok || math.IsNaN(h) {
		return Reading{}, false
	}
	said := fmt.Sprintf("the median latency of the second half is %s %s than that of the first",
		words.Percent(math.Abs(math.Expm1(h))), lower(h))
	if cut := stats.MSER5(x); cut.Settled {
		said += fmt.Sprintf("; MSER-5 would leave out the first %s", words.Percent(cut.Share))
	} else {
		said += "; by MSER-5 it never settled"
	}
	return Reading{
		Value: math.Expm1(h), Warn: never, Fail: never, Detail: said,
		Try: "several trials: they show whether this is usual",
	}, true
}

func lower(h float64) string {
	if h < 0 {
		return "lower"
	}
	return "higher"
}

// tails are the percentiles whose floors tail_samples names.
var tails = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p75", 0.75}, {"p90", 0.9}, {"p95", 0.95}, {"p97", 0.97}, {"p99", 0.99}, {"p99.9", 0.999}}

// tailSamples is the effective number of answers. Too few for a percentile is
// no doubt about the run: the percentile is marked where it stands. Who needs
// one sets the limit: verdict: {tail_samples: {warn: 662}}.
func tailSamples(p *PhaseEvidence) (Reading, bool) {
	if len(p.answered) == 0 {
		return Reading{}, false
	}
	slices.SortStableFunc(p.answered, func(a, b answered) int { return cmp.Compare(a.intended, b.intended) })
	x := make([]float64, len(p.answered))
	for i, a := range p.answered {
		x[i] = a.ms
	}
	n := stats.EffectiveN(x)
	certified, next := "no percentile is certified", ""
	for _, t := range tails {
		if !stats.Certified(t.q, n) {
			next = fmt.Sprintf("; %s needs %d independent ones", t.name, stats.Floor(t.q))
			break
		}
		certified = "percentiles up to " + t.name + " are certified"
	}
	return Reading{
		Value: math.Floor(n), Warn: never, Fail: never, Below: true,
		Detail: fmt.Sprintf("%s, in latency worth %.0f independent ones: %s%s", words.Count(int64(len(x)), "answer"), n, certified,
			next),
		Try: "more requests per run",
	}, true
}
