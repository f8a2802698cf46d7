package metrics

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// Value is one metric of one request.
type Value struct {
	Tag, Unit string
	Value     float64
	List      []float64 // instead of Value, for a metric with several per request
	Int       bool      // Value is a whole number
}

// PerRecord is every metric the request has, in catalogue order. A failed
// request has only what is said about failures.
func PerRecord(r *record.Record) []Value {
	var out []Value
	for i := range catalogue {
		m := &catalogue[i]
		if r.Failed() != (m.Needs&FailedOnly != 0) {
			continue
		}
		v := Value{Tag: m.Tag, Unit: m.Unit, Int: m.Int}
		switch {
		case m.Record != nil:
			v.Value = m.Record(r)
			if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
				continue
			}
		case m.List != nil:
			if v.List = m.List(r, nil); len(v.List) == 0 {
				continue
			}
		default:
			continue
		}
		out = append(out, v)
	}
	return out
}
