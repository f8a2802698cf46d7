package metrics

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
)

// Window is a stretch of a run, in ns since T0. The zero Window is "not given".
type Window struct{ Start, End int64 }

func (w Window) given() bool { return w.End > w.Start }

func (w Window) seconds() float64 { return float64(w.End-w.Start) / 1e9 }

// Options says what the records of a run can tell.
type Options struct {
	Streaming   bool // answers were asked for as event streams
	Tokens      bool // the endpoint type produces tokens
	ServerCount bool // headline token counts are the server's: no usage diffs
	// Window is the phase: first phase start .. last request complete. Rates
	// divide by it. Without it: first sent .. last end.
	Window Window
	Steady Window // the stretch without ramp and drain, if there is one
	// SLOs, when set, judge the records afresh; else each record's own
	// verdict counts.
	SLOs map[string]float64
}

// has tells whether a run with these options can have the metric.
func (o Options) has(m *Metric) bool {
	return (o.Streaming || m.Needs&Streaming == 0) && (o.Tokens || m.Needs&Tokens == 0) && (!o.ServerCount || m.Needs&ClientCount == 0)
}

// Collector takes the records of one run and makes its Summaries. It keeps 8
// bytes per request and metric, and 4 per gap between chunks; no record.
type Collector struct {
	opt    Options
	judge  judge
	rows   rows
	lives  lives
	cols   []column // parallel to the catalogue, then the two counters
	counts []column // osl_mismatch, usage_discrepancy
	gaps   []ragged // parallel to the catalogue
	spare  []float64
	sorter stats.Sorter

	cancelled int64

	flown   ragged // gaps of requests that were sent in an earlier slice
	passing int
}

// NewCollector makes an empty collector.
func NewCollector(opt Options) *Collector {
	return &Collector{
		opt: opt, judge: newJudge(opt.SLOs),
		cols: make([]column, len(catalogue)), counts: make([]column, 2), gaps: make([]ragged, len(catalogue)),
	}
}

// SetWindows replaces the windows of the Options: the phases' ends are known
// only when the last record is in.
func (c *Collector) SetWindows(full, steady Window) { c.opt.Window, c.opt.Steady = full, steady }

// Add takes one record. Warmup records and those outside the window have no
// part in the statistics, but the requests in flight include the latter.
func (c *Collector) Add(r *record.Record) {
	row := -1
	if r.InWindow {
		row = len(c.rows.end)
	}
	c.lives.add(r, row)
	if !r.Warmup && r.Status == record.Cancelled {
		c.cancelled++
	}
	if r.Warmup || !r.InWindow {
		return
	}
	n := len(c.rows.end)
	c.rows.add(r, c.judge)
	for i := range catalogue {
		m := &catalogue[i]
		if r.Failed() != (m.Needs&FailedOnly != 0) || !c.opt.has(m) {
			continue
		}
		switch {
		case m.Derived != nil:
		case m.Record != nil:
			c.cols[i].set(n, m.Record(r))
		case m.List != nil:
			c.spare = m.List(r, c.spare[:0])
			c.gaps[i].add(n, c.spare)
		}
	}
	if !r.Failed() {
		c.counts[0].set(n, mismatched(r))
		c.counts[1].set(n, discrepant(r))
	}
}

// Len is the number of records in the statistics.
func (c *Collector) Len() int { return len(c.rows.end) }

// Summaries are the statistics over the full window and, when one is given,
// over the steady window.
func (c *Collector) Summaries() []Summary {
	out := []Summary{c.summary("full", c.window(), nil)}
	if w := c.opt.Steady; w.given() {
		inside := func(row int) bool { return c.rows.end[row] >= w.Start && c.rows.end[row] <= w.End }
		out = append(out, c.summary("steady", w, inside))
	}
	return out
}

// gapsOf are the gaps between the content events of a life, by its row.
func (c *Collector) gapsOf(row int) []float32 {
	if row < -1 {
		return c.flown.row(-2 - row)
	}
	return c.gaps[position(chunkLatency)].row(row)
}

// window is the phase's, or else the stretch the requests cover.
func (c *Collector) window() Window {
	if c.opt.Window.given() || len(c.lives.sent) == 0 {
		return c.opt.Window
	}
	return Window{slices.Min(c.lives.sent), slices.Max(c.lives.end)}
}

// summary computes every metric over the rows inside a window; nil means all.
func (c *Collector) summary(name string, w Window, inside func(int) bool) Summary {
	out := Summary{Window: name}
	t := c.totals(w, inside)
	order := c.rows.byIntended(inside)
	over := c.lives.sweep(c.gapsOf, w)
	for i := range catalogue {
		m := &catalogue[i]
		if !c.opt.has(m) {
			continue
		}
		if s, ok := c.stat(i, m, over, t, order); ok {
			out.Stats = append(out.Stats, s)
		}
	}
	return out
}

// stat computes one metric; false when it has no value.
func (c *Collector) stat(i int, m *Metric, over *weights, t *Totals, order []int) (Stat, bool) {
	switch {
	case m.Derived != nil:
		return scalar(m, m.Derived(t))
	case m.Spans != noSpan:
		if over.active[m.Spans].total == 0 {
			return Stat{}, false
		}
		if m.Active {
			return over.active[m.Spans].stat(m)
		}
		return over.all[m.Spans].stat(m)
	case m.Of != "":
		return c.adjusted(m, t, order)
	case m.List != nil:
		c.spare = c.gaps[i].take(c.spare[:0], order)
	default:
		c.spare = c.cols[i].take(c.spare[:0], order)
	}
	return distribution(m, c.spare, &c.sorter)
}

// adjusted is the distribution of another metric with one +Inf per failure.
func (c *Collector) adjusted(m *Metric, t *Totals, order []int) (Stat, bool) {
	if t.Errors == 0 {
		return Stat{}, false
	}
	c.spare = c.cols[position(m.Of)].take(c.spare[:0], order)
	if len(c.spare) == 0 {
		return Stat{}, false
	}
	return errorAdjusted(m, c.spare, t.Errors), true
}

// totals counts and adds up the rows inside a window.
func (c *Collector) totals(w Window, inside func(int) bool) *Totals {
	t := &Totals{Cancelled: c.cancelled, Seconds: w.seconds(), Duration: math.NaN(), sums: map[string]float64{}}
	c.rows.count(t, inside)
	for i := range catalogue {
		if catalogue[i].Record != nil {
			c.cols[i].sum(t.sums, catalogue[i].Tag, inside)
		}
	}
	c.counts[0].sum(t.sums, oslMismatch, inside)
	c.counts[1].sum(t.sums, usageDiscrepancy, inside)
	return t
}
