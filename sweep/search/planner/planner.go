// Package planner says which point AIPerf's adaptive search measures next.
//
// In go the Terms of the search and what was measured so far, each point a Seen; Next gives
// the next point and why, or the reason for which the search ends. Nothing here runs, reads
// or keeps anything: the same points have the same answer, which is how a search is resumed.
// A planner is a row of the catalogue.
package planner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
)

// Terms are what a search is told.
type Terms struct {
	Planner    string
	Space      []Dimension
	Goals      []Goal
	Limited    bool // limits decide whether a point is feasible
	Most       int  // points at most
	Initial    int  // points that are drawn before a model is made
	Patience   int  // points without an improvement that end the search
	Window     int  // points of a plateau
	Flat       float64
	Seed       int64
	Stability  int     // runs that have to agree about each end of a bracket
	Replicates int     // runs of each end of a bracket, 0: where its margin is small
	Precision  float64 // width of a bracket that is narrow enough, as a part of its upper end
	Expected   bool    // soft constraints and limits weigh what is expected, and are not a penalty
	Terminator string  // none, regret, emmr
}

// Dimension is one setting that is varied.
type Dimension struct {
	Path      string
	Low, High float64
	Whole     bool // whole numbers
	Log       bool // drawn evenly on a logarithmic scale
}

// Goal is what is looked for.
type Goal struct {
	Maximize bool
	Worst    *float64 // a value that contributes nothing; nil: the worst that was seen
}

// Seen is what was measured at a point.
type Seen struct {
	At       []float64
	Goals    []float64 // nil where the point has no result
	Feasible bool
	// Margins are how far each limit is kept, as a part of it: 0.1 is 10 % within, below 0
	// is missed. NaN where the figure is not there. Soft are those of constraints that say
	// what is better, and do not decide.
	Margins, Soft []float64
}

// margin is that of the limit that is nearest to being missed; 1 without limits.
func (s *Seen) margin() float64 {
	m := 1.0
	for _, x := range s.Margins {
		if math.IsNaN(x) {
			return -1
		}
		m = min(m, x)
	}
	return m
}

// Step is what follows the points so far: a point, or the reason for which the search ends.
type Step struct {
	At    []float64
	Why   string
	Ended Reason
}

// Reason is why a search ended, in AIPerf's words.
type Reason string

// The reasons. Exhausted is ours: every point of the space was measured.
const (
	MaxIterations Reason = "max_iterations"
	NoImprovement Reason = "improvement_patience"
	Plateau       Reason = "plateau_cv"
	Regret        Reason = "posterior_regret_bound"
	EMMR          Reason = "emmr"
	Exhausted     Reason = "search_space_exhausted"

	precisionReached Reason = "precision_reached"
	noPass           Reason = "no_pass_in_range"
	noFailure        Reason = "no_failure_in_range"
)

// Row is one planner.
type Row struct {
	Name string // sweep.planner
	Doc  string
	// Line: it looks for a limit along one whole-numbered dimension, and needs a limit.
	Line bool
	// Draws: it begins with points that it draws.
	Draws bool
	next  func(t *Terms, seen []Seen) Step
}

// Catalogue is every planner, AIPerf's default first.
func Catalogue() []Row {
	return []Row{
		{Name: "bayesian", Doc: "a model of the goal, and the point that promises most", Draws: true, next: bayesian},
		{Name: "optuna", Doc: "the same as bayesian", Draws: true, next: bayesian},
		{Name: "monotonic_sla", Doc: "doubling, then bisection", Line: true, next: monotonic},
		{
			Name: "smooth_isotonic", Doc: "doubling, then the root of a smooth monotone fit of the margins", Line: true,
			next: smooth,
		},
	}
}

// Named is the planner of a name.
func Named(name string) (Row, bool) {
	rows := Catalogue()
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}

// Names are those of the planners.
func Names() (names []string) {
	for _, r := range Catalogue() {
		names = append(names, r.Name)
	}
	return names
}

