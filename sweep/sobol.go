package sweep

import (
	"slices"

	"aiperf.dev/aiperf/internal/pcg"
	"aiperf.dev/aiperf/internal/qmc"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// drawn are the settings of kinds whose cells are drawn from ranges.
var drawn = []fields.Setting{
	{Name: "samples", Needed: "say how many cells to draw"},
	{Name: "dimensions", Needed: "name a path with lo and hi"},
	{Name: "seed", Only: "use random_seed, which all draws of the experiment follow"},
	{Name: "label_format"},
}

// sobol draws cells from a Sobol sequence, which fills the ranges evenly however
// many are drawn.
func sobol() *Kind {
	k := &Kind{
		Name: "sobol", Class: "SobolSweep",
		Doc: "Samples of the ranges by a Sobol sequence, even at any number of them.", Sampled: true,
		Takes: append(slices.Clone(drawn), fields.Setting{Name: "scramble"}),
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
