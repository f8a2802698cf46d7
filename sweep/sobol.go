package sweep

import (
	"aiperf.dev/aiperf/internal/pcg"
	"aiperf.dev/aiperf/internal/qmc"
	"aiperf.dev/aiperf/schema"
)

// sobol draws cells from a Sobol sequence, which fills the ranges evenly however
// many are drawn.
func sobol() *Kind {
	k := &Kind{
		Name: "sobol", Class: "SobolSweep", Doc: "Samples of the ranges by a Sobol sequence, even at any number of them.", Sampled: true,
		Takes: []string{"samples", "seed", "dimensions", "label_format", "scramble"},
		Drawn: func(d *schema.Design) (scramble, optimization any) { return d.Scramble, nil },
		cube: func(d *schema.Design, seed uint64) ([][]float64, error) {
			var rng *pcg.Generator
			if d.Scramble {
				rng = pcg.New(seed)
			}
			return qmc.Sobol(d.Samples, len(d.Dimensions), rng)
		},
	}
	k.points = func(s schema.Sweep, base *int64) ([]schema.Axis, []point, error) { return sampled(k, s, base) }
	return k
}
