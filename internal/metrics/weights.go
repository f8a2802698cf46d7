package metrics

import (
	"cmp"
	"math"
	"slices"
)

// weights says how long each level of a run was held.
type weights struct {
	at, end int64 // ns since T0; at is how far it has come
	of      [spans]weighted
}

// until holds the levels l to t.
func (w *weights) until(t int64, l *[spans]float64) {
	t = min(t, w.end)
	if t <= w.at {
		return
	}
	d := float64(t - w.at)
	w.at = t
	l[prefillPerSlot], l[decodePerSlot] = share(l[prefillRate], l[prefillPart]), share(l[decodeRate], l[decodePart])
	for s := wholeRequest; s < spans; s++ {
		h := &w.of[s]
		if l[s.slots()] == 0 {
			h.idle += d
			continue
		}
		v := l[s]
		if math.Abs(v) < 1e-6 { // rounding: the smallest level is one token in days
			v = 0
		}
		h.add(v, d)
	}
}

// flush counts what was held last.
func (w *weights) flush() {
	for i := range w.of {
		w.of[i].flush()
	}
}

// stat is the statistics of a level; false when no request brought it about.
func (w *weights) stat(m *Metric) (Stat, bool) {
	h := &w.of[m.Spans]
	if h.total == 0 {
		return Stat{}, false
	}
	if m.Active {
		return h.stat(m, 0), true
	}
	return h.stat(m, h.idle), true
}

// level is what a metric of levels says: their distribution, or one value made of them.
func (t *Totals) level(m *Metric) (Stat, bool) {
	if m.Derived != nil {
		return derived(m, t)
	}
	return t.over.stat(m)
}

// heldShare is the share of the window in which some request brings a level about.
func (w *weights) heldShare(s span) float64 {
	h := &w.of[s]
	return per(h.total, h.total+h.idle)
}

func share(rate, slots float64) float64 {
	if slots <= 0 {
		return 0
	}
	return rate / slots
}

// weighted is a distribution over the time in which a request brings the level
// about. Up to maxHeld stretches are kept as
// they are; beyond, percentiles are known to one part in 4096.
type weighted struct {
	held         []stretch
	bins         []float64 // ns by the value's logarithm; nil while held suffices
	zero         float64   // ns of the value 0 that came last and are not counted yet
	total        float64   // ns
	idle         float64   // ns in which no request does: the level is 0
	sum, squares float64
	lowest, most float64
}

// stretch is a time during which one value was held, in ns.
type stretch struct{ value, ns float64 }

const (
	maxHeld  = 1 << 17
	binShift = 40                             // drops all but 12 bits of the mantissa
	binBase  = (1023 - 20) << (52 - binShift) // values below 2^-20 share the first bin
	binCount = (20 + 44) << (52 - binShift)   // values from 2^44 up share the last one
)

// add takes a stretch. Most levels of most runs are 0 all the time.
func (h *weighted) add(v, ns float64) {
	if v == 0 {
		h.zero += ns
		return
	}
	h.flush()
	h.hold(v, ns)
}

// flush counts the value 0 that came last.
func (h *weighted) flush() {
	if h.zero > 0 {
		h.hold(0, h.zero)
		h.zero = 0
	}
}

func (h *weighted) hold(v, ns float64) {
	if h.total == 0 {
		h.lowest, h.most = v, v
	}
	h.total += ns
	h.sum += v * ns
	h.squares += v * v * ns
	h.lowest, h.most = min(h.lowest, v), max(h.most, v)
	switch n := len(h.held); {
	case h.bins != nil:
		h.bins[bin(v)] += ns
	case n > 0 && h.held[n-1].value == v:
		h.held[n-1].ns += ns
	case n < maxHeld:
		h.held = append(h.held, stretch{v, ns})
	default:
		h.bins = make([]float64, binCount)
		for _, s := range h.held {
			h.bins[bin(s.value)] += s.ns
		}
		h.held = nil
		h.bins[bin(v)] += ns
	}
}

func bin(v float64) int {
	return min(max(int(math.Float64bits(max(v, 0))>>binShift)-binBase, 0), binCount-1)
}

// binValue is the middle of bin i, 0 for the first.
func binValue(i int) float64 {
	if i == 0 {
		return 0
	}
	return math.Float64frombits(uint64(i+binBase)<<binShift | 1<<(binShift-1))
}

// stat is the statistics over the time and so many ns of the value 0 besides:
// avg = Σ value·ns / Σ ns; percentile q = the smallest value whose cumulative share
// of the time is at least q.
func (h *weighted) stat(m *Metric, idle float64) Stat {
	s, total := empty(m), h.total+idle
	s.Avg, s.Min, s.Max = h.sum/total, h.lowest, h.most
	if idle > 0 {
		s.Min, s.Max = min(s.Min, 0), max(s.Max, 0)
	}
	s.Std = math.Sqrt(max(0, h.squares/total-s.Avg*s.Avg))
	at := h.quantiles(idle, 0.5, 0.9, 0.95, 0.99)
	s.P50, s.P90, s.P95, s.P99 = at[0], at[1], at[2], at[3]
	return s
}

// quantiles takes its shares in ascending order.
func (h *weighted) quantiles(idle float64, shares ...float64) []float64 {
	out := make([]float64, 0, len(shares))
	cum, total := 0.0, h.total+idle
	pass := func(v, ns float64) {
		cum += ns
		for len(out) < len(shares) && ns > 0 && cum >= shares[len(out)]*total {
			out = append(out, v)
		}
	}
	slices.SortFunc(h.held, func(a, b stretch) int { return cmp.Compare(a.value, b.value) })
	pass(0, idle) // no level is below 0
	for _, s := range h.held {
		pass(s.value, s.ns)
	}
	for i, ns := range h.bins {
		pass(min(max(binValue(i), h.lowest), h.most), ns)
	}
	for len(out) < len(shares) { // rounding
		out = append(out, h.most)
	}
	return out
}
