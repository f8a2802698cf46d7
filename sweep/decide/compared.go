package decide

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/diag"
)

// Outcome is that of the comparison as a whole, a function of the outcomes of its
// primary rows and of nothing else:
//
//	WORSE       as soon as one is, of those that could show what must be detected
//	BETTER      one is, and in none is harm beyond the margin left open
//	EQUIVALENT  every one is
//	NOT WORSE   harm beyond the margin is ruled out in every one
//	UNDECIDED   else, and where one could not have shown what must be detected
func (c *Comparison) Outcome() Verdict {
	rows := c.Primary()
	all := func(is func(Row) bool) bool {
		return len(rows) > 0 && !slices.ContainsFunc(rows, func(r Row) bool { return !is(r) })
	}
	some := func(v Verdict) bool {
		return slices.ContainsFunc(rows, func(r Row) bool { return r.Outcome == v })
	}
	harmless := all(func(r Row) bool { return r.Harmless })
	switch {
	case slices.ContainsFunc(rows, func(r Row) bool { return r.Outcome == Worse && !r.Blind() }):
		return Worse // what another metric could not have shown does not hide it
	case len(c.Blind()) > 0:
		return Unclear
	case harmless && some(Better):
		return Better
	case all(func(r Row) bool { return r.Outcome == Equivalent }):
		return Equivalent
	case harmless:
		return NotWorse
	}
	return Unclear
}

// Primary are the rows that decide.
func (c *Comparison) Primary() []Row {
	return slices.DeleteFunc(slices.Clone(c.Rows), func(r Row) bool { return !r.Primary })
}

// Blind are the primary rows that could not have shown the change that must be
// detected; none where nothing must be.
func (c *Comparison) Blind() []Row {
	return slices.DeleteFunc(c.Primary(), func(r Row) bool { return !r.Blind() })
}

// Blind reports whether the row could not have shown what it must be able to. What
// every trial shows by its sign alone needs no interval.
func (r Row) Blind() bool {
	if r.MustDetect == 0 || math.IsNaN(r.Detectable) && r.Outcome != Unclear {
		return false
	}
	return !(r.Detectable <= r.MustDetect)
}

// Exit is the exit code: missed when the comparison is WORSE, success when it is BETTER,
// EQUIVALENT or NOT WORSE (which needs no adjustment: all rows must be), else
// inconclusive or what the terms say. A comparison that could not have found what it
// must, and is not WORSE in what it could find, is inconclusive whatever they say.
func (c *Comparison) Exit() diag.Code {
	switch o := c.Outcome(); {
	case o == Worse:
		return diag.Missed
	case o != Unclear:
		return diag.OK
	case len(c.Blind()) > 0:
		return diag.Invalid
	case c.terms.Undecided == AsPassed:
		return diag.OK
	case c.terms.Undecided == AsMissed:
		return diag.Missed
	}
	return diag.Invalid
}
