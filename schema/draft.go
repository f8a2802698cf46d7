package schema

import (
	"reflect"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// draft is an experiment being put together: its tree in the one form, with its
// axes beside it and what is laid over it. prepare makes it of a text, overlay
// lays --set and flags over it.
type draft struct {
	src     Source // its assignments without those to absent things
	index   fields.Table
	checker *checker
	layer   lower.Layer
	root    *source.Node
	*places
	written map[*source.Node]any // what scenarios change, before shorthands were lowered
	aside   []setting            // what was said of things absent here
	records Records              // of the file that a flag names
	env     []string             // see text
	remarks
}

// places are the values that points of the sweep lay over the experiment, with
// the places where they stand.
type places struct {
	axes     []axisNodes
	overlays []overlayNode
	unread   []string // axes that could not be read, by the last words of their paths
}

// overlayNode is a value of a named cell.
type overlayNode struct {
	path  string
	value *source.Node
}

// prepare lowers shorthands, sets aside what is absent here, and takes unknown
// keys and the axes out.
func prepare(src Source, read text, hide *secret.Masker) (*draft, Errors) {
	d := &draft{src: src, index: fields.New(), root: read.root, places: &places{}}
	d.notes = read.notes
	d.env = read.env
	d.checker = newChecker(d.index, hide)
	d.layer = lower.Layer{Index: d.index, ValueOf: d.placed}
	root := d.root
	var bad Errors
	d.written, bad = lower.Surface(d.index, root)
	edits, errs := lower.Upgrade(root, fields.Versions())
	for _, e := range edits {
		if e.At != lower.VersionOf(root).Origin { // that it is older is no news by itself
			d.notes = append(d.notes, e.At.Where+": "+e.Note+"; aiperf config migrate rewrites it")
		}
	}
	bad = append(bad, errs...)
	bad = append(bad, d.setAside(root)...)
	bad = append(bad, d.index.UnknownFields(root)...)
	bad = append(bad, d.setPaths()...)
	bad = append(bad, d.setSweep(root)...)
	bad = append(bad, d.popAxes(root)...)
	for _, a := range slices.Clone(d.axes) {
		bad = append(bad, d.unknownInValues(root, a)...)
	}
	return d, bad
}

// setPaths checks the paths of --set, which nothing has checked yet.
func (d *draft) setPaths() (bad Errors) {
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
func (d *draft) unknownInValues(root *source.Node, a axisNodes) (bad Errors) {
	def, l := d.index.Resolve(a.path)
	for _, v := range a.values {
		if v.Kind != source.Object || l == nil {
			continue
		}
		bad = append(bad, lower.Twice(d.index, v, def, root.Written(a.path))...)
		c := v.Clone()
		c.Pop("label")
		lower.LowerValue(a.path, c)
		d.index.Unknown(root, c, l, def, a.path, &bad)
	}
	if doubtful(bad) {
		d.axes = slices.DeleteFunc(d.axes, func(x axisNodes) bool { return x.path == a.path })
		d.lose(a.path)
	}
	return bad
}

// overlay applies --set and flags. A comma list makes an axis; a single value
// pins an axis of the file on its path.
func (d *draft) overlay() Errors {
	root := d.root
	var bad Errors
	profile := d.src.File == "" && d.src.Command == "profile"
	if profile {
		at := source.Because(source.Frame, "a phase made by flags")
		for _, path := range []string{"benchmark.datasets.main", "benchmark.phases.profiling"} {
			_, _ = d.layer.Reach(root, path, at) // nothing is there that could be in the way
		}
	}
	for _, a := range d.src.Assignments {
		if a.Origin.Source == source.ByDefault {
			continue // weak: combineFlags sets what is still missing
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
	bad = d.combineFlags(root)
	if profile {
		d.profileDefaults(root)
	}
	if d.src.Command == "profile" {
		d.quiet(root)
	}
	return bad
}

// quiet is the screen of profile: no dashboard, unless a flag asks for one.
func (d *draft) quiet(root *source.Node) {
	if b := root.Get("benchmark"); b != nil && b.Kind == source.Object && d.flag("benchmark.runtime.ui") == nil {
		lower.Fill(b, "runtime", map[string]any{}, source.OfCommand, "command profile")
		if r := b.Get("runtime"); r.Kind == source.Object {
			r.Put("ui", source.TextNode("none", source.Because(source.OfCommand, "command profile")))
		}
	}
}

// placed is the value of an assignment as the file has it, with its places, when
// it is a point of an axis; nil for any other.
func (p *places) placed(a lower.Assignment) *source.Node {
	if !a.Origin.Source.Typed() {
		for _, o := range p.overlays {
			if o.path == a.Path && reflect.DeepEqual(o.value.Plain(), a.Value) {
				return o.value.Clone()
			}
		}
		if axis := p.axis(a.Path); axis != nil {
			for _, v := range axis.values {
				if v.Kind == source.Scalar && v.Value == a.Value || v.Kind != source.Scalar && reflect.DeepEqual(v.Plain(), a.Value) {
					c := v.Clone()
					return c.From(source.ByAxis)
				}
			}
		}
	}
	return nil
}
