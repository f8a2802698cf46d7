package metrics

import (
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
)

// A run of any length is summed up in bounded memory. Up to segmentRows
// requests and segmentGaps gaps between chunks everything is kept and exact.
// Beyond, a full segment is added to tallies and given away: counts, sums, means
// and extremes stay exact, percentiles are known to one part in 4096.
const (
	segmentRows = 1 << 20
	segmentGaps = 1 << 23
	// condensed is how many values stand for a tally where percentiles and
	// their intervals are computed.
	condensed = 1 << 16
)

// limits of a segment; tests make them small.
type limits struct{ rows, gaps int }

// tally is what is left of the values of one metric.
type tally struct {
	hist      histogram
	sum       float64
	mean, m2  float64 // Welford's
	low, high float64
	worth     stats.Worth // Σ over segments: they are far longer than any correlation
}

func (t *tally) add(values []float64, worth stats.Worth) {
	for _, v := range values {
		if t.hist.n == 0 {
			t.low, t.high = v, v
		}
		t.low, t.high = min(t.low, v), max(t.high, v)
		t.hist.add(v)
		t.sum += v
		d := v - t.mean
		t.mean += d / float64(t.hist.n)
		t.m2 += d * (v - t.mean)
	}
	t.worth.N, t.worth.Surely = t.worth.N+worth.N, t.worth.Surely+worth.Surely
}

// stat is the statistics of a tally; false when it has no values.
func (t *tally) stat(m *Metric, scratch []float64) (Stat, bool) {
	if t.hist.n == 0 {
		return Stat{}, false
	}
	values := t.sorted(scratch[:0])
	s := empty(m)
	s.Count, s.Sum, s.Min, s.Max = t.hist.n, t.sum, t.low, t.high
	s.Avg, s.Std = t.sum/float64(t.hist.n), math.Sqrt(t.m2/float64(t.hist.n))
	s.setPercentiles(func(q float64) float64 { return stats.Quantile(values, q) })
	if m.correlated() {
		s.NEff = t.worth.N
		// So many requests tell every percentile; nobody has them in order any more.
		s.Intervals = intervals(values, func(float64, float64) (float64, bool) { return t.worth.Surely, true })
	}
	return s, true
}

// sorted is the condensed values, within the extremes.
func (t *tally) sorted(into []float64) []float64 {
	values := t.hist.sorted(into, condensed)
	for i, v := range values {
		values[i] = min(max(v, t.low), t.high)
	}
	return values
}

// past is what earlier segments said about one window.
type past struct {
	name    string
	window  Window
	tallies []tally // parallel to the catalogue
	theirs  []tally // of these, those of failures with what was cancelled as asked
	counts  [2]tally
	totals  Totals
	first   int64 // sent of the first success, last content of the last, ns since T0
	last    int64
}

// windows are the windows that summaries are wanted of.
func (c *Collector) windows() []past {
	out := []past{{name: "full", window: c.opt.Window}}
	if c.opt.Steady.given() {
		out = append(out, past{name: "steady", window: c.opt.Steady})
	}
	for i := range out {
		p := &out[i]
		p.tallies, p.theirs = make([]tally, len(catalogue)), make([]tally, len(catalogue))
		p.first, p.last = math.MaxInt64, math.MinInt64
	}
	return out
}

// condense adds the segment in hand to the past and begins another. The sweep
// goes as far as every request is known that was in flight then: as long ago as
// twice the longest that any took.
func (c *Collector) condense(last bool) {
	if c.past == nil {
		c.past = c.windows()
		var windows []Window
		for i := range c.past {
			windows = append(windows, c.past[i].window)
		}
		c.through = newSweep(windows)
	}
	for i := range c.past {
		p := &c.past[i]
		var in choice
		if i > 0 {
			in = c.steadyRows(p.window)
		}
		c.tallyUp(p, in)
	}
	safe := c.safe()
	if last {
		safe = math.MaxInt64
	}
	c.through.run(&c.lives, c.gapsOf, safe)
	c.rows, c.lives = rows{}, lives{}
	clear(c.cols)
	clear(c.counts)
	clear(c.gaps)
}

