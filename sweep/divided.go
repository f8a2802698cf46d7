package sweep

import (
	"slices"

	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

// Divided is a number of a load that several workers share, and what one of them gets of it.
type Divided struct {
	Name            string
	Of, Least, Most float64
}

// Divided are those of a plan for so many workers, each once.
func (p *Plan) Divided(workers int) (out []Divided) {
	for _, c := range p.Cells {
		for i := range c.Resolved.Benchmark.Phases {
			for _, d := range divided(&c.Resolved.Benchmark.Phases[i], workers) {
				if !slices.Contains(out, d) {
					out = append(out, d)
				}
			}
		}
	}
	return out
}

func divided(p *schema.Phase, workers int) (out []Divided) {
	m, err := mode.Of(p)
	if err != nil {
		return nil // said when the phase is opened
	}
	if p.Rate > 0 {
		each := p.Rate / float64(workers)
		out = append(out, Divided{"rate", p.Rate, each, each})
	}
	dealt := func(name string, n int) {
		if n > 0 {
			out = append(out, Divided{name, float64(n), float64(n / workers), float64((n + workers - 1) / workers)})
		}
	}
	for _, l := range m.Limits(p, 0) {
		dealt(l.Name, l.N)
	}
	dealt("users", p.Users)
	return out
}
