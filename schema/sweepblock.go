package schema

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// popAxes collects the axes of the sweep block and the lists that stand in
// fields of phases, and takes them out of the body.
func (d *draft) popAxes(root *source.Node) Errors {
	var bad Errors
	sw := root.Get("sweep")
	if ps := sw.Get("parameters"); ps != nil && ps.Kind == source.Object {
		bad = append(bad, d.addAxes(ps, "sweep.parameters", 0)...)
	}
	if axes := sw.Get("axes"); axes != nil && axes.Kind == source.List {
		for i, it := range axes.Items {
			for _, kind := range it.Fields {
				group := 0
				if t := fields.SweepNamed(kind.Name); t != nil && t.InStep {
					group = i + 1
				}
				bad = append(bad, d.addAxes(kind.Value, "sweep.axes."+kind.Name, group)...)
			}
		}
	}
	phases := root.At("benchmark.phases")
	if phases == nil {
		return bad
	}
	for i, p := range phases.Items {
		name := p.Get("name").Text()
		if name == "" {
			name = strconv.Itoa(i)
		}
		for _, f := range slices.Clone(p.Fields) {
			if f.Value.Kind == source.List && len(f.Value.Items) > 0 && slices.Contains(fields.PhaseAliases, f.Name) {
				path := "benchmark.phases." + name + "." + f.Name
				p.Pop(f.Name)
				if wrong := d.misfits(root.Written(path), path, f.Value); wrong != nil {
					bad = append(bad, wrong...)
					d.axes.Lose(path)
					continue
				}
				d.axes.Set(lower.Axis{Path: path, Values: f.Value.Items, Origin: f.Value.Origin})
			}
		}
	}
	return bad
}

func (d *draft) addAxes(ps *source.Node, where string, group int) Errors {
	var bad Errors
	for _, f := range ps.Fields {
		path := fields.Canonical(f.Name)
		e := &Error{Path: where + "." + f.Name, Place: f.Origin.Where}
		hint, known := d.index.KnownPath(path)
		switch {
		case !known:
			e.Message, e.Hint, e.Unknown = "unknown field", hint, true
		case !fields.Sweepable(path):
			e.Message, e.Hint = "cannot be swept", "an axis is a field of the benchmark or a variable"
		case f.Value.Kind != source.List:
			e.Message, e.Place, e.Kind = "expected a list of values, got "+f.Value.KindName(), f.Value.Origin.Where,
				true
		case len(f.Value.Items) == 0:
			e.Message, e.Hint = "an axis needs at least one value", "such as [1, 4, 16], or leave the axis out"
		default:
			if d.axes.On(path) != nil {
				e.Message = "is given as an axis twice"
				break
			}
			wrong := d.misfits(where+"."+f.Name, path, f.Value)
			if bad = append(bad, wrong...); wrong == nil {
				d.axes.Set(lower.Axis{Path: path, Values: f.Value.Items, Origin: f.Origin, Group: group})
			} else {
				d.axes.Lose(path)
			}
			continue
		}
		bad = append(bad, e)
		d.axes.Lose(path)
	}
	return bad
}

// misfits refuses what no axis has among its values: null, which says nothing, and
// lists where the field takes none.
func (d *draft) misfits(shown, path string, values *source.Node) (bad Errors) {
	_, l := d.index.Resolve(path)
	parent, last := source.Cut(path)
	ofPhase := strings.HasPrefix(parent, "benchmark.phases.") && slices.Contains(fields.PhaseAliases, last)
	lists := !ofPhase && (l == nil || l.Is&(fields.IsList|fields.IsFree) != 0)
	for i, it := range values.Items {
		at := fmt.Sprintf("%s.%d", shown, i)
		switch {
		case it.Kind == source.Null:
			bad = append(bad, &Error{
				Path: at, Place: it.Origin.Where, Message: "expected a value, got null",
				Hint: "leave it out; a cell without the field is a named one: sweep: {type: scenarios, runs: […]}",
				Kind: true,
			})
		case it.Kind == source.List && !lists:
			bad = append(bad, &Error{
				Path: at, Place: it.Origin.Where, Message: "expected one value, got a list",
				Hint: "an axis is one list of values: [1, 4, 16]", Kind: true,
			})
		}
	}
	return bad
}

