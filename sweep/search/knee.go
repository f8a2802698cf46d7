package search

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
)

// Bends are where throughput and latency bend, over the logarithms of the load and of them.
type Bends struct {
	Throughput, Latency           stats.Bend
	ThroughputShown, LatencyShown bool
	At                            stats.Param // the knee as a load
	LatencyAt                     stats.Param // where the latency bends, as a load
	Grows                         bool        // where there is none: the throughput still grows at the upper end
}

// A bend is shown when a straight line fits as well in one case of twenty, and the slopes
// are clearly apart: the throughput grows before it, and behind it more load hardly gives
// more: twice the load gives less than a quarter more.
const (
	bendLevel = 0.05
	growing   = 0.5
	hardly    = sweep.FlatElasticity
	apart     = 0.2
	fewBends  = sweep.FewestKneeLoads
)

// grid are the loads that are measured first: each about twice the one before, and at
// least as many as a bend takes, as far as there are so many and the budget has room.
func (s *state) grid() []float64 {
	n := max(fewBends, int(math.Ceil(math.Log2(s.High/s.Low)))+1)
	n = max(2, min(n, s.Probes-2))
	out := []float64{s.Low}
	for left := n - 1; left > 0; left-- {
		last := out[len(out)-1]
		next := s.canonical(last * math.Pow(s.High/last, 1/float64(left)))
		if s.Whole {
			next = min(max(next, last+1), s.High)
		}
		out = append(out, next)
	}
	return slices.Compact(out)
}

// knee measures the grid, then the middle of the widest gap in which the knee may lie, and
// in the end the loads beside it again.
func (s *state) knee() Step {
	if len(s.runs) > 0 {
		if step, ended := s.unfit(); ended {
			return step
		}
		if s.spent() {
			return s.bent(Spent)
		}
	}
	has := func(load float64) *Load {
		i := slices.IndexFunc(s.loads, func(l Load) bool { return l.Load == load })
		if i < 0 {
			return nil
		}
		return &s.loads[i]
	}
	grid := s.grid()
	for i, load := range grid {
		if has(load) == nil {
			return Step{Load: load, Why: fmt.Sprintf("load %d of %d over the range", i+1, len(grid))}
		}
	}
	b := s.bends()
	if b == nil || !b.ThroughputShown {
		return s.bent("")
	}
	before, after := s.beside(b.At.Value)
	if step, ok := s.within(b.At); ok && s.left() > 2 {
		return step
	}
	for _, l := range []*Load{after, before} {
		if l != nil && l.Runs < 2 {
			return Step{Load: l.Load, Why: fmt.Sprintf("a second run beside the knee at about %s", number(b.At.Value))}
		}
	}
	return s.bent("")
}

// beside are the loads next to a place.
func (s *state) beside(at float64) (before, after *Load) {
	for i := range s.loads {
		switch l := &s.loads[i]; {
		case l.Load <= at:
			before = l
		case after == nil:
			after = l
		}
	}
	return before, after
}

// within is the middle of the widest gap between loads in an interval.
func (s *state) within(p stats.Param) (Step, bool) {
	wide, mid := 1.0, 0.0
	low, high := 0.0, 0.0
	for i := 1; i < len(s.loads); i++ {
		a, b := s.loads[i-1].Load, s.loads[i].Load
		if b < p.Low || a > p.High {
			continue
		}
		if m, ok := s.middle(a, b); ok && b/a > wide {
			wide, mid, low, high = b/a, m, a, b
		}
	}
	if mid == 0 {
		return Step{}, false
	}
	return Step{Load: mid, Why: fmt.Sprintf("the knee may lie between %s and %s", number(low), number(high))}, true
}

// bends fits throughput and latency; nil with too few loads.
func (s *state) bends() *Bends {
	var x, rate, slow, latency []float64
	for i := range s.runs {
		r := &s.runs[i]
		if r.Unfit != "" {
			continue
		}
		if r.Rate > 0 {
			x, rate = append(x, math.Log(r.Load)), append(rate, math.Log(r.Rate))
		}
		if r.Latency > 0 {
			slow, latency = append(slow, math.Log(r.Load)), append(latency, math.Log(r.Latency))
		}
	}
	var b Bends
	var ok bool
	if b.Throughput, ok = stats.FindBend(x, rate); !ok {
		return nil
	}
	load := func(p stats.Param) stats.Param {
		return stats.Param{Value: math.Exp(p.Value), Low: math.Exp(p.Low), High: math.Exp(p.High)}
	}
	t := b.Throughput
	b.ThroughputShown = t.P < bendLevel && t.Before >= growing && t.After < hardly && t.Before-t.After > apart
	b.At = load(t.At)
	b.Grows = t.Slope.Value >= hardly
	if t.P < bendLevel {
		b.Grows = t.After >= hardly
	}
	if b.Latency, ok = stats.FindBend(slow, latency); ok {
		l := b.Latency
		b.LatencyShown = l.P < bendLevel && l.After >= growing && l.After-l.Before > apart
		b.LatencyAt = load(l.At)
	}
	return &b
}

// agree reports whether two intervals overlap, as far as the resolution goes.
func (s *state) agree(a, b stats.Param) bool {
	near := 1 + s.Resolution
	return a.Low <= b.High*near && b.Low <= a.High*near
}

// bent ends a search for a knee.
func (s *state) bent(how Outcome) Step {
	b := s.bends()
	if how == "" {
		switch {
		case b == nil:
			how = Unbent
		case b.ThroughputShown && b.LatencyShown && s.agree(b.At, b.LatencyAt):
			how = Bent
		case b.LatencyShown != b.ThroughputShown && b.ThroughputShown:
			how = BentAlone
		case b.LatencyShown:
			how = BentTwice
		case b.Throughput.P >= bendLevel && b.Throughput.Slope.Low < hardly && b.Throughput.Slope.High >= hardly:
			how = Unbent
		default:
			how = BentAtEnd
		}
	}
	step := s.end(how)
	step.Answer.Knee = b
	step.Answer.Holds, step.Answer.Fails = nil, nil
	step.Answer.Sure = b != nil && b.ThroughputShown
	return step
}
