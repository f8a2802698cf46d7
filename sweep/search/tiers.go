package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
)

// Tier is one of several limits that are found from the same probes.
type Tier struct {
	Name  string
	Share float64 // of all attempted requests that have to be good
}

// Shares is what a run gave of one tier.
type Shares struct{ Worst, Best stats.Tally }

// Tiered is the answer of one tier.
type Tiered struct {
	Name string
	*Answer
}

// tier is the search for one of the tiers, with kept probes less.
func (t Terms) tier(i, kept int) Terms {
	t.Share, t.Tiers, t.kept = t.Tiers[i].Share, nil, kept
	return t
}

// ofTier are the runs as one tier sees them.
func ofTier(runs []Run, i int) []Run {
	out := slices.Clone(runs)
	for k := range out {
		out[k].Worst, out[k].Best = stats.Tally{}, stats.Tally{}
		if i < len(out[k].Tiers) {
			out[k].Worst, out[k].Best = out[k].Tiers[i].Worst, out[k].Tiers[i].Best
		}
		out[k].Tiers = nil
	}
	return out
}

// nextOfTiers asks each tier what it would do. The one whose bracket is widest decides; every
// tier learns from the run. Nobody spends what the ends of the others need to be
// confirmed, until they are.
func nextOfTiers(t Terms, runs []Run) Step {
	states := make([]*state, len(t.Tiers))
	needs := 0
	for i := range t.Tiers {
		states[i] = newState(t.tier(i, 0), ofTier(runs, i))
		needs += states[i].missing()
	}
	var known []string
	for i, s := range states {
		known = append(known, t.Tiers[i].Name+" "+s.standing())
	}
	var steps []Step
	for _, keep := range []bool{true, false} {
		steps = steps[:0]
		at, width := -1, 0.0
		for i, s := range states {
			kept := 0
			if keep {
				kept = needs - s.missing()
			}
			step := Next(t.tier(i, kept), ofTier(runs, i))
			steps = append(steps, step)
			if w := s.width(); step.Answer == nil && w > width {
				at, width = i, w
			}
		}
		if at >= 0 {
			step := steps[at]
			step.Why = t.Tiers[at].Name + ": " + step.Why
			step.known, step.left = strings.Join(known, ", "), states[0].left()
			return step
		}
	}
	return Step{Answer: together(t, runs, steps), known: strings.Join(known, ", "), left: states[0].left()}
}

// width is how far the ends of the bracket are apart, infinite where one is missing.
func (s *state) width() float64 {
	if s.holds == nil || s.fails == nil {
		return math.Inf(1)
	}
	return s.fails.Load / s.holds.Load
}

// together is the answer of all tiers: a load holds where it does for each of them, and
// fails where it does for each.
func together(t Terms, runs []Run, steps []Step) *Answer {
	a := &Answer{Runs: runs, Sure: true}
	for i, step := range steps {
		one := step.Answer
		a.Tiers = append(a.Tiers, Tiered{t.Tiers[i].Name, one})
		if i == 0 || worse(one.Outcome, a.Outcome) {
			a.Outcome, a.At, a.Why = one.Outcome, one.At, one.Why
		}
		a.Sure = a.Sure && one.Sure
		if i == 0 {
			a.Loads, a.After, a.Curve = slices.Clone(one.Loads), slices.Clone(one.After), one.Curve
			a.Curve.Points = slices.Clone(one.Curve.Points)
			continue
		}
		for k := range a.Loads {
			a.Loads[k].State = common(a.Loads[k].State, one.Loads[k].State)
			a.Loads[k].Torn = a.Loads[k].Torn || one.Loads[k].Torn
		}
		for k := range a.After {
			a.After[k] = common(a.After[k], one.After[k])
		}
	}
	a.Curve.Likely = math.NaN()
	for k := range a.Curve.Points {
		a.Curve.Points[k].Share = math.NaN()
	}
	for k := range a.Loads {
		l := &a.Loads[k]
		l.Share, l.Low, l.High = math.NaN(), math.NaN(), math.NaN()
		switch {
		case l.State == Holds && (a.Holds == nil || (l.Load > a.Holds.Load) == (t.Find != Min)):
			a.Holds = l
		case l.State == Fails && (a.Fails == nil || (l.Load < a.Fails.Load) == (t.Find != Min)):
			a.Fails = l
		}
	}
	return a
}

// common is what a load shows to several tiers.
func common(a, b State) State {
	if a == b {
		return a
	}
	return Undecided
}

// gravity are the outcomes in the order in which one speaks for several tiers.
var gravity = []Outcome{ServerLost, Stopped, Spent, ClientLost, Contrary, Wide, Fewer, Bracketed, AtLeast}

func worse(a, b Outcome) bool {
	return cmp.Less(slices.Index(gravity, a), slices.Index(gravity, b))
}

// Decision is what the loads of a search showed after run i, "" for one that says nothing
// about the server; with tiers, of each of them: "chat fails, code holds".
func (a *Answer) Decision(i int) string {
	if len(a.Tiers) == 0 || a.After[i] == "" {
		return string(a.After[i])
	}
	return a.ofEach(func(t *Answer) State { return t.After[i] })
}

// DecisionAt is the same of a load in the end; "" for one that was not measured.
func (a *Answer) DecisionAt(load float64) string {
	i := slices.IndexFunc(a.Loads, func(l Load) bool { return l.Load == load })
	switch {
	case i < 0:
		return ""
	case len(a.Tiers) == 0:
		return string(a.Loads[i].State)
	}
	return a.ofEach(func(t *Answer) State { return t.Loads[i].State })
}

func (a *Answer) ofEach(of func(*Answer) State) string {
	parts := make([]string, len(a.Tiers))
	for i, t := range a.Tiers {
		parts[i] = fmt.Sprintf("%s %s", t.Name, of(t.Answer))
	}
	return strings.Join(parts, ", ")
}
