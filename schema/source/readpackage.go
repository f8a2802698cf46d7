package source

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/mod/module"

	"aiperf.dev/aiperf/internal/diag"
)

// Select says which part of which CUE package is the experiment.
type Select struct {
	Package string   // of a folder with several, or of a file that brings its package along
	Expr    string   // a field, or an expression over the package; "" is the package itself
	Tags    []string // key=value for @tag(key)
	// Download permits fetching what the module depends on; nil: only what is in
	// the cache is used.
	Download *Download
}

// IsPackage reports whether a folder holds CUE files.
func IsPackage(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.cue")) // the pattern is a good one
	return len(files) > 0
}

// Experiments are the fields of a CUE package, or of a file, that are
// experiments, as -e takes them; "" is the package itself.
func Experiments(name string, sel Select, stub func() []byte) ([]string, diag.Errors) {
	if !isCUE(name) {
		return oneExperiment(name, sel)
	}
	watch := Watch(name)
	defer watch.Stop()
	p, bad := loadCUE(name, sel, stub, watch)
	if bad != nil {
		return nil, bad
	}
	if isExperiment(p.value) {
		return []string{""}, nil
	}
	var out []string
	for _, e := range experimentsIn(p.value, "", 0) {
		out = append(out, e.path)
	}
	return out, nil
}

// isCUE reports whether name is read as CUE: a file of it, or a folder.
func isCUE(name string) bool {
	info, err := os.Stat(name)
	return strings.EqualFold(filepath.Ext(name), ".cue") || err == nil && info.IsDir()
}

// oneExperiment is a file of YAML or JSON as its one experiment.
func oneExperiment(name string, sel Select) ([]string, diag.Errors) {
	text, bad := ReadFile(name)
	if bad == nil {
		bad = sel.ForCUE(name)
	}
	if bad != nil {
		return nil, bad
	}
	root, bad := ReadYAML(name, text)
	if bad != nil || root.Field("benchmark") == nil && root.Field("endpoint") == nil {
		return nil, bad
	}
	return []string{""}, nil
}

// ForCUE refuses what says more than a file of another language takes.
func (s Select) ForCUE(name string) diag.Errors {
	if s.Package != "" || s.Expr != "" || len(s.Tags) > 0 {
		return Mistake(Origin{Where: name}, "", "-e, -p and -t are for CUE",
			"write the experiment in CUE, or leave them out")
	}
	return nil
}

// loaded is a CUE package after loading, before anything is made of it.
type loaded struct {
	value  cue.Value
	text   Text
	folder bool // or a file with its package
}

// Text is what an experiment was written as.
type Text struct {
	Bytes []byte // of all files of its package
	// Parts says that the bytes alone are not the experiment: it was a folder, or
	// a file with its package, or it imports packages besides the schema.
	Parts bool
}

// ReadCUE reads an experiment out of a file or a folder. The schema that it
// imports is a stub (openSchema) in which every definition is open: what comes out is the
// user's data with the user's places and no defaults mixed in; later steps treat
// it like YAML, so one mistake reads the same in both. Beside mistakes in single
// values it has null in their place.
func ReadCUE(name string, sel Select, stub func() []byte, watch *Watchdog) (*Node, Text, diag.Errors) {
	root, text, bad := readCUE(name, sel, stub, watch)
	inSchema := func(e *diag.Error) bool {
		return strings.Contains(filepath.ToSlash(e.Place), VendorDir) || e.Place == name && errors.Is(e, errChoices)
	}
	if slices.ContainsFunc(bad, inSchema) { // its choices hide which value is wrong: without them it shows
		return readCUE(name, sel, func() []byte { return withoutChoices(stub()) }, watch)
	}
	return root, text, bad
}

