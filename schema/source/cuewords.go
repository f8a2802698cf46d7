package source

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"aiperf.dev/aiperf/internal/diag"
)

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
		return Mistake(Origin{Where: name}, "", "holds several packages: "+strings.Join(there, ", "),
			"choose one: "+strings.Join(choose, " or "))
	}
	var none *load.NoFilesError
	if errors.As(inst.Err, &none) {
		return noFiles(name, none.Package.IgnoredFiles)
	}
	return cueErrors(name, inst.Err, tagsIn(inst).mend(name))
}

// noFiles says why no file of a folder, or not the one that was named, is part of
// the package.
func noFiles(name string, ignored []*build.File) diag.Errors {
	var why []string
	for _, f := range ignored {
		if at, cond := onlyIf(f.Filename); cond != "" {
			hint := "-t TAG makes a tag true"
			if ast.IsValidIdent(cond) {
				hint = "-t " + cond + " brings it in"
			}
			return Mistake(cueOrigin(name, at), "", "is left out: @if("+cond+") is not true", hint)
		}
		if f.ExcludeReason != nil {
			why = append(why, filepath.Base(f.Filename)+": "+f.ExcludeReason.Error())
		}
	}
	return Mistake(Origin{Where: name}, "", Clip("none of its files belongs to a package ("+strings.Join(why, "; ")+
		")"), "write package NAME at the top of its files, or name one of them")
}

// onlyIf is the condition under which a file is part of its package, and where it
// stands; "" without one.
func onlyIf(file string) (at token.Pos, cond string) {
	f, err := parser.ParseFile(file, nil, parser.PackageClauseOnly)
	if err != nil {
		return at, ""
	}
	for _, d := range f.Decls {
		if a, ok := d.(*ast.Attribute); ok {
			if name, body := a.Split(); name == "if" {
				return a.Pos(), body
			}
		}
	}
	return at, ""
}

// isNone reports whether err says that no file is there to load.
func isNone(err error) bool {
	var none *load.NoFilesError
	return errors.As(err, &none)
}

// moduleMistake gives a mistake in a module file, which CUE tells without a place,
// that of the line it is about.
func moduleMistake(e *diag.Error, file string) {
	e.Place, e.Hint = ShownFile(file), "such as module: \"example.com/bench@v0\" and language: version: \""+
		LanguageVersion+"\""
	if !strings.HasPrefix(e.Message, "language version") {
		return
	}
	e.Hint = "name " + LanguageVersion + " or an older one, or update aiperf"
	f, err := parser.ParseFile(file, nil)
	if err != nil {
		return
	}
	ast.Walk(f, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok {
			label, _, _ := ast.LabelName(field.Label)
			if label == "version" {
				e.Place = cueOrigin(ShownFile(file), field.Value.Pos()).Where
			}
			return label == "language"
		}
		return true
	}, nil)
}

// tag is one @tag of a package.
type tag struct {
	key      string // what -t calls it
	variable string // what it takes without -t, such as now
	at       token.Pos
}

type tags []tag

// tagsIn are the tags of a package in the order of its files.
func tagsIn(inst *build.Instance) (out tags) {
	for _, f := range inst.Files {
		ast.Walk(f, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok {
				return true
			}
			for _, a := range field.Attrs {
				name, body := a.Split()
				if name != "tag" {
					continue
				}
				words := strings.Split(body, ",")
				t := tag{key: strings.TrimSpace(words[0]), at: a.Pos()}
				for _, w := range words[1:] {
					if v, ok := strings.CutPrefix(strings.TrimSpace(w), "var="); ok {
						t.variable = v
					}
				}
				out = append(out, t)
			}
			return true
		}, nil)
	}
	return out
}

// mend gives a mistake about a tag, which CUE tells without a place, that of the
// tag it is about, and says what -t takes.
func (ts tags) mend(name string) func(cueerrors.Error, *diag.Error) {
	return func(e cueerrors.Error, found *diag.Error) {
		format, args := e.Msg()
		if len(args) == 0 {
			return
		}
		word := fmt.Sprint(args[len(args)-1])
		var about *tag
		hint := ""
		switch {
		case format == unknownVar:
			about = ts.find(func(t tag) bool { return t.variable == word })
			hint = "a plan must not depend on the time, the user or the machine"
			if about != nil {
				hint += "; give the value: -t " + about.key + "=…"
			}
		case strings.HasSuffix(format, wrongTag):
			about = ts.find(func(t tag) bool { return t.key == word })
			hint = "-t takes a value of the type that @tag names"
		case format == bareTag && slices.Contains(ts.keys(), word): // CUE takes it for the name of a choice
			about = ts.find(func(t tag) bool { return t.key == word })
			found.Message, hint = "-t "+word+": has no value", "-t "+word+"=… gives one"
		case format == unknownTag || format == bareTag:
			found.Place, found.Message, hint = "-t "+word, "no @tag("+word+") in "+name, ts.there(name)
		}
		if about != nil && found.Place == name {
			found.Place = cueOrigin(name, about.at).Where
		}
		found.Hint = cmp.Or(hint, found.Hint)
	}
}

