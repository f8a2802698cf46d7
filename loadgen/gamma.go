package loadgen

import (
	"math"
	"math/rand/v2"
	"time"

	"aiperf.dev/aiperf/schema"
)

// gamma has independent gaps, Gamma(shape k, scale 1/(rate·k)): mean 1/rate,
// coefficient of variation 1/√k. k is the smoothness; k = 1 is Poisson, below 1
// is burstier.
type gamma struct {
	pace  pace
	rng   *rand.Rand
	shape float64
	sum   float64 // operational time, in mean gaps
}

func newGamma(p *schema.Phase, pace pace, rng *rand.Rand) (Arrivals, error) {
	k := p.Smoothness
	if k == 0 {
		k = 1
	}
	if !(k > 0) || math.IsInf(k, 1) {
		return nil, errorf(p, "smoothness %v is not above 0", p.Smoothness)
	}
	return &gamma{pace: pace, rng: rng, shape: k}, nil
}

func (g *gamma) Next() (time.Duration, bool) {
	g.sum += gammaVariate(g.rng, g.shape) / g.shape
	return g.pace.at(g.sum), true
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
