package source

import (
	"slices"

	"aiperf.dev/aiperf/internal/diag"
)

// Remarks are what is said about an experiment besides its mistakes.
type Remarks struct {
	Warnings    []string
	Notes       []string
	Idle        []string // flags that were warned of as having no effect
	Unsupported diag.Errors
}

// Warn adds a warning, once.
func (r *Remarks) Warn(text string) {
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}

// Missing notes once that path, or the flag at, asks for what is not built.
func (r *Remarks) Missing(path, what, instead string, at Origin) {
	by := path
	if at.Source.Typed() {
		by = at.Where // a flag is named once, whatever it sets
	}
	if slices.Contains(r.Idle, by) || slices.ContainsFunc(r.Unsupported, func(e *diag.Error) bool {
		return e.Path == path && e.Place == at.Where || by == at.Where && e.Place == by
	}) {
		return
	}
	r.Unsupported = append(r.Unsupported, &diag.Error{
		Path: path, Place: at.Where, Message: what + "not supported yet",
		Hint: instead,
	})
}
