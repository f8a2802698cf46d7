package fields

import "aiperf.dev/aiperf/schema/source"

// Said is what somebody said of n, which l is the row of, or below it; nil where it
// is all as it would be anyway: defaults, those that a file repeats, and amounts of
// nothing.
func (x Table) Said(l *Leaf, n *source.Node) *source.Node {
	switch {
	case n == nil || n.Kind == source.Null:
		return nil
	case n.Kind != source.Object:
		if n.Origin.Source == source.ByDefault || RepeatsDefault(l, n) || n.Kind == source.List && len(n.Items) == 0 {
			return nil
		}
		return n
	}
	for _, f := range n.Fields {
		said := x.Said(x.member(l, f.Name), f.Value)
		if said == nil || l.Has(IsShape) && said.Kind == source.Scalar && source.NumberOf(said.Value) == 0 {
			continue
		}
		if n.Origin.Source == said.Origin.Source {
			return n
		}
		return said // something else made the object for it
	}
	return nil
}

func (x Table) member(l *Leaf, name string) *Leaf {
	if l == nil {
		return nil
	}
	return x[source.Join(l.Path, name)]
}