// safe is until when every request is known that was in flight.
func (c *Collector) safe() int64 {
	sent, end := c.lives.sent.all(nil), c.lives.end.all(nil)
	for i := range sent {
		c.longest, c.latest = max(c.longest, end[i]-sent[i]), max(c.latest, end[i])
	}
	return c.latest - 2*c.longest
}

// tallyUp adds the chosen rows to p.
func (c *Collector) tallyUp(p *past, in choice) {
	order := c.rows.byIntended(in)
	for _, i := range c.kept {
		m := &catalogue[i]
		switch {
		case m.List != nil:
			c.spare = c.gaps[i].gather(c.spare[:0], order)
		case m.Needs&FailedOnly != 0:
			c.pick(i, order)
			p.theirs[i].add(c.spare, stats.Worth{})
			c.pick(i, c.rows.without(cancelled, order))
		default:
			c.pick(i, order)
		}
		var worth stats.Worth
		if m.correlated() && len(c.spare) > 0 {
			worth = c.workshop.series.Worth(c.spare)
		}
		p.tallies[i].add(c.spare, worth)
	}
	for k := range c.counts {
		c.column = c.counts[k].all(c.column)
		c.spare = gather(grown(c.spare, len(c.column)), c.column, order)
		p.counts[k].add(c.spare, stats.Worth{})
	}
	c.rows.count(&p.totals, in)
	first, last := c.rows.span(in)
	p.first, p.last = min(p.first, first), max(p.last, last)
}

// summaries are those of a run of several segments.
func (c *Collector) summaries() []Summary {
	c.condense(true)
	var out []Summary
	for i, over := range c.through.finish() {
		out = append(out, c.summaryOf(&c.past[i], over))
	}
	return out
}

func (c *Collector) summaryOf(p *past, over *weights) Summary {
	out := Summary{Window: p.name}
	t := &p.totals
	t.Seconds, t.Duration, t.sums = p.window.seconds(), math.NaN(), map[string]float64{}
	t.over = over
	t.lasted(p.first, p.last)
	c.complete(t, p.name == "steady")
	t.add = func(tag string) float64 { return p.sum(tag) }
	t.told = func(tag string) *Stat {
		if s, ok := out.Get(tag); ok {
			return &s
		}
		return nil
	}
	for i := range catalogue {
		m := &catalogue[i]
		if !c.opt.Has(m) {
			continue
		}
		if s, ok := c.tallied(i, m, p); ok {
			out.Stats = append(out.Stats, s)
		}
	}
	return out
}

// sum is the total of a metric, or of one of the two counts.
func (p *past) sum(tag string) float64 {
	t, about := &p.counts[0], int64(-1)
	switch tag {
	case oslMismatch:
	case usageDiscrepancy:
		t = &p.counts[1]
	default:
		name, theirs := strings.CutPrefix(tag, withCancelled)
		i := position(name)
		if t, about = &p.tallies[i], p.totals.about(&catalogue[i]); theirs {
			t, about = &p.theirs[i], about+p.totals.Cancelled
		}
	}
	return sumOf(t.sum, t.hist.n, about)
}

func (c *Collector) tallied(i int, m *Metric, p *past) (Stat, bool) {
	switch {
	case m.Spans != noSpan:
		return p.totals.level(m)
	case m.Derived != nil:
		return derived(m, &p.totals)
	case m.Of != "":
		of := &p.tallies[position(m.Of)]
		if p.totals.In(record.Due&^record.InOK) == 0 || of.hist.n == 0 {
			return Stat{}, false
		}
		s, ok := adjustedWith(m, of.sorted(c.spare[:0]), of.hist.n, &p.totals)
		s.Min = of.low
		return s, ok
	}
	s, ok := p.tallies[i].stat(m, c.spare)
	switch {
	case m.Needs&FailedOnly != 0 && p.totals.Cancelled > 0:
		theirs, _ := p.theirs[i].stat(m, c.spare)
		return beside(m, s, ok, theirs)
	case ok && p.totals.steady != nil:
		p.totals.steady.average(i, m, &s)
	}
	return s, ok
}
