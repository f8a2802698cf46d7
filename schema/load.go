package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

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
	// Tags are the metric names that slos and search objectives may use; nil
	// accepts any.
	Tags []string
	// RunTags are those of Tags that are figures of a whole run: no request can
	// be held against a limit on one.
	RunTags []string
	// Look looks into a file of records that a flag names. Nil: no file is looked
	// into, and nothing follows from what it holds.
	Look func(path string) (Records, error)
}

// Records is what a file of records shows at a glance.
type Records struct {
	Format string
	Timed  bool         // its records say when they were sent
	Count  func() int64 // how many there are; it reads the whole file
}

// Document is an experiment that was read, lowered and overlaid; its sweep is
// not expanded yet. It is not for concurrent use.
type Document struct {
	src         Source
	text        []byte
	index       fields.Table
	root        *source.Node // the experiment without its sweep
	envelope    Experiment
	sweep       Sweep
	axes        []axisNodes
	overlays    []overlayNode
	written     map[*source.Node]any // what scenarios change, as it was written: before shorthands were lowered
	checker     *checker
	layer       lower.Layer
	renderer    lower.Renderer
	templated   bool
	always      []string     // members of the body that are there without being asked for
	block       *source.Node // the sweep block
	first       *cell        // the cell without a point, when it could be resolved
	warnings    []string
	notes       []string
	idle        []string // flags that were warned of as having no effect
	unsupported Errors
	aside       []setting // what was said of things absent here
	records     Records   // of the file that a flag names
	doubtful    bool      // a step found a mistake: later ones only look for more
}

// overlayNode is a value that points lay over the experiment, with places.
type overlayNode struct {
	path  string
	value *source.Node
}

// Load reads an experiment: file, environment, --set, flags, in this order.
// The error is Errors when it is about the experiment: all mistakes that can be
// known at once, unknown fields first. A step goes on without what the steps
// before it refused; what would only follow from that is not said.
func Load(src Source) (*Document, error) {
	d := &Document{src: src, index: fields.New()}
	d.checker = newChecker(d.index)
	d.layer = lower.Layer{Index: d.index, ValueOf: d.placed}
	name := src.File
	if name == "" {
		name = "the command line"
	}
	defer source.Watch(name)()
	root, bad := d.read()
	if bad != nil {
		return nil, bad
	}
	for _, step := range []struct {
		run   func(*source.Node) Errors
		final bool // after a mistake there is nothing true to say any more
	}{{d.environment, true}, {d.prepare, false}, {d.overlay, true}, {d.envelopeOf, false}, {d.firstCell, true}} {
		d.doubtful = len(bad) > 0
		found := step.run(root)
		bad = append(bad, without(bad, found)...)
		if step.final && len(found) > 0 {
			break
		}
	}
	if bad = bad.Sorted(); len(bad) > 0 {
		return nil, bad
	}
	return d, nil
}

// without is found less what may only follow from a field that is left out:
// what is missing beside it, and rules about its object; one field has one
// mistake.
func without(before, found Errors) Errors {
	return slices.DeleteFunc(slices.Clone(found), func(e *Error) bool {
		parent, _ := source.Cut(e.Path)
		return slices.ContainsFunc(before, func(u *Error) bool {
			home, _ := source.Cut(u.Path)
			return e.Path != "" && e.Path == u.Path || u.Unknown && (e.Path == home || parent == home && strings.HasPrefix(e.Message, "required"))
		})
	})
}

// Source is the file as given, nil for flags.
func (d *Document) Source() []byte { return d.text }

// Envelope is everything around the body.
func (d *Document) Envelope() Experiment { return d.envelope }

// Sweep is the matrix, not expanded.
func (d *Document) Sweep() Sweep { return d.sweep }

// Notes are remarks about what stands beside the experiment; no command
// refuses because of them.
func (d *Document) Notes() []string { return d.notes }

// Warnings are doubts that stop nothing.
func (d *Document) Warnings() []string { return d.warnings }

// Unsupported are the fields that are set and declared, but not built yet. A
// command that runs refuses them; one that only shows may go on.
func (d *Document) Unsupported() Errors { return d.unsupported }