func readCUE(name string, sel Select, stub func() []byte, watch *Watchdog) (*Node, Text, diag.Errors) {
	p, bad := loadCUE(name, sel, stub, watch)
	if bad != nil && (!p.value.Exists() || circleIn(bad) != nil) {
		return nil, Text{}, bad
	}
	v, none := chosen(p, name, sel.Expr)
	if none != nil {
		if bad != nil {
			none = bad // it may follow from what is wrong there
		}
		return nil, Text{}, none
	}
	r := cueReader{name: name}
	root := r.node(v)
	if c := circleIn(r.bad); c != nil {
		return nil, p.text, c // what else was found follows from values that it leaves without one
	}
	loading := bad != nil
	for _, e := range r.bad {
		if loading && errors.Is(e, errNeedsValue) {
			continue // it may come from what is wrong elsewhere
		}
		if !slices.ContainsFunc(bad, func(known *diag.Error) bool { return known.Place == e.Place }) {
			bad = append(bad, e)
		}
	}
	if root.Kind != Object && bad == nil {
		return nil, p.text, Mistake(root.Origin, v.Path().String(),
			"an experiment is a struct, this is "+root.KindName(), experimentsHint(p.value))
	}
	return root, p.text, bad
}

// chosen is the experiment that expr names, or the one that p is or holds.
func chosen(p loaded, name, expr string) (cue.Value, diag.Errors) {
	if expr != "" {
		return selected(p.value, name, expr)
	}
	if isExperiment(p.value) {
		return p.value, nil
	}
	switch found := experimentsIn(p.value, "", 0); {
	case len(found) == 1 && slipped(found[0].path):
	case len(found) == 1:
		return p.value, Mistake(found[0].origin(name), found[0].path, "is an experiment, "+name+" as a whole is none",
			oneOf(found))
	case len(found) > 1:
		return p.value, Mistake(Origin{Where: name}, "", fmt.Sprintf("which experiment? There are %d", len(found)),
			oneOf(found))
	case p.folder:
		return p.value, Mistake(Origin{Where: name}, "", "no experiment here",
			"an experiment is a value with benchmark: schema.#Experiment & {…}")
	}
	return p.value, nil
}

// loadCUE loads a file or a folder with what it imports: packages of the user's
// module, those vendored in it, and those of the modules that it depends on. Beside
// mistakes in values it returns what can be read of them.
func loadCUE(name string, sel Select, stub func() []byte, watch *Watchdog) (loaded, diag.Errors) {
	at := Origin{Where: name}
	abs, err := filepath.Abs(name)
	if err != nil {
		return loaded{}, Mistake(at, "", Reason(err), "")
	}
	dir, args, bad := arguments(name, abs, sel)
	if bad != nil {
		return loaded{}, bad
	}
	if bad := twice(sel.Tags); bad != nil {
		return loaded{}, bad
	}
	root := ModuleRoot(dir)
	if bad := newerSchema(root); bad != nil {
		return loaded{}, bad
	}
	deps := newModules(sel.Download)
	insts := load.Instances(args, &load.Config{
		Dir: dir, ModuleRoot: root, Package: sel.Package, Overlay: overlay(root, stub),
		Tags: sel.Tags, TagVars: map[string]load.TagVar{}, Registry: deps, Env: []string{},
	})
	if insts[0].Err != nil {
		if bad := deps.mistakes(root); bad != nil {
			return loaded{}, bad // what else was found follows from it
		}
		bad := loadErrors(name, insts[0])
		if insts[0].Module == "" && bad[0].Place == name && !isNone(insts[0].Err) {
			moduleMistake(bad[0], filepath.Join(root, "cue.mod", "module.cue"))
		}
		return loaded{}, bad
	}
	var out loaded
	g := packageGuard{root: root, deps: deps.roots, seen: map[*build.Instance]bool{}}
	if bad := g.instance(insts[0]); bad != nil {
		return out, bad
	}
	if g.heaviest != "" {
		watch.suspect(g.heaviest)
	}
	for _, f := range insts[0].Files {
		text, err := os.ReadFile(f.Filename)
		if err != nil {
			return out, Mistake(Origin{Where: ShownFile(f.Filename)}, "", Reason(err), "")
		}
		out.text.Bytes = append(out.text.Bytes, text...)
	}
	out.folder = args[0] == thisPackage
	out.text.Parts = out.folder || slices.ContainsFunc(insts[0].Imports,
		func(dep *build.Instance) bool { return !isSchemaPackage(dep) })
	out.value = cuecontext.New().BuildInstance(insts[0])
	if err := out.value.Err(); err != nil {
		bad := cueErrors(name, err, nil)
		for _, e := range bad { // CUE gives a circle no place
			if pos := out.value.LookupPath(cue.ParsePath(e.Path)).Pos(); e.Place == name && pos.IsValid() {
				e.Place = cueOrigin(name, pos).Where
			}
		}
		if last := bad[len(bad)-1]; out.folder && len(insts[0].Files) > 1 &&
			strings.HasPrefix(last.Message, "conflicting values") {
			last.Hint += "; the files of a folder are one CUE package: aiperf validate FILE… checks files one by one"
		}
		if openNames(insts[0], err) { // what else is wrong shows without them
			out.value = cuecontext.New().BuildInstance(insts[0])
		}
		return out, bad
	}
	return out, nil
}

