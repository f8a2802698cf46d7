package sweep

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/schema"
)

// Restore makes a plan of its kept form: the same cells in the same order, the same runs with
// the same seeds. e is what the plan keeps beside its cells, axes are their names and paths,
// and bodies are those of the cells, which may name another server. A plan whose source makes
// up its runs has none to restore.
func Restore(l resultdir.Lock, e schema.Experiment, axes []schema.Axis, bodies []*schema.Resolved) (*Plan, error) {
	if len(bodies) != len(l.Cells) || len(l.Cells) == 0 {
		return nil, fmt.Errorf("%d bodies for %d cells", len(bodies), len(l.Cells))
	}
	p := &Plan{
		Name: l.Name, Hash: l.PlanHash, Type: "none", Trials: l.Trials, Order: l.Order, CellOrder: l.CellOrder,
		BaseSeed: l.BaseSeed, Seeds: l.Seeds, Seeded: l.Seeded, MultiRun: e.MultiRun, Experiment: e,
	}
	if len(axes) > 0 {
		p.Type = grid().Name
	}
	for i, g := range e.Gates {
		p.Gates = append(p.Gates, Gate{Expr: g, Origin: GateOrigin(i)})
	}
	for _, a := range axes {
		p.Axes = append(p.Axes, schema.Axis{Path: a.Path, Name: a.Name})
	}
	cells := map[string]*Cell{}
	for i, was := range l.Cells {
		canon, err := canonical(bodies[i].Identity)
		if err != nil {
			return nil, err
		}
		c := &Cell{
			ID: was.ID, Index: i, Label: was.Label, DirName: was.Dir, Values: was.Point, Resolved: bodies[i],
			Seed: was.Seed, canonical: canon,
		}
		for k := range p.Axes {
			c.Point = append(c.Point, restored(&p.Axes[k], was.Point))
		}
		p.Cells, cells[c.ID] = append(p.Cells, c), c
	}
	for _, was := range l.Runs {
		c := cells[was.Cell]
		if c == nil {
			return nil, fmt.Errorf("run %s is of no cell of the plan", was.ID)
		}
		r := Run{
			Cell: c, Trial: was.Trial, ID: was.ID, Seed: was.Seed, Text: was.Text, Warmup: was.Warmup, Dir: was.Dir,
			Label: fmt.Sprintf("run_%04d", was.Trial+1),
		}
		if was.Trial >= l.Trials {
			r.Sentinel = was.Trial - l.Trials + 1
		}
		p.Runs = append(p.Runs, r)
	}
	return p, nil
}

// restored is the value that a cell has on an axis, which learns it.
func restored(a *schema.Axis, point map[string]any) Value {
	v := point[inBody(a.Path)]
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		v = int64(f) // as it was before it was kept as JSON
	}
	label := pyStr(v)
	if object, ok := v.(map[string]any); ok && object["label"] != nil {
		label = pyStr(object["label"])
	}
	for _, known := range a.Labels {
		if known == label {
			return Value{Axis: a.Name, Path: a.Path, Value: v, Label: label}
		}
	}
	a.Values, a.Labels = append(a.Values, v), append(a.Labels, label)
	return Value{Axis: a.Name, Path: a.Path, Value: v, Label: label}
}
