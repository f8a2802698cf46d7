package schema

import (
	"fmt"
	"slices"
)

// lowerer rewrites what users may abbreviate into the one canonical form. It
// moves nodes and never invents places, so later messages still point at what
// was written. Templates pass untouched.
type lowerer struct {
	index index
	free  map[string]bool // fields whose keys belong to the user, by name
	bad   Errors
	// written is what the scenarios change in the body, as it was written.
	written map[*node]any
}

func newLowerer(x index) *lowerer {
	l := &lowerer{index: x, written: map[*node]any{}, free: map[string]bool{"records": true, "parameters": true, "derive": true}}
	for path, leaf := range x {
		if _, name := cut(path); leaf.has(isFree) && len(leaf.keys) == 0 && name != "benchmark" && name != "*" && name != "+" {
			l.free[name] = true
		}
	}
	return l
}

// lower rewrites a whole experiment. What comes back beside the mistakes is what
// scenarios change, as it was written.
func lower(x index, root *node) (map[*node]any, Errors) {
	l := newLowerer(x)
	l.snake(root)
	l.gather(root)
	if b := root.get("benchmark"); b != nil && b.kind == object {
		l.body(b, false)
	}
	if runs := root.at("sweep.runs"); runs != nil {
		for _, run := range runs.items {
			if b := run.get("benchmark"); b != nil && b.kind == object {
				l.written[b] = b.plain()
				l.body(b, true)
			}
		}
	}
	if f := root.get("sweep").field("optimization"); f != nil && f.value.kind == null {
		f.value = textNode("None", f.origin) // null is a word here, not "nothing said"
	}
	return l.written, l.bad
}

func (l *lowerer) fail(f *field, path, message, hint string) {
	l.bad = append(l.bad, mistake(f.origin, path, message, hint)...)
}

// snake turns camelCase keys into snake_case and remembers what was typed.
func (l *lowerer) snake(n *node) {
	for i := range n.fields {
		f := &n.fields[i]
		if name := snakeCase(f.name); name != f.name {
			if n.field(name) != nil {
				l.fail(f, f.name, "is the same key as "+name+", which is given too", "keep one of them")
				f.value = nil
				continue
			}
			f.typed, f.name = f.name, name
		}
		if !l.free[f.name] {
			l.snake(f.value)
		}
	}
	n.fields = slices.DeleteFunc(n.fields, func(f field) bool { return f.value == nil })
	for _, it := range n.items {
		l.snake(it)
	}
}

// gather moves keys of the body that stand beside benchmark into it; what
// benchmark says itself wins.
func (l *lowerer) gather(root *node) {
	b := root.get("benchmark")
	var moved []field
	for _, f := range slices.Clone(root.fields) {
		if l.index[f.name] == nil && slices.Contains(l.index["benchmark"].keys, f.name) {
			root.take(f.name)
			moved = append(moved, f)
		}
	}
	if len(moved) == 0 || b != nil && b.kind != object {
		return
	}
	flat := b == nil
	if flat {
		b = objectNode(moved[0].origin)
		root.put("benchmark", b)
	}
	for _, f := range moved {
		if b.field(f.name) == nil {
			b.fields = append(b.fields, f)
		}
	}
	if d := b.get("dataset"); flat && d != nil {
		named(d, "main") // the name it has in the flat form
	}
}

// twins are keys of the body that stand for the same thing.
var twins = [][2]string{{"model", "models"}, {"dataset", "datasets"}, {"warmup", "phases"}, {"profiling", "phases"}}

// body lowers a benchmark, or with part a piece of one that is laid over it.
func (l *lowerer) body(b *node, part bool) {
	for _, t := range twins {
		if f := b.field(t[0]); f != nil && b.field(t[1]) != nil {
			l.fail(f, "benchmark."+t[0], "cannot be combined with "+t[1], "keep one of them")
			b.take(t[0])
		}
	}
	lowerModels(b)
	l.datasets(b, part)
	lowerPhases(b, part)
	l.rateSeries(b.get("phases"))
	if e := b.get("endpoint"); e != nil && e.field("url") != nil && e.field("urls") != nil {
		l.fail(e.field("url"), "benchmark.endpoint.url", "cannot be combined with urls", "keep one of them")
		e.take("url")
	}
	lowerEndpoint(b.get("endpoint"))
}

func lowerEndpoint(e *node) {
	if e == nil || e.kind != object {
		return
	}
	if f, ok := e.take("url"); ok {
		e.put("urls", listNode(f.value))
	}
	if u := e.get("urls"); u != nil && u.kind == scalar {
		e.put("urls", listNode(u))
	}
}

