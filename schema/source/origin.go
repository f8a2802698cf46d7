package source

import (
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
)

// String is the place, and what stood there when a step changed it.
func (o Origin) String() string {
	s := o.Where
	if o.Source == "axis" {
		s += " (axis)"
	}
	if o.Text != "" {
		s += " (" + Short(secret.URL(o.Text)) + ")"
	}
	return s
}

// Mistake is a single Error as Errors, the form every step returns.
func Mistake(at Origin, path, message, hint string) diag.Errors {
	return diag.Errors{{Path: path, Place: at.Where, Message: message, Hint: hint, Taken: at.Taken}}
}

// Origin says where a value came from.
type Origin struct {
	Source string // "default", "file", "env", "flag", "set", "axis", "derive"
	Where  string // "sweep.cue:14:3", "--isl", "axis isl"
	Path   string // as the file has it, "" for what no file says
	Text   string // what the user wrote, when a step changed it
	Taken  bool   // another field's value, taken over
}
