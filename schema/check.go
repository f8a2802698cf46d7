package schema

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// checker validates trees part by part: each member of the body, each data
// set, each phase. A part that was seen before, in whatever cell, is not
// checked again, nor is one that differs in free numbers only (see family), so
// a grid costs the sum of its axes and not their product.
// It is not for concurrent use.
type checker struct {
	index    fields.Table
	hide     *secret.Masker // the environment's words
	cue      *compiled
	uses     int
	families map[string]*family // by definition and content but for whole numbers
	taken    map[string]bool    // whether a definition takes a whole number
}

// part is a checked section: its JSON with every default, as a reader may see
// it and as the program needs it.
type part struct {
	json     []byte // secrets masked, keys in schema order
	identity []byte // the same with what is not known to be a credential
	secret   []byte // nothing masked
	value    any    // decoded; written once by who asks for it first
}

// A CUE context keeps what it evaluated, so the checker starts a new one now
// and then.
const maxPerContext = 2000

func newChecker(x fields.Table, hide *secret.Masker) *checker {
	return &checker{index: x, hide: hide, families: map[string]*family{}, taken: map[string]bool{}}
}

// schema is the compiled schema, in a fresh context when the old one is full.
func (c *checker) schema() *compiled {
	if c.cue == nil || c.uses >= maxPerContext {
		s, err := compile()
		if err != nil {
			panic("the embedded schema does not compile: " + err.Error()) // a test compiles it
		}
		c.cue, c.uses = s, 0
	}
	return c.cue
}

// check validates the part n of root at path. Mistakes are reported with the
// places of n; only good parts are kept, so that each cell says its own.
func (c *checker) check(root *source.Node, path string, n *source.Node) (*part, Errors) {
	def, _ := c.index.Resolve(path)
	f, numbers := c.family(def, n)
	key := keyOf(numbers, nil)
	if p := f.good[key]; p != nil {
		return p, nil
	}
	full := c.like(f, def, numbers)
	if full == nil {
		var bad Errors
		if full, bad = c.judge(root, path, def, n); bad != nil {
			return nil, bad
		}
		f.keep(full, numbers)
	}
	p := &part{
		json:     c.index.Encode(full, n, def, fields.Shown(c.hide)),
		identity: c.index.Encode(full, n, def, fields.Credential),
		secret:   c.index.Encode(full, n, def, fields.Open),
	}
	f.good[key] = p
	return p, nil
}

// judge lets CUE judge the part: it is n with every default, or its mistakes.
func (c *checker) judge(root *source.Node, path, def string, n *source.Node) (any, Errors) {
	s := c.schema()
	c.uses++
	d := s.part(def)
	v := d.Unify(s.ctx.BuildExpr(n.Expr()))
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		g := diagnosis{schema: s, index: c.index, root: root, def: def, base: path}
		return nil, g.explain(d, n, err)
	}
	raw, err := v.MarshalJSON()
	if err != nil {
		return nil, source.Mistake(n.Origin, root.Written(path), err.Error(), "")
	}
	return fields.Decode(raw), c.unsendable(path, n)
}

// Part is check for those who only want the mistakes.
func (c *checker) Part(root *source.Node, path string, n *source.Node) Errors {
	_, bad := c.check(root, path, n)
	return bad
}

// unsendable are numbers, among what requests carry, that JSON does not have.
func (c *checker) unsendable(path string, n *source.Node) (bad Errors) {
	if c.index.At(path).Sent() {
		n.Leaves(path, func(at string, leaf *source.Node) {
			if f, ok := leaf.Value.(float64); ok && math.IsInf(f, 0) {
				bad = append(bad, source.Mistake(leaf.Origin, at, "JSON has no infinite numbers, so it cannot be sent",
					"in quotes it is a text")...)
			}
		})
		return bad
	}
	for _, f := range n.Fields {
		bad = append(bad, c.unsendable(source.Join(path, f.Name), f.Value)...)
	}
	for i, it := range n.Items {
		bad = append(bad, c.unsendable(source.Join(path, strconv.Itoa(i)), it)...)
	}
	return bad
}

// family is the parts of one definition that differ in whole numbers only. Once
// one is good, so is another in which only free numbers differ and whose free
// numbers are within their own bounds; all else of it is that of the first. A number is
// free when
//
//   - no rule compares it with a member that is there (fields.Compared). What else
//     a rule asks of it, that it is there and a number, is so in both;
//   - it chooses no arm of a disjunction on the way to it: no two arms are both
//     objects, or both lists.
//
// TestFamilyJudgesAsCUE draws parts at random and holds this against CUE.
type family struct {
	good  map[string]*part // by all of their numbers
	first any              // the first of them with every default
	start []number         // its numbers
	free  []bool           // which numbers are free; nil until there is a second part
	full  map[string]any   // those with every default, by the numbers that are not free
}

// number is a whole number, at a path below its part.
type number struct {
	path  string
	value int64
	node  *source.Node
}

// family is the one that n belongs to, with the numbers of n.
func (c *checker) family(def string, n *source.Node) (*family, []number) {
	var numbers []number
	text := appendWords([]byte(def), n, "", &numbers)
	f := c.families[string(text)]
	if f == nil {
		f = &family{good: map[string]*part{}}
		c.families[string(text)] = f
	}
	return f, numbers
}

