package diag

import (
	"slices"
	"strings"
)

// Errors are all mistakes that one look at something found.
type Errors []*Error

// Error is one line per mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, x := range e {
		lines[i] = x.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As and errors.Is look at each mistake.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, x := range e {
		out[i] = x
	}
	return out
}

// Sorted puts unknown keys first and drops mistakes said before.
func (e Errors) Sorted() Errors {
	out := make(Errors, 0, len(e))
	seen := map[string]bool{}
	if slices.ContainsFunc(e, func(x *Error) bool { return !x.follows() }) {
		e = slices.DeleteFunc(slices.Clone(e), (*Error).follows)
	}
	for _, unknown := range []bool{true, false} {
		for _, x := range e {
			if said := x.Error() + x.Hint; x.Unknown == unknown && !seen[said] {
				seen[said] = true
				out = append(out, x)
			}
		}
	}
	return out
}

// follows tells that x is about a value that was taken from another one: when
// that one is wrong too, it is the one to say.
func (e *Error) follows() bool { return e.Taken }

// New is a mistake that is found before anything is sent: one sentence and what
// to try about it.
func New(message, hint string) *Error { return &Error{Message: message, Hint: hint} }
