package schema

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/cmdline"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// Source is what a command was given: a file, and what is laid over it.
type Source struct {
	File        string             // "" = flags only; a folder is a CUE package
	Select      source.Select      // which part of a CUE package
	Assignments []lower.Assignment // --set first, then flags, in the order they apply
	// Command is the word after aiperf. "profile" makes the phase and the data
	// set that its flags speak of when no file does.
	Command string
	Env     func(string) (string, bool) // nil: os.LookupEnv
	// Workers is how many processes share the load; below 2 one sends it.
	Workers int64
	// Tags are the metric names that slos and search objectives may use; nil
	// accepts any.
	Tags []string
	// RunTags are those of Tags that are figures of a whole run: no request can
	// be held against a limit on one.
	RunTags []string
	// Look looks into a file of records. Nil: no file is looked
	// into, and nothing follows from what it holds.
	Look func(path string) (cmdline.Records, error)
	// Inline says which format records have that stand in the experiment, "" where
	// none is recognised. Nil: nothing follows from them.
	Inline func(records []json.RawMessage) string
}

// Document is an experiment that was read and put together; its sweep is not
// expanded yet. It is not for concurrent use.
type Document struct {
	text text
	outline
	remarks source.Remarks
	cells   *cells
	first   *cell      // the cell without a point, where there is no sweep
	parts   *Benchmark // of a cell with mistakes, see Survey
	whole   bool
}

// Load reads an experiment: file, environment, --set, flags, in this order. Each
// stage makes its own of what the one before gives: a text, the draft with what
// is laid over it, the outline around the body, and the cells.
//
// The error is Errors when it is about the experiment: all mistakes that can be
// known at once, unknown fields first. A stage goes on without what the stages
// before it refused; what would only follow from that is not said. The Document
// beside such an error is as far as it could be put together, for those who check
// names in it; nil where there is nothing to check.
func Load(src Source) (doc *Document, err error) {
	name := src.name()
	watch := source.Watch(name)
	defer watch.Stop()
	var hide *secret.Masker
	defer caught(name, &hide, func(bad Errors) { doc, err = nil, bad })
	doc, bad := load(src, watch, &hide)
	if len(bad) > 0 {
		return doc, masked(bad.Sorted(), hide)
	}
	return doc, nil
}

// name is what places call the experiment as a whole.
func (s Source) name() string { return cmp.Or(s.File, "the command line") }

// masked are mistakes without what hide knows in their words.
func masked(bad Errors, hide *secret.Masker) Errors {
	for i, e := range bad {
		shown := *e
		shown.Message, shown.Hint = hide.Text(e.Message), hide.Text(e.Hint)
		bad[i] = &shown
	}
	return bad
}

// load reads src; hide knows the words of its environment as soon as they are read.
func load(src Source, watch *source.Watchdog, hide **secret.Masker) (*Document, Errors) {
	read, bad := readText(src, watch)
	if read.root == nil || read.root.Kind != source.Object {
		return nil, bad
	}
	if src.File != "" {
		read.root.SetPaths("")
	}
	unread := append(bad, read.fillEnvironment(src.Env)...)
	*hide = secret.NewMasker(read.env...)
	all, blind := slices.Clone(unread), blinded(read.root, unread)
	found := func(bad Errors) bool {
		all = append(all, without(all, besides(blind, bad))...)
		return len(bad) > 0
	}
	if found(lower.KnownVersion(read.root, fields.Versions())) {
		return nil, all
	}
	d, bad := prepare(src, read, *hide)
	found(bad)
	if bad := d.overlay(); found(bad) && doubtful(bad) {
		return nil, all // there is nothing true to say any more
	}
	o, bad := d.outline()
	found(bad)
	doubt := doubtful(all)
	doc, bad := finish(d, o, doubt)
	doc.text = read
	doc.whole = !found(bad) && !doubt
	return doc, all
}

// doubtful reports whether mistakes leave open what the experiment is. Of what is said
// twice one is left, and everything else is judged beside it.
func doubtful(bad Errors) bool {
	return slices.ContainsFunc(bad, func(e *Error) bool { return !e.Twice })
}

// without is found less what may only follow from a field that is left out:
// what is missing beside it, and rules about its object; one field has one
// mistake.
func without(before, found Errors) Errors {
	return slices.DeleteFunc(slices.Clone(found), func(e *Error) bool {
		parent, _ := source.Cut(e.Path)
		return slices.ContainsFunc(before, func(u *Error) bool {
			home, _ := source.Cut(u.Path)
			return e.Path != "" && e.Path == u.Path || u.Unknown && (e.Path == home || parent == home && e.Missing) ||
				e.Place == u.Place && e.Message == u.Message
		})
	})
}

