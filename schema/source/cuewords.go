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
	"aiperf.dev/aiperf/internal/suggest"
)

// packagesHint is for an import that leads nowhere.
const packagesHint = "packages come from this module, from the deps in cue.mod/module.cue (cue mod tidy adds them), or from cue.mod/pkg"

// importFailed is what CUE puts before a mistake in a package that is imported,
// once for each import that leads there.
const importFailed = "import failed: "

// inWords is a mistake of CUE's in a person's words, with a hint; the words of
// CUE where nothing better is known.
func inWords(msg string) (message, hint string) {
	for strings.HasPrefix(msg, importFailed) { // the place says where
		msg = strings.TrimPrefix(msg, importFailed)
	}
	switch {
	case strings.Contains(msg, "import cycle"):
		return "packages import each other in a circle", "move what both need into a package of its own"
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
	var none *load.NoFilesError
	if errors.As(inst.Err, &none) {
		return noFiles(name, none.Package.IgnoredFiles)
	}
	tags := tagsIn(inst)
	bad := cueErrors(name, inst.Err)
	for _, e := range bad {
		if t := tags.meant(e.Message); t != nil && e.Place == name {
			e.Place = cueOrigin(name, t.at).Where
		}
		if key, ok := tags.bare(e.Message); ok {
			e.Message, e.Hint = "-t "+key+": has no value", "-t "+key+"=… gives one"
		}
		e.Hint = cmp.Or(tags.hint(e.Message), e.Hint)
	}
	return bad
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
	return Mistake(Origin{Where: name}, "", Clip("none of its files belongs to a package ("+strings.Join(why, "; ")+")"), "write package NAME at the top of its files, or name one of them")
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

// isNone tells whether err says that no file is there to load.
func isNone(err error) bool {
	var none *load.NoFilesError
	return errors.As(err, &none)
}

// moduleMistake gives a mistake in a module file, which CUE tells without a place,
// that of the line it is about.
func moduleMistake(e *diag.Error, file string) {
	e.Place, e.Hint = ShownFile(file), "such as module: \"example.com/bench@v0\" and language: version: \""+LanguageVersion+"\""
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

var (
	variableTag = regexp.MustCompile(`^tag variable '([^']*)' not found`)
	wrongTag    = regexp.MustCompile(`for injection tag "([^"]*)"`)
	bareTag     = regexp.MustCompile(`^tag "([^"]*)" not used in any file$`)
	unknownTag  = regexp.MustCompile(`^(?:no tag for|tag) "([^"]*)"`)
)

// meant is the tag that a message is about: the one it names, and for one that
// is not there the one that was probably meant, or the first. Nil without one.
func (ts tags) meant(message string) *tag {
	find := func(is func(tag) bool) *tag {
		if i := slices.IndexFunc(ts, is); i >= 0 {
			return &ts[i]
		}
		return nil
	}
	if m := variableTag.FindStringSubmatch(message); m != nil {
		return find(func(t tag) bool { return t.variable == m[1] })
	}
	if m := wrongTag.FindStringSubmatch(message); m != nil {
		return find(func(t tag) bool { return t.key == m[1] })
	}
	if m := unknownTag.FindStringSubmatch(message); m != nil {
		near := suggest.Nearest(m[1], ts.keys())
		return find(func(t tag) bool { return near == "" || t.key == near })
	}
	return nil
}

// bare is the tag of a -t without a value, which CUE takes for the name of a choice.
func (ts tags) bare(message string) (key string, ok bool) {
	m := bareTag.FindStringSubmatch(message)
	if m == nil || !slices.Contains(ts.keys(), m[1]) {
		return "", false
	}
	return m[1], true
}

// twice refuses two values for one tag.
func twice(given []string) diag.Errors {
	values := map[string]string{}
	for _, t := range given {
		key, value, _ := strings.Cut(t, "=")
		if before, ok := values[key]; ok && before != value {
			return Mistake(Origin{Where: "-t " + key}, "", "is given twice, with different values", "give each tag one value")
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

// hint helps with a -t that a package does not take.
func (ts tags) hint(message string) string {
	switch {
	case variableTag.MatchString(message):
		return "a plan must not depend on the time, the user or the machine; give the value with -t"
	case wrongTag.MatchString(message):
		return "-t takes a value of the type that @tag names"
	case unknownTag.MatchString(message) && len(ts) > 0:
		return "tags there are: -t " + strings.Join(ts.keys(), "=…, -t ") + "=…"
	case unknownTag.MatchString(message):
		return "the package has no @tag"
	}
	return ""
}

// oneCircle is a circle of references alone: what else was found follows from
// values that it leaves without one.
func oneCircle(bad diag.Errors) diag.Errors {
	for _, e := range bad {
		if through, ok := strings.CutPrefix(e.Message, "cycle with field: "); ok {
			one := *e
			one.Message, one.Hint = "refers to itself, through "+through, "end the circle with a value"
			return diag.Errors{&one}
		}
	}
	return bad
}

// wanted says what a value that is not concrete lacks, and how to give it. name is
// the file that was named.
func wanted(name string, v cue.Value) (message, hint string) {
	if hint := openTag(v, 0); hint != "" {
		return needsValue, hint
	}
	if ds := defaultsOf(v); len(ds) > 1 {
		return fmt.Sprintf("has two defaults, %v and %v", ds[0], ds[1]),
			"they stand at " + cueOrigin(name, ds[0].Pos()).Where + " and " + cueOrigin(name, ds[1].Pos()).Where + "; write the value that is meant"
	}
	if op, _ := v.Expr(); op == cue.OrOp {
		return needsValue + ": several are possible, and defaults, if any, disagree", "write the one that is meant"
	}
	return needsValue, ""
}

// defaultsOf are the defaults that parts of v have, each value once.
func defaultsOf(v cue.Value) (out []cue.Value) {
	op, args := cue.Dereference(v).Expr()
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

const needsValue = "needs a value"

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
	op, args := v.Expr()
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
