package source

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
)

func experimentsHint(v cue.Value) string {
	if isExperiment(v) {
		return "the package is an experiment itself: leave -e out"
	}
	found := experimentsIn(v, "", 0)
	if len(found) == 0 {
		return "an experiment is a value with benchmark: schema.#Experiment & {…}"
	}
	return oneOf(found)
}

// selected is a field by its path, or the value of an expression.
func selected(v cue.Value, name, expr string) (cue.Value, diag.Errors) {
	if path := cue.ParsePath(expr); path.Err() == nil {
		f := v.LookupPath(path)
		if !f.Exists() {
			return f, nothingAt(v, name, expr, path.Selectors())
		}
		return f, holdsOthers(f, name, expr)
	}
	if hidden := hiddenName.FindString(expr); hidden != "" {
		if at, ok := hiddenField(v, hidden); ok {
			_, key := places(at)
			return at, Mistake(cueOrigin(name, key), "", "-e "+expr+": "+hidden+" is hidden",
				"a field that is to be chosen has a name without _: "+strings.TrimLeft(hidden, "_#"))
		}
	}
	//lint:ignore SA1019 a scope is only good in its own context
	x := v.Context().CompileString(expr, cue.Scope(v), cue.Filename(inExpr))
	if err := x.Err(); err != nil {
		bad := cueErrors(inExpr, err, nil)
		slices.SortStableFunc(bad, func(a, b *diag.Error) int { return len(b.Path) - len(a.Path) }) // what says most
		bad[0].Hint = cmp.Or(bad[0].Hint, experimentsHint(v))
		return x, bad[:1]
	}
	return x, nil
}

// hiddenName is a name in -e that no other package can see.
var hiddenName = regexp.MustCompile(`\b_#?\w+`)

// hiddenField is a field of v by a name that begins with _.
func hiddenField(v cue.Value, name string) (cue.Value, bool) {
	it, err := v.Fields(cue.Hidden(true), cue.Definitions(true), cue.Optional(true))
	for err == nil && it.Next() {
		if it.Selector().String() == name {
			return it.Value(), true
		}
	}
	return cue.Value{}, false
}

// nothingAt says how far a path leads: its place is that of what is still there.
func nothingAt(v cue.Value, name, expr string, steps []cue.Selector) diag.Errors {
	at, far := v, 0
	for far < len(steps) {
		next := at.LookupPath(cue.MakePath(steps[far]))
		if !next.Exists() {
			break
		}
		at, far = next, far+1
	}
	origin, message := Origin{Where: name}, "nothing is there"
	if far > 0 {
		_, key := places(at)
		origin = cueOrigin(name, key)
		message = cue.MakePath(steps[:far]...).String() + " has no " + steps[far].String()
	}
	if n, err := at.Len().Int64(); err == nil && at.IncompleteKind() == cue.ListKind {
		message = fmt.Sprintf("the list %s is empty", cue.MakePath(steps[:far]...))
		if n > 0 {
			message = fmt.Sprintf("the list %s ends with [%d]", cue.MakePath(steps[:far]...), n-1)
		}
	}
	return Mistake(origin, "", "-e "+expr+": "+message, experimentsHint(v))
}

// holdsOthers refuses a value that is not an experiment and has some in its fields.
func holdsOthers(v cue.Value, name, expr string) diag.Errors {
	if isExperiment(v) {
		return nil
	}
	found := experimentsIn(v, expr, 0)
	if len(found) == 0 || len(found) == 1 && slipped(strings.TrimPrefix(found[0].path, expr+".")) {
		return nil
	}
	message := "is not an experiment, but " + found[0].path + " is"
	if len(found) > 1 {
		message = fmt.Sprintf("holds %d experiments", len(found))
	}
	_, key := places(v)
	return Mistake(cueOrigin(name, key), "", "-e "+expr+": "+message, oneOf(found))
}

// slipped reports whether a field that looks like an experiment is a body whose key
// is a slip of the pen: it is read as it stands, and said to be unknown with its place.
func slipped(field string) bool { return suggest.Nearest(field, []string{"benchmark"}) != "" }

// experiment is one within a package: as -e takes it, and where it stands.
type experiment struct {
	path string
	key  token.Pos
}

func (e experiment) origin(name string) Origin { return cueOrigin(name, e.key) }

// oneOf offers experiments as -e takes them, as a shell does.
func oneOf(found []experiment) string {
	const most = 10
	var choices []string
	for i, e := range found {
		if i == most {
			return "one of " + strings.Join(choices, ", ") + fmt.Sprintf(" and %d more, which aiperf list names",
				len(found)-most)
		}
		choices = append(choices, "-e "+quotedForShell(e.path))
	}
	if len(choices) == 1 {
		return "choose it: " + choices[0]
	}
	return "one of " + strings.Join(choices, ", ")
}

// quotedForShell is a path as a person types it into a shell: brackets and quotes
// mean something there.
func quotedForShell(path string) string {
	if strings.ContainsAny(path, "[]\" ") {
		return "'" + path + "'"
	}
	return path
}

func isExperiment(v cue.Value) bool {
	for _, key := range []string{"benchmark", "endpoint"} {
		if v.LookupPath(cue.MakePath(cue.Str(key))).Exists() {
			return true
		}
	}
	return false
}

// experimentsIn are the regular fields of v, and the elements of its lists, that are
// experiments, three levels deep.
func experimentsIn(v cue.Value, path string, depth int) (out []experiment) {
	if depth > 2 {
		return nil
	}
	look := func(at string, m cue.Value) {
		if isExperiment(m) {
			_, key := places(m)
			out = append(out, experiment{at, key})
		} else {
			out = append(out, experimentsIn(m, at, depth+1)...)
		}
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		it, err := v.Fields()
		for err == nil && it.Next() {
			look(Join(path, it.Selector().String()), it.Value())
		}
	case cue.ListKind:
		it, err := v.List()
		for i := 0; err == nil && it.Next(); i++ {
			look(fmt.Sprintf("%s[%d]", path, i), it.Value())
		}
	}
	return out
}
