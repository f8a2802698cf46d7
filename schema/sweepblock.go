package schema

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// axisNodes is an axis with the places of its values.
type axisNodes struct {
	path   string
	values []*node
	origin Origin
	group  int
}

// takeAxes collects the axes of the sweep block and the lists that stand in
// fields of phases, and takes them out of the body.
func (d *Document) takeAxes(root *node) Errors {
	var bad Errors
	sw := root.get("sweep")
	if ps := sw.get("parameters"); ps != nil && ps.kind == object {
		bad = append(bad, d.addAxes(ps, "sweep.parameters", 0)...)
	}
	if axes := sw.get("axes"); axes != nil && axes.kind == list {
		for i, it := range axes.items {
			for _, kind := range it.fields {
				group := 0
				if kind.name == "zip" {
					group = i + 1
				}
				bad = append(bad, d.addAxes(kind.value, "sweep.axes."+kind.name, group)...)
			}
		}
	}
	phases := root.at("benchmark.phases")
	if phases == nil {
		return bad
	}
	for i, p := range phases.items {
		name := p.get("name").text()
		if name == "" {
			name = strconv.Itoa(i)
		}
		for _, f := range slices.Clone(p.fields) {
			if f.value.kind == list && len(f.value.items) > 0 && slices.Contains(phaseAliases, f.name) {
				d.setAxis(axisNodes{path: "benchmark.phases." + name + "." + f.name, values: f.value.items, origin: f.value.origin})
				p.take(f.name)
			}
		}
	}
	return bad
}

func (d *Document) addAxes(ps *node, where string, group int) Errors {
	var bad Errors
	for _, f := range ps.fields {
		path := Canonical(f.name)
		e := &Error{Path: where + "." + f.name, Place: f.origin.Where}
		hint, known := d.index.knownPath(path)
		switch {
		case !known:
			e.Message, e.Hint, e.Unknown = "unknown field", hint, true
		case !sweepable(path):
			e.Message, e.Hint = "cannot be swept", "an axis is a field of the benchmark or a variable"
		case f.value.kind != list:
			e.Message, e.Place, e.Kind = "expected a list of values, got "+f.value.kindName(), f.value.origin.Where, true
		case len(f.value.items) == 0:
			e.Message, e.Hint = "an axis needs at least one value", "such as [1, 4, 16], or leave the axis out"
		default:
			if d.axis(path) != nil {
				e.Message = "is given as an axis twice"
				break
			}
			d.setAxis(axisNodes{path: path, values: f.value.items, origin: f.origin, group: group})
			continue
		}
		bad = append(bad, e)
	}
	return bad
}

func (d *Document) axis(path string) *axisNodes {
	for i := range d.axes {
		if d.axes[i].path == path {
			return &d.axes[i]
		}
	}
	return nil
}

// setAxis adds an axis, or replaces the one on the same path.
func (d *Document) setAxis(a axisNodes) {
	if old := d.axis(a.path); old != nil {
		*old = a
		return
	}
	d.axes = append(d.axes, a)
}

// finishSweep turns the block into what the planner reads.
func (d *Document) finishSweep(sw *node, block map[string]any) Errors {
	s := &d.sweep
	s.Block = block
	s.Type, _ = block["type"].(string)
	switch {
	case s.Type == "" && len(d.axes) > 0:
		s.Type = "grid"
	}
	s.IterationOrder, _ = block["iteration_order"].(string)
	s.Order, _ = block["order"].(string)
	s.CooldownSeconds = numberOf(block["cooldown_seconds"])
	s.SameSeed, _ = block["same_seed"].(bool)
	s.Where, _ = block["where"].(string)
	if w := sw.get("where"); w != nil {
		s.WhereOrigin = w.origin
	}
	if s.Order != "as_written" {
		sort.SliceStable(d.axes, func(i, j int) bool { return d.axes[i].path < d.axes[j].path })
	}
	s.Axes = d.publicAxes()
	bad := d.derivations(sw.get("derive"))
	bad = append(bad, d.scenarios(sw.get("runs"))...)
	bad = append(bad, d.design(sw, block)...)
	if ps := sw.get("parameters"); ps != nil && len(ps.fields) == 0 && len(d.axes) == 0 {
		bad = append(bad, mistake(ps.origin, "sweep.parameters", "names no axis", "such as concurrency: [1, 4, 16]")...)
	}
	if s.Type == "zip" {
		bad = append(bad, d.evenAxes()...)
	}
	return bad
}

