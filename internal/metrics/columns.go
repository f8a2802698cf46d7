package metrics

import (
	"cmp"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// rows is what the collector keeps about every request besides its values.
type rows struct {
	intended, sent, last, end []int64
	flags                     []flag
}

type flag uint8

const (
	failed flag = 1 << iota
	streamed
	sloSet
	good
	overflow
)

func (w *rows) add(r *record.Record, j judge) {
	var f flag
	if r.Failed() {
		f |= failed
	}
	if r.Streamed {
		f |= streamed
	}
	set, missed := r.SLOSet, r.SLOFailed
	if len(j) > 0 {
		set, missed = true, j.missed(r)
	}
	if set {
		f |= sloSet
	}
	if set && missed == "" && !r.Failed() {
		f |= good
	}
	if overflowed(r) {
		f |= overflow
	}
	w.intended, w.sent = append(w.intended, r.Intended), append(w.sent, r.Sent)
	w.last, w.end = append(w.last, r.LastToken), append(w.end, r.End)
	w.flags = append(w.flags, f)
}

// count fills the counters of t, and benchmark_duration:
// (max last content − min sent of the successes) / 1e9.
func (w *rows) count(t *Totals, inside func(int) bool) {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i, f := range w.flags {
		if inside != nil && !inside(i) {
			continue
		}
		t.SLOSet = t.SLOSet || f&sloSet != 0
		if f&failed != 0 {
			t.Errors++
			if f&overflow != 0 {
				t.Overflows++
			}
			continue
		}
		t.OK++
		if f&streamed != 0 {
			t.Streamed++
		}
		if f&good != 0 {
			t.Good++
		}
		if w.sent[i] != record.None && w.last[i] != record.None {
			first, last = min(first, w.sent[i]), max(last, w.last[i])
		}
	}
	if last > first {
		t.Duration = float64(last-first) / 1e9
	}
}

// byIntended lists the rows inside in the order they were meant to be sent.
func (w *rows) byIntended(inside func(int) bool) []int {
	order := make([]int, 0, len(w.end))
	for i := range w.end {
		if inside == nil || inside(i) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.intended[a], w.intended[b]) })
	return order
}

// column is the values of one metric by row; rows without a value hold NaN or
// lie beyond its end.
type column struct{ values []float64 }

func (c *column) set(row int, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	for len(c.values) < row {
		c.values = append(c.values, math.NaN())
	}
	c.values = append(c.values, v)
}

// take appends the values of the rows, in their order.
func (c *column) take(into []float64, rows []int) []float64 {
	for _, row := range rows {
		if row < len(c.values) && !math.IsNaN(c.values[row]) {
			into = append(into, c.values[row])
		}
	}
	return into
}

// sum adds the column up under a name, if it has a value.
func (c *column) sum(sums map[string]float64, name string, inside func(int) bool) {
	total, n := 0.0, 0
	for row, v := range c.values {
		if !math.IsNaN(v) && (inside == nil || inside(row)) {
			total += v
			n++
		}
	}
	if n > 0 {
		sums[name] = total
	}
}

// ragged is a list of values per row. Gaps of chunks are many, so they are
// kept in 32 bits: 24 bits of mantissa are 3 ns at 50 ms.
type ragged struct {
	values []float32
	ends   []int // ends[row]: where the row's values stop
}

func (g *ragged) add(row int, values []float64) {
	for len(g.ends) < row {
		g.ends = append(g.ends, len(g.values))
	}
	for _, v := range values {
		g.values = append(g.values, float32(v))
	}
	g.ends = append(g.ends, len(g.values))
}

func (g *ragged) take(into []float64, rows []int) []float64 {
	for _, row := range rows {
		for _, v := range g.row(row) {
			into = append(into, float64(v))
		}
	}
	return into
}

// row is the values of one row; it must not be changed.
func (g *ragged) row(row int) []float32 {
	if row >= len(g.ends) {
		return nil
	}
	from := 0
	if row > 0 {
		from = g.ends[row-1]
	}
	return g.values[from:g.ends[row]]
}
