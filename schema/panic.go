package schema

import (
	"fmt"

	"aiperf.dev/aiperf/schema/source"
)

// caught, deferred, makes a mistake of a panic in what evaluates an experiment: CUE,
// templates and expressions are other people's programs, and a person who wrote one
// line too clever is to be told the file, not the stack.
func caught(name string, refuse func(Errors)) {
	if fault := recover(); fault != nil {
		refuse(Errors{{
			Place: name, Message: "cannot be evaluated: " + source.Clip(fmt.Sprint(fault)),
			Hint: "this is a defect of aiperf, please report it with the file; values that are written out instead of computed get around it",
		}})
	}
}
