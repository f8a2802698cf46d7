package schema

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
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
	if p := c.like(f, def, numbers); p != nil {
		f.good[key] = p
		return p, nil
	}
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
	if bad := c.unsendable(path, n); bad != nil {
		return nil, bad
	}
	p := &part{}
	p.json, err = c.index.Encode(raw, n, def, c.hide)
	if err == nil {
		p.identity, err = c.index.EncodeIdentity(raw, n, def)
	}
	if err == nil {
		p.secret, err = c.index.EncodeSecrets(raw, n, def)
	}
	if err != nil {
		return nil, source.Mistake(n.Origin, root.Written(path), err.Error(), "")
	}
	f.keep(p, numbers)
	return p, nil
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
				bad = append(bad, source.Mistake(leaf.Origin, at, "JSON has no infinite number, so that it cannot be sent", "in quotes it is a text")...)
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
// numbers are within their own bounds; its JSON is that of the first with the other
// numbers in their places. A number is free when
//
//   - no rule compares it with a member that is there (fields.Compared). What else
//     a rule asks of it, that it is there and a number, is so in both;
//   - it chooses no arm of a disjunction on the way to it: no two arms are both
//     objects, or both lists.
type family struct {
	good   map[string]*part  // by all of their numbers
	first  *part             // the first of them
	start  []number          // its numbers
	free   []bool            // which numbers are free; nil until there is a second part
	models map[string]*model // by the numbers that are not free
}

// number is a whole number, at a path below its part.
type number struct {
	path  string
	value int64
	node  *source.Node
}

// model is the JSON of a good part, as in part, in pieces around its free numbers.
type model struct{ json, identity, secret []piece }

// piece is text, with the number that follows it; −1 for none.
type piece struct {
	text   string
	number int
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

// like is the part with numbers where a good one shows that it is good too; nil
// where CUE must say.
func (c *checker) like(f *family, def string, numbers []number) *part {
	if f.first == nil {
		return nil
	}
	if f.free == nil {
		f.free = c.freeNumbers(def, f)
		f.models = map[string]*model{keyOf(f.start, f.free): f.modelOf(f.first, f.start)}
	}
	m := f.models[keyOf(numbers, f.free)]
	if m == nil {
		return nil
	}
	for i, x := range numbers {
		if f.free[i] && !c.takes(source.Join(def, x.path), x) {
			return nil
		}
	}
	return &part{json: joined(m.json, numbers), identity: joined(m.identity, numbers), secret: joined(m.secret, numbers)}
}

// keep notes that p is good.
func (f *family) keep(p *part, numbers []number) {
	f.good[keyOf(numbers, nil)] = p
	switch {
	case f.first == nil:
		f.first, f.start = p, numbers
	case f.free != nil:
		f.models[keyOf(numbers, f.free)] = f.modelOf(p, numbers)
	}
}

// freeNumbers tells which numbers of the family are free.
func (c *checker) freeNumbers(def string, f *family) []bool {
	at, names := numbersIn(f.first.secret)
	masked, _ := numbersIn(f.first.json)
	has := func(name string) bool { return names[name] }
	free := make([]bool, len(f.start))
	for i, x := range f.start {
		free[i] = at[x.path].is(x) && masked[x.path].is(x) && c.alone(def, x.path)
		for name := range strings.SplitSeq(x.path, ".") {
			free[i] = free[i] && !fields.Compared(name, has)
		}
	}
	return free
}

// alone tells whether there is one way through the schema from def to the number at
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

// takes tells whether the number's own definition takes it.
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

// place is where a number stands in a JSON text.
type place struct {
	from, to int
	text     string
}

func (p place) is(x number) bool { return p.text == strconv.FormatInt(x.value, 10) }

// numbersIn are the numbers of a JSON text by their paths, and the names of all
// members of its objects.
func numbersIn(js []byte) (at map[string]place, names map[string]bool) {
	at, names = map[string]place{}, map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(js))
	d.UseNumber()
	var read func(path string)
	read = func(path string) {
		token, _ := d.Token() // the text was just written
		switch token := token.(type) {
		case json.Number:
			end := int(d.InputOffset())
			at[path] = place{end - len(token), end, token.String()}
		case json.Delim:
			for i := 0; d.More(); i++ {
				name := strconv.Itoa(i)
				if token == '{' {
					key, _ := d.Token()
					name = key.(string)
					names[name] = true
				}
				read(source.Join(path, name))
			}
			_, _ = d.Token() // the end of it
		}
	}
	read("")
	return at, names
}

func (f *family) modelOf(p *part, numbers []number) *model {
	return &model{json: f.pieces(p.json, numbers), identity: f.pieces(p.identity, numbers), secret: f.pieces(p.secret, numbers)}
}

// pieces are a JSON text around the free ones of its numbers.
func (f *family) pieces(js []byte, numbers []number) []piece {
	at, _ := numbersIn(js)
	var free []int
	for i := range numbers {
		if f.free[i] {
			free = append(free, i)
		}
	}
	slices.SortFunc(free, func(a, b int) int { return at[numbers[a].path].from - at[numbers[b].path].from })
	var out []piece
	from := 0
	for _, i := range free {
		p := at[numbers[i].path]
		out = append(out, piece{string(js[from:p.from]), i})
		from = p.to
	}
	return append(out, piece{string(js[from:]), -1})
}

// joined is the text of pieces with numbers in their places.
func joined(pieces []piece, numbers []number) []byte {
	var b []byte
	for _, p := range pieces {
		if b = append(b, p.text...); p.number >= 0 {
			b = strconv.AppendInt(b, numbers[p.number].value, 10)
		}
	}
	return b
}

// always tells whether a field of the definition is there without being
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
