package mode

import (
	"math/rand/v2"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/schema"
)

// draws are random numbers that belong to places: what is drawn for place i
// depends on the key and on i, however much was drawn for those before it. So
// two schedules that need different amounts of randomness, or that differ in
// rate, stay in step.
type draws struct {
	key   uint64
	place uint64
	pcg   rand.PCG
	rng   *rand.Rand
}

// arrivalDraws are those of p's arrivals.
func arrivalDraws(p *schema.Phase, root int64) draws {
	return draws{key: seed.Of(root, "arrivals/"+p.Name)}
}

// next is the randomness of the next place. It is valid until the next call.
func (d *draws) next() *rand.Rand {
	if d.rng == nil {
		d.rng = rand.New(&d.pcg) //nolint:gosec // reproducible on purpose
	}
	d.place++
	d.pcg.Seed(d.key, d.place*0x9e3779b97f4a7c15) // spread over all bits
	return d.rng
}
