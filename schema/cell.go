package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// cell is one point of the matrix: its tree with origins, and what it says
// once checked.
type cell struct {
	root     *source.Node // nil where a point could not be laid over the experiment
	resolved *Resolved
	broken   []string // members of the body that are not as they should be
}

// cells makes cells of an experiment: a point is laid over it, the rest is filled
// in, and the body is checked.
type cells struct {
	*draft    // whose root is the experiment without its sweep
	renderer  lower.Renderer
	templated bool
	always    []string // members of the body that are there without being asked for
	// partly: what a sweep does to the cells is not known for certain, so that only
	// fields are judged, each by itself.
	partly bool

	objects []object          // with settings that ask something of a cell
	acting  map[spot]bool     // settings that have an effect in some cell
	formats map[string]string // of files of records that were looked at, by path
}

// looked is the format of the first records of a data set that names none, "" where
// that is not known.
func (cs *cells) looked(d *Dataset) string {
	path := d.Path
	if path == "" {
		if cs.src.Inline == nil {
			return ""
		}
		return cs.src.Inline(d.Records)
	}
	if _, known := cs.formats[path]; !known && cs.src.Look != nil {
		found, _ := cs.src.Look(path) //nolint:errcheck // it is refused when it is played
		cs.formats[path] = found.Format
	}
	return cs.formats[path]
}

// cellsOf are the cells of the experiment that d has put together.
func cellsOf(d *draft) *cells {
	cs := &cells{
		draft: d, templated: lower.HasTemplates(d.root),
		objects: objectsOf(d.index, func(n *need) bool { return n.cell != nil }),
		acting:  map[spot]bool{}, formats: map[string]string{},
	}
	for _, name := range cs.index["benchmark"].Keys {
		if cs.index["benchmark."+name].Lower == "" && cs.checker.always("benchmark."+name) {
			cs.always = append(cs.always, name)
		}
	}
	return cs
}

// names are the values of a cell that expressions may use, see Document.Names.
func (cs *cells) names(point []lower.Assignment) (map[string]any, error) {
	root, bad := cs.rendered(cs.root.Clone(), point)
	if bad != nil {
		return nil, bad.Sorted()
	}
	out := map[string]any{}
	if v := root.Get("variables"); v != nil && v.Kind == source.Object {
		for _, f := range v.Fields {
			out[f.Name] = f.Value.Plain()
		}
	}
	names := map[string]string{"isl": "benchmark.datasets.0.prompts.isl", "osl": "benchmark.datasets.0.prompts.osl"}
	for _, a := range fields.PhaseAliases {
		names[a] = "benchmark.phases.profiling." + a
	}
	for name, path := range names {
		n := root.At(path)
		for _, k := range []string{"mean", "value", "duration"} {
			if m := n.Get(k); m != nil {
				n = m
				break
			}
		}
		if n != nil && n.Kind == source.Scalar {
			out[name] = n.Plain()
		}
	}
	return out, nil
}

// rendered is a copy of the experiment with a point laid over it, in the form that
// is checked.
func (cs *cells) rendered(root *source.Node, point []lower.Assignment) (*source.Node, Errors) {
	var bad Errors
	for _, a := range point {
		a.Path = fields.Canonical(a.Path)
		bad = append(bad, lower.Lay(cs.index, root, a)...)
	}
	if bad != nil {
		return nil, bad
	}
	return normalForm(cs.index, &cs.renderer, root, cs.templated || hasTemplatePoint(point))
}

// normalForm fills in the templates of a tree and gives every leaf its one form.
// Templates that cannot be filled in are left as they are, nil is a tree without any
// order to fill them in.
func normalForm(x fields.Table, r *lower.Renderer, root *source.Node, templated bool) (*source.Node, Errors) {
	var bad Errors
	if templated {
		if root, bad = r.Render(root); root == nil {
			return nil, bad
		}
	}
	return x.Normalize(root, x[""], ""), bad
}

func hasTemplatePoint(point []lower.Assignment) bool {
	for _, a := range point {
		if a.Value.Kind != source.Scalar || source.IsTemplate(a.Value.Text()) {
			return true
		}
	}
	return false
}

func (cs *cells) cell(point []lower.Assignment) (*cell, Errors) {
	return cs.checked(cs.rendered(cs.root.Clone(), point))
}

