package runner

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
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
	// regime and regimeZ say when the part that was cut off is another regime and
	// not noise: medians more than 5 % apart, and ranks four standard deviations
	// from what chance gives. MSER-5 alone cuts at outliers, too.
	regime  = 0.05
	regimeZ = 4
)

// settling is the series, if it can tell about time: enough answers under a load
// that is meant to be constant, and in a closed loop several waves of them, for
// requests that are sent at once have no order in time.
func (p *PhaseEvidence) settling() (x []float64, ok bool) {
	x = p.series()
	few := fewestSettling
	if p.Result.Rate == 0 {
		few = max(few, fewestWaves*p.Result.Target)
	}
	return x, !p.Result.Varying && len(x) >= few
}

// warmup is the share of the phase before latency settled (MSER-5); 1 when it
// never did.
func warmup(p *PhaseEvidence) (Reading, bool) {
	x, ok := p.settling()
	if !ok {
		return Reading{}, false
	}
	r := Reading{Warn: 0.1, Fail: 0.5, Detail: "latency was settled from the start", Try: "a longer warmup phase (warmup: {requests: …}, --warmup-request-count), or a longer run"}
	cut := stats.MSER5(x)
	change := shifted(x, cut.At)
	switch {
	case change == 0:
	case !cut.Settled:
		r.Value, r.Detail = 1, fmt.Sprintf("latency never settled: the first half of the phase differs from the rest by %s", percent(change))
	default:
		r.Value, r.Detail = cut.Share, fmt.Sprintf("latency settled only after %s of the phase, which differ from the rest by %s", percent(cut.Share), percent(change))
	}
	return r, true
}

// shifted is how far the median of x[:at] is from that of the rest, as a share;
// 0 when that is little, or may be chance. The rank-sum statistic with its
// correction for ties is z = ρ·√(n−1), ρ Spearman's correlation of the values
// with the side they are on.
func shifted(x []float64, at int) float64 {
	if at == 0 || at == len(x) {
		return 0
	}
	side := make([]float64, len(x))
	for i := range side[:at] {
		side[i] = 1
	}
	z := stats.Spearman(side, x).Rho * math.Sqrt(float64(len(x)-1))
	head, tail := slices.Sorted(slices.Values(x[:at])), slices.Sorted(slices.Values(x[at:]))
	change := math.Abs(median(head)/median(tail) - 1)
	if !(math.Abs(z) > regimeZ) || !(change > regime) {
		return 0
	}
	return change
}

// stationary takes batch means of latency in order of time: a rank correlation
// with time above 0.5 and a change above 5 % is a trend.
func stationary(p *PhaseEvidence) (Reading, bool) {
	const batches = fewestSettling / 5
	x, ok := p.settling()
	if !ok {
		return Reading{}, false
	}
	means := make([]float64, batches)
	for i := range means {
		means[i] = stats.Mean(x[i*len(x)/batches : (i+1)*len(x)/batches])
	}
	rho, change := stats.Trend(means)
	v := math.Abs(change)
	if math.Abs(rho) <= 0.5 || math.IsNaN(rho) {
		v = 0
	}
	r := Reading{
		Value: v, Warn: 0.05, Fail: never,
		Detail: fmt.Sprintf("latency changed by %s over the run (rank correlation %.2f)", percent(math.Abs(change)), rho),
		Try:    "a longer warmup or a longer run",
	}
	if math.Abs(rho) > 0.8 {
		r.Fail = 0.2
	}
	return r, true
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
			next = fmt.Sprintf("; %s needs %d", t.name, stats.Floor(t.q))
			break
		}
		certified = "percentiles up to " + t.name + " are certified"
	}
	return Reading{
		Value: math.Floor(n), Warn: never, Fail: never, Below: true,
		Detail: fmt.Sprintf("%s, worth %.0f independent: %s%s", plural(int64(len(x)), "answer"), n, certified, next),
		Try:    "more requests per run",
	}, true
}
