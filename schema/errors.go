package schema

import "aiperf.dev/aiperf/internal/diag"

// Error is one mistake in an experiment: where it is, what is wrong and what
// to do about it.
type Error = diag.Error

// Errors are all mistakes that were found, unknown keys first, then in the
// order of the experiment.
type Errors = diag.Errors
