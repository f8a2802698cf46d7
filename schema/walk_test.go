package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/flags"
	"aiperf.dev/aiperf/schema/source"
)

// walker turns the CUE schema into the two generated tables: options and
// leaves. It runs in a test (go generate), never in the program.
//
// Attributes it reads:
//
//	@flag(main-name, alias="a b", short=m, neg=no-x, many, words, split, sweep,
//	      at=member, warmup[="names"], secret, hidden, unit=s,
//	      deprecated="why", do=action, type=word, enum="a b")
//	                              enum=patterns: the arrival patterns; enum="taking x":
//	                              the types that take the setting x
//	@elem(name[, family=prefix])  a named member of a list has flags of its own
//	@lower(target)                a shorthand key
//	@group(title)                 heading of this field's flags and those below
//	@groups(title, …)             order of the headings
//	@default(v, type="a b")       default for these values of the sibling type
//	@default(v, taken)            default for the types that take the field
//	@default(v, typed)            default of a sweep of whatever type
//	@unsupported("instead")       declared, not built yet, and what to do instead
//	@secret                       never printed
//	@bare                         its bare name means this field of the profiling phase
//	@inherited                    a warmup phase made by flags takes it from the measured one
//	@ours                         AIPerf has no such field
//	@template                     holds templates that are not ours to render
type walker struct {
	options []flags.Option
	leaves  []fields.Leaf
	seen    map[string]int
}

const deepest = 12 // levels of the schema; a recursive definition stops here

func walk(s *compiled) ([]flags.Option, []fields.Leaf) {
	w := &walker{seen: map[string]int{}}
	w.leaf(s.experiment, "", nil, 0, 0)
	w.members(s.experiment, scope{group: "Other"})
	byGroup(w.options, s.experiment)
	return w.options, w.leaves
}

// byGroup puts the options in the order of @groups, else as the schema has them.
func byGroup(options []flags.Option, experiment cue.Value) {
	order := map[string]int{}
	for _, a := range experiment.Attributes(cue.DeclAttr) {
		if a.Name() == "groups" {
			for _, title := range args(a) {
				order[title] = len(order) + 1
			}
		}
	}
	slices.SortStableFunc(options, func(a, b flags.Option) int { return order[a.Group] - order[b.Group] })
}

// leaf records v and what lies below it.
func (w *walker) leaf(v cue.Value, path string, attrs []cue.Attribute, inherited fields.Traits, depth int) {
	if depth > deepest {
		return
	}
	l := fields.Leaf{Path: path, Enum: enum(v), Unbuilt: fields.AbsentWords(path), Def: defaultJSON(v), Is: inherited}
	for _, a := range attrs {
		switch a.Name() {
		case "lower":
			l.Lower = arg(a, 0)
		case "unsupported":
			l.Is |= fields.IsUnsupported
			l.Instead = arg(a, 0)
		case "default":
			l.Def, l.When, l.Unless = givenDefault(a)
			_, name := source.Cut(path)
			if ok, _ := a.Flag(1, "taken"); ok {
				l.When = fields.TypesTaking(name)
			}
			if ok, _ := a.Flag(1, "typed"); ok {
				l.When = fields.SweepNames()
			}
			for word, made := range map[string]bool{"made": true, "recorded": false} {
				if ok, _ := a.Flag(1, word); ok {
					l.When = fields.DatasetTypes(made)
				}
			}
			l.Is |= fields.IsFilled
		case "secret":
			l.Is |= fields.IsSecret
		case "bare":
			l.Is |= fields.IsBare
		case "inherited":
			l.Is |= fields.IsInherited
		case "ours":
			l.Is |= fields.IsOurs
		case "template":
			l.Is |= fields.IsKept
		case "flag":
			if ok, _ := a.Flag(1, "secret"); ok {
				l.Is |= fields.IsSecret
			}
		}
	}
	at := w.add(l)
	below := l.Is & (fields.IsUnsupported | fields.IsSecret | fields.IsKept | fields.IsOurs)
	_, lowered := attribute(attrs, "elem") // the one member without its list is lowered
	for _, a := range arms(v) {
		if a.IncompleteKind() == cue.StructKind {
			if lowered {
				continue
			}
			lowered = true // a second object is a shorthand for the first
		}
		w.arm(a, at, path, below, depth)
	}
	if len(l.Enum) > 0 {
		w.leaves[at].Is &^= fields.IsText
	}
}