// openNames puts any value (_) in place of names that are not known; false where there are none.
func openNames(inst *build.Instance, err error) (found bool) {
	at := map[string]bool{}
	for _, e := range cueerrors.Errors(err) {
		if format, _ := e.Msg(); format == notFound {
			at[e.Position().String()] = true
		}
	}
	for _, f := range inst.Files {
		ast.Walk(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && at[id.Pos().String()] {
				id.Name, found = "_", true
			}
			return true
		}, nil)
	}
	if found {
		inst.Err = nil // of the first time that it was built
	}
	return found
}

// thisPackage is the loader's word for the package of a folder.
const thisPackage = "."

// arguments are what the loader is asked for: a folder's package, a file, or the
// package of a file.
func arguments(name, abs string, sel Select) (dir string, args []string, bad diag.Errors) {
	info, err := os.Stat(abs)
	switch {
	case err == nil && info.IsDir():
		files, _ := filepath.Glob(filepath.Join(abs, "*.cue")) // the pattern is a good one
		if len(files) == 0 {
			return "", nil, Mistake(Origin{Where: name}, "", "is a directory without CUE files",
				"name an experiment file, or a folder that is a CUE package")
		}
		for _, f := range files {
			if bad := readable(ShownFile(f)); bad != nil {
				return "", nil, bad
			}
		}
		return abs, []string{thisPackage}, nil
	case strings.HasSuffix(abs, "_tool.cue"):
		return "", nil, Mistake(Origin{Where: name}, "", "holds commands of the cue tool, no experiment", "")
	}
	if bad := readable(name); bad != nil {
		return "", nil, bad
	}
	if sel.Package != "" {
		if bad := belongs(name, sel.Package); bad != nil {
			return "", nil, bad
		}
		return filepath.Dir(abs), []string{thisPackage}, nil
	}
	return filepath.Dir(abs), []string{abs}, nil
}

// belongs refuses a file of another package than the one that it is to bring along.
func belongs(name, pkg string) diag.Errors {
	f, err := parser.ParseFile(name, nil, parser.PackageClauseOnly)
	if err != nil {
		return cueErrors(name, err, nil)[:1]
	}
	clause := Origin{Where: name}
	if len(f.Decls) > 0 { // all of what was read
		clause = cueOrigin(name, f.Decls[len(f.Decls)-1].Pos())
	}
	switch own := f.PackageName(); own {
	case pkg:
		return nil
	case "":
		return Mistake(Origin{Where: name}, "", "belongs to no package, -p names "+pkg,
			"write package "+pkg+" at its top, or leave -p out")
	default:
		return Mistake(clause, "", "belongs to the package "+own+", -p names "+pkg,
			"-p "+own+" brings its package along")
	}
}

// readable refuses a file that is too large, or no CUE: one line, since what
// comes after the first mistake in the syntax follows from it.
func readable(name string) diag.Errors {
	src, bad := ReadFile(name)
	if bad != nil {
		return bad
	}
	if _, err := parser.ParseFile(name, src); err != nil {
		bad := cueErrors(name, err, nil)[:1]
		bad[0].Hint = cmp.Or(bad[0].Hint,
			"look at this place and the line above: braces, brackets, quotes, colons; cue fmt points at it, too")
		return bad
	}
	return nil
}

// ModuleRoot is dir or the nearest folder above it with a module file, dir without
// one. dir is absolute.
func ModuleRoot(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "cue.mod", "module.cue")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// packageGuard refuses what is not pure in a package and in what it imports, and
// files that lie outside their module.
type packageGuard struct {
	root string                    // the user's module
	deps map[module.Version]string // those that it depends on
	seen map[*build.Instance]bool
	from string // the place of the import that is followed; "" for the package itself
	// heaviest is the place of what repeats something most often, "" where nothing
	// does: what takes too long is most likely this.
	heaviest string
	most     float64
}