// checked is the cell that root is once its defaults are filled in; unread are templates
// in it that could not be.
func (cs *cells) checked(root *source.Node, unread Errors) (*cell, Errors) {
	c := &cell{root: root, resolved: &Resolved{aside: cs.aside, env: cs.env, hide: cs.checker.hide}}
	if root == nil {
		return c, unread
	}
	if b := root.Get("benchmark"); b == nil || b.Kind != source.Object {
		at := root.Origin
		if b != nil {
			return c, append(unread, source.Mistake(b.Origin, "benchmark", "expected an object, got "+b.KindName(),
				"its members have no dashes before them")...)
		}
		return c, append(unread, source.Mistake(at, "benchmark", "required", "add benchmark: {…}")...)
	}
	lower.Defaults(cs.index, root)
	return c, append(unread, besides(unread, cs.checkBody(c))...)
}

// checkBody checks the members of the body, puts their JSON together and
// decodes what the program reads.
func (cs *cells) checkBody(c *cell) Errors {
	b := c.root.Get("benchmark")
	var bad Errors
	var out, identity bytes.Buffer
	out.WriteByte('{')
	identity.WriteByte('{')
	for _, name := range cs.index["benchmark"].Keys {
		n := b.Get(name)
		if n == nil || n.Kind == source.Null {
			if !slices.Contains(cs.always, name) {
				continue
			}
			n = source.ObjectNode(source.Origin{Source: source.ByDefault})
			if l := cs.index["benchmark."+name]; !l.Has(fields.IsObject) {
				n = l.Filled("")
			}
		}
		p, errs := cs.bodyMember(c, name, n)
		if bad = append(bad, errs...); errs != nil {
			c.broken = append(c.broken, name)
			continue
		}
		if p != nil {
			appendMember(&out, name, p.json)
			appendMember(&identity, name, p.identity)
		}
	}
	out.WriteByte('}')
	identity.WriteByte('}')
	c.resolved.Benchmark.BoundByQuestions()
	c.resolved.Benchmark.FollowAIPerf()
	bad = append(bad, cs.required(c)...)
	bad = append(bad, cs.acrossObjects(c)...)
	if len(c.broken) == 0 {
		bad = append(bad, cs.ineffective(c)...)
	}
	bad = append(bad, cs.knownTags(c.root)...)
	if cs.partly {
		return slices.DeleteFunc(bad, func(e *Error) bool { return e.Missing || e.Ruled })
	}
	if bad == nil {
		c.resolved.JSON, c.resolved.Identity = out.Bytes(), identity.Bytes()
	}
	return bad
}

// appendMember appends a member to the JSON text of an object.
func appendMember(to *bytes.Buffer, name string, js []byte) {
	if to.Len() > 1 {
		to.WriteByte(',')
	}
	to.WriteString(strconv.Quote(name) + ":")
	to.Write(js)
}

// required names the members of the body that must be there.
func (cs *cells) required(c *cell) (bad Errors) {
	b := c.root.Get("benchmark")
	for _, name := range []string{"endpoint", "models", "datasets", "phases"} {
		if n := b.Get(name); n == nil || n.Kind == source.Null {
			c.broken = append(c.broken, name)
			hint := "add " + name
			switch name {
			case "models":
				hint = "add model: NAME (-m NAME)"
			case "datasets":
				name, hint = "dataset", "add dataset: {prompts: {isl: 128, osl: 64}}, or one with type: file"
			}
			missing := source.Mistake(b.Origin, "benchmark."+name, "required", hint)
			missing[0].Missing = true
			bad = append(bad, missing...)
		}
	}
	return bad
}

// bodyMember checks one member of the body. Lists of objects are checked object
// by object, so that a sweep over one field checks one small object again.
func (cs *cells) bodyMember(c *cell, name string, n *source.Node) (*part, Errors) {
	body := &c.resolved.Benchmark
	if (name == "phases" || name == "datasets") && n.Kind == source.List && len(n.Items) > 0 {
		return cs.list(c, name, n)
	}
	// A label is what a person calls the endpoint, no part of what it is.
	var bad Errors
	label, labelled := "", false
	if name == "endpoint" && n.Kind == source.Object {
		var f source.Field
		if f, labelled = n.Pop("label"); labelled && f.Value.Kind != source.Null {
			if f.Value.Kind != source.Scalar || f.Value.Text() == "" {
				bad = source.Mistake(f.Value.Origin, "benchmark.endpoint.label",
					"expected text, got "+f.Value.KindName(), "")
			}
			label = labelOf(f.Value)
		}
	}
	p, errs := cs.checker.check(c.root, "benchmark."+name, n)
	if bad = append(bad, errs...); bad != nil {
		return nil, bad
	}
	body.set(name, p)
	if labelled {
		body.Endpoint.Label = label
	}
	if name == "endpoint" {
		body.Endpoint.Hide = cs.checker.hide
	}
	return p, nil
}