func (d *Document) read() (*source.Node, Errors) {
	if d.src.File == "" {
		root := source.ObjectNode(source.Origin{Source: "default"})
		root.Put("benchmark", source.ObjectNode(source.Origin{Source: "default"}))
		return root, nil
	}
	if strings.EqualFold(filepath.Ext(d.src.File), ".cue") || source.IsPackage(d.src.File) {
		if note := staleCopy(d.src.File); note != "" {
			d.notes = append(d.notes, note)
		}
		root, text, bad := source.ReadCUE(d.src.File, d.src.Select, stub)
		d.text = text
		return root, bad
	}
	text, bad := source.ReadFile(d.src.File)
	if bad != nil {
		return nil, bad
	}
	d.text = text
	if s := d.src.Select; s.Package != "" || s.Expr != "" || len(s.Tags) > 0 {
		return nil, source.Mistake(source.Origin{Where: d.src.File}, "", "-e, -p and -t are for CUE", "write the experiment in CUE, or leave them out")
	}
	return source.ReadYAML(d.src.File, text)
}

// environment fills in ${VAR}.
func (d *Document) environment(root *source.Node) Errors {
	lookup := d.src.Env
	if lookup == nil {
		lookup = os.LookupEnv
	}
	_, bad := lower.ExpandEnv(root, lookup)
	return bad
}

// prepare lowers shorthands and takes unknown keys out.
func (d *Document) prepare(root *source.Node) Errors {
	written, bad := lower.Surface(d.index, root)
	d.written = written
	bad = append(bad, d.setAside(root)...)
	bad = append(bad, d.index.UnknownFields(root)...)
	bad = append(bad, d.setPaths()...)
	bad = append(bad, d.setSweep(root)...)
	bad = append(bad, d.takeAxes(root)...)
	for _, a := range slices.Clone(d.axes) {
		bad = append(bad, d.unknownInValues(root, a)...)
	}
	return bad
}

// setPaths checks the paths of --set, which nothing has checked yet.
func (d *Document) setPaths() (bad Errors) {
	d.src.Assignments = slices.DeleteFunc(slices.Clone(d.src.Assignments), func(a lower.Assignment) bool {
		if strings.HasPrefix(a.Path, "sweep.parameters.") {
			return false // the name of an axis, checked with those of the file
		}
		hint, known := d.index.KnownPath(a.Path)
		if !known {
			bad = append(bad, &Error{Path: a.Path, Place: a.Origin.Where, Message: "unknown field " + strings.TrimPrefix(a.Path, "benchmark."), Hint: hint, Unknown: true})
		}
		return !known
	})
	return bad
}

// unknownInValues checks the keys of objects that are values of an axis.
func (d *Document) unknownInValues(root *source.Node, a axisNodes) (bad Errors) {
	def, l := d.index.Resolve(a.path)
	for _, v := range a.values {
		if v.Kind != source.Object || l == nil {
			continue
		}
		c := v.Clone()
		c.Take("label")
		lower.LowerValue(a.path, c)
		d.index.Unknown(root, c, l, def, a.path, &bad)
	}
	if len(bad) > 0 {
		d.axes = slices.DeleteFunc(d.axes, func(x axisNodes) bool { return x.path == a.path })
	}
	return bad
}

// overlay applies --set and flags. A comma list makes an axis; a single value
// pins an axis of the file on its path.
func (d *Document) overlay(root *source.Node) Errors {
	var bad Errors
	profile := d.src.File == "" && d.src.Command == "profile"
	if profile {
		at := source.Origin{Source: "default", Where: "default: a phase made by flags"}
		for _, path := range []string{"benchmark.datasets.main", "benchmark.phases.profiling"} {
			_, _ = d.layer.Reach(root, path, at) // nothing is there that could be in the way
		}
	}
	for _, a := range d.src.Assignments {
		if a.Origin.Source == "default" {
			continue // weak: settleFlags sets what is still missing
		}
		if strings.HasPrefix(a.Path, "sweep.") || a.Path == "sweep" {
			continue // laid over before the axes were read
		}
		d.pin(a.Path)
		if values, ok := a.Value.([]any); ok && a.Axis {
			axis := axisNodes{path: a.Path, origin: a.Origin}
			for _, v := range values {
				axis.values = append(axis.values, source.FromPlain(v, a.Origin))
			}
			d.setAxis(axis)
			continue
		}
		bad = append(bad, d.layer.Lay(root, a)...)
	}
	if bad != nil {
		return bad
	}
	bad = d.settleFlags(root)
	if profile {
		d.profileDefaults(root)
	}
	if d.src.Command == "profile" {
		d.quiet(root)
	}
	return bad
}

