package schema

import "aiperf.dev/aiperf/internal/diag"

// Error is one mistake in an experiment: where it is, what is wrong and what
// to do about it.
type Error = diag.Error

// Errors are all mistakes that were found, unknown keys first, then in the
// order of the experiment.
type Errors = diag.Errors

// mistake is a single Error as Errors, the form every step returns.
func mistake(at Origin, path, message, hint string) Errors {
	return Errors{{Path: path, Place: at.Where, Message: message, Hint: hint, Taken: at.Taken}}
}
