package schema

import (
	"cmp"
	"fmt"
	"slices"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// setAside takes what is absent out of the experiment and the assignments, and
// notes what of it asks for something.
func (d *draft) setAside(root *source.Node) Errors {
	bounds := d.idleBounds(root)
	fields.PopAbsent(root, "", "", func(path string, row *fields.Absent, at source.Origin) {
		if slices.Contains(bounds, root.Written(path)) {
			return // it asks for nothing
		}
		d.Missing(root.Written(path), "", row.Instead, at)
	}, func(path string, n *source.Node) { d.keepAside(path, n, n.Origin, false) })
	d.src.Assignments = slices.DeleteFunc(slices.Clone(d.src.Assignments), func(a lower.Assignment) bool {
		if a.Absent != "" {
			d.Missing("", "", a.Absent, a.Origin)
			d.keepAside(a.Path, a.Value, a.Origin, a.Weak)
			return true
		}
		row, path := fields.AbsentAt(a.Path)
		if row == nil {
			return false
		}
		d.keepAside(a.Path, a.Value, a.Origin, false)
		if where, asks := row.Asked(a.Value, path); asks {
			d.Missing(a.Path, "", row.Instead, where)
		}
		return true
	})
	for _, name := range []string{"sweep.parameters", "sweep.derive"} {
		d.setAsideAxes(root.At(name))
	}
	for _, block := range itemsOf(root.At("sweep.axes")) {
		for _, kind := range block.Fields {
			d.setAsideAxes(kind.Value)
		}
	}
	return d.offAndOn()
}

// idleBounds are the bounds (sla) of phases that do not raise their own load:
// AIPerf takes them and does nothing with them, which is said.
func (d *draft) idleBounds(root *source.Node) (paths []string) {
	for i, p := range itemsOf(root.At("benchmark.phases")) {
		if sla := p.Get("sla"); sla != nil && p.Get("adaptive_scale") == nil {
			paths = append(paths, root.Written(fmt.Sprintf("benchmark.phases.%d.sla", i)))
			d.Warn(cmp.Or(sla.Origin.Where, "sla") +
				": sla has no effect on a phase that does not raise its own load; slos and gates judge a result")
		}
	}
	return paths
}

// setAsideAxes takes axes on absent fields out, and absent fields out of the
// objects that are values of others.
func (d *draft) setAsideAxes(axes *source.Node) {
	if axes == nil {
		return
	}
	for _, f := range slices.Clone(axes.Fields) {
		path := fields.Canonical(f.Name)
		if row, _ := fields.AbsentAt(path); row != nil {
			axes.Pop(f.Name)
			d.Missing(path, "", row.Instead, f.Origin)
			continue
		}
		for _, v := range itemsOf(f.Value) {
			fields.PopAbsent(v, d.index.Starred(path), path, func(path string, row *fields.Absent, at source.Origin) {
				d.Missing(path, "", row.Instead, at)
			}, func(string, *source.Node) {})
		}
	}
}

func itemsOf(n *source.Node) []*source.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// findUnsupported lists the fields that are set and not built yet.
func (d *draft) findUnsupported(o outline) {
	note := func(path, what, instead string, at source.Origin) {
		d.Missing(d.root.Written(path), what, instead, at)
	}
	whole := *d.root
	whole.Fields = append(slices.Clone(whole.Fields), source.Field{Name: "sweep", Value: o.block})
	d.index.UnbuiltFields(&whole, d.index[""], "", "", note)
	for _, s := range o.sweep.Scenarios {
		for _, a := range s.Assignments {
			d.index.UnbuiltFields(a.Value, d.index[a.Path], a.Path, a.Path, note)
		}
	}
	for _, a := range d.axes.All {
		l := d.index.At(a.Path)
		for _, v := range a.Values {
			if l.Has(fields.IsUnsupported) || l.UnbuiltWord(v) {
				note(a.Path, "", cmp.Or(fields.Instead(d.index.Starred(a.Path), v.Text()), l.Instead), a.Origin)
			} else if v.Kind == source.Object {
				d.index.UnbuiltFields(v, l, l.Path, a.Path, note)
			}
		}
	}
}
