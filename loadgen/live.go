package loadgen

import (
	"cmp"
	"math"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/pace"
)

// liveEvery is how often a snapshot is given; a window is how many of them the
// quantiles look back.
const (
	liveEvery  = 500 * time.Millisecond
	liveWindow = 6
)

// meter keeps the quantiles of the last seconds, and the counts, for snapshots.
// Two windows overlap by half: the older one is shown and then emptied, so that
// what is shown covers between one and two halves.
type meter struct {
	on   bool
	mu   sync.Mutex
	now  [2]window
	tick int

	tokens, answers atomic.Int64 // output tokens, answers since the last snapshot
	at              int64        // of the last snapshot; the watcher's
}

// window is some seconds of spans, in µs.
type window struct{ ttft, itl, lag, latency *hdr.Histogram }

// Spans from 1 µs to an hour with two digits.
func newHistogram() *hdr.Histogram { return hdr.New(1, int64(time.Hour/time.Microsecond), 2) }

func newMeter(on bool) *meter {
	m := &meter{on: on}
	for i := range m.now {
		m.now[i] = window{newHistogram(), newHistogram(), newHistogram(), newHistogram()}
	}
	return m
}

// add takes in one record.
func (m *meter) add(rec *record.Record) {
	if !m.on {
		return
	}
	if rec.OSL > 0 {
		m.tokens.Add(rec.OSL)
	}
	m.answers.Add(1)
	ttft, itl, latency, lag := rec.TTFT(), rec.ITL(), rec.Latency(), rec.DispatchLateness()
	if !rec.Succeeded() {
		ttft, itl, latency = math.NaN(), math.NaN(), math.NaN()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.now {
		note(m.now[i].ttft, ttft)
		note(m.now[i].itl, itl)
		note(m.now[i].lag, lag)
		note(m.now[i].latency, latency)
	}
}

// note records a span given in ms, if there is one.
func note(h *hdr.Histogram, ms float64) {
	if !math.IsNaN(ms) && ms >= 0 {
		_ = h.RecordValue(min(int64(ms*1e3), h.HighestTrackableValue()))
	}
}

// fill puts the quantiles into s and moves the windows on.
func (m *meter) fill(s *Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &m.now[m.tick/liveWindow%2]
	s.LagP99 = quantile(w.lag, 99)
	s.TTFTP50, s.TTFTP99 = quantile(w.ttft, 50), quantile(w.ttft, 99)
	s.ITLP50, s.ITLP99 = quantile(w.itl, 50), quantile(w.itl, 99)
	s.LatencyP50, s.LatencyP99 = quantile(w.latency, 50), quantile(w.latency, 99)
	span := time.Duration(s.At - m.at).Seconds()
	tokens, answers := m.tokens.Swap(0), m.answers.Swap(0)
	s.OutputTokensPerSecond, s.RequestsPerSecond = ratio(float64(tokens), span), ratio(float64(answers), span)
	m.at = s.At
	if m.tick++; m.tick%liveWindow == 0 {
		w.ttft.Reset()
		w.itl.Reset()
		w.lag.Reset()
		w.latency.Reset()
	}
}

// quantile is in ms, NaN when nothing was recorded.
func quantile(h *hdr.Histogram, q float64) float64 {
	if h.TotalCount() == 0 {
		return math.NaN()
	}
	return float64(h.ValueAtQuantile(q)) / 1e3
}

// watch gives a snapshot of the current phase twice a second until stop is
// closed, and a last one then.
func (m *meter) watch(stop <-chan struct{}, clock record.Clock, current *atomic.Pointer[phase], live func(Snapshot)) {
	t := time.NewTicker(liveEvery)
	defer t.Stop()
	m.at = clock.Now()
	show := func() {
		if p := current.Load(); p != nil {
			s := p.snapshot(clock.Now())
			m.fill(&s)
			live(s)
		}
	}
	for {
		select {
		case <-t.C:
			show()
		case <-stop:
			show()
			return
		}
	}
}

// snapshot is the state of the phase. Safe while it runs.
func (p *phase) snapshot(now int64) Snapshot {
	t := &p.books.tally
	s := Snapshot{
		Phase: p.cfg.Name, Warmup: p.warmup, At: now, Start: p.startShown.Load(), Ends: record.None,
		Planned: p.cfg.Requests,
		Sent:    p.books.sent.Load(), Done: t.all(), Failed: t.failed.Load(), Cancelled: t.cancelled.Load(),
		Cut:      t.cut.Load(),
		InFlight: int(p.books.inFlight.Load()), Target: cmp.Or(p.cfg.InFlight, p.result.Target, p.cfg.Concurrency),
		Waiting: p.waiting(now),
	}
	if end := p.endShown.Load(); end != pace.Never {
		s.Ends = end
	}
	return s
}
