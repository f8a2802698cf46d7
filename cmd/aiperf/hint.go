package main

import (
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// hintOf is what to try about a mistake. A value of the wrong kind brings no
// hint of its own: then it is what the field is for.
func hintOf(e *diag.Error) string {
	if e.Hint != "" || !e.Kind {
		return e.Hint
	}
	for _, at := range []string{e.Path, optionPath(e.Path)} {
		for _, o := range schema.Options() {
			if o.Path == at && o.At == "" && o.Doc != "" {
				return at[strings.LastIndex(at, ".")+1:] + ": " + strings.TrimSuffix(o.Doc, ".")
			}
		}
	}
	return "aiperf schema prints what every field takes"
}

// optionPath is a path as the table of options has it: the flags are about the
// measured phase and the main data set.
func optionPath(path string) string {
	parts := strings.Split(path, ".")
	for i, one := range map[string]string{"phases": "profiling", "datasets": "main"} {
		if len(parts) > 3 && parts[0] == "benchmark" && parts[1] == i {
			parts[2] = one
		}
	}
	return strings.Join(parts, ".")
}
