package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/token"

	"aiperf.dev/aiperf/internal/diag"
)

// inWords is a mistake of CUE's in a person's words, with a hint; the words of
// CUE where nothing better is known.
func inWords(msg string) (message, hint string) {
	switch {
	case strings.Contains(msg, "import cycle"):
		return "packages import each other in a circle", "move what both need into a package of its own"
	case strings.HasPrefix(msg, "import failed"):
		return msg, "packages come from this module, or are vendored below cue.mod/pkg; nothing is fetched"
	case strings.HasSuffix(msg, "structural cycle"):
		return "contains itself (structural cycle)", "end the circle with a value"
	}
	return msg, ""
}

// otherPlace is the place beside pos that a conflict is about, "" if there is
// none.
func otherPlace(name string, e cueerrors.Error, pos token.Pos) string {
	for _, p := range e.InputPositions() {
		if p.IsValid() && !ofSchema(p) && cueOrigin(name, p) != cueOrigin(name, pos) {
			return cueOrigin(name, p).Where
		}
	}
	return ""
}

// loadErrors are mistakes found before a package is evaluated.
func loadErrors(name string, inst *build.Instance) diag.Errors {
	var several *load.MultiplePackageError
	if errors.As(inst.Err, &several) {
		var there, choose []string
		for i, pkg := range several.Packages {
			there = append(there, fmt.Sprintf("%s (%s)", pkg, several.Files[i]))
			choose = append(choose, "-p "+pkg)
		}
		return Mistake(Origin{Where: name}, "", "holds several packages: "+strings.Join(there, ", "), "choose one: "+strings.Join(choose, " or "))
	}
	tags, vars := tagsIn(inst)
	bad := cueErrors(name, inst.Err)
	for _, e := range bad {
		if strings.HasPrefix(e.Message, "tag variable") && vars.IsValid() {
			e.Place = cueOrigin(name, vars).Where
		}
		e.Hint = cmp.Or(tagHint(e.Message, tags), e.Hint)
	}
	return bad
}

// tagHint helps with a -t that a package does not take.
func tagHint(message string, tags []string) string {
	switch {
	case strings.HasPrefix(message, "no tag for") && len(tags) > 0:
		return "tags there are: -t " + strings.Join(tags, "=…, -t ") + "=…"
	case strings.HasPrefix(message, "no tag for"):
		return "the package has no @tag"
	case strings.HasPrefix(message, "tag variable"):
		return "a plan must not depend on the time, the user or the machine; give the value with -t"
	case strings.Contains(message, "injection tag"):
		return "-t takes a value of the type that @tag names"
	}
	return ""
}

// tagsIn are the keys that -t may fill in a package, and the first place of a
// tag that asks for a variable.
func tagsIn(inst *build.Instance) (keys []string, vars token.Pos) {
	for _, f := range inst.Files {
		ast.Walk(f, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				for _, a := range field.Attrs {
					if name, body := a.Split(); name == "tag" {
						key, _, _ := strings.Cut(body, ",")
						keys = append(keys, strings.TrimSpace(key))
					}
				}
			}
			return true
		}, nil)
	}
	slices.Sort(keys)
	return slices.Compact(keys), vars
}

// wanted says what a value that is not concrete lacks, and how to give it.
func wanted(v cue.Value) (message, hint string) {
	if a := v.Attribute("tag"); a.Err() == nil {
		if key, err := a.String(0); err == nil {
			return "needs a value", "-t " + key + "=… fills it in"
		}
	}
	if op, _ := v.Expr(); op == cue.OrOp {
		return "needs a value: several are possible, and defaults, if any, disagree", "write the one that is meant"
	}
	return "needs a value", ""
}
