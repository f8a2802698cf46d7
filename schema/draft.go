package schema

import (
	"cmp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/cmdline"
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
	root    *source.Node
	axes    *lower.Axes
	line    cmdline.Line
	written map[*source.Node]any // what scenarios change, before shorthands were lowered
	aside   []setting            // what was said of things absent here
	env     []string             // see text
	raised  string               // see Experiment.Raised
	source.Remarks
}

// prepare lowers shorthands, sets aside what is absent here, and takes unknown
// keys and the axes out.
func prepare(src Source, read text, hide *secret.Masker) (*draft, Errors) {
	d := &draft{src: src, index: fields.New(), root: read.root, axes: &lower.Axes{}}
	d.Notes = read.notes
	d.env = read.env
	d.checker = newChecker(d.index, hide)
	root := d.root
	var bad Errors
	d.written, bad = lower.Surface(d.index, root)
	edits, errs := lower.Upgrade(root, fields.Versions())
	for _, e := range edits {
		if e.At != lower.VersionOf(root).Origin { // that it is older is no news by itself
			d.Notes = append(d.Notes, e.At.Where+": "+e.Note+"; aiperf config migrate rewrites it")
		}
	}
	bad = append(bad, errs...)
	bad = append(bad, d.setAside(root)...)
	bad = append(bad, d.index.UnknownFields(root)...)
	bad = append(bad, d.setPaths()...)
	bad = append(bad, d.setSweep(root)...)
	bad = append(bad, d.popAxes(root)...)
	bad = append(bad, d.readSearch(root)...)
	for _, a := range slices.Clone(d.axes.All) {
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
			bad = append(bad, &Error{
				Path: a.Path, Place: a.Origin.Where,
				Message: "unknown field " + strings.TrimPrefix(a.Path, "benchmark."), Hint: hint, Unknown: true,
			})
		}
		return !known
	})
	return bad
}

// unknownInValues checks the keys of objects that are values of an axis.
func (d *draft) unknownInValues(root *source.Node, a lower.Axis) (bad Errors) {
	def, l := d.index.Resolve(a.Path)
	for _, v := range a.Values {
		if v.Kind != source.Object || l == nil {
			continue
		}
		bad = append(bad, lower.Twice(d.index, v, def, root.Written(a.Path))...)
		c := v.Clone()
		c.Pop("label")
		lower.LowerValue(a.Path, c)
		d.index.Unknown(root, c, l, def, a.Path, &bad)
	}
	if doubtful(bad) {
		d.axes.Drop(a.Path)
		d.axes.Lose(a.Path)
	}
	return bad
}

// overlay applies --set and flags.
func (d *draft) overlay() Errors {
	d.line = cmdline.Line{
		Root: d.root, Assignments: d.src.Assignments, File: d.src.File, Command: d.src.Command, Look: d.src.Look,
		Axes: d.axes, Index: d.index, Check: d.checker, Remarks: &d.Remarks, Workers: d.src.Workers,
	}
	bad := d.line.Overlay()
	if d.raised = cmp.Or(d.raised, d.line.Raised); d.raised != "" {
		d.Notes = append(d.Notes, d.raised)
	}
	return bad
}
