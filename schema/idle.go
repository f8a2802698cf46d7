package schema

import (
	"cuelang.org/go/cue"

	"aiperf.dev/aiperf/schema/source"
)

// idleValues checks the values of flags that nothing takes up, such as a warmup
// rate without a warmup: a value that cannot be is a mistake, whether or not it
// would have had an effect.
func (d *Document) idleValues(root *source.Node) (bad Errors) {
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
