package search

import "slices"

// Outcome is how a search ended.
type Outcome string

// The outcomes.
const (
	Bracketed  Outcome = "bracket"       // both ends are certified, as near as was asked
	Wide       Outcome = "too_noisy"     // no probe between them can be decided with runs of this length
	AtLeast    Outcome = "holds_at_high" // the upper bound of the range holds
	Fewer      Outcome = "fails_at_low"  // the lower bound of the range fails
	Spent      Outcome = "budget_spent"
	Contrary   Outcome = "not_monotone" // a load fails below one that holds
	ClientLost Outcome = "client_limit" // this client cannot drive more
	ServerLost Outcome = "server_died"
	Bent       Outcome = "knee" // throughput and latency bend at one load
	BentAlone  Outcome = "knee_throughput_only"
	Unbent     Outcome = "knee_none"         // no bend is shown
	BentAtEnd  Outcome = "knee_boundary"     // the throughput grows, or does not grow, over the whole range
	BentTwice  Outcome = "knee_disagreement" // they bend at different loads
	Stopped    Outcome = "stopped"           // before its end, from outside
)

// Answer is what a search found.
type Answer struct {
	Outcome Outcome
	// Holds is the largest load that holds and Fails the smallest above it that fails,
	// nil where none is certain.
	Holds, Fails *Load
	// Again is the load that holds although Fails, below it, does not: of Contrary.
	Again *Load
	// Sure reports whether both ends were seen twice, the second time from the other side.
	Sure  bool
	Loads []Load // all that were probed, ascending
	Runs  []Run
	After []State // of each run: what the runs of its load showed when it was over; "" for one that says nothing
	At    float64 // the load at which client or server was lost
	Why   string  // in the words of the run that showed it
	Curve Curve   // through all of them
	Knee  *Bends  // of a search for one
	// Tiers are the answers of several limits, in their order; the others then say what is so
	// for each of them.
	Tiers []Tiered
}

// Unfit reports whether run n of a load, counted from 0, was unusable.
func (a *Answer) Unfit(load float64, n int) bool {
	for _, r := range a.Runs {
		if r.Load == load {
			if n == 0 {
				return r.Unfit != ""
			}
			n--
		}
	}
	return false
}

// SoFar is the answer, or what is certain where more probes would follow.
func SoFar(t Terms, runs []Run) *Answer {
	if a := Next(t, runs).Answer; a != nil {
		return a
	}
	if len(t.Tiers) > 0 {
		steps := make([]Step, len(t.Tiers))
		for i := range t.Tiers {
			steps[i].Answer = SoFar(t.tier(i, 0), ofTier(runs, i))
		}
		return together(t, runs, steps)
	}
	s := newState(t, runs)
	return s.facing(s.end(Stopped)).Answer
}

func (s *state) end(how Outcome) Step {
	a := &Answer{Outcome: how, Holds: s.holds, Fails: s.fails, Loads: s.loads, Runs: s.asked, After: s.after()}
	for i := range s.loads {
		l := &s.loads[i]
		l.Torn = l.Runs > 1 && l.alone(s.Terms, s.runs)
	}
	if how == Contrary {
		a.Again = s.top
	}
	a.Sure = (a.Holds == nil || s.seen(a.Holds)) && (a.Fails == nil || s.seen(a.Fails))
	a.Curve = s.curve()
	return Step{Answer: a}
}

func (s *state) lost(how Outcome, at Run) Step {
	step := s.end(how)
	step.Answer.At, step.Answer.Why = at.Load, at.Unfit
	return step
}

// after is what the runs of each run's load showed when it was over.
func (s *state) after() []State {
	out := make([]State, len(s.runs))
	for i, r := range s.runs {
		if r.Unfit == "" {
			loads := judged(s.Terms, s.runs[:i+1])
			out[i] = loads[slices.IndexFunc(loads, func(l Load) bool { return l.Load == r.Load })].State
		}
	}
	return out
}
