package metrics

import (
	"math"
	"slices"
	"strings"
	"sync"

	"aiperf.dev/aiperf/internal/record"
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
	Answers     bool // some requests are questions with known answers
	// Window is the phase: first phase start .. last request complete. Rates
	// divide by it. Without it: first sent .. last end.
	Window Window
	Steady Window // the stretch without ramp and drain, if there is one
	// SLOs, when set, judge the records afresh; else each record's own
	// verdict counts.
	SLOs map[string]float64
}

// Has reports whether a run with these options can have the metric.
func (o Options) Has(m *Metric) bool {
	return (o.Streaming || m.Needs&Streaming == 0) && (o.Tokens || m.Needs&Tokens == 0) &&
		(!o.ServerCount || m.Needs&ClientCount == 0) && (o.Answers || m.Needs&Answers == 0)
}

// Collector takes the records of one run and makes its Summaries. It keeps up to
// 8 bytes per request and metric, mostly 0 to 4 (packed.go), and 4 per gap
// between chunks; no record; and of a long run only so much (past.go).
type Collector struct {
	opt    Options
	judge  judge
	rows   rows
	lives  lives
	kept   []int    // of the catalogue: metrics of requests that the run can have
	cols   []column // parallel to the catalogue
	counts []column // osl_mismatch, usage_discrepancy
	gaps   []ragged // parallel to the catalogue

	// Scratch: a column, its values in question, and what works on those.
	column, spare []float64
	workshop      workshop

	stopped int64 // cancelled or cut off, of the whole run

	cut                   []cutLife // requests that the end cut off
	unsent, unsentSteady  int64     // due and never sent; of them, due in the steady window
	unsentSet, unsentOpen bool      // they had an SLO; a clock said when they were due
	steady                steadyPart

	limits          limits // of a segment
	past            []past // what earlier segments said; nil while there is one
	through         *sweep // through what was in flight in all of them
	longest, latest int64  // time in flight, end; ns

	flown   ragged // gaps of requests that were sent in an earlier slice
	passing int
}

// NewCollector makes an empty collector.
func NewCollector(opt Options) *Collector {
	c := &Collector{
		opt: opt, judge: newJudge(opt.SLOs),
		cols: make([]column, len(catalogue)), counts: make([]column, 2), gaps: make([]ragged, len(catalogue)),
		limits: limits{segmentRows, segmentGaps}, steady: steadyPart{values: make([]weighed, len(catalogue))},
	}
	for i := range catalogue {
		if m := &catalogue[i]; opt.Has(m) && (m.Derived == nil && m.Record != nil || m.List != nil) {
			c.kept = append(c.kept, i)
		}
	}
	return c
}

// Add takes one record. Warmup records and those outside the window have no
// part in the statistics, but the requests in flight include the latter.
func (c *Collector) Add(r *record.Record) {
	row := -1
	if r.InWindow {
		row = len(c.rows.flags)
	}
	c.lives.add(r, row)
	if !r.Warmup && r.Part()&(record.InCancelled|record.InCut) != 0 {
		c.stopped++
	}
	if r.Measured {
		c.unfinished(r)
	}
	if r.Warmup || !r.InWindow {
		return
	}
	n := len(c.rows.flags)
	c.rows.add(r, c.judge)
	share := 0.0
	if c.opt.Steady.given() && r.Succeeded() {
		share = inside(r, c.opt.Steady)
		c.steady.count(r, c.rows.flags[n], share, c.opt.Steady)
	}
	for _, i := range c.kept {
		m := &catalogue[i]
		if r.Succeeded() != (m.Needs&FailedOnly == 0) {
			continue
		}
		if m.Record != nil {
			v := m.Record(r)
			c.cols[i].set(n, v)
			if m.parted() {
				c.steady.values[i].add(v, share)
			}
		} else {
			c.spare = m.List(r, c.spare[:0])
			c.gaps[i].add(n, c.spare)
		}
	}
	if r.Succeeded() {
		c.counts[0].set(n, mismatched(r))
		c.counts[1].set(n, discrepant(r))
	}
	if (n+1 >= c.limits.rows || c.gaps[position(chunkLatency)].len() >= c.limits.gaps) && c.opt.Window.given() {
		c.condense(false)
	}
}

// unfinished notes what was cut off and what was never sent.
func (c *Collector) unfinished(r *record.Record) {
	switch r.Part() {
	case record.InCut:
		c.cutOff(r)
		if c.opt.Steady.given() {
			c.steady.cutTokens += cutTokens(r, c.opt.Steady)
		}
	case record.InUnsent:
		judged, _, _ := c.judge.of(r)
		c.unsentSet, c.unsentOpen = c.unsentSet || judged, c.unsentOpen || r.Open
		c.unsent++
		if w := c.opt.Steady; w.given() && r.Intended >= w.Start && r.Intended <= w.End {
			c.unsentSteady++
		}
	}
}

