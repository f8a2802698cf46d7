package mode

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"aiperf.dev/aiperf/schema"
)

// rampUpdate is how often a ramped rate changes.
const rampUpdate = 100 * time.Millisecond

// exponent of the exponential shape: progress is (t/duration)².
const exponent = 2

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
// of Λ(t) = ∫ rate. The rate is a straight line between knots, so a rate that
// changes stretches a schedule without making it depend on what was really sent,
// and the same draws at another rate give the same schedule at another scale.
type pace struct {
	knots []knot
	i     int
}

// knot starts a piece of the rate.
type knot struct {
	at    float64 // s
	rate  float64 // requests/s
	slope float64 // requests/s²
	sum   float64 // Λ(at)
}

// after is the knot that ends k's piece at time at.
func (k knot) after(at float64) knot {
	dt := at - k.at
	return knot{at: at, rate: k.rate + k.slope*dt, sum: k.sum + k.rate*dt + k.slope*dt*dt/2}
}

// at is the offset at which u requests have become due; false when so many
// never do. u must not decrease from call to call. Within a piece u − Λ(k) =
// rate·dt + slope·dt²/2, solved in the form that also holds without a slope.
func (p *pace) at(u float64) (time.Duration, bool) {
	for p.i+1 < len(p.knots) && p.knots[p.i+1].sum <= u {
		p.i++
	}
	k, last := p.knots[p.i], p.i+1 == len(p.knots)
	left := u - k.sum
	speed := k.rate + math.Sqrt(max(0, k.rate*k.rate+2*k.slope*left))
	switch {
	case speed > 0:
		return seconds(k.at + 2*left/speed), true
	case last:
		return 0, false // it ends at rate 0: nothing will ever come
	}
	return seconds(p.knots[p.i+1].at), true
}

// steer changes the rate from an offset on, given the next arrival by the rate until then:
// it comes when as much has become due, by the new rate.
func (p *pace) steer(at time.Duration, rate float64, next time.Duration) (time.Duration, bool) {
	u := p.due(next.Seconds())
	k := p.knots[0]
	for _, q := range p.knots {
		if q.at <= at.Seconds() {
			k = q
		}
	}
	k = k.after(at.Seconds())
	k.rate, k.slope = rate, 0
	p.knots, p.i = []knot{k}, 0
	return p.at(u)
}

// due is how many requests have become due by t, in s.
func (p *pace) due(t float64) float64 {
	k := p.knots[0]
	for _, next := range p.knots {
		if next.at <= t {
			k = next
		}
	}
	return k.after(t).sum
}

// newPace is the rate of p over time. Ramped, it begins with
// rate·(0.1/duration) and changes every 0.1 s until the target is reached after
// the ramp's duration: start + (rate − start)·x, with x as the shape says.
func newPace(p *schema.Phase, root int64) (pace, error) {
	if a := p.Scales(schema.ScaleRate); a != nil {
		return pace{knots: []knot{{rate: a.Control.Min}}}, nil
	}
	if !(p.Rate > 0) {
		return pace{}, errorf(p, "rate %v: a %s phase needs a rate above 0", p.Rate, p.Type)
	}
	r := p.RateRamp
	if r == nil || !(float64(r.Duration) > rampUpdate.Seconds()) {
		return pace{knots: []knot{{rate: p.Rate}}}, nil
	}
	d := float64(r.Duration)
	start := p.Rate * rampUpdate.Seconds() / d
	knots := []knot{{rate: start}}
	times := updateTimes(r, rampStream(root, p, "rate"))
	for i, t := range times {
		x := rateProgress(r.Strategy, t/d, float64(i+1)/float64(len(times)))
		next := knots[len(knots)-1].after(t)
		next.rate = start + (p.Rate-start)*x
		knots = append(knots, next)
	}
	return pace{knots: knots}, nil
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
