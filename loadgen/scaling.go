package loadgen

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/pace"
	"aiperf.dev/aiperf/loadgen/scale"
	"aiperf.dev/aiperf/schema"
)

// scaling is a phase that raises its own load: it cuts the phase into windows, has the
// rule judge them (package scale), and does what the rule says.
type scaling struct {
	cfg    *schema.AdaptiveScale
	rule   *scale.Scale
	period int64
	figure func([]*record.Record, scale.Window) scale.Figures

	from, due int64 // the window under way, and when it is to be judged
	since     int64 // when the load was set: what was sent before belongs to another
	issued    int64 // requests until from
	ended     int64 // answers that the scheduler has noticed
	awaited   int64 // of these, so many must have been read before the window is judged; −1: not due

	booked  atomic.Int64 // answers that have been read
	waiting atomic.Bool  // the judging waits for a reader

	mu      sync.Mutex
	records []*record.Record // what was read and is in no window yet
}

// newScaling is nil for a phase that does not raise its load.
func newScaling(p *schema.Phase, figure func([]*record.Record, scale.Window) scale.Figures) *scaling {
	a := p.AdaptiveScale
	if a == nil {
		return nil
	}
	return &scaling{cfg: a, figure: figure, period: int64(a.AssessmentPeriod.Go()), due: pace.Never, awaited: -1}
}

func (s *scaling) begin(now int64) {
	if s != nil {
		s.rule, s.from, s.since, s.due = scale.New(s.cfg, now), now, now, later(now, s.period)
	}
}

// read takes a record, by whoever has read the answer, and tells whether the scheduler
// waits for it.
func (s *scaling) read(rec *record.Record) bool {
	if s == nil {
		return false
	}
	own := *rec // which belongs to whoever takes the records
	s.mu.Lock()
	s.records = append(s.records, &own)
	s.mu.Unlock()
	s.booked.Add(1)
	return s.waiting.Load()
}

// looks is when the next window ends; never while its last answers are read, whose reader
// wakes the scheduler.
func (s *scaling) looks() int64 {
	if s == nil || s.awaited >= 0 {
		return pace.Never
	}
	return s.due
}

// window takes out of what was read the answers that ended by the end of the window. An
// answer to what was sent at another load says nothing about this one.
func (s *scaling) window(issued int64) (scale.Window, []*record.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := scale.Window{From: s.from, To: s.due, Sent: issued - s.issued}
	var in []*record.Record
	rest := s.records[:0:0]
	for _, r := range s.records {
		switch sent := r.Sent; {
		case r.End > s.due:
			rest = append(rest, r)
			continue
		case sent != record.None && sent < s.since:
			continue
		}
		in = append(in, r)
		w.Completed++
		switch {
		case r.Part()&(record.InCancelled|record.InCut) != 0:
			w.Cancelled++
		case !r.Succeeded():
			w.Errors++
		}
	}
	if w.Completed >= s.cfg.MinCompletedRequests {
		s.records = rest
	}
	return w, in
}

// scaleIfDue judges the window that has ended, once all of its answers have been read.
func (p *phase) scaleIfDue(now int64) {
	s := p.scaling
	if s == nil || p.stops.why != "" || now < s.due {
		return
	}
	if s.awaited < 0 {
		s.awaited = s.ended
	}
	s.waiting.Store(true) // before looking: a reader that comes later wakes us
	if s.booked.Load() < s.awaited {
		return
	}
	s.waiting.Store(false)
	s.awaited = -1
	w, in := s.window(p.books.issued)
	if w.Completed < s.cfg.MinCompletedRequests {
		s.due = later(s.due, s.period) // the window goes on
		return
	}
	w.Figures = s.figure(in, w)
	at := s.due
	s.from, s.due, s.issued = at, later(max(at, now-s.period), s.period), p.books.issued
	before := s.rule.Value()
	over := s.rule.Assess(&w)
	if v := s.rule.Value(); v != before {
		s.since = now
		p.setLoad(v, now)
	}
	if over {
		s.due = pace.Never
		p.halt(stopScaled, now)
		p.stops.hasten(now)
	}
}

// setLoad has the phase go on with another value of the setting that it raises.
func (p *phase) setLoad(v float64, now int64) {
	switch p.scaling.cfg.Control.Variable {
	case schema.ScalePrefill:
		p.slots.prefill.set(int(v), now)
	case schema.ScaleRate:
		if a, ok := p.wait.arrivals.(mode.Steered); ok {
			p.wait.steer(a, v, now)
		}
	default:
		p.slots.sessions.set(int(v), now)
	}
}

// steer changes the rate of the arrivals from now on.
func (w *waiting) steer(a mode.Steered, rate float64, now int64) {
	if w.next == pace.Never {
		return
	}
	at, ok := a.Steer(time.Duration(now-w.start), rate, time.Duration(w.next-w.start))
	if w.next = pace.Never; ok {
		w.next = later(w.start, int64(at))
	}
}

// report is what was decided; nil where nothing was to be.
func (s *scaling) report() *scale.Report {
	if s == nil || s.rule == nil {
		return nil
	}
	return s.rule.Report()
}

// noFigures is for jobs that know no metrics.
func noFigures([]*record.Record, scale.Window) scale.Figures {
	return func(string, string) float64 { return math.NaN() }
}