// readSweep reads into s what the planner needs: the checked block for the values,
// the block as written (sw) for the places.
func (d *draft) readSweep(s *Sweep, sw *source.Node, block *sweepFields) Errors {
	s.Unread = d.axes.Unread
	b := cmp.Or(block, &sweepFields{})
	s.Type, s.IterationOrder, s.Order, s.CooldownSeconds, s.SameSeed = b.Type, b.IterationOrder, b.Order,
		b.CooldownSeconds, b.SameSeed
	if s.Type == "" && len(d.axes.All) > 0 {
		s.Type = fields.SweepTaking("parameters", false).Name
	}
	if w := sw.Get("where"); w != nil {
		s.Where, s.WhereOrigin = w.Text(), w.Origin
	}
	if s.Order != "as_written" {
		sort.SliceStable(d.axes.All, func(i, j int) bool { return d.axes.All[i].Path < d.axes.All[j].Path })
	}
	s.Axes = d.publicAxes()
	var bad, errs Errors
	s.Derive, bad = d.derivations(sw.Get("derive"))
	s.Scenarios, errs = d.scenarios(sw)
	bad = append(bad, errs...)
	kind := fields.SweepNamed(s.Type)
	if kind != nil && kind.Sampled && block != nil {
		s.Design, errs = d.design(sw, block)
		bad = append(bad, errs...)
	}
	s.Filters, s.PostProcess, s.RecipeName = b.Filters, b.PostProcess, b.RecipeName
	if kind.Takes("search_space") && block != nil {
		s.Adaptive = &b.Adaptive
		bad = append(bad, d.adaptive(sw, s.Adaptive)...)
	}
	bad = append(bad, givenTwice(s)...)
	if ps := sw.Get("parameters"); ps != nil && len(ps.Fields) == 0 && len(d.axes.All) == 0 {
		bad = append(bad, source.Mistake(ps.Origin, "sweep.parameters",
			"names no axis", "such as concurrency: [1, 4, 16]")...)
	}
	if kind != nil && kind.InStep {
		bad = append(bad, d.evenAxes()...)
	}
	return bad
}

// evenAxes: axes that move in step have the same number of values.
func (d *draft) evenAxes() Errors {
	for _, a := range d.axes.All[min(1, len(d.axes.All)):] {
		if first := d.axes.All[0]; len(a.Values) != len(first.Values) {
			return source.Mistake(a.Origin, cmp.Or(a.Origin.Path, strings.TrimPrefix(a.Path, "benchmark.")),
				fmt.Sprintf("has a list of %d, %s one of %d; lists in a zip have equal lengths", len(a.Values),
					first.Name(), len(first.Values)), "use type: grid for every combination")
		}
	}
	return nil
}

func (d *draft) publicAxes() []Axis {
	out := make([]Axis, len(d.axes.All))
	paths := make([]string, len(d.axes.All))
	for i, a := range d.axes.All {
		paths[i] = a.Path
	}
	names := axisNames(paths)
	for i, a := range d.axes.All {
		out[i] = Axis{
			Path: a.Path, Name: names[i], Origin: a.Origin, Group: a.Group, nodes: a.Values,
			hide: d.checker.hide,
		}
		for _, v := range a.Values {
			out[i].Values = append(out[i].Values, v.Plain())
			out[i].Labels = append(out[i].Labels, labelOf(v))
		}
	}
	return out
}

// labelOf is what a person calls a value of an axis.
func labelOf(v *source.Node) string {
	if v.Kind == source.Object {
		for _, k := range []string{"label", "name"} {
			if s := v.Get(k).Text(); s != "" {
				return s
			}
		}
	}
	if s, ok := v.Value.(string); ok {
		return s
	}
	return v.String()
}

