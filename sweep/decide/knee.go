package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// The rule of the knee. Between two loads the elasticity of the throughput is
// ln(gain in throughput)/ln(gain in load): 1 where the server takes all that is added, 0
// where it takes nothing. The knee is the lowest load, but for the first, from which no
// higher one has an elasticity of sweep.FlatElasticity or more: the whole rest of the curve is
// flat, so that a dip is not a knee, and neither is a load above which four times as much
// gives twice the throughput (0.5). The next load must have a latency above kneeLatency times
// that of the lowest, with intervals apart where there are several trials.
const kneeLatency = 1.2

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
	elasticity := func(a, b *CellResult) float64 {
		return math.Log(at(b, x).Mean/at(a, x).Mean) / math.Log(loadOf(b.Cell, k)/loadOf(a.Cell, k))
	}
	for n := 0; n+1 < len(line); n++ {
		base, c, next := line[0], line[n], line[n+1]
		rises := func(later *CellResult) bool { return !(elasticity(c, later) < sweep.FlatElasticity) }
		if slices.ContainsFunc(line[n+1:], rises) {
			continue
		}
		if n == 0 { // flat from the start: the curve bends nowhere in the range
			return
		}
		low, now := at(base, y), at(next, y)
		slower := now.Mean > kneeLatency*low.Mean
		if now.HasInterval() && low.HasInterval() {
			slower = slower && now.Low > low.High
		} else if min(now.N, low.N) > 1 && max(now.N, low.N) < stats.FewestTrials {
			slower = false // they vary, and nobody knows by how much
		}
		if !slower {
			continue
		}
		c.Knee = true
		gain := at(next, x).Mean/at(c, x).Mean - 1
		gave := fmt.Sprintf("%.0f %% more", 100*gain)
		if gain < 0.005 {
			gave = "no more"
		}
		c.Reason = fmt.Sprintf("knee: %.0f %% more load gave %s throughput, and %s was %.1f times that of %s",
			100*(loadOf(next.Cell, k)/loadOf(c.Cell, k)-1), gave, metrics.Series(y.Tag, y.Stat), now.Mean/low.Mean,
			base.Cell.Short())
		return
	}
}
