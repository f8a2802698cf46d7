package planner

import (
	"fmt"
	"math"
	"slices"
)

// line is what is known along one dimension, under limits.
type line struct {
	*Terms
	seen  []Seen
	loads []load // ascending
	holds *load  // the largest that keeps the limits below fails
	fails *load  // the smallest that does not
}

// load is one value of the dimension with its runs.
type load struct {
	at           float64
	kept, missed int // runs
	last         int // the newest of them
	margin       float64
	margins      []float64 // of each run
}

// state is whether the limits are kept there: 1 yes, −1 no, 0 for runs that disagree.
func (l *load) state() int {
	switch {
	case l.kept > l.missed:
		return 1
	case l.missed > l.kept:
		return -1
	}
	return 0
}

func newLine(t *Terms, seen []Seen) *line {
	l := &line{Terms: t, seen: seen}
	for i := range seen {
		x := load{at: seen[i].At[0]}
		at, known := slices.BinarySearchFunc(l.loads, x, compare)
		if !known {
			l.loads = slices.Insert(l.loads, at, x)
		}
		p := &l.loads[at]
		p.last = i
		p.margins = append(p.margins, seen[i].margin())
		if seen[i].Feasible {
			p.kept++
		} else {
			p.missed++
		}
	}
	for i := range l.loads {
		p := &l.loads[i]
		for _, m := range p.margins {
			p.margin += m / float64(len(p.margins))
		}
	}
	for i := range l.loads {
		if l.loads[i].state() < 0 {
			l.fails = &l.loads[i]
			break
		}
	}
	for i := range l.loads {
		if p := &l.loads[i]; p.state() > 0 && (l.fails == nil || p.at < l.fails.at) {
			l.holds = p
		}
	}
	return l
}

// monotonic doubles until a limit is missed, then bisects. Each end of the bracket is
// measured until so many runs agree about it; AIPerf does that at every point on the way.
func monotonic(t *Terms, seen []Seen) Step {
	l := newLine(t, seen)
	if step, open := l.bracket("monotonic_", t.Stability); open {
		return step
	}
	if l.narrow() {
		return l.confirm(t.Stability, "monotonic_"+precisionReached)
	}
	return l.middle("the middle of %s, which keeps the limits, and %s, which does not")
}

// bracket is the next step as long as there is none: a first load that keeps the limits
// and one that does not. agree is how many runs a bound of the range takes.
func (l *line) bracket(by Reason, agree int) (Step, bool) {
	dim := l.Space[0]
	if len(l.loads) == 0 {
		return Step{At: []float64{dim.Low}, Why: "the lower end of the range"}, true
	}
	for i := range l.loads {
		if p := &l.loads[i]; p.state() == 0 {
			return Step{At: []float64{p.at}, Why: fmt.Sprintf("the runs at %s disagree", number(p.at))}, true
		}
	}
	switch {
	case l.holds == nil:
		if l.fails.at > dim.Low { // everything below is known to keep them, or was not measured
			return Step{At: []float64{dim.Low}, Why: "the lower end of the range"}, true
		}
		return l.agree(l.fails, agree, by+noPass), true
	case l.fails != nil:
		return Step{}, false
	case l.holds.at >= dim.High:
		return l.agree(l.holds, agree, by+noFailure), true
	}
	next := min(dim.High, max(2*l.holds.at, l.holds.at+1))
	return Step{At: []float64{next}, Why: "the limits are kept up to " + number(l.holds.at)}, true
}

// narrow reports whether the bracket is as near as was asked, or has nothing between its ends.
func (l *line) narrow() bool {
	gap := l.fails.at - l.holds.at
	return l.Space[0].Whole && gap <= 1 || gap <= l.Precision*l.fails.at
}

// middle is the geometric middle of the bracket, which is where AIPerf bisects.
func (l *line) middle(why string) Step {
	return Step{
		At:  []float64{l.inside(math.Sqrt(l.holds.at * l.fails.at))},
		Why: fmt.Sprintf(why, number(l.holds.at), number(l.fails.at)),
	}
}

// inside is the value of the dimension that is nearest to x and between the ends.
func (l *line) inside(x float64) float64 {
	if l.Space[0].Whole {
		return max(l.holds.at+1, min(l.fails.at-1, math.Round(x)))
	}
	edge := math.Pow(l.fails.at/l.holds.at, 0.1)
	return max(l.holds.at*edge, min(l.fails.at/edge, x))
}

// confirm measures the ends until so many runs agree about each.
func (l *line) confirm(runs int, reason Reason) Step {
	for _, end := range []*load{l.holds, l.fails} {
		if step := l.agree(end, runs, reason); step.Ended == "" {
			return step
		}
	}
	return Step{Ended: reason}
}

// agree measures a load until so many of its runs say the same.
func (l *line) agree(p *load, runs int, reason Reason) Step {
	if max(p.kept, p.missed) >= runs {
		return Step{Ended: reason}
	}
	return Step{At: []float64{p.at}, Why: "another run confirms " + number(p.at)}
}
