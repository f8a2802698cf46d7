package metrics

import (
	"cmp"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// rows is what the collector keeps about every request besides its values.
type rows struct {
	intended, sent, last ints
	flags                []flag
}

type flag uint16

const (
	failed flag = 1 << iota
	cancelled
	streamed
	sloSet
	good     // by the clock of its load mode
	goodSent // from sending
	open     // a clock said when it was due
	overflow
	right // its answer, to a question with a known answer
	wrong
	unclear // neither
)

// succeeded reports whether it neither failed nor was cancelled.
func (f flag) succeeded() bool { return f&(failed|cancelled) == 0 }

func (w *rows) add(r *record.Record, j judge) {
	var f flag
	set := func(x flag, is bool) {
		if is {
			f |= x
		}
	}
	judged, missed, missedSent := j.of(r)
	set(failed, r.Failed())
	set(cancelled, r.Part() == record.InCancelled)
	set(streamed, r.Streamed)
	set(sloSet, judged)
	set(good, judged && missed == "" && r.Succeeded())
	set(goodSent, judged && missedSent == "" && r.Succeeded())
	set(open, r.Open)
	set(overflow, overflowed(r))
	set(right, r.Answer == record.Right)
	set(wrong, r.Answer == record.Wrong)
	set(unclear, r.Answer == record.NotJudged)
	w.intended.add(r.Intended)
	w.sent.add(r.Sent)
	w.last.add(r.LastToken)
	w.flags = append(w.flags, f)
}

// choice is which rows count; nil means all.
type choice []bool

func (in choice) has(row int) bool { return in == nil || in[row] }

// steadyRows are the rows that count in the steady window w: those that were sent
// in it. Of those that ended in it the slow ones would be missing.
func (c *Collector) steadyRows(w Window) choice {
	out := make(choice, len(c.rows.flags))
	for row := range out {
		at := c.rows.sent.at(row)
		out[row] = at >= w.Start && at <= w.End
	}
	return out
}

// span is from the first sending of a success to the last content of one.
func (w *rows) span(in choice) (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for i, f := range w.flags {
		if sent, end := w.sent.at(i), w.last.at(i); in.has(i) && f.succeeded() && sent != record.None &&
			end != record.None {
			first, last = min(first, sent), max(last, end)
		}
	}
	return first, last
}

// count adds to the counters of t.
func (w *rows) count(t *Totals, in choice) {
	for i, f := range w.flags {
		if !in.has(i) {
			continue
		}
		t.SLOSet, t.Open = t.SLOSet || f&sloSet != 0, t.Open || f&open != 0
		if f&cancelled != 0 {
			t.Cancelled++
			continue
		}
		if f&failed != 0 {
			t.Failed++
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
		if f&goodSent != 0 {
			t.GoodSent++
		}
		switch {
		case f&right != 0:
			t.Right++
		case f&wrong != 0:
			t.Wrong++
		case f&unclear != 0:
			t.NotJudged++
		}
	}
}

// byIntended lists the chosen rows in the order they were meant to be sent.
func (w *rows) byIntended(in choice) []int32 {
	order := make([]int32, 0, len(w.flags))
	for i := range w.flags {
		if in.has(i) {
			order = append(order, int32(i))
		}
	}
	intended := w.intended.all(nil)
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(intended[a], intended[b]) })
	return order
}

// without is the rows that do not have the flag, in their order.
func (w *rows) without(f flag, order []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(order), func(row int32) bool { return w.flags[row]&f != 0 })
}

// choose is the chosen rows that do not have the flag.
func (w *rows) choose(not flag, in choice) choice {
	out := make(choice, len(w.flags))
	for i, f := range w.flags {
		out[i] = in.has(i) && f&not == 0
	}
	return out
}

// gather appends the values of the rows, in their order. all is the column.
func gather(into, all []float64, rows []int32) []float64 {
	for _, row := range rows {
		if int(row) < len(all) && !math.IsNaN(all[row]) {
			into = append(into, all[row])
		}
	}
	return into
}

// sum adds the chosen values up and counts them. all is the column.
func sum(all []float64, in choice) (total float64, n int64) {
	for row, v := range all {
		if !math.IsNaN(v) && in.has(row) {
			total += v
			n++
		}
	}
	return total, n
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

// len is the number of values.
func (g *ragged) len() int { return len(g.values) }

func (g *ragged) gather(into []float64, rows []int32) []float64 {
	for _, row := range rows {
		for _, v := range g.row(int(row)) {
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