// there are all tags with the places of their first mention.
func (ts tags) there(name string) string {
	var out []string
	for _, key := range ts.keys() {
		first := ts.find(func(t tag) bool { return t.key == key })
		out = append(out, "-t "+key+"=… ("+cueOrigin(name, first.at).Where+")")
	}
	if len(out) == 0 {
		return "no file of it has a @tag; leave -t out"
	}
	return "tags there are: " + strings.Join(out, ", ")
}

func (ts tags) find(is func(tag) bool) *tag {
	if i := slices.IndexFunc(ts, is); i >= 0 {
		return &ts[i]
	}
	return nil
}

// twice refuses two values for one tag.
func twice(given []string) diag.Errors {
	values := map[string]string{}
	for _, t := range given {
		key, value, _ := strings.Cut(t, "=")
		if before, ok := values[key]; ok && before != value {
			return Mistake(Origin{Where: "-t " + key}, "", "is given twice, with different values",
				"give each tag one value")
		}
		values[key] = value
	}
	return nil
}

// keys are the words that -t takes, each once.
func (ts tags) keys() (out []string) {
	for _, t := range ts {
		out = append(out, t.key)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// circleIn is the first circle of references among mistakes.
func circleIn(bad diag.Errors) diag.Errors {
	for _, e := range bad {
		if errors.Is(e, errCircle) {
			return diag.Errors{e}
		}
	}
	return nil
}

// hiddenIn is what CUE adds to the name of a hidden field: its package.
var hiddenIn = regexp.MustCompile(`(_\w*)\(:?[^)]*\)`)

// circle is the mistake of a value that waits for itself, by way of plain
// references; nil where v waits for something else. Its place is that of the first
// value that comes again.
func circle(name string, v cue.Value) *diag.Error {
	var walked []cue.Value
	for at := v; len(walked) < 64; {
		i := slices.IndexFunc(walked, func(w cue.Value) bool { return w.Path().String() == at.Path().String() })
		if i >= 0 {
			return circleOf(name, walked[i:])
		}
		walked = append(walked, at)
		root, path := at.ReferencePath()
		if !root.Exists() || len(path.Selectors()) == 0 {
			return nil
		}
		if at = root.LookupPath(path); !at.Exists() {
			return nil
		}
	}
	return nil
}

// circleOf is the mistake of values that refer to each other in turn.
func circleOf(name string, vs []cue.Value) *diag.Error {
	if len(vs) == 1 { // x: x says nothing that x could wait for
		return nil
	}
	var names, at []string
	for _, v := range vs {
		_, key := places(v)
		names = append(names, hiddenIn.ReplaceAllString(v.Path().String(), "$1"))
		at = append(at, cueOrigin(name, key).Where)
	}
	stand := "it stands at "
	if len(at) > 2 {
		stand = "they stand at "
	}
	return &diag.Error{
		Place: at[0], Path: names[0], Message: Clip("refers to itself, through " + strings.Join(names[1:], ", ")),
		Hint: circleHint + "; " + stand + strings.Join(at[1:], ", "), Cause: errCircle,
	}
}

// wanted says what a value that is not concrete lacks, and how to give it. name is
// the file that was named.
func wanted(name string, v cue.Value) (hint string, why error) {
	if hint := openTag(v, 0); hint != "" {
		return hint, errNeedsValue
	}
	if ds := defaultsOf(v); len(ds) > 1 {
		return "they stand at " + cueOrigin(name, ds[0].Pos()).Where + " and " + cueOrigin(name,
				ds[1].Pos()).Where + "; write the value that is meant",
			fmt.Errorf("has two defaults, %v and %v", ds[0], ds[1])
	}
	if op, _ := apart(v); op == cue.OrOp {
		return "write only the one that you mean",
			fmt.Errorf("%w: several are possible, and defaults, if any, disagree", errNeedsValue)
	}
	return "", errNeedsValue
}

// defaultsOf are the defaults that parts of v have, each value once.
func defaultsOf(v cue.Value) (out []cue.Value) {
	op, args := apart(cue.Dereference(v))
	if op != cue.AndOp {
		if d, ok := v.Default(); ok && d.IsConcrete() && !ofSchema(v.Pos()) {
			out = append(out, d)
		}
		return out
	}
	for _, a := range args {
		for _, d := range defaultsOf(a) {
			if !slices.ContainsFunc(out, d.Equals) {
				out = append(out, d)
			}
		}
	}
	return out
}

var errNeedsValue = errors.New("needs a value")

// openTag is how to fill in the first tag that v waits for: its own, or one of what
// it refers to; "" without one. A chain of references is followed for a few steps.
func openTag(v cue.Value, depth int) string {
	if depth > 8 || v.IsConcrete() {
		return ""
	}
	if a := v.Attribute("tag"); a.Err() == nil {
		if key, err := a.String(0); err == nil {
			return "-t " + key + "=… fills it in"
		}
	}
	if to := cue.Dereference(v); to.Path().String() != v.Path().String() {
		return openTag(to, depth+1)
	}
	op, args := apart(v)
	if op == cue.NoOp {
		return ""
	}
	for _, a := range args {
		if hint := openTag(a, depth+1); hint != "" {
			return hint
		}
	}
	return ""
}
