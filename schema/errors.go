package schema

import (
	"slices"
	"strings"
)

// Error is one mistake in an experiment: where it is, what is wrong and what
// to do about it.
type Error struct {
	Path    string // "benchmark.phases.profiling.rate", "" when no field is meant
	Place   string // "sweep.cue:14:3", "--isl", "" when nothing was written
	Message string
	Hint    string // "" when there is nothing to suggest

	unknown bool // an unknown key; these are reported first
}

// Error is the mistake in one line. A flag is its own name for the field, so
// the path is left out beside it, unless another field is missing.
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	if e.Place != "" {
		parts = append(parts, e.Place)
	}
	if e.Path != "" && (!strings.HasPrefix(e.Place, "-") || strings.HasPrefix(e.Message, "required")) {
		parts = append(parts, e.Path)
	}
	return strings.Join(append(parts, e.Message), ": ")
}

// Errors are all mistakes that were found, unknown keys first, then in the
// order of the experiment.
type Errors []*Error

// Error is one line per mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, x := range e {
		lines[i] = x.Error()
	}
	return strings.Join(lines, "\n")
}

// sorted puts unknown keys first and drops mistakes said before.
func (e Errors) sorted() Errors {
	out := make(Errors, 0, len(e))
	seen := map[string]bool{}
	if slices.ContainsFunc(e, func(x *Error) bool { return !derived(x) }) {
		e = slices.DeleteFunc(slices.Clone(e), derived)
	}
	for _, unknown := range []bool{true, false} {
		for _, x := range e {
			if said := x.Error() + x.Hint; x.unknown == unknown && !seen[said] {
				seen[said] = true
				out = append(out, x)
			}
		}
	}
	return out
}

// derived tells that x is about a default that follows from another value: when
// that one is wrong too, it is the one to say.
func derived(x *Error) bool { return strings.HasPrefix(x.Place, "default: as many as ") }

// mistake is a single Error as Errors, the form every step returns.
func mistake(at Origin, path, message, hint string) Errors {
	return Errors{{Path: path, Place: at.Where, Message: message, Hint: hint}}
}
