package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// The rule of the knee. Along the load axis, the elasticity of a step is the
// relative gain in throughput over the relative gain in load: 1 where the
// server takes all that is added, 0 where it takes nothing. The knee is the
// last point before the first step that has an elasticity below kneeElasticity and
// leads to a latency above kneeLatency times that of the lowest load, with intervals
// apart where there are several trials: the load from which on more of it hardly pays.
const (
	kneeElasticity = 0.5
	kneeLatency    = 1.2
)

// markKnees looks at every line of cells that differ only in load, whatever they
// are ranked by: a knee is one of throughput against latency, the curve.
func (r *Results) markKnees(p *sweep.Plan, curve []Objective) {
	if len(curve) < 2 {
		return
	}
	for k, a := range p.Axes {
		if loadAxis(a) == "" {
			continue
		}
		for _, line := range lines(r.ranked(), k) {
			r.markKnee(line, k, curve)
		}
	}
}

// loadAxis is the name of an axis of which more is more load, "" for others.
func loadAxis(a schema.Axis) string {
	if axis := sweep.AxisNamed(a.Path[strings.LastIndex(a.Path, ".")+1:]); axis.Load {
		return axis.Name
	}
	return ""
}

// lines groups cells by their place on all axes but k, each line
// in order of load. Cells whose load is not a positive number are left out.
func lines(cells []*CellResult, k int) [][]*CellResult {
	var order []string
	of := map[string][]*CellResult{}
	for _, c := range cells {
		if load := loadOf(c.Cell, k); !(load > 0) {
			continue
		}
		key := ""
		for j, v := range c.Cell.Point {
			if j != k {
				key += fmt.Sprintf("%s=%s\x00", v.Path, v.Text())
			}
		}
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], c)
	}
	out := make([][]*CellResult, len(order))
	for n, key := range order {
		out[n] = of[key]
		slices.SortStableFunc(out[n], func(a, b *CellResult) int {
			return cmp.Compare(loadOf(a.Cell, k), loadOf(b.Cell, k))
		})
	}
	return out
}

func loadOf(c *sweep.Cell, k int) float64 {
	if k >= len(c.Point) {
		return math.NaN()
	}
	switch v := c.Point[k].Value.(type) {
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

func (r *Results) markKnee(line []*CellResult, k int, curve []Objective) {
	x, y := curve[0], curve[1]
	at := func(c *CellResult, o Objective) stats.Estimate {
		e, _ := c.at(o.Window).Get(o.Key)
		return e
	}
	for n := 1; n < len(line); n++ {
		base, before, c := line[0], line[n-1], line[n]
		load := loadOf(c.Cell, k)/loadOf(before.Cell, k) - 1
		gain := at(c, x).Mean/at(before, x).Mean - 1
		low, now := at(base, y), at(c, y)
		slower := now.Mean > kneeLatency*low.Mean
		if now.HasInterval() && low.HasInterval() {
			slower = slower && now.Low > low.High
		} else if min(now.N, low.N) > 1 && max(now.N, low.N) < stats.FewestTrials {
			slower = false // they vary, and nobody knows by how much
		}
		if load > 0 && gain/load < kneeElasticity && slower {
			before.Knee = true
			gave := fmt.Sprintf("%.0f %% more", 100*gain)
			if gain < 0.005 {
				gave = "no more"
			}
			before.Reason = fmt.Sprintf("knee: %.0f %% more load gave %s throughput, and %s was %.1f times that of %s",
				100*load, gave, y.Spoken(), now.Mean/low.Mean, base.Cell.Short())
			return
		}
	}
}
