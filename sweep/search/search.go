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

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// Level is that of every interval of a share. Where both ends of the bracket were seen
// twice, at least 95 % of the brackets then hold the limit (docs/simulations.md).
const Level = 0.95

const (
	mostRuns  = sweep.SearchedRuns
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
	Whole      bool          // loads are whole numbers
	Share      float64       // of all attempted requests that have to be good, between 0 and 1
	Resolution float64       // the bracket is narrow enough when High/Low ≤ 1 + Resolution
	Probes     int           // most runs
	Time       time.Duration // no run begins after the runs took so long together; 0: whenever
}

// State of a load, and of what a run shows by itself.
type State string

// The states.
const (
	Holds     State = "holds"
	Fails     State = "fails"
	Undecided State = "undecided"
)

// Run is a probe: what one run at a load gave.
type Run struct {
	Load float64
	// Worst is the share of good requests with those that were cut off counted as bad,
	// Best with them counted as good. Of is 0 where no limit is about single requests.
	Worst, Best stats.Tally
	// Own is what the run shows beside the share: conditions on its figures, and whether
	// the server kept up. Holds where there are none.
	Own State
	// Rate is how many requests it answered per second, Latency the mean in ms; 0 where
	// it is not known.
	Rate, Latency float64
	Unfit         string // why the run says nothing about the server, "" for one that does
	Died          bool   // Unfit because the server was gone
	Took          time.Duration
}

// Load is all that is known of one load.
type Load struct {
	Load      float64
	State     State
	Runs      int     // usable ones
	Share     float64 // of good requests, pooled; NaN without a limit on requests
	Low, High float64 // its interval
	Of        float64 // requests
	Torn      bool    // of an Answer: one of its runs holds by itself and another one fails by itself
	above     bool    // some run came after one at a larger load
	below     bool
	last      int // index of its last usable run
}

// Confirmed tells whether a load was seen twice, once coming from the given side.
func (l *Load) confirmed(side bool) bool { return l.Runs >= 2 && side }

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
	// Sure tells whether both ends were seen twice, the second time from the other side.
	Sure  bool
	Loads []Load // all that were probed, ascending
	Runs  []Run
	After []State // of each run: what the runs of its load showed when it was over; "" for one that says nothing
	At    float64 // the load at which client or server was lost
	Why   string  // in the words of the run that showed it
	Curve Curve   // through all of them
	Knee  *Bends  // of a search for one
}

// Unfit tells whether run n of a load, counted from 0, was unusable.
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

// Step is what follows the probes so far: a load, or the answer.
type Step struct {
	Load   float64
	Why    string
	Answer *Answer
	held   *Load // the ends of the bracket before the step
	failed *Load
	left   int // probes that the budget has room for
}

// Standing says what is known before the step, and what is left of the budget.
func (s Step) Standing() string {
	known := "nothing is decided yet"
	switch {
	case s.held != nil && s.failed != nil:
		known = number(s.held.Load) + " holds, " + number(s.failed.Load) + " fails"
	case s.held != nil:
		known = number(s.held.Load) + " holds"
	case s.failed != nil:
		known = number(s.failed.Load) + " fails"
	}
	return fmt.Sprintf("%s; %s left", known, words.Count(s.left, "probe"))
}

// Next says what follows runs.
func Next(t Terms, runs []Run) Step {
	s := newState(t, runs)
	step := s.next()
	step.held, step.failed, step.left = s.holds, s.fails, s.left()
	return s.facing(step)
}

