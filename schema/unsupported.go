package schema

import (
	"cmp"
	"slices"
	"strings"
)

// missing notes once that path, or the flag at, asks for what is not built.
func (d *Document) missing(path, what, instead string, at Origin) {
	by := path
	if strings.HasPrefix(at.Where, "-") {
		by = at.Where // a flag is named once, whatever it sets
	}
	if slices.Contains(d.idle, by) || slices.ContainsFunc(d.unsupported, func(e *Error) bool { return e.Path == path && e.Place == at.Where || by == at.Where && e.Place == by }) {
		return
	}
	d.unsupported = append(d.unsupported, &Error{Path: path, Place: at.Where, Message: what + "not supported yet", Hint: instead})
}

// setAside takes what is absent out of the experiment and the assignments, and
// notes what of it asks for something.
func (d *Document) setAside(root *node) {
	takeAbsent(root, "", "", func(path string, row *Absent, at Origin) {
		d.missing(root.shown(path), "", row.Instead, at)
	})
	d.src.Assignments = slices.DeleteFunc(slices.Clone(d.src.Assignments), func(a Assignment) bool {
		if a.Absent != "" {
			d.missing("", "", a.Absent, a.Origin)
			return true
		}
		row, path := absentAt(a.Path)
		if row == nil {
			return false
		}
		if where, asks := row.asked(fromPlain(a.Value, a.Origin), path); asks {
			d.missing(a.Path, "", row.Instead, where)
		}
		return true
	})
	for _, name := range []string{"sweep.parameters", "sweep.derive"} {
		d.setAsideAxes(root.at(name))
	}
	for _, block := range itemsOf(root.at("sweep.axes")) {
		for _, kind := range block.fields {
			d.setAsideAxes(kind.value)
		}
	}
}

// setAsideAxes takes axes on absent fields out, and absent fields out of the
// objects that are values of others.
func (d *Document) setAsideAxes(axes *node) {
	if axes == nil {
		return
	}
	for _, f := range slices.Clone(axes.fields) {
		path := Canonical(f.name)
		if row, _ := absentAt(path); row != nil {
			axes.take(f.name)
			d.missing(path, "", row.Instead, f.origin)
			continue
		}
		for _, v := range itemsOf(f.value) {
			takeAbsent(v, d.index.starred(path), path, func(path string, row *Absent, at Origin) {
				d.missing(path, "", row.Instead, at)
			})
		}
	}
}

func itemsOf(n *node) []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// findUnsupported lists the fields that are set and not built yet.
func (d *Document) findUnsupported() {
	note := func(path, what, instead string, at Origin) {
		d.missing(d.root.shown(path), what, instead, at)
	}
	whole := *d.root
	whole.fields = append(slices.Clone(whole.fields), field{name: "sweep", value: d.block})
	d.index.unbuiltFields(&whole, d.index[""], "", "", note)
	d.unbuiltOverlays(note)
	for _, a := range d.axes {
		l := d.index.at(a.path)
		for _, v := range a.values {
			if l.has(isUnsupported) || l.unbuiltWord(v) {
				note(a.path, "", cmp.Or(instead(d.index.starred(a.path), v.text()), "leave it out"), a.origin)
			} else if v.kind == object {
				d.index.unbuiltFields(v, l, l.path, a.path, note)
			}
		}
	}
}

// unbuiltOverlays looks into the named cells of a sweep.
func (d *Document) unbuiltOverlays(note func(path, what, instead string, at Origin)) {
	for _, o := range d.overlays {
		d.index.unbuiltFields(o.value, d.index[o.path], o.path, o.path, note)
	}
}