// appendWords appends n as text but for its whole numbers, which it collects.
func appendWords(to []byte, n *source.Node, path string, numbers *[]number) []byte {
	switch n.Kind {
	case source.Object:
		to = append(to, '{')
		for _, f := range n.Fields {
			to = append(strconv.AppendQuote(to, f.Name), ':')
			to = append(appendWords(to, f.Value, source.Join(path, f.Name), numbers), ',')
		}
		return append(to, '}')
	case source.List:
		to = append(to, '[')
		for i, it := range n.Items {
			to = append(appendWords(to, it, source.Join(path, strconv.Itoa(i)), numbers), ',')
		}
		return append(to, ']')
	}
	if v, whole := n.Value.(int64); whole && n.Kind == source.Scalar {
		*numbers = append(*numbers, number{path, v, n})
		return append(to, "int"...)
	}
	return append(to, n.String()...)
}

// keyOf is numbers as text, without those that are free.
func keyOf(numbers []number, free []bool) string {
	var b []byte
	for i, x := range numbers {
		if free == nil || !free[i] {
			b = append(strconv.AppendInt(b, x.value, 10), ' ')
		}
	}
	return string(b)
}

// like is a good part with every default that shows that the one with numbers is good
// too, and has all else of it; nil where CUE must say.
func (c *checker) like(f *family, def string, numbers []number) any {
	if f.first == nil {
		return nil
	}
	if f.free == nil {
		f.free = c.freeNumbers(def, f)
		f.full = map[string]any{keyOf(f.start, f.free): f.first}
	}
	full := f.full[keyOf(numbers, f.free)]
	for i, x := range numbers {
		if full != nil && f.free[i] && !c.takes(source.Join(def, x.path), x) {
			return nil
		}
	}
	return full
}

// keep notes that what full is of is good.
func (f *family) keep(full any, numbers []number) {
	switch {
	case f.first == nil:
		f.first, f.start = full, numbers
	case f.free != nil:
		f.full[keyOf(numbers, f.free)] = full
	}
}

// freeNumbers tells which numbers of the family are free.
func (c *checker) freeNumbers(def string, f *family) []bool {
	at, names := map[string]json.Number{}, map[string]bool{}
	numbersIn(f.first, "", at, names)
	has := func(name string) bool { return names[name] }
	free := make([]bool, len(f.start))
	for i, x := range f.start {
		free[i] = at[x.path].String() == strconv.FormatInt(x.value, 10) && c.alone(def, x.path)
		for name := range strings.SplitSeq(x.path, ".") {
			free[i] = free[i] && !fields.Compared(name, has)
		}
	}
	return free
}

// numbersIn collects the numbers of v, plain data at path, and the names of all members
// of its objects.
func numbersIn(v any, path string, at map[string]json.Number, names map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			names[name] = true
			numbersIn(m, source.Join(path, name), at, names)
		}
	case []any:
		for i, it := range v {
			numbersIn(it, source.Join(path, strconv.Itoa(i)), at, names)
		}
	case json.Number:
		at[path] = v
	}
}

// alone reports whether there is one way through the schema from def to the number at
// path.
func (c *checker) alone(def, path string) bool {
	s := c.schema()
	for name := range strings.SplitSeq(path, ".") {
		kind, ways := cue.StructKind, 0
		if source.IsIndex(name) {
			kind = cue.ListKind
		}
		for _, a := range arms(s.part(def)) {
			if a.IncompleteKind()&kind != 0 {
				ways++
			}
		}
		var l *fields.Leaf
		if def, l = c.index.Resolve(source.Join(def, name)); ways != 1 || l == nil || l.Has(fields.IsFree) {
			return false
		}
	}
	return s.part(def).Exists()
}

// takes reports whether the number's own definition takes it.
func (c *checker) takes(path string, x number) bool {
	def, _ := c.index.Resolve(path)
	key := def + " " + strconv.FormatInt(x.value, 10)
	ok, known := c.taken[key]
	if !known {
		s := c.schema()
		c.uses++
		ok = s.part(def).Unify(s.ctx.BuildExpr(x.node.Expr())).Validate(cue.Concrete(true), cue.Final()) == nil
		c.taken[key] = ok
	}
	return ok
}

// always reports whether a field of the definition is there without being
// asked for: it is declared without ? and so its defaults show.
func (c *checker) always(path string) bool {
	parent, last := source.Cut(path)
	v := arm(c.schema().part(parent), cue.StructKind)
	return v.LookupPath(cue.MakePath(cue.Str(last))).Exists()
}

// Leaf checks one value apart from the object it belongs to.
func (c *checker) Leaf(root *source.Node, path string, n *source.Node) Errors {
	def, l := c.index.Resolve(path)
	if l == nil || n.Kind == source.Null {
		return nil
	}
	s := c.schema()
	c.uses++
	v := s.part(def)
	if !v.Exists() {
		return nil // a free key: anything goes
	}
	n = c.index.Normalize(n, l, def)
	if v.Unify(s.ctx.BuildExpr(n.Expr())).Validate(cue.Concrete(false)) == nil {
		return nil
	}
	g := diagnosis{schema: s, index: c.index, root: root, def: def, base: path}
	g.walk(v, n, path)
	out := make(Errors, len(g.found))
	for i, f := range g.found {
		out[i] = f.err
	}
	return out
}