// Summaries are the statistics over the full window and, when one is given,
// over the steady window.
func (c *Collector) Summaries() []Summary {
	if c.past != nil {
		return c.summaries()
	}
	views := []view{{"full", c.window(), nil}}
	if w := c.opt.Steady; w.given() {
		views = append(views, view{"steady", w, c.steadyRows(w)})
	}
	return c.sumUp(views)
}

// view is a window to sum up, and its requests.
type view struct {
	name   string
	window Window
	in     choice
}

// sumUp is a summary of each view. What is in flight over time is gone through
// once for all of them, beside everything else.
func (c *Collector) sumUp(views []view) []Summary {
	var windows []Window
	for _, v := range views {
		windows = append(windows, v.window)
	}
	var over []*weights
	var sweeping, others sync.WaitGroup
	sweeping.Go(func() {
		through := newSweep(windows)
		through.run(&c.lives, c.gapsOf, math.MaxInt64)
		over = through.finish()
	})
	out := make([]Summary, len(views))
	for i, v := range views {
		levels := func() *weights {
			sweeping.Wait()
			return over[i]
		}
		if i == len(views)-1 || len(c.rows.flags) > besideRows {
			out[i] = c.summary(v, levels)
			continue
		}
		beside := c.beside()
		others.Go(func() { out[i] = beside.summary(v, levels) })
	}
	others.Wait()
	sweeping.Wait()
	return out
}

// besideRows is how many requests are summed up over both windows at once: it
// takes as much scratch again, 32 bytes a request.
const besideRows = 1 << 17

// beside is c with scratch of its own, for another goroutine that only reads what
// was collected.
func (c *Collector) beside() *Collector {
	d := *c
	d.column, d.spare, d.workshop = nil, nil, workshop{}
	return &d
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
	if c.opt.Window.given() || c.lives.sent.len() == 0 {
		return c.opt.Window
	}
	return Window{slices.Min(c.lives.sent.all(nil)), slices.Max(c.lives.end.all(nil))}
}

// summary computes every metric over the rows of a view. levels waits for what
// was in flight; so what needs it comes last.
func (c *Collector) summary(v view, levels func() *weights) Summary {
	out := Summary{Window: v.name}
	t := c.totals(v.window, v.in)
	if t.In(record.Answered) == 0 { // a count of 0 out of nothing would pass for good news
		return out
	}
	order := c.rows.byIntended(v.in)
	found := make([]*Stat, len(catalogue))
	keep := func(i int, s Stat, ok bool) {
		if ok {
			found[i] = &s
		}
	}
	t.told = func(tag string) *Stat { return found[position(tag)] }
	var known []columnStat
	for i := range catalogue {
		if m := &catalogue[i]; c.opt.Has(m) && m.Spans == noSpan {
			s, ok := c.stat(i, m, t, order, &known)
			keep(i, s, ok)
		}
	}
	t.over = levels()
	for i := range catalogue {
		if m := &catalogue[i]; c.opt.Has(m) && m.Spans != noSpan {
			s, ok := t.level(m)
			keep(i, s, ok)
		}
	}
	for _, s := range found {
		if s != nil {
			out.Stats = append(out.Stats, *s)
		}
	}
	return out
}

// stat computes one metric; false when it has no value. In the steady window the
// average of a length is over the parts of requests that lie inside.
func (c *Collector) stat(i int, m *Metric, t *Totals, order []int32, known *[]columnStat) (Stat, bool) {
	switch {
	case m.Derived != nil:
		return derived(m, t)
	case m.Of != "":
		return c.adjusted(m, t, order)
	case m.List != nil:
		c.spare = c.gaps[i].gather(c.spare[:0], order)
		return distribution(m, c.spare, &c.workshop)
	case m.Needs&FailedOnly != 0:
		return c.ofFailures(i, m, t, order)
	}
	open := fromIntended(m.Tag) && t.In(record.InCut|record.InUnsent) > 0
	s, ok := c.shared(i, m, open, *known)
	if !ok {
		c.pick(i, order)
		if s, ok = distribution(m, c.spare, &c.workshop); !ok {
			return s, false
		}
		if !open {
			*known = append(*known, columnStat{i, m, s})
		}
	}
	if t.steady != nil {
		t.steady.average(i, m, &s)
	}
	if open {
		return c.intended(m, s, t), true
	}
	return s, true
}

// shared is the statistics of an equal column that are known already.
func (c *Collector) shared(i int, m *Metric, open bool, known []columnStat) (Stat, bool) {
	for _, k := range known {
		if !open && k.serves(m) && c.cols[i].equal(&c.cols[k.column]) {
			return k.as(m), true
		}
	}
	return Stat{}, false
}

