package decide

import (
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep"
)

// Asked are the numbers that the experiment itself names: those of its gates,
// SLOs, objectives and comparison. None are named by an experiment that only
// measures.
func Asked(p *sweep.Plan) (keys []Key) {
	add := func(k Key) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if gates, bad := compileGates(p, metrics.Tags()); bad == nil {
		for _, g := range gates {
			for _, k := range g.refs {
				add(k)
			}
		}
	}
	for _, c := range p.Cells {
		if len(c.Resolved.Benchmark.SLOs) > 0 {
			add(Key{metrics.GoodRequestFraction, "avg"})
		}
	}
	named := slices.Clone(p.Experiment.Objectives)
	if c := p.Experiment.Compare; c != nil {
		named = append(named, c.Metrics...)
	}
	for _, name := range named {
		if k, bad := ParseKey(name, metrics.Tags()); bad == nil {
			add(k)
		}
	}
	return keys
}

// Spoiled is a number that was asked for and is invalid in some run.
type Spoiled struct {
	Cell  *CellResult
	Key   Key
	Taint validity.Taint
}

// Spoiled are the numbers that a gate, an SLO, an objective or a comparison asked
// for and that are invalid somewhere, cell by cell.
func (r *Results) Spoiled(p *sweep.Plan) (out []Spoiled) {
	asked := Asked(p)
	if len(r.Best) > 0 {
		for _, o := range r.Objectives {
			asked = append(asked, o.Key)
		}
	}
	for _, c := range r.Comparisons {
		for _, row := range c.Rows {
			if row.Primary {
				asked = append(asked, row.Key)
			}
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		var seen []Key
		for _, k := range asked {
			if t := c.Taint(k); t.Level == validity.Wrong && !slices.Contains(seen, k) {
				seen = append(seen, k)
				out = append(out, Spoiled{c, k, t})
			}
		}
	}
	return out
}
