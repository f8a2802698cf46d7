// Package lower brings what was written into the one form that later steps read.
// In goes a tree as a user wrote it; Surface rewrites shorthands, ExpandEnv and
// Renderer fill in variables and templates, Layer lays an assignment over it, and
// Defaults fills what follows from other fields. Nodes are moved and keep their
// places, so a message still points at what was written.
package lower

import (
	"fmt"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// lowerer rewrites what users may abbreviate into the one canonical form. It
// moves nodes and never invents places, so later messages still point at what
// was written. Templates pass untouched.
type lowerer struct {
	index fields.Table
	free  map[string]bool // fields whose keys belong to the user, by name
	bad   diag.Errors
	// written is what the scenarios change in the body, as it was written.
	written map[*source.Node]any
}

func newLowerer(x fields.Table) *lowerer {
	l := &lowerer{
		index: x, written: map[*source.Node]any{},
		free: map[string]bool{"records": true, "parameters": true, "derive": true},
	}
	for path, leaf := range x {
		if _, name := source.Cut(path); leaf.Has(fields.IsFree) && len(leaf.Keys) == 0 &&
			name != "benchmark" && name != "*" && name != "+" {
			l.free[name] = true
		}
	}
	return l
}

// Surface rewrites a whole experiment. What comes back beside the mistakes is what
// scenarios change, as it was written.
func Surface(x fields.Table, root *source.Node) (map[*source.Node]any, diag.Errors) {
	l := newLowerer(x)
	l.snake(root)
	l.gather(root)
	if b := root.Get("benchmark"); b != nil && b.Kind == source.Object {
		l.body(b, false)
	}
	for _, f := range root.Fields { // in a sweep null may take back what the body says
		if f.Name != "sweep" {
			l.unsaid(f.Value, f.Name)
		}
	}
	if runs := root.At("sweep.runs"); runs != nil {
		for _, run := range runs.Items {
			if b := run.Get("benchmark"); b != nil && b.Kind == source.Object {
				l.written[b] = b.Plain()
				l.body(b, true)
			}
		}
	}
	if f := root.Get("sweep").Field("optimization"); f != nil && f.Value.Kind == source.Null {
		f.Value = source.TextNode("None", f.Origin) // null is a word here, not "nothing said"
	}
	return l.written, l.bad
}

func (l *lowerer) fail(f *source.Field, path, message, hint string) {
	l.bad = append(l.bad, source.Mistake(f.Origin, path, message, hint)...)
}

// snake turns camelCase keys into snake_case and remembers what was typed.
func (l *lowerer) snake(n *source.Node) {
	for i := range n.Fields {
		f := &n.Fields[i]
		if name := fields.SnakeCase(f.Name); name != f.Name {
			if n.Field(name) != nil {
				l.fail(f, f.Name, "is the same key as "+name+", which is given too", "keep one of them")
				f.Value = nil
				continue
			}
			f.Typed, f.Name = f.Name, name
		}
		if !l.free[f.Name] {
			l.snake(f.Value)
		}
	}
	n.Fields = slices.DeleteFunc(n.Fields, func(f source.Field) bool { return f.Value == nil })
	for _, it := range n.Items {
		l.snake(it)
	}
}

// unsaid takes out fields that are null, which says nothing. What nobody knows
// stays, for it is a mistake whatever its value; so does what belongs to the user.
// Below a name of the user's own, as of a header, a limit or a check, null is a
// mistake: whoever wrote the name meant something.
func (l *lowerer) unsaid(n *source.Node, path string) {
	at, leaf := l.index.Resolve(path)
	if leaf == nil {
		return
	}
	named := l.index[source.Join(at, "+")]
	for i := range n.Fields {
		f := &n.Fields[i]
		switch {
		case named == nil || f.Value.Kind != source.Null:
		case named.Has(fields.IsText):
			l.fail(f, source.Join(path, f.Name), "expected text, got null", "leave it out")
		default:
			l.fail(f, source.Join(path, f.Name), "expected a value, got null", "leave it out")
		}
	}
	if leaf.Has(fields.IsFree) && len(leaf.Keys) == 0 {
		return
	}
	n.Fields = slices.DeleteFunc(n.Fields, func(f source.Field) bool {
		_, leaf := l.index.Resolve(source.Join(path, f.Name))
		return leaf != nil && f.Value.Kind == source.Null
	})
	for _, f := range n.Fields {
		l.unsaid(f.Value, source.Join(path, f.Name))
	}
	for i, it := range n.Items {
		l.unsaid(it, source.Join(path, strconv.Itoa(i)))
	}
}

// gather moves keys of the body that stand beside benchmark into it; what
// benchmark says itself is not said twice.
func (l *lowerer) gather(root *source.Node) {
	b := root.Get("benchmark")
	var moved []source.Field
	for _, f := range slices.Clone(root.Fields) {
		if l.index[f.Name] == nil && slices.Contains(l.index["benchmark"].Keys, f.Name) {
			root.Pop(f.Name)
			moved = append(moved, f)
		}
	}
	if len(moved) == 0 || b != nil && b.Kind != source.Object {
		return
	}
	flat := b == nil
	if flat {
		at := moved[0].Origin
		at.Path = "" // nobody wrote it
		b = source.ObjectNode(at)
		root.Put("benchmark", b)
	}
	for i := range moved {
		if f := &moved[i]; b.Field(f.Name) != nil {
			l.fail(f, f.Name, "is given in benchmark, too", "keep one of them")
		} else {
			b.Fields = append(b.Fields, *f)
		}
	}
	if d := b.Get("dataset"); flat && d != nil {
		named(d, "main") // the name it has in the flat form
	}
}

// alone are the keys that may hold one object instead of several, with its starred path.
var alone = map[string]string{
	"dataset": "benchmark.datasets.*", "warmup": "benchmark.phases.*", "profiling": "benchmark.phases.*",
	"phases": "benchmark.phases.*",
}

// body lowers a benchmark, or with part a piece of one that is laid over it.
func (l *lowerer) body(b *source.Node, part bool) {
	dropNull(b, "model", "models", "dataset", "datasets", "warmup", "profiling", "phases")
	dropNull(b.Get("endpoint"), "urls")
	dropNull(b.Get("server_metrics"), "urls")
	dropNull(b.Get("gpu_telemetry"), "urls")
	l.bad = append(l.bad, Twice(l.index, b, "benchmark", "benchmark")...)
	for _, f := range b.Fields { // mistakes come in the order of the file
		if at := alone[f.Name]; at != "" && f.Value.Kind == source.Object {
			l.bad = append(l.bad, Twice(l.index, f.Value, at, "benchmark."+f.Name)...)
		}
	}
	lowerModels(b)
	l.datasets(b, part)
	lowerPhases(b, part)
	l.rateSeries(b.Get("phases"))
	lowerAddresses(b.Get("endpoint"))
	lowerAddresses(b.Get("server_metrics"))
	lowerAddresses(b.Get("gpu_telemetry"))
}

// dropNull takes keys out of n that are null: nothing is said.
func dropNull(n *source.Node, keys ...string) {
	for _, key := range keys {
		if m := n.Get(key); m != nil && m.Kind == source.Null {
			n.Pop(key)
		}
	}
}

// lowerAddresses makes one address, or several, of an endpoint or of pages, a list.
func lowerAddresses(e *source.Node) {
	if e == nil || e.Kind != source.Object {
		return
	}
	if f, ok := e.Pop("url"); ok {
		e.Put("urls", source.ListNode(f.Value))
	}
	if u := e.Get("urls"); u != nil && u.Kind == source.Scalar {
		e.Put("urls", source.ListNode(u))
	}
}

func lowerModels(b *source.Node) {
	if f, ok := b.Pop("model"); ok {
		b.Put("models", f.Value)
		b.Field("models").Origin, b.Field("models").Typed = f.Origin, "model"
	}
	if m := b.Get("models"); m != nil {
		b.Put("models", modelsNode(m))
	}
}

// modelsNode is one name, several names, or names with weights as the object
// they stand for.
func modelsNode(m *source.Node) *source.Node {
	switch {
	case m.Kind == source.Null:
		return m
	case m.Kind == source.Object && m.Get("items") == nil && m.Get("name") != nil:
		m = &source.Node{
			Kind: source.Object, Origin: m.Origin,
			Fields: []source.Field{{Name: "items", Value: source.ListNode(m), Origin: m.Origin}},
		}
	case m.Kind != source.Object:
		m = source.Wrap("items", source.ListNode(m))
	}
	if items := m.Get("items"); items != nil && items.Kind == source.List {
		for i, it := range items.Items {
			if it.Kind == source.Scalar {
				items.Items[i] = source.Wrap("name", it)
			}
		}
	}
	return m
}

// named puts a name first in an object that has none.
func named(n *source.Node, name string) *source.Node {
	dropNull(n, "name")
	if n.Kind == source.Object && n.Get("name") == nil {
		n.Fields = append([]source.Field{{Name: "name", Value: source.TextNode(name, n.Origin), Origin: n.Origin}},
			n.Fields...)
	}
	return n
}

func (l *lowerer) datasets(b *source.Node, part bool) {
	if f, ok := b.Pop("dataset"); ok {
		b.Put("datasets", &source.Node{
			Kind: source.List, Items: []*source.Node{named(f.Value, "default")},
			Origin: f.Value.Origin,
		})
	}
	ds := b.Get("datasets")
	if ds == nil {
		return
	}
	for i, d := range ds.Items {
		if d.Kind == source.Object {
			if len(ds.Items) == 1 {
				named(d, "default")
			} else if !part {
				named(d, fmt.Sprintf("dataset_%d", i))
			}
			lowerDataset(d)
		}
	}
}

// lowerDataset moves isl and osl to prompts and names the parts of a mixture.
func lowerDataset(d *source.Node) {
	for _, k := range []string{"isl", "osl"} {
		f, ok := d.Pop(k)
		if !ok {
			continue
		}
		p := d.Get("prompts")
		if p == nil {
			p = source.ObjectNode(f.Origin)
			d.Put("prompts", p)
		}
		if p.Kind == source.Object && p.Field(k) == nil {
			p.Fields = append(p.Fields, f)
		}
	}
	d.EachShape(lowerPeaks)
}

// lowerPeaks gives a peak its distribution an object of its own:
// {mean: 20, weight: 70} is {distribution: {mean: 20}, weight: 70}.
func lowerPeaks(n *source.Node) {
	peaks := n.Get("peaks")
	if peaks == nil {
		return
	}
	for i, p := range peaks.Items {
		if p.Kind != source.Object || p.Get("distribution") != nil {
			continue
		}
		shape, out := source.ObjectNode(p.Origin), source.ObjectNode(p.Origin)
		for _, f := range p.Fields {
			if f.Name == "weight" {
				out.Fields = append(out.Fields, f)
			} else {
				shape.Fields = append(shape.Fields, f)
			}
		}
		out.Put("distribution", shape)
		peaks.Items[i] = out
	}
}

// rateSeries reads the points that a file holds.
func (l *lowerer) rateSeries(phases *source.Node) {
	if phases == nil {
		return
	}
	for i, p := range phases.Items {
		series := p.Get("rate_series")
		if series == nil || series.Kind != source.Object || series.Get("points") != nil {
			continue
		}
		where := fmt.Sprintf("benchmark.phases.%d.rate_series", i)
		dropNull(series, "path")
		path, given := series.Pop("path")
		if !given {
			l.bad = append(l.bad, source.Mistake(series.Origin, where, "needs path or points",
				"such as [{time_s: 0, qps: 1}, {time_s: 60, qps: 10}]")...)
			continue
		}
		v, err := SeriesFile(path.Value.Text())
		if err != nil {
			l.fail(&path, where+".path", err.Message, err.Hint)
			continue
		}
		series.Put("points", source.FromPlain(v["points"], path.Origin))
	}
}

// lowerPhases makes a list of phases of siblings and of one mapping. What is
// laid over a phase (part) leaves its kind alone.
func lowerPhases(b *source.Node, part bool) {
	var siblings []*source.Node
	var at source.Origin
	for _, k := range []string{"warmup", "profiling"} {
		if f, ok := b.Pop(k); ok {
			siblings, at = append(siblings, named(f.Value, k)), f.Origin
		}
	}
	if len(siblings) > 0 {
		b.Put("phases", &source.Node{Kind: source.List, Items: siblings, Origin: at})
	}
	p := b.Get("phases")
	if p == nil {
		return
	}
	if p.Kind == source.Object {
		p = source.ListNode(named(p, "profiling"))
		b.Put("phases", p)
	}
	for _, ph := range p.Items {
		name := ph.Get("name").Text()
		dropNull(ph, "kind")
		lowerScale(ph)
		if !part && ph.Kind == source.Object && ph.Get("kind") == nil && (name == "warmup" || name == "profiling") {
			ph.Put("kind", source.TextNode(name, ph.Get("name").Origin))
		}
	}
}