// evenAxes: axes that move in step have the same number of values.
func (d *Document) evenAxes() Errors {
	for _, a := range d.axes[min(1, len(d.axes)):] {
		if first := d.axes[0]; len(a.values) != len(first.values) {
			return mistake(a.origin, strings.TrimPrefix(a.path, "benchmark."),
				fmt.Sprintf("has %d values, %s has %d; in a zip all have as many", len(a.values), strings.TrimPrefix(first.path, "benchmark."), len(first.values)), "use type: grid for every combination")
		}
	}
	return nil
}

func (d *Document) publicAxes() []Axis {
	out := make([]Axis, len(d.axes))
	names := axisNames(d.axes)
	for i, a := range d.axes {
		out[i] = Axis{Path: a.path, Name: names[i], Origin: a.origin, Group: a.group}
		for _, v := range a.values {
			out[i].Values = append(out[i].Values, v.plain())
			out[i].Labels = append(out[i].Labels, labelOf(v))
		}
	}
	return out
}

// labelOf is what a person calls a value of an axis.
func labelOf(v *node) string {
	if v.kind == object {
		for _, k := range []string{"label", "name"} {
			if s := v.get(k).text(); s != "" {
				return s
			}
		}
	}
	if s, ok := v.value.(string); ok {
		return s
	}
	return v.String()
}

// axisNames are short and unique: the last part of each path that says
// something, with the parts before it as far as needed.
func axisNames(axes []axisNodes) []string {
	names := make([]string, len(axes))
	for depth := 1; depth <= 8; depth++ {
		count := map[string]int{}
		for i, a := range axes {
			if depth == 1 || names[i] == "" {
				names[i] = axisName(a.path, depth)
			}
			count[names[i]]++
		}
		again := false
		for i := range names {
			if count[names[i]] > 1 {
				names[i], again = "", true
			}
		}
		if !again {
			return names
		}
	}
	for i := range names {
		if names[i] == "" {
			names[i] = fmt.Sprintf("axis_%d", i)
		}
	}
	return names
}

func axisName(path string, depth int) string {
	parts := strings.Split(strings.TrimPrefix(path, "benchmark."), ".")
	last := len(parts) - 1
	if last > 0 && (parts[last] == "mean" || parts[last] == "value") {
		last-- // isl.mean is called isl
	} else if last > 0 && parts[last] == "stddev" {
		parts[last-1] += "_stddev"
		last--
	}
	if last == 1 && parts[0] == "datasets" {
		parts[last] = "dataset"
	}
	from := max(0, last+1-depth)
	return identifier(strings.Join(parts[from:last+1], "_"))
}

// identifier keeps what an expression can name.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, s)
}

func (d *Document) derivations(n *node) Errors {
	if n == nil || n.kind != object {
		return nil
	}
	var bad Errors
	for _, f := range n.fields {
		path := Canonical(f.name)
		if hint, ok := d.index.knownPath(path); !ok {
			bad = append(bad, &Error{Path: "sweep.derive." + f.name, Place: f.origin.Where, Message: "unknown field", Hint: hint, Unknown: true})
			continue
		}
		text := f.value.text()
		if text == "" {
			text = f.value.String()
		}
		d.sweep.Derive = append(d.sweep.Derive, Derivation{Path: path, Expr: text, Origin: f.value.origin})
	}
	return bad
}

// scenarios reads sweep.runs: each run lays its members over the experiment.
func (d *Document) scenarios(runs *node) (bad Errors) {
	if runs == nil || runs.kind != list {
		return nil
	}
	if len(d.axes) > 0 {
		return mistake(d.axes[0].origin, strings.TrimPrefix(d.axes[0].path, "benchmark."), "an axis cannot be combined with named cells", "keep one of them")
	}
	names := map[string]bool{}
	for i, r := range runs.items {
		s := Scenario{Name: r.get("name").text(), Values: map[string]any{}}
		if s.Name == "" {
			s.Name = fmt.Sprintf("scenario_%d", i)
		}
		if names[s.Name] {
			bad = append(bad, mistake(r.origin, "sweep.runs", fmt.Sprintf("two cells are called %q", s.Name), "")...)
		}
		names[s.Name] = true
		for _, k := range []string{"variables", "benchmark"} {
			if v := r.get(k); v != nil {
				s.Values[k] = v.plain()
				if w := d.written[v]; w != nil {
					s.Values[k] = w
				}
				a := Assignment{Path: k, Value: v.plain(), Origin: v.origin}
				s.Assignments = append(s.Assignments, a)
				d.overlays = append(d.overlays, overlayNode{a.Path, v})
			}
		}
		if v := r.get("values"); v != nil && len(v.fields) > 0 {
			s.Values = v.plain().(map[string]any)
			for _, f := range v.fields {
				s.Named = append(s.Named, f.name)
			}
		}
		d.sweep.Scenarios = append(d.sweep.Scenarios, s)
	}
	return bad
}