func (cs *cells) list(c *cell, name string, n *source.Node) (*part, Errors) {
	var bad Errors
	var out, identity bytes.Buffer
	out.WriteByte('[')
	identity.WriteByte('[')
	if name == "datasets" && len(n.Items) > 1 {
		return nil, source.Mistake(n.Items[1].Origin, "benchmark.datasets", fmt.Sprintf("takes one data set, got %d",
			len(n.Items)), "run them as an axis: sweep.parameters.dataset: [{…}, {…}]")
	}
	for i, it := range n.Items {
		p, errs := cs.checker.check(c.root, "benchmark."+name+"."+strconv.Itoa(i), it)
		if errs != nil {
			bad = append(bad, errs...)
			continue
		}
		if i > 0 {
			out.WriteByte(',')
			identity.WriteByte(',')
		}
		out.Write(p.json)
		identity.Write(p.identity)
		if name == "phases" {
			c.resolved.Benchmark.Phases = append(c.resolved.Benchmark.Phases, decoded[Phase](p))
		} else {
			c.resolved.Benchmark.Datasets = append(c.resolved.Benchmark.Datasets, decoded[Dataset](p))
			c.leaveFormatOpen(i, len(c.resolved.Benchmark.Datasets)-1)
		}
	}
	out.WriteByte(']')
	identity.WriteByte(']')
	return &part{json: out.Bytes(), identity: identity.Bytes()}, bad
}

// set puts a checked member into the field of b that has its name; of a member
// without a field nothing but its JSON is read.
func (b *Benchmark) set(name string, p *part) {
	v := reflect.ValueOf(b).Elem()
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == name {
			v.Field(i).Set(reflect.ValueOf(p.as(v.Field(i).Type())))
			return
		}
	}
}

// decoded is a part as the program's type.
func decoded[T any](p *part) T { return p.as(reflect.TypeFor[T]()).(T) }

// as is the part as a value of type t, decoded once.
func (p *part) as(t reflect.Type) any {
	if reflect.TypeOf(p.value) != t { // not decoded, or another member of the same text was
		v := reflect.New(t)
		if err := json.Unmarshal(p.secret, v.Interface()); err != nil {
			panic("a checked part does not fit its struct: " + err.Error()) // parity is tested
		}
		p.value = v.Elem().Interface()
	}
	return p.value
}

// given is the body without what nobody said, secrets masked: AIPerf's files
// of a single run show it so. A value that follows from others that were said
// (the type of a phase from its rate) counts as said.
func (cs *cells) given(c *cell) []byte {
	body := c.root.Get("benchmark").Clone()
	drop(body, cs.index, "benchmark")
	raw, err := json.Marshal(body.Plain())
	if err != nil {
		return nil // a time without end
	}
	out := cs.index.Encode(fields.Decode(raw), body, "benchmark", fields.Shown(cs.checker.hide))
	raises := slices.ContainsFunc(itemsOf(c.root.At("benchmark.phases")),
		func(p *source.Node) bool { return p.Get("adaptive_scale") != nil })
	if len(cs.aside) == 0 && !raises {
		return out
	}
	phases := c.root.At("benchmark.phases")
	aside := slices.DeleteFunc(slices.Clone(cs.aside),
		func(s setting) bool { return s.weak && fields.IsIdle(s.path, s.value) })
	for i, s := range aside {
		below, of := strings.CutPrefix(s.path, "benchmark.phases.")
		name, rest, deep := strings.Cut(below, ".")
		if of && deep && phases.Index(name) >= 0 { // a name that nobody said is not there
			aside[i].path = fmt.Sprintf("benchmark.phases.%d.%s", phases.Index(name), rest)
		}
	}
	return shown(out, func(tree map[string]any) {
		withAside(tree, aside, cs.checker.hide)
		flatScales(tree, false)
	})
}

