package stats

import (
	"math"
	"slices"
)

// Rise is a share that was 0 in every trial of one side, and counted hits in most trials of the
// other: 0 of 480 against 40 of 480. Trials of few hits spread widely on a logarithm, so that a
// t test of them finds nothing, and hits that come together make the counts look surer than
// they are. Its tests let the chance of a hit vary from trial to trial as a gamma variable of
// shape riseShape does, count hits that come together within a trial once (Tally.Effect), and
// are exact for that.
type Rise struct {
	none, some exposure
	hits       float64 // all events of the other side
	least      float64 // those of its trial that has the fewest
	struck     float64 // its trials that have any
	effect     float64 // hits an event
}

// exposure is how much there was to hit: so many trials, of so many attempts on average.
type exposure struct{ trials, of float64 }

// riseShape makes the standard deviation of a trial's chance √2 times its mean. Where trials
// vary less, fewer identical systems are told apart than the level allows.
const riseShape = 0.5

// RiseFromNone is false unless none has no hit, and some has hits in at least three trials and
// in more than half of them: what happens in one or two trials is a matter of those trials.
func RiseFromNone(none, some []Tally) (Rise, bool) {
	a, b := exposed(none), exposed(some)
	quiet, struck := events(none), slices.DeleteFunc(events(some), func(n float64) bool { return n == 0 })
	switch n := float64(len(struck)); {
	case a.trials == 0 || slices.ContainsFunc(quiet, func(n float64) bool { return n > 0 }):
		return Rise{}, false
	case n < 3 || 2*n <= b.trials:
		return Rise{}, false
	}
	r := Rise{none: a, some: b, struck: float64(len(struck))}
	if float64(len(struck)) == b.trials {
		r.least = slices.Min(struck)
	}
	for _, n := range struck {
		r.hits += n
	}
	all := 0.0
	for _, t := range some {
		all += max(0, t.Hits)
	}
	r.effect = all / r.hits
	return r, true
}

// exposed adds trials up.
func exposed(trials []Tally) (e exposure) {
	for _, t := range trials {
		if t.Of > 0 && t.Hits >= 0 {
			e.trials, e.of = e.trials+1, e.of+t.Of
		}
	}
	e.of /= max(1, e.trials)
	return e
}

// events are the hits of each trial, those that came together counted once.
func events(trials []Tally) (out []float64) {
	for _, t := range trials {
		switch {
		case !(t.Of > 0 && t.Hits >= 0):
		case t.Hits == 0:
			out = append(out, 0)
		default:
			out = append(out, max(1, t.Hits/max(1, t.Effect)))
		}
	}
	return out
}

// P is the two-sided chance of as clear a rise where both sides have one share.
func (r Rise) P() float64 { return min(1, 2*r.chance(0)) }

// Low is the smallest rise that is not refused at a one-sided level of alpha, as a part of the
// whole: the lower end of an interval of 1 − 2·alpha, 0 where no rise is shown.
func (r Rise) Low(alpha float64) float64 {
	if !(alpha > 0 && alpha < 1) || r.chance(0) >= alpha {
		return 0
	}
	lo, hi := 0.0, r.hits/(r.some.trials*r.some.of)
	for range 30 {
		if mid := (lo + hi) / 2; r.chance(mid) < alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo * r.effect
}

// Trials is the smallest number of trials of each side, more than there were, that shows the rise at
// a two-sided level if they go on as these did; false where MostTrials do not.
func (r Rise) Trials(alpha float64) (int, bool) {
	for n := int(max(r.none.trials, r.some.trials)) + 1; n <= MostTrials; n++ {
		more := r
		more.hits *= float64(n) / r.some.trials
		more.least = min(1, r.least) // the fewest of more trials are fewer
		more.struck = math.Floor(float64(n) * r.struck / r.some.trials)
		more.none.trials, more.some.trials = float64(n), float64(n)
		if more.P() < alpha {
			return n, true
		}
	}
	return 0, false
}

// chance is that of no hit on one side, and of as clear ones on the other, where the share of the other
// is larger by rise, by the clearest of three:
//
//	hits    all of them, which one bad trial may bring about
//	struck  the trials that have any: at a rise of 0 for any distribution of a trial's chance
//	least   the fewest in a trial, where all have some: of three trials that is all there is
//
// At any level the last two have one region, and twice the first is taken, so that all of them together err no more
// often than they say: TestRiseErrsAsOftenAsItSays.
func (r Rise) chance(rise float64) float64 {
	n := r.some.trials
	p := 2 * r.most(func(p float64) float64 { return betaInc(r.hits, riseShape*n, r.odds(p+rise)) })
	p = min(p, r.most(func(p float64) float64 {
		return betaInc(r.struck, n-r.struck+1, 1-math.Pow(1-r.odds(p+rise), riseShape))
	}))
	if r.least > 0 {
		p = min(p, r.most(func(p float64) float64 { return math.Pow(betaInc(r.least, riseShape, r.odds(p+rise)), n) }))
	}
	return min(1, p)
}

// odds is the parameter of the negative binomial counts of a trial of the other side.
func (r Rise) odds(p float64) float64 {
	mean := p * r.some.of / riseShape
	return mean / (1 + mean)
}

// most is the largest chance, over all shares p of one side, of no hit there and of what was found on the other:
//
//	sup over p of (1 + p·of/shape)^(−shape·trials) · found(p)
//	found  P(NB(shape·trials, (p + rise)·of) ≥ hits),  P(NB(shape, (p + rise)·of) ≥ least)^trials,
//	       P(B(trials, q) ≥ struck), q = P(NB(shape, (p + rise)·of) > 0)
//
// Counts of a Poisson variable whose mean is gamma distributed are negative binomial (NB), and
// sums of them are, too. The product has one maximum in p: its first factor falls, its second rises.
func (r Rise) most(found func(p float64) float64) float64 {
	at := func(p float64) float64 {
		return math.Pow(1+p*r.none.of/riseShape, -riseShape*r.none.trials) * found(p)
	}
	lo, hi := math.Log(1e-9), 0.0
	golden := (math.Sqrt(5) - 1) / 2
	for range 30 {
		a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
		if at(math.Exp(a)) < at(math.Exp(b)) {
			lo = a
		} else {
			hi = b
		}
	}
	return max(at(0), at(math.Exp((lo+hi)/2)))
}