// besides is found less what may be wrong only because of values that could not be
// read: those values themselves, what is missing, and what fields are together.
func besides(unread, found Errors) Errors {
	return slices.DeleteFunc(slices.Clone(found), func(e *Error) bool {
		return len(unread) > 0 && (e.Missing || e.Ruled) || slices.ContainsFunc(unread,
			func(u *Error) bool { return e.Place == u.Place })
	})
}

// blinded is unread with an entry for each template that reads, by its name, a value that
// could not be read, or one that such a template makes: what it gives is not known.
func blinded(root *source.Node, unread Errors) Errors {
	out := slices.Clone(unread)
	isOut := func(n *source.Node) bool {
		return slices.ContainsFunc(out, func(e *Error) bool { return e.Place == n.Origin.Where })
	}
	for known := -1; known != len(out) && len(unread) > 0; {
		known = len(out)
		names := map[string]bool{}
		root.Leaves("", func(path string, n *source.Node) {
			if isOut(n) {
				_, name := source.Cut(path)
				names[name] = true
			}
		})
		root.Leaves("", func(_ string, n *source.Node) {
			text, _ := n.Value.(string)
			if strings.Contains(text, "{{") && !isOut(n) && slices.ContainsFunc(strings.FieldsFunc(text, notInName),
				func(w string) bool { return names[w] }) {
				out = append(out, &Error{Place: n.Origin.Where})
			}
		})
	}
	return out
}

