package schema

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/flags"
	"aiperf.dev/aiperf/schema/source"
)

// diagnosis says what is wrong with a tree that CUE refused: the tree is
// walked beside its definition, and every mistake is reported at once.
type diagnosis struct {
	schema *compiled
	index  fields.Table
	root   *source.Node // the experiment, for names in paths
	def    string       // of the part: benchmark.phases.*
	base   string       // of the part: benchmark.phases.0
	found  []finding
}

// finding is a mistake with the path the tree has, where Error holds the one
// that is shown.
type finding struct {
	path string
	err  *Error
}

func (d *diagnosis) explain(def cue.Value, n *source.Node, err error) Errors {
	d.walk(def, n, d.base)
	d.rules(n, err)
	if len(d.found) == 0 { // a gap in the walk: better a raw message than none
		for _, e := range errors.Errors(err) {
			d.add(n, d.base, plainMessage(e, n.String()), "")
		}
	}
	out := make(Errors, len(d.found))
	for i, f := range d.found {
		out[i] = f.err
	}
	return out
}

func (d *diagnosis) add(n *source.Node, path, msg, hint string) *Error {
	for _, f := range d.found {
		if f.path == path {
			return f.err // one mistake for one field
		}
	}
	e := &Error{
		Path: d.root.Written(path), Field: d.root.Shown(path), Place: n.Origin.Where, Message: msg,
		Hint: hint, Taken: n.Origin.Reason == source.CopiedFrom,
	}
	d.found = append(d.found, finding{path, e})
	return e
}

func (d *diagnosis) walk(def cue.Value, n *source.Node, path string) {
	if n.Kind == source.Null {
		return // says nothing
	}
	var fit []cue.Value
	for _, a := range arms(def) {
		if a.IncompleteKind()&n.CueKind() != 0 {
			fit = append(fit, a)
		}
	}
	if len(fit) == 0 {
		d.wrongKind(def, n, path)
		return
	}
	switch n.Kind {
	case source.Object:
		d.fields(fit, n, path)
	case source.List:
		d.members(widest(fit), n, path)
	default:
		d.leaf(fit, def, n, path)
	}
}

// wrongKind: a number for a text, an object for a list.
func (d *diagnosis) wrongKind(def cue.Value, n *source.Node, path string) {
	if words := enum(def); len(words) > 0 && n.Kind == source.Scalar {
		d.notOneOf(n, path, words)
		return
	}
	if n.Kind == source.Scalar && endless(n.Text()) {
		d.add(n, path, "expected "+kinds(def)+", got "+d.show(n, path)+", which is not finite",
			endlessHint(path)).Kind = true
		return
	}
	if v, ok := n.Value.(float64); ok && n.TooLarge() && takesWhole(def) {
		word, bound := "at most", int64(source.MaxWhole)
		if v < 0 {
			word, bound = "at least", -source.MaxWhole
		}
		got := d.show(n, path)
		if math.Abs(v) < 1<<63 {
			got = strconv.FormatFloat(v, 'f', 0, 64)
		}
		d.add(n, path, fmt.Sprintf("must be %s %d, got %s", word, bound, got), "")
		return
	}
	got := n.KindName()
	bare, unit := withUnit(n.Text())
	if !numbersOnly(def) {
		unit = ""
	}
	if unit != "" { // which no secret looks like
		got = strconv.Quote(n.Text())
	} else if n.Kind == source.Scalar && n.CueKind() != cue.BoolKind {
		got = strings.TrimPrefix(got, "a ") + " " + d.show(n, path)
	} else if n.Kind == source.Scalar {
		got = d.show(n, path)
	}
	hint := ""
	if _, fraction := n.Value.(float64); fraction && takesWhole(def) &&
		strings.HasPrefix(n.Origin.Path, "sweep.dimensions.") {
		hint = "write kind: int for a range of whole numbers"
	}
	switch {
	case unit == "":
	case strings.HasPrefix(path, "benchmark.slos."):
		hint = "write " + inMilliseconds(bare, unit)
	default:
		hint = "write " + bare + ", without a unit"
	}
	d.add(n, path, "expected "+kinds(def)+", got "+got, hint).Kind = true
}

// measured is a number with a unit behind it.
var measured = regexp.MustCompile(`^\s*([0-9]+(?:\.[0-9]+)?)\s*(µs|us|ms|s|sec|seconds?|tok/s|tokens/s|req/s|tokens|%)\s*$`)