// axisNames are short and unique: the last part of each path that says
// something, with the parts before it as far as needed.
func axisNames(paths []string) []string {
	names := make([]string, len(paths))
	for depth := 1; depth <= 8; depth++ {
		count := map[string]int{}
		for i, path := range paths {
			if depth == 1 || names[i] == "" {
				names[i] = axisName(path, depth)
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

// derivations reads sweep.derive.
func (d *draft) derivations(n *source.Node) (out []Derivation, bad Errors) {
	if n == nil || n.Kind != source.Object {
		return nil, nil
	}
	for _, f := range n.Fields {
		path := fields.Canonical(f.Name)
		if hint, ok := d.index.KnownPath(path); !ok {
			bad = append(bad, &Error{
				Path: "sweep.derive." + f.Name, Place: f.Origin.Where, Message: "unknown field",
				Hint: hint, Unknown: true,
			})
			continue
		}
		text := f.Value.Text()
		if text == "" {
			text = f.Value.String()
		}
		if flag := d.typed(path); flag != nil {
			d.Notes = append(d.Notes, fmt.Sprintf("%s: replaces sweep.derive.%s (%s)", flag.Origin.Where, f.Name,
				f.Origin.Where))
			continue
		}
		x := Derivation{Path: path, Expr: text, Origin: f.Value.Origin}
		n := d.root.At(path)
		if v := n.Get("value"); v != nil { // of a length that is a number
			n = v
		}
		if n != nil && n.Kind == source.Scalar && n.Origin.Source != source.ByDefault {
			x.Over = n.String() + ", " + n.Origin.Where
		}
		out = append(out, x)
	}
	return out, bad
}

// givenTwice refuses what derive computes and the points of the sweep set, too.
func givenTwice(s *Sweep) (bad Errors) {
	for _, x := range s.Derive {
		own := lower.AxisKey(x.Path)
		refuse := func(by string, at source.Origin) {
			bad = append(bad, &Error{
				Path: "sweep.derive." + strings.TrimPrefix(x.Path, "benchmark."), Place: x.Origin.Where,
				Message: "cannot be combined with " + by + " (" + at.Where + ")", Hint: "keep one of them",
			})
		}
		for _, a := range s.Axes {
			if lower.AxisKey(a.Path) == own {
				refuse("the axis "+a.Name, a.Origin)
			}
		}
		if s.Design != nil {
			for _, a := range s.Design.Dimensions {
				if lower.AxisKey(a.Path) == own {
					refuse("the axis "+a.Name, a.Origin)
				}
			}
		}
		for _, c := range s.Scenarios {
			for _, a := range c.Assignments {
				if n := a.Value.At(strings.TrimPrefix(own, a.Path+".")); n != nil {
					refuse("the cell "+c.Name, n.Origin)
				}
			}
		}
	}
	return bad
}

// typed is the flag or --set that gives path, or something around or inside it; nil
// without one. It replaces what derive says, as it replaces an axis.
func (d *draft) typed(path string) *lower.Assignment {
	own := lower.AxisKey(path)
	for i := range d.src.Assignments {
		a := &d.src.Assignments[i]
		key := lower.AxisKey(a.Path)
		if a.Origin.Source.Typed() && (key == own || strings.HasPrefix(key, own+".") ||
			strings.HasPrefix(own, key+".") && a.Value.At(strings.TrimPrefix(own, key+".")) != nil) {
			return a
		}
	}
	return nil
}

// scenarios reads sweep.runs: each run lays its members over the experiment.
func (d *draft) scenarios(sw *source.Node) (out []Scenario, bad Errors) {
	runs := sw.Get("runs")
	if runs == nil || runs.Kind != source.List {
		return nil, nil
	}
	if len(d.axes.All) > 0 {
		if sw.Get("parameters") != nil {
			return nil, nil // one of the two cannot be combined with the type, which a rule says
		}
		return nil, source.Mistake(d.axes.All[0].Origin, strings.TrimPrefix(d.axes.All[0].Path, "benchmark."),
			"an axis cannot be combined with named cells", "keep one of them")
	}
	names := map[string]bool{}
	for i, r := range runs.Items {
		s := Scenario{Name: r.Get("name").Text(), Values: map[string]any{}}
		if s.Name == "" {
			s.Name = fmt.Sprintf("scenario_%d", i)
		}
		if names[s.Name] {
			bad = append(bad, source.Mistake(r.Origin, "sweep.runs", fmt.Sprintf("two cells are called %q", s.Name),
				"")...)
		}
		names[s.Name] = true
		if !isFolder(s.Name) {
			bad = append(bad, source.Mistake(r.Get("name").Origin, "sweep.runs."+strconv.Itoa(i)+".name",
				fmt.Sprintf("%q cannot be the name of a folder", s.Name),
				"a cell's name is the name of its folder: it cannot hold a path or control characters")...)
		}
		for _, k := range []string{"variables", "benchmark"} {
			if v := r.Get(k); v != nil {
				if k == "benchmark" {
					d.index.Unknown(d.root, v, d.index[k], k, k, &bad)
				}
				s.Values[k] = v.Plain()
				if w := d.written[v]; w != nil {
					s.Values[k] = w
				}
				s.Assignments = append(s.Assignments, lower.Assignment{Path: k, Value: v, Origin: v.Origin})
			}
		}
		if v := r.Get("values"); v != nil && len(v.Fields) > 0 {
			s.Values = v.Plain().(map[string]any)
			for _, f := range v.Fields {
				s.Named = append(s.Named, f.Name)
			}
		}
		out = append(out, s)
	}
	return out, bad
}

// isFolder reports whether a name that a person gave can be that of a folder below
// another one. Characters that a file system does not take are left out of the folder's
// name; a path that leads elsewhere was meant for something else.
func isFolder(name string) bool {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	return len(parts) > 0 && !strings.ContainsAny(name[:1], `/\`) && !slices.Contains(parts, "..") &&
		!slices.Contains(parts, ".") && !strings.ContainsFunc(name, unicode.IsControl)
}

// setSweep lays --set sweep.… and search.… over their blocks, before axes are taken out
// of them. An axis that is given again is replaced, however it was spelled.
func (d *draft) setSweep(root *source.Node) (bad Errors) {
	for _, a := range d.src.Assignments {
		name, axis := strings.CutPrefix(a.Path, "sweep.parameters.")
		switch {
		case axis:
			ps, errs := lower.Reach(d.index, root, "sweep.parameters", a.Origin)
			if errs != nil {
				return append(bad, errs...)
			}
			ps.Fields = slices.DeleteFunc(ps.Fields,
				func(f source.Field) bool { return fields.Canonical(f.Name) == fields.Canonical(name) })
			ps.Put(name, a.Value.Clone())
			ps.Field(name).Origin = a.Origin
		case a.Path == "sweep" || strings.HasPrefix(a.Path, "sweep.") || strings.HasPrefix(a.Path, "search."):
			bad = append(bad, lower.Lay(d.index, root, a)...)
		}
	}
	return bad
}