// quiet is the screen of profile: no dashboard, unless a flag asks for one.
func (d *Document) quiet(root *source.Node) {
	if b := root.Get("benchmark"); b != nil && b.Kind == source.Object && d.flag("benchmark.runtime.ui") == nil {
		lower.Fill(b, "runtime", map[string]any{}, "command profile")
		if r := b.Get("runtime"); r.Kind == source.Object {
			r.Put("ui", source.TextNode("none", source.Origin{Source: "default", Where: "default: command profile"}))
		}
	}
}

// envelopeOf checks what stands around the body and reads it.
func (d *Document) envelopeOf(root *source.Node) Errors {
	sweep, _ := root.Take("sweep")
	if sweep.Value == nil {
		sweep.Value = source.ObjectNode(source.Origin{})
	}
	d.root, d.block = root, sweep.Value
	d.templated = lower.HasTemplates(root)
	rendered, bad := d.rendered(root.Clone(), nil)
	if bad != nil && len(d.axes) == 0 {
		return bad
	}
	if rendered == nil {
		rendered = root
	}
	members := map[string]json.RawMessage{}
	for _, f := range rendered.Fields {
		if f.Name == "benchmark" || f.Value.Kind == source.Null {
			continue
		}
		p, errs := d.checker.check(rendered, f.Name, f.Value)
		bad = append(bad, errs...)
		if p != nil {
			members[f.Name] = p.secret
		}
	}
	for _, name := range []string{"multi_run", "tables"} {
		if members[name] == nil && d.index[name] != nil && rendered.Get(name) == nil {
			if p, errs := d.checker.check(rendered, name, source.ObjectNode(source.Origin{})); errs == nil {
				members[name] = p.secret
			}
		}
	}
	block, errs := d.sweepBlock(rendered, sweep.Value)
	bad = append(bad, errs...)
	if len(bad) > 0 {
		return bad
	}
	js, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(js, &d.envelope)
	}
	if err != nil {
		return Errors{{Message: err.Error()}}
	}
	if d.envelope.Name == "" {
		d.envelope.Name = defaultName(d.src.File)
	}
	d.sweep.Ruled = ruledByAIPerf(rendered.Get("multi_run"), sweep.Value)
	if bad := tooManyRuns(rendered.At("multi_run.num_runs"), d.envelope.MultiRun.NumRuns); bad != nil {
		return bad
	}
	return d.finishSweep(sweep.Value, block)
}

// mostRunsByFlag is what AIPerf's flag takes.
const mostRunsByFlag = 10

// tooManyRuns refuses more trials by the flag than AIPerf takes there.
func tooManyRuns(n *source.Node, runs int) Errors {
	if n == nil || n.Origin.Source != "flag" || runs <= mostRunsByFlag {
		return nil
	}
	return source.Mistake(n.Origin, "multi_run.num_runs", fmt.Sprintf("must be at most %d, got %d", mostRunsByFlag, runs), fmt.Sprintf("--set multi_run.num_runs=%d, or in a file: up to 1,000", runs))
}

// ruledByAIPerf are the settings of AIPerf's about seeds and warmup that are
// given, by their names.
func ruledByAIPerf(blocks ...*source.Node) map[string]bool {
	said := map[string]bool{}
	for _, b := range blocks {
		for _, name := range []string{"set_consistent_seed", "vary_seed_per_trial", "same_seed", "disable_warmup_after_first"} {
			if n := b.Get(name); n != nil && n.Origin.Source != "default" {
				said[name] = true
			}
		}
	}
	return said
}

