package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// missing notes once that path, or the flag at, asks for what is not built.
func (d *Document) missing(path, what, instead string, at Origin) {
	by := path
	if strings.HasPrefix(at.Where, "-") {
		by = at.Where // a flag is named once, whatever it sets
	}
	if contains(d.idle, by) || slices.ContainsFunc(d.unsupported, func(e *Error) bool { return e.Path == path && e.Place == at.Where || by == at.Where && e.Place == by }) {
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
				note(a.path, "", orElse(instead(d.index.starred(a.path), v.text()), "leave it out"), a.origin)
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

// unbuiltFields calls note for the topmost set fields that are not built, and
// for values that are not. A field that repeats its default asks for nothing.
func (x index) unbuiltFields(n *node, l *leaf, at, path string, note func(path, what, instead string, at Origin)) {
	for _, f := range n.fields {
		name, sub := x.child(at, l, f.name)
		if sub == nil || f.value.kind == null {
			continue
		}
		p := join(path, f.name)
		switch {
		case sub.has(isUnsupported):
			if where, asked := x.asksFor(f.value, sub, join(at, name)); asked {
				note(p, "", "leave it out", where)
			}
		case sub.unbuiltWord(f.value) && (f.value.origin.Source != "default" || !repeatsDefault(sub, f.value)):
			what := f.value.String() + ": "
			if f.value.value == true {
				what = "" // being on is all there is to it
			}
			note(p, what, instead(sub.path, fmt.Sprint(f.value.value)), f.value.origin)
		default:
			x.unbuiltFields(f.value, sub, join(at, name), p, note)
		}
	}
	if sub := x[join(at, "*")]; sub != nil {
		for i, it := range n.items {
			x.unbuiltFields(it, sub, join(at, "*"), join(path, fmt.Sprint(i)), note)
		}
	}
}

// asksFor tells whether something below n differs from its default, and where.
func (x index) asksFor(n *node, l *leaf, at string) (Origin, bool) {
	if n.origin.Source == "default" && n.kind != object {
		return Origin{}, false
	}
	if n.kind != object {
		return n.origin, n.kind != null && !repeatsDefault(l, n)
	}
	for _, f := range n.fields {
		name, sub := x.child(at, l, f.name)
		if where, asked := x.asksFor(f.value, sub, join(at, name)); asked {
			return where, true
		}
	}
	return n.origin, len(n.fields) == 0 && !l.has(isFree) && n.origin.Source != "default"
}

// unbuiltWord tells whether n is one of the values that are not built yet.
func (l *leaf) unbuiltWord(n *node) bool {
	if l == nil || n.kind != scalar {
		return false
	}
	word := fold(fmt.Sprint(n.value))
	return slices.ContainsFunc(l.unbuilt, func(w string) bool { return fold(w) == word })
}

func repeatsDefault(l *leaf, n *node) bool {
	if l == nil || l.def == "" {
		return n.value == false
	}
	js, err := json.Marshal(n.plain())
	if err != nil {
		return false
	}
	var a, b any
	return json.Unmarshal(js, &a) == nil && json.Unmarshal([]byte(l.def), &b) == nil &&
		(reflect.DeepEqual(a, b) || fold(fmt.Sprint(a)) == fold(fmt.Sprint(b)))
}
