package schema

import (
	"context"
	"net/http"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/flags"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// What a caller that loads an experiment meets of the rooms below.
type (
	Origin     = source.Origin
	Select     = source.Select
	Download   = source.Download
	Assignment = lower.Assignment
	Option     = flags.Option
)

// Network is the way to a registry of modules until ctx ends.
func Network(ctx context.Context) http.RoundTripper { return source.Network(ctx) }

// Options are the flags in schema order; those of AIPerf that are not here come
// last.
func Options() []Option { return flags.Options() }

// ParseSet reads path=value.
func ParseSet(text string) (Assignment, error) { return flags.ParseSet(text) }

// IsPackage tells whether a folder holds CUE files.
func IsPackage(dir string) bool { return source.IsPackage(dir) }

// Experiments are the fields of a CUE package, or of a file, that are
// experiments, as -e takes them; "" is the package or file itself. The note, if
// any, is about the schema that is vendored beside it.
func Experiments(name string, sel Select) (found []string, note string, err error) {
	defer caught(name, func(bad Errors) { found, note, err = nil, "", bad })
	found, bad := source.Experiments(name, sel, stub)
	if bad != nil {
		return nil, "", bad
	}
	return found, staleCopy(name), nil
}

// Suggest is the word of among that was probably meant by word, or "".
func Suggest(word string, among []string) string { return suggest.Nearest(word, among) }

// Error is one mistake in an experiment: where it is, what is wrong and what
// to do about it.
type Error = diag.Error

// Errors are all mistakes that were found, unknown keys first, then in the
// order of the experiment.
type Errors = diag.Errors
