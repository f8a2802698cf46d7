package fields

import "aiperf.dev/aiperf/schema/source"

// DropOurs takes out of a resolved body what AIPerf does not know: its readers
// refuse unknown keys. What the schema marks as ours goes, and so does what
// neither the schema nor the table of absent things has.
func (x Table) DropOurs(body map[string]any) { x.dropOurs(body, x["benchmark"], "benchmark") }

func (x Table) dropOurs(v any, l *Leaf, at string) {
	switch v := v.(type) {
	case map[string]any:
		for key, m := range v {
			name, sub := x.child(at, l, key)
			switch row, _ := AbsentAt(source.Join(at, key)); {
			case sub == nil && row != nil:
			case sub == nil || sub.Has(IsOurs):
				delete(v, key)
			default:
				x.dropOurs(m, sub, source.Join(at, name))
			}
		}
	case []any:
		if sub := x[source.Join(at, "*")]; sub != nil {
			for _, it := range v {
				x.dropOurs(it, sub, sub.Path)
			}
		}
	}
}