func defaultName(file string) string {
	if file == "" {
		return "profile"
	}
	base := filepath.Base(file)
	if abs, err := filepath.Abs(file); err == nil {
		base = filepath.Base(abs) // of a folder such as .
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// sweepBlock checks the sweep block as a whole and gives its plain data.
func (d *Document) sweepBlock(root, sw *source.Node) (map[string]any, Errors) {
	if sw.Kind != source.Object && sw.Kind != source.Null {
		return nil, source.Mistake(sw.Origin, "sweep", "expected an object, got "+sw.KindName(), "such as sweep: {parameters: {concurrency: [1, 4]}}")
	}
	if len(sw.Fields) == 0 {
		return map[string]any{}, nil
	}
	c := sw.Clone()
	if c.Get("type") == nil && c.Get("recipe") == nil {
		c.Put("type", source.TextNode("grid", source.Origin{Source: "default", Where: "default"}))
	}
	if c.Get("parameters") == nil && len(d.axes) > 0 && (c.TypeWord() == "grid" || c.TypeWord() == "zip") {
		ps := source.ObjectNode(d.axes[0].origin)
		for _, a := range d.axes {
			ps.Put(a.path, &source.Node{Kind: source.List, Items: a.values, Origin: a.origin})
		}
		c.Put("parameters", ps)
	}
	c = d.index.Normalize(c, d.index["sweep"], "sweep")
	whole := source.ObjectNode(sw.Origin)
	whole.Put("sweep", c)
	if c.Get("type") != nil { // a recipe alone says no type
		d.index.FillConditional(c, d.index["sweep"], "sweep")
	}
	p, bad := d.checker.check(whole, "sweep", c)
	if bad != nil {
		return nil, bad
	}
	block := map[string]any{}
	if err := json.Unmarshal(p.secret, &block); err != nil {
		return nil, Errors{{Message: err.Error()}}
	}
	return source.FromPlain(block, source.Origin{}).Plain().(map[string]any), nil
}

// firstCell resolves an experiment without a sweep at once, so that Load says
// everything there is to say; with one, each cell says its own.
func (d *Document) firstCell(root *source.Node) Errors {
	d.findUnsupported()
	for _, name := range d.index["benchmark"].Keys {
		if d.index["benchmark."+name].Lower == "" && d.checker.always("benchmark."+name) {
			d.always = append(d.always, name)
		}
	}
	d.warnEffectless(root)
	idle := d.idleValues(root)
	if d.doubtful {
		return append(d.lookAtCell(), idle...)
	}
	if len(d.axes)+len(d.sweep.Scenarios)+len(d.sweep.Derive) > 0 || d.sweep.Type != "" && d.sweep.Type != "grid" {
		return idle
	}
	c, bad := d.cell(nil)
	d.first = c
	if bad == nil {
		c.resolved.Given = d.given(c)
	}
	return append(bad, idle...)
}

// lookAtCell looks for further mistakes in an experiment that has some: in its
// first point, where the sweep says one.
func (d *Document) lookAtCell() Errors {
	if sweep := d.block; len(d.axes) == 0 && sweep != nil && len(sweep.Fields) > 0 {
		return nil // its points could not be read
	}
	var point []lower.Assignment
	for _, a := range d.axes {
		point = append(point, lower.Assignment{Path: a.path, Value: a.values[0].Plain(), Origin: a.origin})
	}
	_, bad := d.cell(point)
	return bad
}

// placed is the value of an assignment as the file has it, with its places, when
// it is a point of an axis; nil for any other.
func (d *Document) placed(a lower.Assignment) *source.Node {
	if a.Origin.Source != "flag" && a.Origin.Source != "set" {
		for _, o := range d.overlays {
			if o.path == a.Path && reflect.DeepEqual(o.value.Plain(), a.Value) {
				return o.value.Clone()
			}
		}
		if axis := d.axis(a.Path); axis != nil {
			for _, v := range axis.values {
				if v.Kind == source.Scalar && v.Value == a.Value || v.Kind != source.Scalar && reflect.DeepEqual(v.Plain(), a.Value) {
					c := v.Clone()
					return c.From("axis")
				}
			}
		}
	}
	return nil
}
