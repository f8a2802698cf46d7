package metrics

import "math"

// Put sets a statistic by the name that Value knows; unknown names are ignored.
// It is how a Stat is built again from a table or from somebody else's file.
func (s *Stat) Put(name string, v float64) {
	fields := map[string]*float64{
		"avg": &s.Avg, "min": &s.Min, "max": &s.Max, "sum": &s.Sum, "std": &s.Std, "n_effective": &s.NEff,
		"p1": &s.P1, "p5": &s.P5, "p10": &s.P10, "p25": &s.P25, "p50": &s.P50, "p75": &s.P75, "p90": &s.P90,
		"p95": &s.P95, "p99": &s.P99, "p999": &s.P999,
	}
	if f := fields[name]; f != nil {
		*f = v
	} else if name == "count" && v > 0 {
		s.Count = int64(v)
	}
}

// Blank is a Stat of a metric in which nothing is set yet. A metric that the
// catalogue does not have gets its tag for a header.
func Blank(tag, unit string) Stat {
	m, ok := Lookup(tag)
	if !ok {
		m = &Metric{Tag: tag, Header: tag, Unit: unit}
	}
	s := empty(m)
	s.Unit = unit
	return s
}

// Finite reports whether a statistic is a number that a file may hold.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// OrNil is a number for a file, nil for what is none: absent means absent.
func OrNil(v float64) *float64 {
	if !Finite(v) {
		return nil
	}
	return &v
}