// ofFailures is the statistics of a metric of failed requests. For AIPerf one that
// was cancelled as asked is a failure, too.
func (c *Collector) ofFailures(i int, m *Metric, t *Totals, order []int32) (Stat, bool) {
	theirs := Stat{}
	if t.Cancelled > 0 {
		c.pick(i, order)
		theirs, _ = distribution(m, c.spare, &c.workshop)
	}
	c.pick(i, c.rows.without(cancelled, order))
	s, ok := distribution(m, c.spare, &c.workshop)
	return beside(m, s, ok, theirs)
}

// beside is a metric whose value for AIPerf is another. Where it has none for us,
// it is all the same there for AIPerf's files.
func beside(m *Metric, s Stat, ok bool, theirs Stat) (Stat, bool) {
	if theirs.Count == 0 {
		return s, ok
	}
	if !ok {
		s = empty(m)
	}
	s.Plain = &theirs
	return s, true
}

// columnStat is the statistics of a column. Other columns may have the same
// values: where nothing waits and nothing connects, several times are one.
type columnStat struct {
	column int
	metric *Metric
	Stat
}

// serves reports whether everything that m wants has been computed.
func (k *columnStat) serves(m *Metric) bool { return k.metric.correlated() || !m.correlated() }

// as is the same statistics for m.
func (k *columnStat) as(m *Metric) Stat {
	s := k.Stat
	s.Tag, s.Header, s.Unit, s.Intervals = m.Tag, m.Header, m.Unit, slices.Clone(s.Intervals)
	if !m.correlated() {
		s.NEff, s.Intervals = math.NaN(), nil
	}
	return s
}

// pick puts the values of a column into spare.
func (c *Collector) pick(i int, order []int32) {
	c.column = c.cols[i].all(c.column)
	c.spare = gather(grown(c.spare, len(c.column)), c.column, order)
}

// intended is the statistics of a span from the intended time, whose sorted
// values are in spare, with what was cut off or never sent.
func (c *Collector) intended(m *Metric, s Stat, t *Totals) Stat {
	values, infinite := c.spare, t.In(record.InCut|record.InUnsent)
	if m.Needs&Streaming != 0 {
		w := Window{}
		if t.steady != nil {
			w = c.opt.Steady
		}
		known := firsts(c.cutIn(w))
		values = append(values, known...)
		slices.Sort(values)
		infinite -= int64(len(known))
	}
	if infinite == 0 {
		return s
	}
	return withInfinite(s, values, int64(len(values)), infinite)
}

// adjusted is the distribution of another metric with one +Inf per failure.
func (c *Collector) adjusted(m *Metric, t *Totals, order []int32) (Stat, bool) {
	if t.In(record.Due&^record.InOK) == 0 {
		return Stat{}, false
	}
	c.pick(position(m.Of), order)
	if len(c.spare) == 0 {
		return Stat{}, false
	}
	slices.Sort(c.spare)
	return adjustedWith(m, c.spare, int64(len(c.spare)), t)
}

// complete adds what is known besides the rows.
func (c *Collector) complete(t *Totals, steady bool) {
	w := Window{}
	t.Unsent, t.stopped = c.unsent, c.stopped
	if steady {
		w, t.Unsent, t.steady = c.opt.Steady, c.unsentSteady, &c.steady
		t.inside = func(tag string) float64 { return c.steady.values[position(tag)].total() }
	}
	if t.Unsent > 0 {
		t.SLOSet, t.Open = t.SLOSet || c.unsentSet, t.Open || c.unsentOpen
	}
	t.countCut(c.cutIn(w))
}

// totals counts the chosen rows, and adds them up when asked.
func (c *Collector) totals(w Window, in choice) *Totals {
	t := &Totals{Seconds: w.seconds(), Duration: math.NaN(), sums: map[string]float64{}}
	c.rows.count(t, in)
	c.complete(t, in != nil)
	t.lasted(c.rows.span(in))
	t.add = func(tag string) float64 {
		rows := in
		col, about := &c.counts[0], int64(-1)
		switch tag {
		case oslMismatch:
		case usageDiscrepancy:
			col = &c.counts[1]
		default:
			name, theirs := strings.CutPrefix(tag, withCancelled)
			i := position(name)
			m := &catalogue[i]
			col, about = &c.cols[i], t.about(m)
			switch {
			case theirs:
				about += t.Cancelled
			case m.Needs&FailedOnly != 0:
				rows = c.rows.choose(cancelled, in)
			}
		}
		c.column = col.all(c.column)
		total, n := sum(c.column, rows)
		return sumOf(total, n, about)
	}
	return t
}