func lowerModels(b *node) {
	if f, ok := b.take("model"); ok {
		b.put("models", f.value)
		b.field("models").origin, b.field("models").typed = f.origin, "model"
	}
	if m := b.get("models"); m != nil {
		b.put("models", modelsNode(m))
	}
}

// modelsNode is one name, several names, or names with weights as the object
// they stand for.
func modelsNode(m *node) *node {
	switch {
	case m.kind == null:
		return m
	case m.kind == object && m.get("items") == nil && m.get("name") != nil:
		m = &node{kind: object, origin: m.origin, fields: []field{{name: "items", value: listNode(m), origin: m.origin}}}
	case m.kind != object:
		m = wrap("items", listNode(m))
	}
	if items := m.get("items"); items != nil && items.kind == list {
		for i, it := range items.items {
			if it.kind == scalar {
				items.items[i] = wrap("name", it)
			}
		}
	}
	return m
}

// named puts a name first in an object that has none.
func named(n *node, name string) *node {
	if n.kind == object && n.get("name") == nil {
		n.fields = append([]field{{name: "name", value: textNode(name, n.origin), origin: n.origin}}, n.fields...)
	}
	return n
}

func (l *lowerer) datasets(b *node, part bool) {
	if f, ok := b.take("dataset"); ok {
		b.put("datasets", listNode(named(f.value, "default")))
	}
	ds := b.get("datasets")
	if ds == nil {
		return
	}
	for i, d := range ds.items {
		if d.kind == object {
			if len(ds.items) == 1 {
				named(d, "default")
			} else if !part {
				named(d, fmt.Sprintf("dataset_%d", i))
			}
			lowerDataset(d)
		}
	}
}

// lowerDataset moves isl and osl to prompts and names the parts of a mixture.
func lowerDataset(d *node) {
	for _, k := range []string{"isl", "osl"} {
		f, ok := d.take(k)
		if !ok {
			continue
		}
		p := d.get("prompts")
		if p == nil {
			p = objectNode(f.origin)
			d.put("prompts", p)
		}
		if p.kind == object && p.field(k) == nil {
			p.fields = append(p.fields, f)
		}
	}
	d.eachShape(lowerPeaks)
}

// lowerPeaks gives a peak its distribution an object of its own:
// {mean: 20, weight: 70} is {distribution: {mean: 20}, weight: 70}.
func lowerPeaks(n *node) {
	peaks := n.get("peaks")
	if peaks == nil {
		return
	}
	for i, p := range peaks.items {
		if p.kind != object || p.get("distribution") != nil {
			continue
		}
		shape, out := objectNode(p.origin), objectNode(p.origin)
		for _, f := range p.fields {
			if f.name == "weight" {
				out.fields = append(out.fields, f)
			} else {
				shape.fields = append(shape.fields, f)
			}
		}
		out.put("distribution", shape)
		peaks.items[i] = out
	}
}

// rateSeries reads the points that a file holds.
func (l *lowerer) rateSeries(phases *node) {
	if phases == nil {
		return
	}
	for i, p := range phases.items {
		series := p.get("rate_series")
		if series == nil || series.kind != object || series.get("points") != nil {
			continue
		}
		where := fmt.Sprintf("benchmark.phases.%d.rate_series", i)
		path, given := series.take("path")
		if !given {
			l.bad = append(l.bad, mistake(series.origin, where, "needs path or points", "such as [{time_s: 0, qps: 1}, {time_s: 60, qps: 10}]")...)
			continue
		}
		v, err := seriesFile(path.value.text())
		if err != nil {
			l.fail(&path, where+".path", err.Message, err.Hint)
			continue
		}
		series.put("points", fromPlain(v["points"], path.origin))
	}
}

// lowerPhases makes a list of phases of siblings and of one mapping. What is
// laid over a phase (part) leaves its kind alone.
func lowerPhases(b *node, part bool) {
	var siblings []*node
	var at Origin
	for _, k := range []string{"warmup", "profiling"} {
		if f, ok := b.take(k); ok {
			siblings, at = append(siblings, named(f.value, k)), f.origin
		}
	}
	if len(siblings) > 0 {
		b.put("phases", &node{kind: list, items: siblings, origin: at})
	}
	p := b.get("phases")
	if p == nil {
		return
	}
	if p.kind == object {
		p = listNode(named(p, "profiling"))
		b.put("phases", p)
	}
	for _, ph := range p.items {
		name := ph.get("name").text()
		if !part && ph.kind == object && ph.get("kind") == nil && (name == "warmup" || name == "profiling") {
			ph.put("kind", textNode(name, ph.get("name").origin))
		}
	}
}
