// Package search finds the largest load that a server carries within limits, as a
// bracket that is certified at both ends.
//
// In go the Terms of a search and the probes so far, each a Run; Next says which load
// is probed next and why, or the Answer. Nothing here runs, reads or keeps anything: the
// same probes have the same answer, which is how a search is resumed.
//
// All runs at one load are pooled. The load holds when the interval of its share of good
// requests reaches the share that is asked for, it fails when the interval does not reach
// it, and else is undecided and gets more runs, three at most. If less load is never worse,
// the limit lies between the largest load that holds and the smallest that fails.
package search

import (
	"fmt"
	"math"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// Level is that of every interval of a share. Where both ends of the bracket were seen
// twice, at least 95 % of the brackets then hold the limit (docs/simulations.md).
const Level = 0.95

// differs is how seldom runs of one load that are alike are said to differ.
const differs = 0.01

const (
	mostRuns  = sweep.SearchedRuns
	luckyRuns = 5 // of an end whose runs do not show how runs differ, where those of other loads do
	mostTries = 3 // runs at one load, one after the other, that say nothing about the server
)

// Find is what a search looks for.
type Find string

// The finds.
const (
	Max  Find = "max"  // the largest load that holds
	Min  Find = "min"  // the smallest load that holds
	Knee Find = "knee" // the load from which on more of it hardly gives more throughput
)

// Terms are what a search looks for.
type Terms struct {
	Find       Find          // "" is Max
	Low, High  float64       // range of loads, 0 < Low < High
	Start      float64       // the first load; 0: Low, or High where the smallest is looked for
	Whole      bool          // loads are whole numbers
	Share      float64       // of all attempted requests that have to be good, between 0 and 1
	Tiers      []Tier        // several limits, in place of Share
	Resolution float64       // the bracket is narrow enough when High/Low ≤ 1 + Resolution
	Probes     int           // most runs
	Time       time.Duration // no run begins after the runs took so long together; 0: whenever
	kept       int           // probes that the ends of other tiers need
}

// Step is what follows the probes so far: a load, or the answer.
type Step struct {
	Load   float64
	Why    string
	Answer *Answer
	known  string // before the step
	left   int    // probes that the budget has room for
}

// Standing says what is known before the step, and what is left of the budget.
func (s Step) Standing() string {
	return fmt.Sprintf("%s; %s left", s.known, words.Count(s.left, "probe"))
}

// standing is what is known of the bracket.
func (s *state) standing() string {
	known := "nothing is decided yet"
	switch {
	case s.holds != nil && s.fails != nil:
		known = s.number(s.holds.Load) + " holds, " + s.number(s.fails.Load) + " fails"
	case s.holds != nil:
		known = s.number(s.holds.Load) + " holds"
	case s.fails != nil:
		known = s.number(s.fails.Load) + " fails"
	}
	return known
}

// Next says what follows runs.
func Next(t Terms, runs []Run) Step {
	if len(t.Tiers) > 0 {
		return nextOfTiers(t, runs)
	}
	s := newState(t, runs)
	step := s.next()
	step.known, step.left = s.standing(), s.left()
	return s.facing(step)
}

func (s *state) next() Step {
	if s.Find == Knee {
		return s.knee()
	}
	if len(s.runs) == 0 {
		if s.Start > 0 {
			return Step{Load: s.mirror(s.Start), Why: "the search starts there"}
		}
		return Step{Load: s.Low, Why: "the " + s.side("lower", "upper") + " end of the range"}
	}
	if step, ended := s.unfit(); ended {
		return step
	}
	if s.spent() {
		return s.end(Spent)
	}
	if s.top != nil { // contradictions are looked at before anything is built on them
		return s.contrary()
	}
	// else the ends are confirmed
	if l := s.open(); l != nil && (s.holds == nil || s.fails == nil || s.left() > s.missing()) {
		return Step{Load: l.Load, Why: fmt.Sprintf("%s is undecided after %s",
			s.number(l.Load), words.Count(l.Runs, "run"))}
	}
	if s.fails == nil {
		return s.double()
	}
	if step, ok := s.beyond(); ok {
		return step
	}
	if s.holds == nil {
		return s.belowFails()
	}
	return s.narrow()
}

// state is what the runs say together.
type state struct {
	Terms
	asked []Run  // as they were given
	runs  []Run  // the same, mirrored for the smallest load
	loads []Load // ascending, those with a usable run
	spend time.Duration
	holds *Load // the largest that holds below fails
	fails *Load // the smallest that fails
	top   *Load // the largest that holds, where it is above fails
	noisy bool  // runs of some load differ by more than independent requests would
}

func newState(t Terms, runs []Run) *state {
	s := &state{Terms: t, asked: runs}
	s.runs = s.mirrored(runs)
	s.loads = judged(t, s.runs)
	s.noisy = slices.ContainsFunc(s.loads, func(l Load) bool { return l.differ })
	for _, r := range runs {
		s.spend += r.Took
	}
	for i := range s.loads {
		if l := &s.loads[i]; l.State == Fails {
			s.fails = l
			break
		}
	}
	for i := range s.loads {
		switch l := &s.loads[i]; {
		case l.State != Holds:
		case s.fails == nil || l.Load < s.fails.Load:
			s.holds = l
		default:
			s.top = l
		}
	}
	return s
}

// left is how many more runs the budget has room for.
func (s *state) left() int {
	n := s.Probes - len(s.runs)
	if s.Time > 0 && s.spend > 0 {
		n = min(n, int(math.Ceil(float64(s.Time-s.spend)/(float64(s.spend)/float64(len(s.runs))))))
	}
	return max(n-s.kept, 0)
}

func (s *state) spent() bool { return s.left() == 0 }
