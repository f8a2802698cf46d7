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

// OfRequests reports whether one request can have a value, or several.
func (m *Metric) OfRequests() bool { return m.Record != nil || m.List != nil }

// Values appends what r has of the metric: nothing, one value, or the list of a
// metric with several per request.
func (m *Metric) Values(r *record.Record, into []float64) []float64 {
	switch {
	case r.Succeeded() != (m.Needs&FailedOnly == 0):
	case m.Record != nil:
		if v := m.Record(r); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return append(into, v)
		}
	case m.List != nil:
		return m.List(r, into)
	}
	return into
}

// PerRecord is every metric the request has, in catalogue order. A failed
// request has only what is said about failures.
func PerRecord(r *record.Record) []Value {
	var out []Value
	for i := range catalogue {
		m := &catalogue[i]
		values := m.Values(r, nil)
		if len(values) == 0 {
			continue
		}
		v := Value{Tag: m.Tag, Unit: m.Unit, Int: m.Int}
		if m.List != nil {
			v.List = values
		} else {
			v.Value = values[0]
		}
		out = append(out, v)
	}
	return out
}