// Check tells what a planner cannot search, before anything is measured: the setting that
// is in the way, and why. Both are empty where it can.
func (t *Terms) Check() (setting, why string) {
	row, ok := Named(t.Planner)
	switch {
	case !ok:
		return "planner", fmt.Sprintf("%q is not one of %s", t.Planner, strings.Join(Names(), ", "))
	case !row.Line:
		return "", ""
	case len(t.Space) != 1:
		return "search_space", fmt.Sprintf("%s searches one dimension, not %d", t.Planner, len(t.Space))
	case !t.Space[0].Whole:
		return "search_space", t.Planner + " searches whole numbers (kind: int)"
	case t.Space[0].Low < 1:
		return "search_space", t.Planner + " doubles from lo, which must be 1 or more"
	case !t.Limited:
		return "sla_filters", t.Planner + " looks for the point at which a limit is missed, and there is none"
	case len(t.Goals) > 1:
		return "objectives", t.Planner + " takes one objective"
	}
	return "", ""
}

// Next says what follows seen.
func Next(t Terms, seen []Seen) Step {
	row, ok := Named(t.Planner)
	if !ok {
		return Step{Ended: "unknown"}
	}
	step := row.next(&t, seen)
	if step.Ended == "" && len(seen) >= t.Most {
		return Step{Ended: MaxIterations}
	}
	return step
}

// Warning reports whether point n contradicts one before it along a single dimension: it is
// feasible although less was not, or the other way round.
func Warning(seen []Seen, n int) bool {
	for i := range n {
		a, b := &seen[i], &seen[n]
		if len(b.At) == 1 && a.Feasible != b.Feasible && (a.At[0] < b.At[0]) == b.Feasible && a.At[0] != b.At[0] {
			return true
		}
	}
	return false
}

// Best are the points that are best: the feasible ones before all others; of several goals
// those than which no other point is better in all. nil where no point has a result.
func Best(t *Terms, seen []Seen) (at []int) {
	feasible := slices.ContainsFunc(seen, func(s Seen) bool { return s.Feasible && s.Goals != nil })
	for i := range seen {
		if seen[i].Goals == nil || seen[i].Feasible != feasible {
			continue
		}
		if !slices.ContainsFunc(seen, func(o Seen) bool {
			return o.Goals != nil && o.Feasible == feasible && t.dominates(o.Goals, seen[i].Goals)
		}) && !slices.ContainsFunc(at, func(k int) bool { return slices.Equal(seen[k].Goals, seen[i].Goals) }) {
			at = append(at, i)
		}
	}
	return at
}

// dominates reports whether a is nowhere worse than b, and somewhere better.
func (t *Terms) dominates(a, b []float64) bool {
	better := false
	for k, g := range t.Goals {
		d := a[k] - b[k]
		if !g.Maximize {
			d = -d
		}
		if d < 0 {
			return false
		}
		better = better || d > 0
	}
	return better
}

// Boundary is where along a single dimension the limits begin to be missed.
type Boundary struct {
	Holds, Fails *int // points: at the largest value that keeps the limits, and the smallest that does not
	// Kind is smooth or cliff, Binding the limit that decides, and Low and High the interval of
	// the boundary; "", -1 and NaN where the planner does not say.
	Kind      string
	Binding   int
	Low, High float64
}

// BoundaryOf is that of a search along one dimension under limits; nil for another one.
func BoundaryOf(t Terms, seen []Seen) *Boundary {
	if len(t.Space) != 1 || !t.Limited {
		return nil
	}
	b := &Boundary{Binding: -1, Low: math.NaN(), High: math.NaN()}
	row, _ := Named(t.Planner)
	if !row.Line { // of points in no order: the extremes
		for i := range seen {
			x := seen[i].At[0]
			if seen[i].Feasible && (b.Holds == nil || x > seen[*b.Holds].At[0]) {
				b.Holds = &i
			}
			if !seen[i].Feasible && (b.Fails == nil || x < seen[*b.Fails].At[0]) {
				b.Fails = &i
			}
		}
		return b
	}
	l := newLine(&t, seen)
	if l.holds != nil {
		b.Holds = &l.holds.last
	}
	if l.fails != nil {
		b.Fails = &l.fails.last
	}
	if t.Planner == "smooth_isotonic" {
		l.describe(b)
	}
	return b
}

// number is a value as a person reads it.
func number(x float64) string { return words.Number(x) }

// compare orders loads.
func compare(a, b load) int { return cmp.Compare(a.at, b.at) }
