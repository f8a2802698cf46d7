package metrics

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// span is a part of a request's life.
type span uint8

const (
	noSpan       span = iota
	wholeRequest      // [sent, end)
	prefillPart       // [sent, first content)
	decodePart        // [first content, end)
)

// lives holds the three moments of every request that was sent, for the
// time-weighted metrics. firstOf is None for a request that did not stream.
type lives struct{ sent, first, end []int64 }

func (l *lives) add(r *record.Record) {
	if r.Warmup || r.Sent == record.None || r.End == record.None || r.End < r.Sent {
		return
	}
	first := int64(record.None)
	if r.Streamed && r.FirstToken != record.None {
		first = min(max(r.FirstToken, r.Sent), r.End)
	}
	l.sent, l.first, l.end = append(l.sent, r.Sent), append(l.first, first), append(l.end, r.End)
}

// bounds are the sorted starts and ends of one part, clipped to the window.
func (l *lives) bounds(part span, w Window) (starts, ends []int64) {
	for i := range l.sent {
		from, to := l.sent[i], l.end[i]
		if part != wholeRequest && l.first[i] == record.None {
			continue
		}
		switch part {
		case prefillPart:
			to = l.first[i]
		case decodePart:
			from = l.first[i]
		}
		from, to = max(from, w.Start), min(to, w.End)
		if from < to {
			starts, ends = append(starts, from), append(ends, to)
		}
	}
	slices.Sort(starts)
	slices.Sort(ends)
	return starts, ends
}

// held returns how many ns each number of requests was in flight: held[k] is
// the time during which exactly k were. At equal times ends come first.
func held(starts, ends []int64, w Window) []int64 {
	h := []int64{0}
	at, level, e := w.Start, 0, 0
	step := func(to int64, change int) {
		h[level] += to - at
		at, level = to, level+change
		if level == len(h) {
			h = append(h, 0)
		}
	}
	for _, s := range starts {
		for ends[e] <= s {
			step(ends[e], -1)
			e++
		}
		step(s, 1)
	}
	for ; e < len(ends); e++ {
		step(ends[e], -1)
	}
	h[0] += w.End - at
	return h
}

// weighted is the statistics of a level that was held for h[level] ns:
// avg = Σ level·h / Σ h; percentile q = smallest level whose cumulative share
// of the time is at least q.
func weighted(m *Metric, h []int64) Stat {
	s := empty(m)
	all := 0.0
	for _, ns := range h {
		all += float64(ns)
	}
	if all == 0 {
		return s
	}
	var sum, squares float64
	s.Min, s.Max = math.NaN(), math.NaN()
	for level, ns := range h {
		if ns == 0 {
			continue
		}
		x := float64(level)
		sum += x * float64(ns)
		squares += x * x * float64(ns)
		if math.IsNaN(s.Min) {
			s.Min = x
		}
		s.Max = x
	}
	s.Avg = sum / all
	s.Std = math.Sqrt(max(0, squares/all-s.Avg*s.Avg))
	s.P50, s.P90, s.P95, s.P99 = level(h, all, 0.5), level(h, all, 0.9), level(h, all, 0.95), level(h, all, 0.99)
	return s
}

func level(h []int64, all, q float64) float64 {
	cum := 0.0
	for k, ns := range h {
		cum += float64(ns)
		if ns > 0 && cum/all >= q {
			return float64(k)
		}
	}
	return float64(len(h) - 1)
}
