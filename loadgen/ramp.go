package loadgen

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/schema"
)

// rampUpdate is how often a ramped rate changes.
const rampUpdate = 100 * time.Millisecond

// exponent of the exponential shape: progress is (t/duration)².
const exponent = 2

// rampStream is the randomness of one ramp of p.
func rampStream(root int64, p *schema.Phase, what string) *rand.Rand {
	return seed.Stream(root, "ramp/"+what+"/"+p.Name)
}

// limitSteps says when a limit grows: entry i is when it becomes i+1. It starts
// at 1 and reaches target after the ramp's duration, in steps of one:
//
//	linear       step i of target−1 at duration·i/(target−1)
//	exponential  at duration·√(i/(target−1))
//	poisson      at a Poisson process' times, given that target−1 fall into it
func limitSteps(target int, r *schema.Ramp, rng *rand.Rand) []time.Duration {
	at := make([]time.Duration, target)
	if r == nil || target < 2 {
		return at
	}
	d := float64(r.Duration)
	for i := 1; i < target; i++ {
		at[i] = seconds(d * stepTime(r.Strategy, float64(i)/float64(target-1), rng))
	}
	slices.Sort(at)
	return at
}

// stepTime is when, in parts of the ramp's duration, progress reaches x.
func stepTime(strategy string, x float64, rng *rand.Rand) float64 {
	switch strategy {
	case "exponential":
		return math.Pow(x, 1.0/exponent)
	case "poisson":
		return rng.Float64()
	}
	return x
}

// pace turns operational time, counted in requests, into offsets: the inverse
// of Λ(t) = ∫ rate. The rate is constant between knots, so a ramp stretches a
// schedule without making it depend on what was really sent.
type pace struct {
	knots []knot
	i     int
}

// knot starts a piece of constant rate.
type knot struct {
	at   float64 // s
	rate float64 // requests/s
	sum  float64 // Λ(at)
}

// at is the offset at which u requests have become due. u must not decrease
// from call to call.
func (p *pace) at(u float64) time.Duration {
	for p.i+1 < len(p.knots) && p.knots[p.i+1].sum <= u {
		p.i++
	}
	k := p.knots[p.i]
	return seconds(k.at + (u-k.sum)/k.rate)
}

// newPace is the rate of p over time. Ramped, it begins with
// rate·(0.1/duration) and changes every 0.1 s until the target is reached after
// the ramp's duration: start + (rate − start)·x, with x as the shape says.
func newPace(p *schema.Phase, root int64) pace {
	r := p.RateRamp
	if r == nil || !(float64(r.Duration) > rampUpdate.Seconds()) {
		return pace{knots: []knot{{rate: p.Rate}}}
	}
	d := float64(r.Duration)
	start := p.Rate * rampUpdate.Seconds() / d
	knots := []knot{{rate: start}}
	times := updateTimes(r, rampStream(root, p, "rate"))
	for i, t := range times {
		x := rateProgress(r.Strategy, t/d, float64(i+1)/float64(len(times)))
		last := knots[len(knots)-1]
		knots = append(knots, knot{
			at: t, rate: start + (p.Rate-start)*x, sum: last.sum + last.rate*(t-last.at),
		})
	}
	return pace{knots: knots}
}

// updateTimes are the moments, in s, at which a ramped rate changes: every
// 0.1 s, or as many at random. The last one ends the ramp.
func updateTimes(r *schema.Ramp, rng *rand.Rand) []float64 {
	d := float64(r.Duration)
	n := int(math.Ceil(d/rampUpdate.Seconds() - 1e-9))
	times := make([]float64, n)
	for i := range times {
		times[i] = float64(i+1) * rampUpdate.Seconds()
		if r.Strategy == "poisson" {
			times[i] = rng.Float64() * d
		}
	}
	slices.Sort(times)
	times[n-1] = d
	return times
}

// rateProgress is how far a rate has come: by time passed, or, when updates
// come at random, by updates done.
func rateProgress(strategy string, time, updates float64) float64 {
	switch strategy {
	case "exponential":
		return math.Pow(time, exponent)
	case "poisson":
		return updates
	}
	return time
}