// withUnit takes a text such as 200ms apart; the unit is "" where it is none.
func withUnit(text string) (bare, unit string) {
	if m := measured.FindStringSubmatch(text); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// inMilliseconds is a limit on a time as a number alone, and what the number means.
func inMilliseconds(bare, unit string) string {
	v, err := strconv.ParseFloat(bare, 64)
	switch {
	case err != nil:
		return bare
	case strings.HasPrefix(unit, "s"):
		v *= 1000
	case strings.HasSuffix(unit, "µs"), unit == "us":
		v /= 1000
	case unit != "ms":
		return bare + ", without a unit"
	}
	return strconv.FormatFloat(v, 'g', -1, 64) + ": limits on times are in milliseconds"
}

// numbersOnly tells whether a definition takes numbers, and no text.
func numbersOnly(def cue.Value) bool {
	all := kinds(def)
	return strings.Contains(all, "number") && !strings.Contains(all, "text")
}

// takesWhole tells whether whole numbers are all the numbers that a definition takes.
func takesWhole(def cue.Value) bool {
	return slices.ContainsFunc(arms(def), func(a cue.Value) bool { return a.IncompleteKind() == cue.IntKind })
}

// asTyped is how whoever made n would give its field: by a flag, where a flag made n and
// the field has one.
func asTyped(n *source.Node, path, name string) string {
	if n.Origin.Source == source.ByFlag {
		for _, o := range flags.Options() {
			if o.Path == path {
				return "--" + o.Names[0]
			}
		}
	}
	return name
}

// notOneOf refuses a word and says which can be used.
func (d *diagnosis) notOneOf(n *source.Node, path string, words []string) {
	l := d.index.At(path)
	for _, o := range flags.Options() {
		if n.Origin.Source == source.ByFlag && len(o.Enum) > 0 && o.Names[0] == n.Origin.Flag {
			words = o.Enum // a flag may take fewer than its field
		}
	}
	now := slices.DeleteFunc(slices.Clone(words),
		func(w string) bool { return l != nil && slices.Contains(l.Unbuilt, w) })
	d.add(n, path, d.show(n, path)+" is not one of "+strings.Join(now, ", "), suggest.DidYouMean(n.Text(), words))
}

// endless tells whether text reads as a number that is none: nan, inf, 1e999.
func endless(text string) bool {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return (err == nil || errors.Is(err, strconv.ErrRange)) && (math.IsNaN(f) || math.IsInf(f, 0))
}

// endlessHint is what to say in place of a number that is not finite; "" where the
// field's own words do.
func endlessHint(path string) string {
	if strings.HasSuffix(path, ".rate") && strings.HasPrefix(path, "benchmark.phases.") {
		return "as fast as the server answers is --concurrency N without a rate"
	}
	return ""
}

// show is a value in a message; a secret is not shown.
func (d *diagnosis) show(n *source.Node, path string) string {
	if d.index.At(path).Has(fields.IsSecret) {
		return "(secret)"
	}
	if s, ok := n.Value.(string); ok && !strings.HasPrefix(path, "benchmark.slos.") { // names of metrics have "token" in them

		parent, last := source.Cut(path)
		if shown := fields.Masked(last, s, d.index.At(parent), d.index.At(path), nil); shown == secret.Mask {
			return "(secret)"
		}
	}
	return source.Short(secret.Shapes(secret.URL(n.String())))
}

func (d *diagnosis) fields(fit []cue.Value, n *source.Node, path string) {
	known, free := map[string]cue.Value{}, cue.Value{}
	var names []string
	for _, def := range fit {
		it, err := def.Fields(cue.Optional(true))
		for err == nil && it.Next() {
			name := it.Selector().Unquoted()
			if _, again := known[name]; !again {
				names = append(names, name)
			}
			known[name] = it.Value()
			if len(fit) == 1 && it.Selector().ConstraintType() == cue.RequiredConstraint && n.Get(name) == nil {
				d.add(n, source.Join(path, name), "required", "add "+asTyped(n, source.Join(path, name), name)).Missing = true
			}
		}
		if any := def.LookupPath(cue.MakePath(cue.AnyString)); any.Exists() {
			free = any
		}
	}
	for _, f := range n.Fields {
		p := source.Join(path, f.Name)
		switch sub, ok := known[f.Name]; {
		case ok:
			d.walk(sub, f.Value, p)
		case free.Exists():
			d.walk(free, f.Value, p)
		case fit[0].Allows(cue.Str(f.Name)):
		default:
			e := d.add(&source.Node{Origin: f.Origin}, p, "unknown field", suggest.Hint(f.Name, names))
			e.Unknown = true
		}
	}
}

// widest is the arm that takes lists of any length, if there is one: the
// others are defaults.
func widest(fit []cue.Value) cue.Value {
	for _, a := range fit {
		if a.LookupPath(cue.MakePath(cue.AnyIndex)).Exists() {
			return a
		}
	}
	return fit[0]
}

func (d *diagnosis) members(def cue.Value, n *source.Node, path string) {
	if def.IncompleteKind() == cue.TopKind {
		return // it takes anything
	}
	common := def.LookupPath(cue.MakePath(cue.AnyIndex))
	for i, it := range n.Items {
		m := def.LookupPath(cue.MakePath(cue.Index(i)))
		if !m.Exists() {
			m = common
		}
		at := source.Join(path, strconv.Itoa(i))
		switch {
		case !m.Exists():
			d.add(it, at, fmt.Sprintf("at most %d here", i), "")
			return
		case it.Kind == source.Null && m.IncompleteKind()&cue.NullKind == 0: // a field may be left out so, a member not
			d.wrongKind(m, it, at)
		default:
			d.walk(m, it, at)
		}
	}
	least := 0
	for def.LookupPath(cue.MakePath(cue.Index(least))).Exists() && least < 8 {
		least++
	}
	if least > len(n.Items) {
		d.add(n, path, fmt.Sprintf("needs at least %d element(s), got %d", least, len(n.Items)), "")
	}
}

func (d *diagnosis) leaf(fit []cue.Value, def cue.Value, n *source.Node, path string) {
	v := d.schema.ctx.BuildExpr(n.Expr())
	var reasons []string
	for _, a := range fit {
		err := a.Unify(v).Validate(cue.Concrete(true))
		if err == nil {
			return
		}
		if a.IsConcrete() && (len(fit) > 1 || a.Kind() == cue.BoolKind) {
			continue // a literal ("inf", a default) is no reason of its own
		}
		reasons = append(reasons, plainMessage(errors.Errors(err)[0], d.show(n, path)))
	}
	if words := enum(def); len(words) > 0 && n.CueKind() == cue.StringKind && !hasPattern(fit) {
		d.notOneOf(n, path, words)
		return
	}
	if len(reasons) == 0 && len(fit) > 1 && n.CueKind() != cue.BoolKind {
		d.add(n, path, d.show(n, path)+" is not one of "+literals(fit), "")
		return
	}
	if len(reasons) == 0 {
		d.wrongKind(def, n, path)
		return
	}
	if d.index.At(path).Has(fields.IsDuration) && n.CueKind() == cue.StringKind {
		reasons = []string{d.show(n, path) + " is not a duration such as 90, 30s, 500ms, 2m, 1h or inf"}
	}
	if d.index.At(path).Has(fields.IsSecret) {
		reasons = []string{"is not valid here"}
	}
	hint := ""
	if d.index.At(path).Has(fields.IsDuration) && n.CueKind() != cue.StringKind {
		hint = "seconds, or a duration such as 90s; inf has no end"
	}
	slices.Sort(reasons)
	d.add(n, path, strings.Join(slices.Compact(reasons), " or "), hint)
}

func hasPattern(vs []cue.Value) bool {
	return slices.ContainsFunc(vs, func(v cue.Value) bool { return !v.IsConcrete() })
}

// rules adds the mistakes that come from #rules blocks: their path ends in
// "#rules.<field to blame>".
func (d *diagnosis) rules(n *source.Node, err error) {
	for _, e := range errors.Errors(err) {
		rel, ok := d.ruleField(e.Path())
		if !ok {
			continue
		}
		format, args := e.Msg()
		msg := fmt.Sprintf(format, args...)
		_, name := source.Cut(rel)
		rule := cmp.Or(fields.RuleOf(name, msg), &fields.Rule{})
		at := n.At(rel)
		for parent := rel; at == nil; { // a missing field: blame its object, or who chose what needs it
			parent, _ = source.Cut(parent)
			if at = n.At(parent); rule.By != "" && at.Get(rule.By) != nil {
				at = at.Get(rule.By)
			}
		}
		if path := source.Join(d.base, rel); !d.follows(path, rule) {
			e := d.add(at, path, msg, rule.Hint)
			e.Ruled, e.Missing = true, n.At(rel) == nil
		}
	}
}

// ruleField is the field an error of a rule blames, relative to the part.
func (d *diagnosis) ruleField(path []string) (string, bool) {
	if !slices.Contains(path, "#rules") {
		return "", false
	}
	path = slices.DeleteFunc(slices.Clone(path), func(p string) bool { return strings.HasPrefix(p, "#") })
	if d.def == "" {
		return strings.Join(path, "."), true
	}
	// CUE writes the part's own path in front, all of it or from the nearest
	// definition on, with _ or a number for a member of a list.
	for own := strings.Split(d.def, "."); len(own) > 0; own = own[1:] {
		if len(path) > len(own) && slices.EqualFunc(own, path[:len(own)], sameStep) {
			path = path[len(own):]
			break
		}
	}
	return strings.Join(path, "."), true
}

// sameStep compares a step of a definition's path with one of CUE's.
func sameStep(own, step string) bool {
	return own == step || own == "*" && (step == "_" || source.IsIndex(step))
}

// follows reports whether a rule is about a part or a sibling of path that is
// itself wrong: "x == _|_" in a rule is also true when x is mistyped.
func (d *diagnosis) follows(path string, rule *fields.Rule) bool {
	parent, _ := source.Cut(path)
	for _, f := range d.found {
		p, last := source.Cut(f.path)
		if strings.HasPrefix(f.path, path+".") || p == parent && rule.LooksAt(last) {
			return true
		}
	}
	return false
}

var (
	outOfBound = regexp.MustCompile(`^invalid value (.*) \(out of bound (.*)\)$`)
	// of whole numbers, said of 1 between 0 and 1
	emptyRange = regexp.MustCompile(`^incompatible .*bounds >(\S+) and <(\S+)$`)
)

// plainMessage puts a CUE message about value into the user's words.
func plainMessage(e errors.Error, got string) string {
	format, args := e.Msg()
	s := fmt.Sprintf(format, args...)
	if m := emptyRange.FindStringSubmatch(s); m != nil {
		return "must be above " + m[1] + " and below " + m[2] + ", got " + got
	}
	m := outOfBound.FindStringSubmatch(s)
	if m == nil {
		return source.Clip(strings.Join(strings.Fields(s), " "))
	}
	value, bound := source.Short(m[1]), m[2]
	switch {
	case strings.HasPrefix(bound, "=~"):
		return value + " does not match " + strings.TrimPrefix(bound, "=~")
	case value == `""` || bound == `!=""`:
		return "must not be empty"
	}
	for _, w := range [][2]string{
		{">=", "at least "},
		{"<=", "at most "},
		{">", "above "},
		{"<", "below "},
		{"!=", "other than "},
	} {
		if rest, ok := strings.CutPrefix(bound, w[0]); ok {
			return "must be " + w[1] + strings.TrimSpace(rest) + ", got " + value
		}
	}
	return "must be " + bound + ", got " + value
}

// literals are values of a choice, each once.
func literals(vs []cue.Value) string {
	var out []string
	for _, v := range vs {
		if text := fmt.Sprint(v); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// kinds says what a definition takes.
func kinds(v cue.Value) string {
	var out []string
	for _, a := range arms(v) {
		w := kindWords(a.IncompleteKind())
		if b, err := a.Bool(); err == nil && a.Unify(cuecontext.New().Encode(!b)).Err() != nil {
			w = strconv.FormatBool(b)
		}
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if slices.Contains(out, "a number") {
		out = slices.DeleteFunc(out, func(w string) bool { return w == "a whole number" })
	}
	return strings.Join(out, " or ")
}

func kindWords(k cue.Kind) string {
	switch k {
	case cue.StringKind:
		return "text"
	case cue.StructKind:
		return "an object"
	case cue.ListKind:
		return "a list"
	case cue.BoolKind:
		return "true or false"
	case cue.IntKind:
		return "a whole number"
	case cue.NumberKind, cue.FloatKind:
		return "a number"
	}
	return k.String()
}
