package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Next is what to measure after a sweep of loads: where a better cell, or the limit, may lie
// between or beyond those that were tested. The zero value is that nothing is left to ask.
type Next struct {
	Why   string    // "no higher concurrency was tested", "the limit lies between concurrency 8 and 12"
	Flag  string    // "--concurrency"
	Loads []float64 // ascending
}

// Try is what to type: "try --concurrency 10"; "" for nothing.
func (n Next) Try() string {
	if n.Flag == "" || len(n.Loads) == 0 {
		return ""
	}
	loads := make([]string, len(n.Loads))
	for i, l := range n.Loads {
		loads[i] = fmt.Sprintf("%.4g", l)
	}
	return "try " + n.Flag + " " + strings.Join(loads, ",")
}

// String is the reason with what to type; "" for nothing.
func (n Next) String() string {
	if try := n.Try(); try != "" {
		return n.Why + ": " + try
	}
	return n.Why
}

// Join is what to measure for several answers: all of the loads, where they are of one flag.
func (n Next) Join(other Next) Next {
	switch {
	case n.Try() == "":
		return other
	case other.Try() == "" || other.Flag != n.Flag:
		return n
	}
	if n.Why != other.Why {
		n.Why = ""
	}
	n.Loads = slices.Concat(n.Loads, other.Loads)
	slices.Sort(n.Loads)
	n.Loads = slices.Compact(n.Loads)
	return n
}

// next is what to measure after the answer b. Where more is better, that are higher loads than
// the best one, or those on both sides of it; under limits those between the last load that
// keeps them and the first that does not.
func (r *Results) next(p *sweep.Plan, b Best) Next {
	if b.Objective.Direction != stats.Maximise {
		return Next{}
	}
	for k, a := range p.Axes {
		name := loadAxis(a)
		if name == "" {
			continue
		}
		for _, line := range lines(r.measured(), k) {
			n := b.along(line, func(c *CellResult) float64 { return loadOf(c.Cell, k) }, sweep.AxisNamed(name).Whole,
				strings.ReplaceAll(a.Name, "_", " "))
			if n.Why == "" {
				continue
			}
			n.Flag = flagOf(a)
			return n
		}
	}
	return Next{}
}

// along is what to measure on a line of loads, ascending, of an axis with a name.
func (b Best) along(line []*CellResult, load func(*CellResult) float64, whole bool, name string) Next {
	last := len(line) - 1
	at := slices.Index(line, b.Cell)
	switch {
	case last < 1 || b.Choice != "":
		return Next{}
	case b.Limits && b.Cell == nil && len(b.MayBe) == 0 && !b.Doubtful && line[0].limits() == Missed:
		low := load(line[0]) / 2
		if whole {
			low = math.Floor(low)
		}
		if low <= 0 {
			return Next{}
		}
		return Next{Why: "no lower " + name + " was tested", Loads: []float64{low}}
	case at < 0 || !b.Shown || at == last && b.levelsOff(line[at-1], load(line[at])/load(line[at-1])):
		return Next{}
	case at == last && b.Limits:
		return Next{
			Why:   "no higher " + name + " was tested, so more may be possible",
			Loads: []float64{2 * load(line[at])},
		}
	case at == last:
		return Next{Why: "no higher " + name + " was tested", Loads: []float64{2 * load(line[at])}}
	case b.Limits && line[at+1].limits() != Missed:
		return Next{}
	}
	high, above := load(line[at+1]), between(load(line[at]), load(line[at+1]), whole)
	if b.Limits {
		if len(above) == 0 {
			return Next{}
		}
		return Next{
			Why:   fmt.Sprintf("the limit lies between %s %.4g and %.4g", name, load(line[at]), high),
			Loads: above,
		}
	}
	if b.Unranked != "" { // what is in doubt comes first
		return Next{}
	}
	var loads []float64
	if at > 0 {
		loads = between(load(line[at-1]), load(line[at]), whole)
	}
	if loads = append(loads, above...); len(loads) == 0 {
		return Next{}
	}
	return Next{Why: "loads between those tested may give more", Loads: loads}
}

// levelsOff reports whether the best cell has so little more than one with a factor less load
// that still more load is not worth trying.
func (b Best) levelsOff(below *CellResult, factor float64) bool {
	values := leaders(b.Objective, []*CellResult{below, b.Cell})
	return len(values) == 2 &&
		math.Log(values[0].est.Mean/values[1].est.Mean) < sweep.FlatElasticity*math.Log(factor)
}

// between is the load in the middle of two; none where none lies between, or too near to
// tell.
func between(low, high float64, whole bool) []float64 {
	middle := (low + high) / 2
	if whole {
		middle = math.Floor(middle)
	}
	if middle <= low || high < (1+margin)*low {
		return nil
	}
	return []float64{middle}
}

// flagOf is the flag of the setting that an axis varies; "" for one without.
func flagOf(a schema.Axis) string {
	last := a.Path[strings.LastIndex(a.Path, ".")+1:]
	for _, o := range schema.Options() {
		if o.Path == "benchmark.phases.profiling."+last && !o.Hidden && o.Instead == "" && !o.Unsupported {
			return o.Typed()
		}
	}
	return ""
}
