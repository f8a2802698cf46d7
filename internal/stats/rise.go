package stats

import "math"

// Rise is a share that was 0 in every trial of one side, and counted hits in most trials of the
// other: 0 of 480 against 40 of 480. Trials of few hits spread widely on a logarithm, so that a
// t test of them finds nothing, and hits that come together make the counts look surer than
// they are. Its test lets the chance of a hit vary from trial to trial as a gamma variable of
// shape riseShape does, and is exact for that.
type Rise struct {
	none, some exposure
	hits       float64
}

// exposure is how much there was to hit: so many trials, of so many attempts on average.
type exposure struct{ trials, of float64 }

// riseShape makes the standard deviation of a trial's chance √2 times its mean. Where trials
// vary less, fewer identical systems are told apart than the level allows.
const riseShape = 0.5

// RiseFromNone is false unless none has no hit, and some has hits in at least three trials and
// in more than half of them: what happens in one or two trials is a matter of those trials.
func RiseFromNone(none, some []Tally) (Rise, bool) {
	a, quiet, before := exposed(none)
	b, still, hits := exposed(some)
	struck := b.trials - still
	if before > 0 || quiet == 0 || struck < 3 || 2*struck <= b.trials {
		return Rise{}, false
	}
	return Rise{none: a, some: b, hits: hits}, true
}

// exposed adds trials up; quiet are those without a hit.
func exposed(trials []Tally) (e exposure, quiet, hits float64) {
	sum := 0.0
	for _, t := range trials {
		if !(t.Of > 0 && t.Hits >= 0) {
			continue
		}
		e.trials++
		sum += t.Of
		hits += t.Hits
		if t.Hits == 0 {
			quiet++
		}
	}
	if e.trials > 0 {
		e.of = sum / e.trials
	}
	return e, quiet, hits
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
	return lo
}

// chance of no hit on one side, and as many or more on the other, where the share of the other
// is larger by rise, at the share p that makes it most likely:
//
//	sup over p of (1 + p·of/shape)^(−shape·trials) · P(NB(shape·trials, (p + rise)·of) ≥ hits)
//
// Counts of a Poisson variable whose mean is gamma distributed are negative binomial (NB), and
// sums of them are, too. The product has one maximum in p: its first factor falls, its second rises.
func (r Rise) chance(rise float64) float64 {
	at := func(p float64) float64 {
		size := riseShape * r.some.trials
		odds := (p + rise) * r.some.of / riseShape
		return math.Pow(1+p*r.none.of/riseShape, -riseShape*r.none.trials) * betaInc(r.hits, size, odds/(1+odds))
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
