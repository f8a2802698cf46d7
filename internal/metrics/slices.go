package metrics

import "aiperf.dev/aiperf/internal/record"

// Slicer sums a run up slice of time by slice of time. A request counts in the
// slice in which it was sent; levels over time count what is in flight.
type Slicer struct {
	opt      Options
	from, to int64
	length   int64
	slices   []*Collector
}

// Slice is one of them. A slice that the end of the run cuts short is not whole.
type Slice struct {
	Window  Window
	Whole   bool
	Summary Summary
}

// SliceCount is how many slices of a length a stretch has.
func SliceCount(w Window, length int64) int64 {
	if length <= 0 || !w.given() {
		return 0
	}
	return (w.End - w.Start + length - 1) / length
}

// NewSlicer cuts w: first request sent .. last one complete.
func NewSlicer(opt Options, w Window, length int64) *Slicer {
	s := &Slicer{opt: opt, from: w.Start, to: w.End, length: length, slices: make([]*Collector, SliceCount(w, length))}
	s.opt.Window, s.opt.Steady = Window{}, Window{}
	return s
}

// Add takes one record; those that Collector.Add leaves out are left out here.
func (s *Slicer) Add(r *record.Record) {
	if r.Warmup || r.Sent == record.None || r.Sent < s.from || r.Sent >= s.to {
		return
	}
	home := int((r.Sent - s.from) / s.length)
	s.slice(home).Add(r)
	if r.End == record.None {
		return
	}
	for i := home + 1; i < len(s.slices) && s.window(i).Start < r.End; i++ {
		s.slice(i).pass(r)
	}
}

// pass counts r where only what is in flight matters.
func (c *Collector) pass(r *record.Record) {
	row := -1
	if r.InWindow {
		row = c.passing
		c.passing++
		c.spare = chunkGaps(r, c.spare[:0])
		c.flown.add(row, c.spare)
		row = -2 - row
	}
	c.lives.add(r, row)
}

func (s *Slicer) slice(i int) *Collector {
	if s.slices[i] == nil {
		s.slices[i] = NewCollector(s.opt)
	}
	return s.slices[i]
}

func (s *Slicer) window(i int) Window {
	from := s.from + int64(i)*s.length
	return Window{from, min(from+s.length, s.to)}
}

// Slices are all slices in which something was sent, in order.
func (s *Slicer) Slices() []Slice {
	var out []Slice
	for i, c := range s.slices {
		if c == nil || len(c.rows.flags) == 0 {
			continue
		}
		w := s.window(i)
		out = append(out, Slice{
			Window: w, Whole: w.End-w.Start == s.length,
			Summary: c.sumUp([]view{{"slice", w, nil}})[0],
		})
	}
	return out
}