func (s *state) next() Step {
	if s.Find == Knee {
		return s.knee()
	}
	if len(s.runs) == 0 {
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

// SoFar is the answer, or what is certain where more probes would follow.
func SoFar(t Terms, runs []Run) *Answer {
	if a := Next(t, runs).Answer; a != nil {
		return a
	}
	s := newState(t, runs)
	return s.facing(s.end(Stopped)).Answer
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
}

func newState(t Terms, runs []Run) *state {
	s := &state{Terms: t, asked: runs}
	s.runs = s.mirrored(runs)
	s.loads = judged(t, s.runs)
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

// judged pools the usable runs of each load.
func judged(t Terms, runs []Run) []Load {
	var loads []Load
	before := math.NaN()
	for i, r := range runs {
		if r.Unfit != "" {
			continue
		}
		at, known := slices.BinarySearchFunc(loads, r.Load, func(l Load, x float64) int { return compare(l.Load, x) })
		if !known {
			loads = slices.Insert(loads, at, Load{Load: r.Load})
		}
		l := &loads[at]
		l.Runs, l.last = l.Runs+1, i
		l.above, l.below = l.above || before > r.Load, l.below || before < r.Load
		before = r.Load
	}
	for i := range loads {
		loads[i].judge(t, runs)
	}
	return loads
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// alone tells whether single runs of a load contradict each other, as they do where a
// server does not come back from a load in the state in which it was.
func (l *Load) alone(t Terms, runs []Run) (torn bool) {
	found := map[State]bool{}
	for _, r := range runs {
		if r.Unfit == "" && r.Load == l.Load {
			one := Load{Load: l.Load, Runs: 1}
			one.judge(t, []Run{r})
			found[one.State] = true
		}
	}
	return found[Holds] && found[Fails]
}

// judge decides the load by its usable runs.
func (l *Load) judge(t Terms, runs []Run) {
	var worst, best []stats.Tally
	own := map[State]int{}
	for _, r := range runs {
		if r.Unfit == "" && r.Load == l.Load {
			worst, best = append(worst, r.Worst), append(best, r.Best)
			own[r.Own]++
			l.Of += r.Worst.Of
		}
	}
	low := stats.Share(worst, Level)
	high := low
	if !slices.Equal(worst, best) {
		high = stats.Share(best, Level)
	}
	l.Share, l.Low, l.High = low.Mean, low.Low, high.High
	limited := l.Of > 0
	switch {
	case own[Fails] == l.Runs, limited && l.High < t.Share:
		l.State = Fails
	case own[Holds] == l.Runs && (!limited || l.Low >= t.Share):
		l.State = Holds
	default:
		l.State = Undecided
	}
}

// unfit repeats a run that says nothing about the server, and gives up where several in
// a row do. What was only to be looked at beyond the bracket is not repeated.
func (s *state) unfit() (Step, bool) {
	last := s.runs[len(s.runs)-1]
	if last.Unfit == "" || s.fails != nil && last.Load > s.fails.Load && !last.Died {
		return Step{}, false
	}
	tries := 0
	for _, r := range slices.Backward(s.runs) {
		if r.Unfit == "" || r.Load != last.Load {
			break
		}
		tries++
	}
	switch {
	case tries >= mostTries && last.Died:
		return s.lost(ServerLost, last), true
	case tries >= mostTries:
		return s.lost(ClientLost, last), true
	case s.spent():
		return s.end(Spent), true
	}
	return Step{Load: last.Load, Why: "the last run was unusable: " + last.Unfit}, true
}

func (s *state) lost(how Outcome, at Run) Step {
	step := s.end(how)
	step.Answer.At, step.Answer.Why = at.Load, at.Unfit
	return step
}

// left is how many more runs the budget has room for.
func (s *state) left() int {
	n := s.Probes - len(s.runs)
	if s.Time > 0 && s.spend > 0 {
		n = min(n, int(math.Ceil(float64(s.Time-s.spend)/(float64(s.spend)/float64(len(s.runs))))))
	}
	return max(n, 0)
}

func (s *state) spent() bool { return s.left() == 0 }

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

// after is what the runs of each run's load showed when it was over.
func (s *state) after() []State {
	out := make([]State, len(s.runs))
	for i, r := range s.runs {
		if r.Unfit == "" {
			l := Load{Load: r.Load}
			for _, x := range s.runs[:i+1] {
				if x.Unfit == "" && x.Load == r.Load {
					l.Runs++
				}
			}
			l.judge(s.Terms, s.runs[:i+1])
			out[i] = l.State
		}
	}
	return out
}

// seen tells whether an end of the bracket was seen twice, the second time from the
// other side; at a bound of the range there is no load to come from.
func (s *state) seen(l *Load) bool {
	switch {
	case l == s.holds && l.Load == s.High, l == s.fails && l.Load == s.Low:
		return l.Runs >= 2
	case l == s.holds:
		return l.confirmed(l.above)
	}
	return l.confirmed(l.below)
}

// open is a load that more runs may decide: one between the ends.
func (s *state) open() *Load {
	for i := range s.loads {
		l := &s.loads[i]
		between := (s.holds == nil || l.Load > s.holds.Load) && (s.fails == nil || l.Load < s.fails.Load)
		if l.State == Undecided && l.Runs < mostRuns && between {
			return l
		}
	}
	return nil
}

// double goes up while nothing fails.
func (s *state) double() Step {
	last := &s.loads[len(s.loads)-1]
	if last.Load < s.High {
		next := s.round(min(s.High, 2*last.Load))
		return Step{Load: next, Why: "nothing fails " + s.side("up", "down") + " to " + s.number(last.Load)}
	}
	if last.State == Undecided {
		if s.holds == nil {
			return s.end(Wide)
		}
		if mid, ok := s.middle(s.holds.Load, s.firstOpen()); ok {
			return Step{Load: mid, Why: fmt.Sprintf("%s holds, %s is undecided",
				s.number(s.holds.Load), s.number(s.firstOpen()))}
		}
		if step, again := s.confirm(); again {
			return step
		}
		return s.end(Wide)
	}
	if !s.seen(last) {
		return Step{Load: last.Load, Why: "a second run confirms " + s.number(last.Load)}
	}
	return s.end(AtLeast)
}

// firstOpen is the smallest load above the one that holds.
func (s *state) firstOpen() float64 {
	for i := range s.loads {
		if l := &s.loads[i]; l.Load > s.holds.Load {
			return l.Load
		}
	}
	return s.High
}

// beyond looks once above the first load that fails: a server that carries more again is
// not monotone. Whether that run is usable does not matter.
func (s *state) beyond() (Step, bool) {
	for _, r := range s.runs {
		if r.Load > s.fails.Load {
			return Step{}, false
		}
	}
	next := s.round(min(s.High, 2*s.fails.Load))
	if next <= s.fails.Load || s.left() <= s.missing()+1 {
		return Step{}, false
	}
	return Step{Load: next, Why: fmt.Sprintf("%s fails: whether "+s.side("more", "less")+" load fails, too",
		s.number(s.fails.Load))}, true
}

// belowFails is where no load holds: the lower bound of the range fails, or nobody
// can tell.
func (s *state) belowFails() Step {
	if s.fails.Load > s.Low {
		lowest := &s.loads[0]
		if mid, ok := s.middle(s.lastOpen(), s.fails.Load); ok && lowest.State == Undecided {
			return Step{Load: mid, Why: fmt.Sprintf("%s is undecided, %s fails",
				s.number(s.lastOpen()), s.number(s.fails.Load))}
		}
		if step, again := s.confirm(); again {
			return step
		}
		return s.end(Wide)
	}
	if !s.seen(s.fails) {
		return Step{Load: s.fails.Load, Why: "a second run confirms " + s.number(s.fails.Load)}
	}
	return s.end(Fewer)
}

// lastOpen is the largest load below the one that fails.
func (s *state) lastOpen() (load float64) {
	load = s.Low
	for i := range s.loads {
		if l := &s.loads[i]; l.Load < s.fails.Load {
			load = l.Load
		}
	}
	return load
}

// narrow probes the wider of the two gaps beside what is undecided, until both are
// narrow or what is left of the budget is needed to confirm the ends.
func (s *state) narrow() Step {
	first, last := s.firstOpen(), s.lastOpen() // the same as the ends where nothing is undecided
	gaps := [][2]float64{{s.holds.Load, first}}
	if last > s.holds.Load {
		gaps = append(gaps, [2]float64{last, s.fails.Load})
	}
	slices.SortStableFunc(gaps, func(a, b [2]float64) int { return compare(b[1]/b[0], a[1]/a[0]) })
	rest := Wide
	for _, g := range gaps {
		mid, ok := s.middle(g[0], g[1])
		if ok && s.left() > s.missing() {
			return Step{Load: mid, Why: fmt.Sprintf("the middle of %s and %s", s.number(g[0]), s.number(g[1]))}
		}
		if ok {
			rest = Spent
		}
	}
	if step, again := s.confirm(); again {
		return step
	}
	if s.near(s.holds.Load, s.fails.Load) {
		rest = Bracketed
	}
	return s.end(rest)
}

// missing is how many runs it takes to confirm both ends.
func (s *state) missing() (n int) {
	for _, l := range []*Load{s.holds, s.fails} {
		if l != nil && !s.seen(l) {
			n += max(1, 2-l.Runs)
		}
	}
	if n > 0 {
		n++ // to come from the other side
	}
	return n
}

// confirm repeats an end of the bracket that was not seen twice, from the other side:
// L after a larger load, U after a smaller one.
func (s *state) confirm() (Step, bool) {
	var at float64 // the last load that was probed
	for _, r := range slices.Backward(s.runs) {
		if r.Unfit == "" {
			at = r.Load
			break
		}
	}
	needs := func(l *Load) bool { return l != nil && !s.seen(l) }
	again := func(l *Load, from string) (Step, bool) {
		return Step{Load: l.Load, Why: fmt.Sprintf("a second run confirms %s, %s", s.number(l.Load), from)}, true
	}
	switch lower, upper := needs(s.holds), needs(s.fails); {
	case lower && at > s.holds.Load:
		return again(s.holds, "from "+s.side("above", "below"))
	case upper && at < s.fails.Load:
		return again(s.fails, "from "+s.side("below", "above"))
	case lower && s.holds.above:
		return again(s.holds, "at another time")
	case upper && s.fails.below:
		return again(s.fails, "at another time")
	case lower && s.fails != nil: // from above: over the upper end
		return Step{Load: s.fails.Load, Why: fmt.Sprintf("%s is confirmed from %s",
			s.number(s.holds.Load), s.side("above", "below"))}, true
	case lower:
		return again(s.holds, "at another time")
	case upper && s.holds != nil:
		return Step{Load: s.holds.Load, Why: fmt.Sprintf("%s is confirmed from %s",
			s.number(s.fails.Load), s.side("below", "above"))}, true
	case upper:
		return again(s.fails, "at another time")
	}
	return Step{}, false
}

// contrary is where a load fails below one that holds. Each was seen once, perhaps by
// chance: both are seen again before anything is said.
func (s *state) contrary() Step {
	for _, l := range []*Load{s.fails, s.top} {
		if l.Runs < 2 {
			return Step{Load: l.Load, Why: fmt.Sprintf("%s fails and %s holds: seen again",
				s.number(s.fails.Load), s.number(s.top.Load))}
		}
	}
	return s.end(Contrary)
}

// near tells whether a gap is as narrow as was asked, or as whole numbers allow.
func (s *state) near(low, high float64) bool {
	return high/low <= 1+s.Resolution || s.Whole && math.Abs(s.face(high)-s.face(low)) <= 1
}

// middle is the geometric middle of a gap; false where the gap is narrow enough.
func (s *state) middle(low, high float64) (float64, bool) {
	if s.near(low, high) {
		return 0, false
	}
	mid := s.face(s.round(math.Sqrt(low * high)))
	if s.Whole {
		least, most := min(s.face(low), s.face(high)), max(s.face(low), s.face(high))
		mid = min(max(mid, least+1), most-1)
	}
	mid = s.mirror(mid)
	return mid, mid > low && mid < high
}

// round makes a load one that can be probed: whole, or of four digits.
func (s *state) round(load float64) float64 { return s.mirror(s.canonical(s.mirror(load))) }

// canonical is a load that can be probed, as a person sees it.
func (s *state) canonical(load float64) float64 {
	for _, end := range []float64{s.Low, s.High} {
		if math.Abs(load/end-1) < 1e-9 {
			return end
		}
	}
	if s.Whole {
		return math.Round(load)
	}
	unit := math.Pow(10, math.Floor(math.Log10(load))-3)
	if unit < 1 { // a power of ten below 1 is not exact, its inverse is
		return math.Round(load/unit) / math.Round(1/unit)
	}
	return math.Round(load/unit) * unit
}

func number(load float64) string { return fmt.Sprintf("%.4g", load) }