// drop takes the schema's own values out of n, which is at path.
func drop(n *source.Node, x fields.Table, path string) {
	if x.At(path).Sent() {
		return // its null is the user's
	}
	// those a clone shares with its original, which other loads may read
	if n.Kind == source.Scalar || n.Kind == source.Null {
		return
	}
	kept := n.Fields[:0]
	for _, f := range n.Fields {
		if f.Value.Kind == source.Null || bySchema(f.Value) {
			continue
		}
		drop(f.Value, x, source.Join(path, f.Name))
		kept = append(kept, f)
	}
	n.Fields = kept
	for i, it := range n.Items {
		drop(it, x, source.Join(path, strconv.Itoa(i)))
	}
}

// bySchema tells whether nobody but the schema says n.
func bySchema(n *source.Node) bool {
	return n.Kind == source.Scalar && n.Origin.Source == source.ByDefault && n.Origin.Reason != source.Follows
}

// leaveFormatOpen takes back the default format of item i, the data set at: AIPerf
// shows one where nobody named it, and the file's records say which it is.
func (c *cell) leaveFormatOpen(i, at int) {
	f := c.root.At("benchmark.datasets").Items[i].Get("format")
	if f != nil && f.Origin.Reason == source.OfType {
		c.resolved.Benchmark.Datasets[at].Format = ""
	}
}

// The size of a survey: mistakes in cells, and values of one axis or named cells that
// are looked at.
const (
	mostSurveyed = 20
	mostCells    = 50
)

// Survey looks for all mistakes of an experiment that is known to have some: in its
// parts, each by itself, in every value of its axes and every named cell, and in the
// names that its expressions use. What may only follow from another mistake is not
// said, nor what is known already. The document is good for nothing else afterwards but
// Parts.
func (d *Document) Survey(known ...*Error) Errors {
	s, cs := &d.sweep, d.cells
	cs.partly = len(s.Unread)+len(s.Derive) > 0 || s.Where != "" || s.Design != nil
	var bad Errors
	found := func(more Errors) {
		if len(bad) < mostSurveyed {
			bad = append(bad, more...).Sorted()
		}
	}
	var first []lower.Assignment
	for _, a := range cs.axes.All {
		first = append(first, a.Assignment(0))
	}
	if len(s.Scenarios) > 0 {
		first = s.Scenarios[0].Assignments
	}
	c, more := cs.cell(first)
	found(more)
	d.parts = &c.resolved.Benchmark
	for i := 1; i < min(len(s.Scenarios), mostCells); i++ {
		_, more := cs.cell(s.Scenarios[i].Assignments)
		found(more)
	}
	cs.partly = true // which values meet each other is not looked at
	for k, a := range cs.axes.All {
		point := slices.Clone(first)
		for i := 1; i < min(len(a.Values), mostCells); i++ {
			point[k] = a.Assignment(i)
			_, more := cs.cell(point)
			found(more)
		}
	}
	return without(known, append(bad, d.unknownNames(first)...))
}

// Parts is what could be read of the body of an experiment that has mistakes; what
// could not be is as if nobody had said it.
func (d *Document) Parts() *Benchmark {
	switch {
	case d.parts != nil:
		return d.parts
	case d.first != nil:
		return &d.first.resolved.Benchmark
	}
	return &Benchmark{}
}

// unknownNames are mistakes in derive and where that do not depend on the values of
// names: the syntax, and names that nothing has. Beside an axis that could not be read
// a name may be its.
func (d *Document) unknownNames(first []lower.Assignment) (bad Errors) {
	if len(d.sweep.Unread) > 0 {
		return nil
	}
	names, err := d.cells.names(first)
	if err != nil {
		return nil
	}
	known := slices.Concat(slices.Collect(maps.Keys(names)), fields.PhaseAliases, []string{"isl", "osl"})
	for _, a := range d.sweep.Axes {
		known = append(known, a.Name)
	}
	check := func(src, path string, at source.Origin, wantBool bool) {
		var e *Error
		if err := checkExpr(src, known, wantBool); errors.As(err, &e) {
			bad = append(bad, &Error{Path: path, Place: at.Where, Message: e.Message, Hint: e.Hint})
		}
	}
	for _, x := range d.sweep.Derive {
		check(x.Expr, "sweep.derive."+strings.TrimPrefix(x.Path, "benchmark."), x.Origin, false)
		_, leaf := source.Cut(x.Path)
		known = append(known, leaf)
	}
	if d.sweep.Where != "" {
		check(d.sweep.Where, "sweep.where", d.sweep.WhereOrigin, true)
	}
	return bad
}
