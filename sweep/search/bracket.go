package search

import (
	"fmt"
	"slices"
)

// unfit repeats a run that says nothing about the server, and gives up where several in
// a row did. What was only to be looked at beyond the bracket is not repeated.
func (s *state) unfit() (Step, bool) {
	matters := func(r Run) bool {
		return r.Unfit != "" && (s.fails == nil || r.Load <= s.fails.Load || r.Died)
	}
	tries := 0
	for i, r := range s.runs { // several tiers go on where one of them has lost its load
		if tries++; i > 0 && (s.runs[i-1].Unfit == "" || s.runs[i-1].Load != r.Load) {
			tries = 1
		}
		switch {
		case !matters(r) || tries < mostTries:
		case r.Died:
			return s.lost(ServerLost, r), true
		default:
			return s.lost(ClientLost, r), true
		}
	}
	last := s.runs[len(s.runs)-1]
	switch {
	case !matters(last):
		return Step{}, false
	case s.spent():
		return s.end(Spent), true
	}
	return Step{Load: last.Load, Why: "the last run was unusable: " + last.Unfit}, true
}

// contrary is where a load fails below one that holds. Each was seen once, perhaps by
// chance: both are seen again before anything is said.
func (s *state) contrary() Step {
	for _, l := range []*Load{s.fails, s.top} {
		if l.Runs < 2 {
			return Step{Load: l.Load, Why: fmt.Sprintf("%s fails and %s holds: both once more",
				s.number(s.fails.Load), s.number(s.top.Load))}
		}
	}
	return s.end(Contrary)
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

// double goes up while nothing fails. The first step is one by four: the probe that this
// saves is the one that beyond takes, so that looking there costs nothing.
func (s *state) double() Step {
	last := &s.loads[len(s.loads)-1]
	if last.Load < s.High {
		factor := 2.0
		if len(s.loads) == 1 {
			factor = 4
		}
		next := s.round(min(s.High, factor*last.Load))
		return Step{Load: next, Why: "no load " + s.side("up", "down") + " to " + s.number(last.Load) + " fails"}
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
		return Step{Load: last.Load, Why: another(last) + " run"}
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
	if s.holds == nil && s.fails.Load > s.Low {
		return Step{}, false // a load that holds is looked for first
	}
	for _, r := range s.runs {
		if r.Load > s.fails.Load {
			return Step{}, false
		}
	}
	next := s.round(min(s.High, 2*s.fails.Load))
	if next <= s.fails.Load || s.left() <= s.missing()+1 {
		return Step{}, false
	}
	return Step{Load: next, Why: fmt.Sprintf("%s fails: does "+s.side("more", "less")+" load fail, too?",
		s.number(s.fails.Load))}, true
}

// farther looks beyond what was tried above the load that fails, each time at four times the load, up to the end of
// the range. The bracket is certain by then, so that this takes what is left of the budget. Where such a run is
// unusable it is no use to load more.
func (s *state) farther() (Step, bool) {
	far := s.fails.Load
	for _, r := range s.runs {
		if r.Load > far {
			far = r.Load
		}
		if r.Load > s.fails.Load && r.Unfit != "" {
			return Step{}, false
		}
	}
	const again = 2 // runs of a load that holds there, before it is said
	next := s.round(min(s.High, 4*far))
	if next < 2*far || s.left() < again {
		return Step{}, false
	}
	return Step{Load: next, Why: fmt.Sprintf("%s fails: does far "+s.side("more", "less")+" load fail, too?",
		s.number(s.fails.Load))}, true
}

// done ends a search that has its bracket, once it has looked farther.
func (s *state) done(how Outcome) Step {
	if step, ok := s.farther(); ok {
		return step
	}
	return s.end(how)
}

// belowFails is where no load holds: the lower bound of the range fails, or nobody
// can tell.
func (s *state) belowFails() Step {
	if lowest := s.loads[0].Load; lowest > s.Low && s.left() > s.missing() { // the search did not start there
		return Step{
			Load: s.round(max(s.Low, lowest/2)),
			Why:  "no load " + s.side("down", "up") + " to " + s.number(lowest) + " holds",
		}
	}
	if s.fails.Load > s.Low {
		lowest := &s.loads[0]
		if mid, ok := s.middle(s.lastOpen(), s.fails.Load); ok && lowest.State == Undecided {
			return Step{Load: mid, Why: fmt.Sprintf("%s is undecided, %s fails",
				s.number(s.lastOpen()), s.number(s.fails.Load))}
		}
		if step, again := s.confirm(); again {
			return step
		}
		return s.done(Wide)
	}
	if !s.seen(s.fails) {
		return Step{Load: s.fails.Load, Why: another(s.fails) + " run"}
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
			return Step{Load: mid, Why: fmt.Sprintf("halfway between %s and %s", s.number(g[0]), s.number(g[1]))}
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
	return s.done(rest)
}

// missing is how many runs it takes to confirm both ends.
func (s *state) missing() (n int) {
	for _, l := range []*Load{s.holds, s.fails} {
		if l != nil && !s.seen(l) {
			n += max(1, s.times(l)-l.Runs)
		}
	}
	if n > 0 {
		n++ // to come from the other side
	}
	return n
}

// seen reports whether an end of the bracket was seen often enough, once from the other
// side; at a bound of the range there is no load to come from.
func (s *state) seen(l *Load) bool {
	switch {
	case l.Runs < s.times(l):
		return false
	case l == s.holds && l.Load == s.High, l == s.fails && l.Load == s.Low:
		return true
	case l == s.holds:
		return l.above
	}
	return l.below
}

// times is how often an end of the bracket has to be seen: twice, and more often where runs of
// other loads differ, but those of the end would not show it. There a run may be good by luck.
func (s *state) times(l *Load) int {
	if s.noisy && l.flat {
		return luckyRuns
	}
	return 2
}

// confirm repeats an end of the bracket that was not seen often enough, from the other side:
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
		return Step{Load: l.Load, Why: another(l) + " run, " + from}, true
	}
	switch lower, upper := needs(s.holds), needs(s.fails); {
	case lower && at > s.holds.Load:
		return again(s.holds, "coming from "+s.side("above", "below"))
	case upper && at < s.fails.Load:
		return again(s.fails, "coming from "+s.side("below", "above"))
	case lower && s.holds.above:
		return again(s.holds, "at another time")
	case upper && s.fails.below:
		return again(s.fails, "at another time")
	case lower && s.fails != nil: // from above: over the upper end
		return Step{Load: s.fails.Load, Why: fmt.Sprintf("on the way to %s from %s",
			s.number(s.holds.Load), s.side("above", "below"))}, true
	case lower:
		return again(s.holds, "at another time")
	case upper && s.holds != nil:
		return Step{Load: s.holds.Load, Why: fmt.Sprintf("on the way to %s from %s",
			s.number(s.fails.Load), s.side("below", "above"))}, true
	case upper:
		return again(s.fails, "at another time")
	}
	return Step{}, false
}

// another is the word for one more run at a load.
func another(l *Load) string {
	if l.Runs == 1 {
		return "a second"
	}
	return "another"
}
