package mode

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

var gammaRate = Mode{
	Name: "gamma", Title: "open loop, random arrivals of a chosen evenness",
	Doc: "Open loop: independent gaps that are more even (smoothness above 1) or burstier (below) than Poisson's.",
	Takes: append(slices.Clone(rates), fields.Setting{
		Name: "smoothness",
		Only: "smoothness is the shape of gamma gaps",
	}),
	Pattern: "gamma", Presumed: "smoothness",
	EveryTurn: true,
	Requests:  10, Expected: atRate,
	Dispersion: func(p *schema.Phase) float64 { return 1 / cmp.Or(p.Smoothness, 1) },
	open: func(_ *Mode, p *schema.Phase, root int64, _ *dataset.Set) (Load, error) {
		pace, err := newPace(p, root)
		if err != nil {
			return Load{}, err
		}
		k := cmp.Or(p.Smoothness, 1)
		if !(k > 0) || math.IsInf(k, 1) {
			return Load{}, errorf(p, "smoothness %v is not above 0", p.Smoothness)
		}
		return Load{Arrivals: &gamma{pace: pace, gaps: arrivalDraws(p, root), shape: k}}, nil
	},
}

// gamma has independent gaps, Gamma(shape k, scale 1/(rate·k)): mean 1/rate,
// coefficient of variation 1/√k. k is the smoothness; k = 1 is Poisson, below 1
// is burstier.
type gamma struct {
	pace  pace
	gaps  draws
	shape float64
	sum   float64 // operational time, in mean gaps
}

func (g *gamma) Next() (time.Duration, bool) {
	g.sum += gammaVariate(g.gaps.next(), g.shape) / g.shape
	return g.pace.at(g.sum)
}

// gammaVariate draws from Gamma(k, 1). Marsaglia and Tsang, A Simple Method for
// Generating Gamma Variables, ACM TOMS 26 (2000): for k ≥ 1, with d = k − 1/3
// and c = 1/√(9d), accept d·v, v = (1 + c·x)³, x normal, when
// ln u < x²/2 + d − d·v + d·ln v. Below 1: Gamma(k+1)·u^(1/k).
func gammaVariate(rng *rand.Rand, k float64) float64 {
	if k < 1 {
		return gammaVariate(rng, k+1) * math.Pow(1-rng.Float64(), 1/k)
	}
	d := k - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// Steer changes the rate.
func (g *gamma) Steer(at time.Duration, rate float64, next time.Duration) (time.Duration, bool) {
	return g.pace.steer(at, rate, next)
}