func (w *walker) add(l fields.Leaf) int {
	if i, ok := w.seen[l.Path]; ok {
		w.leaves[i].Is |= l.Is
		return i
	}
	w.seen[l.Path] = len(w.leaves)
	w.leaves = append(w.leaves, l)
	return len(w.leaves) - 1
}

// arm records one member of a field's disjunction.
func (w *walker) arm(a cue.Value, at int, path string, below fields.Traits, depth int) {
	k := a.IncompleteKind()
	if s, err := a.String(); err == nil && s == "inf" {
		w.leaves[at].Is |= fields.IsDuration
		return
	}
	if k == cue.TopKind {
		w.leaves[at].Is |= fields.IsFree | fields.IsText | fields.IsNumber | fields.IsBool |
			fields.IsList | fields.IsObject
		return
	}
	for kind, t := range map[cue.Kind]fields.Traits{
		cue.StringKind: fields.IsText, cue.BoolKind: fields.IsBool,
		cue.IntKind: fields.IsNumber, cue.FloatKind: fields.IsNumber | fields.IsFraction, cue.ListKind: fields.IsList,
		cue.StructKind: fields.IsObject,
	} {
		if k&kind != 0 {
			w.leaves[at].Is |= t
		}
	}
	switch k {
	case cue.StructKind:
		w.object(a, at, path, below, depth)
	case cue.ListKind:
		_, said := w.seen[source.Join(path, "*")] // a default list says nothing about members
		if m := member(a); m.Exists() && !said {
			w.leaf(m, source.Join(path, "*"), nil, below, depth+1)
		}
	}
}

func (w *walker) object(a cue.Value, at int, path string, below fields.Traits, depth int) {
	it, err := a.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		name, v := it.Selector().Unquoted(), it.Value()
		if !slices.Contains(w.leaves[at].Keys, name) {
			w.leaves[at].Keys = append(w.leaves[at].Keys, name)
		}
		attrs := v.Attributes(cue.FieldAttr)
		if _, short := attribute(attrs, "lower"); short {
			// A twin of another field: the steps after lowering never see it.
			w.add(fields.Leaf{Path: source.Join(path, name), Lower: lowerTarget(attrs), Is: below})
			continue
		}
		w.leaf(v, source.Join(path, name), attrs, below, depth+1)
		if _, given := attribute(attrs, "default"); it.IsOptional() && !given {
			w.leaves[w.seen[source.Join(path, name)]].Def = "" // its one value is no default
		}
	}
	if slices.Contains(w.leaves[at].Keys, "p99") && slices.Contains(w.leaves[at].Keys, "stddev") {
		w.leaves[at].Is |= fields.IsShape
	}
	if len(w.leaves[at].Keys) == 2 && slices.Contains(w.leaves[at].Keys, "duration") &&
		slices.Contains(w.leaves[at].Keys, "strategy") {
		w.leaves[at].Is |= fields.IsRamp
	}
	if any := a.LookupPath(cue.MakePath(cue.AnyString)); any.Exists() {
		w.leaves[at].Is |= fields.IsFree
		if any.IncompleteKind() != cue.TopKind {
			w.leaf(any, source.Join(path, "+"), nil, below, depth+1)
		}
	}
}

func lowerTarget(attrs []cue.Attribute) string {
	a, _ := attribute(attrs, "lower")
	return arg(a, 0)
}

func attribute(attrs []cue.Attribute, name string) (cue.Attribute, bool) {
	for _, a := range attrs {
		if a.Name() == name {
			return a, true
		}
	}
	return cue.Attribute{}, false
}

