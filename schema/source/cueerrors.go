package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"

	"aiperf.dev/aiperf/internal/diag"
)

// The formats of CUE's messages that say which mistake it is: CUE has no other
// name for it. TestFormatsOfCUE fails when CUE words one in another way.
const (
	// wraps a mistake in a package that is imported, once for each import that leads there
	importFailed = "import failed"
	importCycle  = "package import cycle not allowed"
	structural   = "structural cycle"
	throughField = "cycle with field: %v"
	throughLet   = "cyclic references in let clause or alias"
	conflicting  = "conflicting values %s and %s" // and more behind it, where the types differ
	noChoice     = "%d errors in empty disjunction:"
	listPlus     = "Addition of lists is superseded by list.Concat; see https://cuelang.org/e/v0.11-list-arithmetic"
	listTimes    = "Multiplication of lists is superseded by list.Repeat; see https://cuelang.org/e/v0.11-list-arithmetic"
	waiting      = "incomplete %s: %s" // what a guard asks, or an operand
	notFound     = "reference %q not found"
	unknownVar   = "tag variable '%s' not found"
	unknownTag   = "no tag for %q"
	bareTag      = "tag %q not used in any file"
	wrongTag     = "for injection tag %q" // ends several formats; the tag is the last argument
)

// What to do about some of them.
const (
	packagesHint = "packages come from this module, from the deps in cue.mod/module.cue (cue mod tidy adds them), or from cue.mod/pkg"
	circleHint   = "end the circle with a value"
)

// errCircle is the cause of a mistake that is a circle of references alone,
// errChoices of one that only says that none of several choices is right.
var (
	errCircle  = errors.New("circle of references")
	errChoices = errors.New("no choice is right")
)

// cueErrors are CUE's own words for a file it cannot read, one mistake per
// place. mend, if not nil, may say better what CUE's error is about.
func cueErrors(name string, err error, mend func(cueerrors.Error, *diag.Error)) diag.Errors {
	var out, heads, choices diag.Errors
	for _, e := range cueerrors.Errors(err) {
		found := cueError(name, e)
		if mend != nil {
			mend(e, found)
		}
		format, _ := e.Msg()
		switch {
		case slices.ContainsFunc(e.InputPositions(), ofSchema):
			choices = append(choices, found)
		case format == noChoice:
			heads = append(heads, found)
		default:
			out = append(out, found)
		}
	}
	switch {
	case len(out) > 0: // what is wrong with each choice stands beside their number
	case len(heads) > 0:
		out = heads
	default: // the schema's choices say only what the value is not
		out = choices
	}
	return out.Sorted()
}

// cueError is one mistake of CUE's, in a person's words where there are better ones.
func cueError(name string, e cueerrors.Error) *diag.Error {
	in := imported(e)
	format, args := in.Msg()
	found := &diag.Error{Path: strings.Join(e.Path(), ".")}
	if strings.HasPrefix(found.Path, "let[") { // CUE's own name for a let clause
		found.Path = ""
	}
	pos := e.Position()
	for _, p := range e.InputPositions() {
		if !ofSchema(p) {
			pos = p
			break
		}
	}
	found.Place = cueOrigin(name, pos).Where
	var pkg *load.PackageError
	switch {
	case format == importCycle:
		found.Message, found.Hint = "packages import each other in a circle", "move what both need into a third package"
	case format == structural:
		found.Message, found.Hint = "contains itself (structural cycle)", circleHint
	case format == throughField && len(args) == 1:
		found.Message, found.Hint, found.Cause = "refers to itself, through "+
			hiddenIn.ReplaceAllString(fmt.Sprint(args[0]), "$1"), circleHint, errCircle
	case format == listPlus:
		found.Message, found.Hint = "lists are not added with +", `list.Concat([a, b]), with import "list", joins them`
	case format == listTimes:
		found.Message, found.Hint = "a list is not multiplied", "write the elements, or [for n in [1, 2, 3] {…}]"
	case format == notFound && len(args) == 1:
		found.Message, found.Hint = fmt.Sprintf(format, args...), importHint(fmt.Sprint(args[0]))
	case format == waiting && len(args) == 2:
		found.Message, found.Hint = fmt.Sprintf("waits for a value that is not given (%v)", args[1]),
			"write the value, or a default: *VALUE | "+fmt.Sprint(args[0])
	case format == unknownVar && len(args) == 1:
		found.Message = fmt.Sprintf("the variable %v of the cue command is not filled in", args[0])
	case format == throughLet:
		found.Message, found.Hint = "let clauses refer to each other in a circle", circleHint
	case errors.As(e, &pkg): // its path are packages, no fields
		found.Message, found.Path, found.Hint = pkg.Message.Error(), "", packagesHint
	case in != e:
		found.Message = in.Error()
	default:
		if format == noChoice {
			found.Cause = errChoices
		}
		found.Message = fmt.Sprintf(format, args...)
		if why := errors.Unwrap(e); why != nil {
			found.Message = strings.TrimPrefix(found.Message+": "+why.Error(), ": ")
		}
	}
	if other := otherPlace(name, e, pos); other != "" && strings.HasPrefix(format, conflicting) {
		found.Hint = "the other one is at " + strings.TrimPrefix(other, "in ")
	}
	found.Message = Clip(strings.Join(strings.Fields(found.Message), " "))
	return found
}

// importHint says how to make a name known that is that of a package, and what YAML's words for
// yes and no are here; "" for any other.
func importHint(name string) string {
	switch name {
	case "yes", "Yes", "YES", "on", "On", "ON", "True", "TRUE":
		return "did you mean true?"
	case "no", "No", "NO", "off", "Off", "OFF", "False", "FALSE":
		return "did you mean false?"
	}
	for _, path := range cueImports {
		if path[strings.LastIndex(path, "/")+1:] == name {
			return fmt.Sprintf("it is a package: write import %q below the package line", path)
		}
	}
	return ""
}

// imported is the mistake in the package that imports lead to; e itself where none
// does.
func imported(e cueerrors.Error) cueerrors.Error {
	for {
		var in cueerrors.Error
		if format, _ := e.Msg(); format != importFailed || !errors.As(errors.Unwrap(e), &in) {
			return e
		}
		e = in
	}
}
