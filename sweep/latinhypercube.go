package sweep

import (
	"slices"

	"aiperf.dev/aiperf/internal/pcg"
	"aiperf.dev/aiperf/internal/qmc"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// latinHypercube draws cells so that every part of every range has one of them.
func latinHypercube() *Kind {
	k := &Kind{
		Name: "latin_hypercube", Class: "LatinHypercubeSweep",
		Doc: "Samples of the ranges by a Latin hypercube: every part of each range has one.", Sampled: true,
		Takes: append(slices.Clone(drawn), fields.Setting{Name: "optimization"}),
		Drawn: func(d *schema.Design) (scramble, optimization any) {
			if d.Spread {
				optimization = "random-cd"
			}
			return nil, optimization
		},
		cube: func(d *schema.Design, seed uint64) ([][]float64, error) {
			rng := pcg.New(seed)
			points := qmc.Latin(d.Samples, len(d.Dimensions), rng)
			if d.Spread {
				qmc.Spread(points, rng)
			}
			return points, nil
		},
	}
	k.points = func(s schema.Sweep, base *int64) ([]schema.Axis, []point, error) { return sampled(k, s, base) }
	return k
}