func isSchemaPackage(inst *build.Instance) bool {
	return inst.ImportPath == ImportPath || strings.HasPrefix(inst.ImportPath, ImportPath+"@")
}

func (p *packageGuard) instance(inst *build.Instance) diag.Errors {
	if p.seen[inst] || isSchemaPackage(inst) {
		return nil
	}
	p.seen[inst] = true
	root := cmp.Or(p.deps[inst.ModuleVersion], p.root)
	home, err := filepath.EvalSymlinks(root)
	if err != nil {
		home = root
	}
	for _, f := range inst.Files {
		real, err := filepath.EvalSymlinks(f.Filename)
		if rel, bad := filepath.Rel(home, real); err == nil && (bad != nil || strings.HasPrefix(rel, "..")) {
			return p.ofFile(f.Filename, "lies outside the module "+ShownFile(root), "copy it in")
		}
		if info, err := os.Stat(real); err == nil && info.Size() > MaxBytes {
			return p.ofFile(f.Filename, fmt.Sprintf("larger than %d MB", MaxBytes>>20),
				"a package of experiments holds what they share, no records")
		}
		g := cueGuard{name: ShownFile(f.Filename), deps: inst.Imports, levels: 1}
		for im := range f.ImportSpecs() {
			g.imported(im)
		}
		ast.Walk(f, g.enter, g.exit)
		if len(g.bad) > 0 {
			return g.bad[:1]
		}
		if g.most > p.most {
			p.most, p.heaviest = g.most, g.heaviest
		}
	}
	from := p.from
	for _, dep := range inst.Imports {
		p.from = importPlace(inst, dep)
		if bad := p.instance(dep); bad != nil {
			return bad
		}
	}
	p.from = from
	return nil
}

// ofFile is a mistake about a file as a whole: its place is the import that leads
// to it, if any.
func (p *packageGuard) ofFile(name, message, hint string) diag.Errors {
	if p.from != "" {
		return Mistake(Origin{Where: p.from}, "", ShownFile(name)+" "+message, hint)
	}
	return Mistake(Origin{Where: ShownFile(name)}, "", message, hint)
}

// importPlace is where inst imports dep.
func importPlace(inst, dep *build.Instance) string {
	for _, f := range inst.Files {
		for im := range f.ImportSpecs() {
			path := strings.Trim(im.Path.Value, `"`)
			if dep.ImportPath == path || strings.HasPrefix(dep.ImportPath, path+"@") ||
				strings.HasPrefix(path, dep.ImportPath) {
				return cueOrigin(ShownFile(f.Filename), im.Pos()).Where
			}
		}
	}
	return ""
}

// ShownFile is a file's name as a person at the shell would write it.
func ShownFile(name string) string {
	wd, err := os.Getwd()
	if err != nil {
		return name
	}
	if rel, err := filepath.Rel(wd, name); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return name
}

// overlay is what lies in the module besides the user's files: a module file if
// there is none, and the schema, in place of a vendored copy.
func overlay(root string, stub func() []byte) map[string]load.Source {
	over := map[string]load.Source{}
	module := filepath.Join(root, "cue.mod", "module.cue")
	if _, err := os.Stat(module); err != nil {
		over[module] = load.FromString(ModuleFile)
	}
	pkg := filepath.Join(root, filepath.FromSlash(VendorDir))
	vendored, _ := filepath.Glob(filepath.Join(pkg, "*.cue"))
	for _, f := range vendored {
		over[f] = load.FromString("package schema\n")
	}
	over[filepath.Join(pkg, "stub.cue")] = load.FromBytes(stub())
	return over
}

// ImportPath is what an experiment in CUE imports.
const ImportPath = "aiperf.dev/schema"

const (
	// VendorDir is where a module keeps a copy of the schema.
	VendorDir = "cue.mod/pkg/" + ImportPath
	// ModuleFile is what a folder without a module file stands for.
	ModuleFile = "module: \"local.invalid/experiments@v0\"\nlanguage: version: \"" + LanguageVersion + "\"\n"
	// LanguageVersion is that of CUE, which the package is written in.
	LanguageVersion = "v0.17.0"
)
