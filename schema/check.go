package schema

import (
	"cuelang.org/go/cue"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// checker validates trees part by part: each member of the body, each data
// set, each phase. A part that was seen before, in whatever cell, is not
// checked again, so a grid costs the sum of its axes and not their product.
// It is not for concurrent use.
type checker struct {
	index fields.Table
	cue   *compiled
	uses  int
	good  map[string]*part // by definition and content
}

// part is a checked section: its JSON with every default, as a reader may see
// it and as the program needs it.
type part struct {
	json   []byte // secrets masked, keys in schema order
	secret []byte // nothing masked
	value  any    // decoded; written once by who asks for it first
}

// A CUE context keeps what it evaluated, so the checker starts a new one now
// and then.
const maxPerContext = 2000

func newChecker(x fields.Table) *checker { return &checker{index: x, good: map[string]*part{}} }

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
	key := def + "\x00" + n.String()
	if p := c.good[key]; p != nil {
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
		return nil, source.Mistake(n.Origin, root.Shown(path), err.Error(), "")
	}
	p := &part{secret: raw}
	if p.json, err = c.index.Encode(raw, def); err != nil {
		return nil, source.Mistake(n.Origin, root.Shown(path), err.Error(), "")
	}
	c.good[key] = p
	return p, nil
}

// always tells whether a field of the definition is there without being
// asked for: it is declared without ? and so its defaults show.
func (c *checker) always(path string) bool {
	parent, last := source.Cut(path)
	v := arm(c.schema().part(parent), cue.StructKind)
	return v.LookupPath(cue.MakePath(cue.Str(last))).Exists()
}

// idleValues checks the values of flags that nothing takes up, such as a warmup
// rate without a warmup: a value that cannot be is a mistake, whether or not it
// would have had an effect.
func (d *draft) idleValues(root *source.Node) (bad Errors) {
	for _, a := range d.src.Assignments {
		if a.Origin.Source != "flag" || root.At(a.Path) != nil || d.axis(a.Path) != nil {
			continue
		}
		values, ok := a.Value.([]any)
		if !ok || !a.Axis {
			values = []any{a.Value}
		}
		for _, v := range values {
			bad = append(bad, d.checker.leaf(root, a.Path, source.FromPlain(v, a.Origin))...)
		}
	}
	return bad
}

// leaf checks one value apart from the object it belongs to.
func (c *checker) leaf(root *source.Node, path string, n *source.Node) Errors {
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