func arg(a cue.Attribute, i int) string { s, _ := a.String(i); return s }

// args are all arguments of an attribute, nil for none.
func args(a cue.Attribute) []string {
	var out []string
	for i := range a.NumArgs() {
		if s := arg(a, i); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// givenDefault reads @default(value, type="a b", unless="c d"): the value as
// JSON, the types it holds for, and the siblings that make it void.
func givenDefault(a cue.Attribute) (def string, when, unless []string) {
	types, _, _ := a.Lookup(1, "type")
	siblings, _, _ := a.Lookup(1, "unless")
	def = arg(a, 0)
	if !json.Valid([]byte(def)) {
		def = strconv.Quote(def)
	}
	return def, strings.Fields(types), strings.Fields(siblings)
}

// defaultJSON is the default of a leaf or list as JSON, "" without one.
func defaultJSON(v cue.Value) string {
	d, ok := v.Default()
	if !ok && !v.IsConcrete() || d.IncompleteKind()&cue.StructKind != 0 {
		return ""
	}
	if d.Validate(cue.Concrete(true)) != nil {
		return ""
	}
	js, err := d.MarshalJSON()
	if err != nil {
		return ""
	}
	return string(js)
}

// scope is what a field inherits from those above it.
type scope struct {
	path, family, group string
	unsupported, secret bool
	optional            bool // the field itself may be left out
}

// members collects the flags of an object's fields.
func (w *walker) members(v cue.Value, in scope) {
	v = arm(v, cue.StructKind)
	if v.IncompleteKind() != cue.StructKind || strings.Count(in.path, ".") > deepest {
		return
	}
	it, err := v.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		sub := in.below(it.Selector().Unquoted(), it.Value())
		sub.optional = it.IsOptional()
		w.field(it.Value(), sub)
	}
}

func (s scope) below(name string, v cue.Value) scope {
	s.path = source.Join(s.path, name)
	attrs := v.Attributes(cue.FieldAttr)
	if a, ok := attribute(attrs, "group"); ok && s.family == "" {
		s.group = arg(a, 0)
	}
	if _, ok := attribute(attrs, "unsupported"); ok {
		s.unsupported = true
	}
	if _, ok := attribute(attrs, "secret"); ok {
		s.secret = true
	}
	return s
}

func (w *walker) field(v cue.Value, in scope) {
	var elems []cue.Attribute
	for _, a := range v.Attributes(cue.FieldAttr) {
		switch a.Name() {
		case "lower":
			return
		case "elem":
			elems = append(elems, a)
		case "flag":
			if o, ok := option(a, v, in); ok {
				w.options = append(w.options, o)
			}
		}
	}
	if len(elems) == 0 {
		if v.IncompleteKind()&cue.StructKind != 0 {
			w.members(v, in)
		}
		return
	}
	item := member(arm(v, cue.ListKind))
	for _, e := range elems {
		sub := in
		sub.path = source.Join(in.path, arg(e, 0))
		sub.family, _, _ = e.Lookup(1, "family")
		if title, ok, _ := e.Lookup(1, "group"); ok {
			sub.group = title
		}
		w.members(item, sub)
	}
}

// option reads one @flag. A member of a family (warmup) has the flag only if
// the attribute names the family.
func option(a cue.Attribute, v cue.Value, in scope) (flags.Option, bool) {
	get := func(key string) string { s, _, _ := a.Lookup(1, key); return s }
	has := func(key string) bool { ok, _ := a.Flag(1, key); return ok }
	o := flags.Option{
		Path: in.path, Group: in.group, Unit: get("unit"), Deprecated: get("deprecated"), Do: get("do"), At: get("at"),
		Type:  get("type"),
		Names: append([]string{arg(a, 0)}, strings.Fields(get("alias"))...), Short: get("short"), Neg: get("neg"),
		Many: has("many"), Words: has("words"), Bare: has("bare"), Split: has("split"), Sweep: has("sweep"),
		Hidden: has("hidden"),
		Secret: has("secret") || in.secret, Unsupported: in.unsupported || has("unsupported"),
	}
	if g := get("group"); g != "" {
		o.Group = g
	}
	if in.family != "" {
		names, valued, _ := a.Lookup(1, in.family)
		if !valued && !has(in.family) {
			return o, false
		}
		if o.Names = strings.Fields(names); len(o.Names) == 0 {
			o.Names = []string{in.family + "-" + arg(a, 0)}
		}
		o.Short, o.Neg, o.Sweep = "", "", false
	}
	doc := v
	if o.At != "" {
		o.Path = source.Join(o.Path, o.At)
		if sub := descend(v, o.At); sub.Exists() {
			v = sub
		}
	}
	o.Doc = docOf(v)
	if o.Doc == "" || o.At != "" {
		o.Doc = docOf(doc)
	}
	if text := get("doc"); text != "" {
		o.Doc = text
	}
	o.Kind, o.Enum, o.Default = kindName(v), words(v), shownDefault(doc, v, in.optional || o.At != "" && v == doc)
	if k := get("kind"); k != "" && k != o.Kind {
		o.Kind, o.Default = k, ""
	}
	switch e := get("enum"); {
	case e == "patterns":
		o.Enum = fields.ArrivalPatterns()
	case strings.HasPrefix(e, "taking "):
		o.Enum = fields.TypesTaking(strings.TrimPrefix(e, "taking "))
	case e != "":
		o.Enum = strings.Fields(e)
	}
	for _, w := range fields.AbsentWords(starredMembers(o.Path)) {
		if slices.Contains(o.Enum, w) {
			o.Absent = append(o.Absent, w)
		}
	}
	if d, given, _ := a.Lookup(1, "default"); given {
		o.Default = d
	}
	if in.family != "" {
		o.Default = "" // what is not given is taken from the measured phase
	}
	return o, true
}

// starredMembers spells the path of a flag as the table of absent things does.
func starredMembers(path string) string {
	return strings.NewReplacer(fields.DatasetPath, "benchmark.datasets.*", fields.PhasePath, "benchmark.phases.*",
		"benchmark.phases.warmup", "benchmark.phases.*").Replace(path)
}

// shownDefault is the default of a field as it would be typed.
func shownDefault(field, v cue.Value, optional bool) string {
	def := defaultJSON(v)
	if optional && field == v {
		def = ""
	}
	if a, ok := attribute(field.Attributes(cue.FieldAttr), "default"); ok && field == v {
		def, _, _ = givenDefault(a)
	}
	var list []string
	var text string
	switch {
	case def == "[]" || def == "{}":
		return ""
	case json.Unmarshal([]byte(def), &list) == nil:
		return strings.Join(list, ",")
	case json.Unmarshal([]byte(def), &text) == nil:
		return text
	}
	return strings.Trim(def, "[]")
}

// words are the words or numbers a field takes, when they are few.
func words(v cue.Value) []string {
	if e := enum(v); e != nil {
		return e
	}
	var out []string
	for _, a := range arms(v) {
		n, err := a.Int64()
		if err != nil || !a.IsConcrete() || a.IncompleteKind() != cue.IntKind {
			return nil
		}
		if s := strconv.FormatInt(n, 10); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// descend follows a dotted path of members below a field.
func descend(v cue.Value, path string) cue.Value {
	for part := range strings.SplitSeq(path, ".") {
		v = lookup(arm(v, cue.StructKind), part)
	}
	return v
}

func docOf(v cue.Value) string {
	var words []string
	for _, d := range v.Doc() {
		words = append(words, strings.Fields(d.Text())...)
	}
	return strings.Join(words, " ")
}

// kindName is what a flag takes: a list of numbers beside a number is an axis
// and does not count.
func kindName(v cue.Value) string {
	switch k := v.IncompleteKind(); {
	case k&cue.BoolKind != 0 && k&(cue.StringKind|cue.NumberKind) == 0:
		return "bool"
	case k&cue.FloatKind != 0:
		return "number"
	case k&cue.IntKind != 0:
		return "int"
	}
	return "string"
}