// notInName separates the names in a template.
func notInName(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// caught, deferred, makes a mistake of a panic in what evaluates an experiment: CUE,
// templates and expressions are other people's programs, and a person who wrote one
// line too clever is to be told the file, not the stack, and no value that hide knows.
func caught(name string, hide **secret.Masker, refuse func(Errors)) {
	if fault := recover(); fault != nil {
		refuse(Errors{{
			Place: name, Message: "cannot be evaluated: " + (*hide).Panic(fault),
			Hint: "this is a defect of aiperf, please report it with the file; values that are written out instead of computed get around it",
		}})
	}
}

// Source is the file as given, nil for flags.
func (d *Document) Source() []byte { return d.text.bytes }

// Copy is what is kept of the file beside results, nil for flags, with the ending
// of its name: the file as given, or where that is only a part of the experiment,
// what the CUE package evaluates to.
func (d *Document) Copy() (text []byte, ending string) { return d.text.copy, d.text.ending }

// Whole reports whether the experiment can be expanded: it has no mistakes, or only says
// something twice, which leaves one of both.
func (d *Document) Whole() bool { return d.whole }

// Envelope is everything around the body.
func (d *Document) Envelope() Experiment { return d.envelope }

// Sweep is the matrix, not expanded.
func (d *Document) Sweep() Sweep { return d.sweep }

// Notes are remarks about what stands beside the experiment; no command
// refuses because of them.
func (d *Document) Notes() []string { return d.remarks.Notes }

// Warnings are doubts that stop nothing.
func (d *Document) Warnings() []string { return d.remarks.Warnings }

// Unsupported are the fields that are set and declared, but not built yet. A
// command that runs refuses them; one that only shows may go on.
func (d *Document) Unsupported() Errors { return d.remarks.Unsupported }

// Resolve is one cell, fully resolved and checked: the experiment with the
// assignments of a point laid over it. The error is Errors.
func (d *Document) Resolve(point []lower.Assignment) (resolved *Resolved, err error) {
	defer caught(d.cells.src.name(), &d.cells.checker.hide, func(bad Errors) { resolved, err = nil, bad })
	if len(point) == 0 && d.first != nil {
		return d.first.resolved, nil
	}
	c, bad := d.cells.cell(point)
	if bad != nil {
		return nil, masked(bad.Sorted(), d.cells.checker.hide)
	}
	return c.resolved, nil
}

// Names are the values of a cell that expressions may use besides its axes:
// the fields of the profiling phase by their bare names, isl, osl and the
// variables.
func (d *Document) Names(point []lower.Assignment) (names map[string]any, err error) {
	defer caught(d.cells.src.name(), &d.cells.checker.hide, func(bad Errors) { names, err = nil, bad })
	return d.cells.names(point)
}

// finish makes the document of the draft and what is around it. In doubt, when
// mistakes are known, it only looks for more of them.
func finish(d *draft, o outline, doubt bool) (*Document, Errors) {
	doc := &Document{outline: o, cells: cellsOf(d)}
	d.findUnsupported(o)
	d.line.WarnSpent(len(o.sweep.Scenarios) > 0)
	bad := d.line.IdleValues()
	doc.remarks = d.Remarks
	switch {
	case doubt:
		bad = append(doc.Survey(), bad...)
	case o.sweep.varies():
	default:
		c, more := doc.cells.checked(o.rendered, o.unread)
		if doc.first = c; more == nil {
			c.resolved.Given = doc.cells.given(c)
		}
		bad = append(more, bad...)
	}
	return doc, bad
}

// text is what a file holds, as a tree.
type text struct {
	root  *source.Node
	bytes []byte // as written, nil for flags
	notes []string
	copy  []byte // what is kept of it
	// ending is that of the copy's name, with its dot.
	ending string
	env    []string // what the environment and the variables say in it and may be secret
}

// readText reads the file, or makes an empty experiment for flags.
func readText(src Source, watch *source.Watchdog) (text, Errors) {
	if src.File == "" {
		if s := src.Select; s.Package != "" || s.Expr != "" || len(s.Tags) > 0 {
			return text{}, source.Mistake(source.Origin{Where: "the command line"}, "", "-e, -p and -t are for CUE",
				"name a CUE file or folder, or leave them out")
		}
		root := source.ObjectNode(source.Origin{Source: source.ByDefault})
		root.Put("benchmark", source.ObjectNode(source.Origin{Source: source.ByDefault}))
		return text{root: root}, nil
	}
	if strings.EqualFold(filepath.Ext(src.File), ".cue") || IsPackage(src.File) {
		var out text
		if note := staleCopy(src.File); note != "" {
			out.notes = append(out.notes, note)
		}
		var bad Errors
		var written source.Text
		if out.root, written, bad = source.ReadCUE(src.File, src.Select, stub, watch); bad != nil {
			return out, bad
		}
		out.bytes, out.copy, out.ending = written.Bytes, written.Bytes, ".cue"
		if written.Parts {
			out.copy, out.ending = out.root.JSON(), ".json"
		}
		return out, nil
	}
	bytes, bad := source.ReadFile(src.File)
	if bad != nil {
		return text{}, bad
	}
	if bad := src.Select.ForCUE(src.File); bad != nil {
		return text{}, bad
	}
	root, bad := source.ReadYAML(src.File, bytes)
	return text{
		root: root, notes: source.Doubts(root), bytes: bytes, copy: bytes,
		ending: cmp.Or(filepath.Ext(src.File), ".yaml"),
	}, bad
}

// Migrate is the text of a file brought to this program's version of the schema,
// and what was changed, line by line; the text as it is when nothing was. The
// error is Errors.
func Migrate(file string) (text []byte, changes []string, err error) {
	watch := source.Watch(file)
	defer watch.Stop()
	defer caught(file, new(*secret.Masker), func(bad Errors) { text, changes, err = nil, nil, bad })
	if IsPackage(file) {
		return nil, nil, source.Mistake(source.Origin{Where: file}, "", "is a folder", "migrate its files one by one")
	}
	text, bad := source.ReadFile(file)
	if bad != nil {
		return nil, nil, bad
	}
	read, bad := readText(Source{File: file}, watch)
	if bad != nil {
		return nil, nil, bad
	}
	if bad := lower.KnownVersion(read.root, fields.Versions()); bad != nil {
		return nil, nil, bad
	}
	if _, bad := lower.Surface(fields.New(), read.root); bad != nil {
		return nil, nil, bad.Sorted()
	}
	edits, bad := lower.Upgrade(read.root, fields.Versions())
	if bad != nil {
		return nil, nil, bad.Sorted()
	}
	for _, e := range edits {
		changes = append(changes, e.At.Where+": "+e.Note)
	}
	if text, bad = lower.Rewrite(file, text, edits); bad != nil {
		return nil, nil, bad
	}
	return text, changes, nil
}

// fillEnvironment fills in ${VAR}, and remembers what may be secret of what stands there
// and in the variables.
func (t *text) fillEnvironment(lookup func(string) (string, bool)) Errors {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	values, bad := lower.ExpandEnv(t.root, lookup)
	for _, v := range values {
		if secret.Telling(v, false) {
			t.env = append(t.env, v)
		}
	}
	if v := t.root.Get("variables"); v != nil && v.Kind == source.Object {
		t.env = append(t.env, secret.Members(v.Plain().(map[string]any))...)
	}
	return bad
}
