package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
)

// candidates of the two objectives; the first one that every measured cell has
// is taken.
var (
	throughputs = [...]Key{{"output_token_throughput", "avg"}, {"request_throughput", "avg"}}
	latencies   = [...]Key{{"time_to_first_token", "p99"}, {"request_latency", "p99"}}
)

func objectives(cells []CellResult) []Objective {
	var out []Objective
	for _, o := range []struct {
		name  string
		dir   stats.Direction
		among []Key
	}{{"throughput", stats.Maximise, throughputs[:]}, {"latency", stats.Minimise, latencies[:]}} {
		if k, ok := inAll(cells, o.among); ok {
			obj := Objective{Key: k, Name: o.name, Direction: o.dir}
			for i := range cells {
				if s, ok := cells[i].Info[k.Tag]; ok {
					obj.Unit, obj.Header = s.Unit, s.Header
				}
			}
			out = append(out, obj)
		}
	}
	return out
}

// inAll is the first key that every measured cell has.
func inAll(cells []CellResult, keys []Key) (Key, bool) {
	for _, k := range keys {
		any, all := false, true
		for i := range cells {
			if cells[i].Trials > 0 {
				_, ok := cells[i].Full[k]
				any, all = true, all && ok
			}
		}
		if any && all {
			return k, true
		}
	}
	return Key{}, false
}

// markFronts marks the Pareto front of throughput against latency, where the
// intervals allow it, and AIPerf's front of means (request_throughput avg
// against time_to_first_token p99, else request_latency p99).
func (r *Results) markFronts() {
	at := r.measured()
	if len(r.Objectives) == 2 && len(at) > 1 {
		points, dirs := make([][]stats.Estimate, len(at)), make([]stats.Direction, 2)
		known := true
		for k, o := range r.Objectives {
			dirs[k] = o.Direction
			for j, i := range at {
				e := r.Cells[i].Full[o.Key]
				points[j] = append(points[j], e)
				known = known && e.HasInterval()
			}
		}
		if known {
			for j, on := range stats.ParetoIntervals(points, dirs) {
				r.Cells[at[j]].FrontKnown, r.Cells[at[j]].Pareto = true, on
			}
		}
	}
	r.markMeans(at)
}

func (r *Results) markMeans(at []int) {
	x, okX := inAll(r.Cells, throughputs[1:])
	y, okY := inAll(r.Cells, latencies[:])
	if !okX || !okY {
		return
	}
	points := make([][]float64, len(at))
	for j, i := range at {
		points[j] = []float64{r.Cells[i].Full[x].Mean, r.Cells[i].Full[y].Mean}
	}
	for j, on := range stats.Pareto(points, []stats.Direction{stats.Maximise, stats.Minimise}) {
		r.Cells[at[j]].ParetoByMean = on
	}
}

// The rule of the knee. Along the load axis, the elasticity of a step is the
// relative gain in throughput over the relative gain in load: 1 where the
// server takes all that is added, 0 where it takes nothing. The knee is the
// first point whose step has an elasticity below kneeElasticity and whose
// latency is above kneeLatency times that of the lowest load, with intervals
// apart where there are intervals.
const (
	kneeElasticity = 0.5
	kneeLatency    = 1.2
)

// loadAxes are the last parts of paths along which load grows.
var loadAxes = [...]string{"concurrency", "rate", "users"}

// markKnees looks at every line of cells that differ only in load.
func (r *Results) markKnees(p *Plan) {
	if len(r.Objectives) < 2 {
		return
	}
	for k, a := range p.Axes {
		if !slices.Contains(loadAxes[:], a.Path[strings.LastIndex(a.Path, ".")+1:]) {
			continue
		}
		for _, line := range r.lines(k) {
			r.markKnee(line, k)
		}
	}
}

// lines groups the measured cells by their place on all axes but k, each line
// in order of load. Cells whose load is not a positive number are left out.
func (r *Results) lines(k int) [][]int {
	var order []string
	of := map[string][]int{}
	for _, i := range r.measured() {
		if load := loadOf(r.Cells[i].Cell, k); !(load > 0) {
			continue
		}
		key := ""
		for j, v := range r.Cells[i].Cell.Point {
			if j != k {
				key += fmt.Sprintf("%s=%s\x00", v.Path, pyRepr(v.Value))
			}
		}
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], i)
	}
	out := make([][]int, len(order))
	for n, key := range order {
		out[n] = of[key]
		slices.SortStableFunc(out[n], func(a, b int) int {
			return sign(loadOf(r.Cells[a].Cell, k) - loadOf(r.Cells[b].Cell, k))
		})
	}
	return out
}

func sign(v float64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

func loadOf(c *Cell, k int) float64 {
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

func (r *Results) markKnee(line []int, k int) {
	x, y := r.Objectives[0].Key, r.Objectives[1].Key
	for n := 1; n < len(line); n++ {
		base, before, c := &r.Cells[line[0]], &r.Cells[line[n-1]], &r.Cells[line[n]]
		load := loadOf(c.Cell, k)/loadOf(before.Cell, k) - 1
		gain := c.Full[x].Mean/before.Full[x].Mean - 1
		low, now := base.Full[y], c.Full[y]
		slower := now.Mean > kneeLatency*low.Mean
		if now.HasInterval() && low.HasInterval() {
			slower = slower && now.Low > low.High
		}
		if load > 0 && gain/load < kneeElasticity && slower {
			c.Knee = true
			c.Reason = fmt.Sprintf("knee: %.0f %% more load gave %.0f %% more throughput, and %s is %.1f times that of %s",
				100*load, 100*gain, y.spoken(), now.Mean/low.Mean, base.Cell.Short())
			return
		}
	}
}
