package loadgen

import (
	"cmp"
	"slices"
	"time"

	"aiperf.dev/aiperf/loadgen/pace"
	"aiperf.dev/aiperf/loadgen/stable"
	"aiperf.dev/aiperf/schema"
)

// windows is a phase that ends by its own windows (package stable). It belongs to the
// scheduler, and goes by what was answered on the wire: an answer that turns out to be none
// when it is read counts here all the same, and one that is noticed after its window closed
// counts in the next.
type windows struct {
	cfg    *schema.Stability
	report *stable.Report

	from  int64        // of the window under way
	due   int64        // when to look whether it has ended
	ended []answeredAt // what is in no window yet
}

// answeredAt is an answer: when it ended, and how long the request took, in ns.
type answeredAt struct{ end, took int64 }

// shortestCount is the least length of a window that ends after a count of requests.
const shortestCount = time.Second

// newWindows is nil for a phase whose end is planned.
func newWindows(p *schema.Phase) *windows {
	if p.Stability == nil {
		return nil
	}
	return &windows{cfg: p.Stability, report: stable.New(p.Stability), due: pace.Never}
}

func (w *windows) begin(now int64) {
	if w != nil {
		w.open(now)
	}
}

// open begins a window.
func (w *windows) open(at int64) {
	length := int64(w.cfg.Interval.Go())
	if w.cfg.ByCount() {
		length = int64(shortestCount)
	}
	w.from, w.due = at, later(at, length)
}

// answered takes an answer.
func (w *windows) answered(r *request) {
	if w != nil && !r.failed() {
		w.ended = append(w.ended, answeredAt{r.end(), r.end() - r.x.Sent})
	}
}

// looks is when the window under way may end; never where an answer says that.
func (w *windows) looks() int64 {
	if w == nil {
		return pace.Never
	}
	return w.due
}

// next closes the window under way if it has ended by now, and opens the one behind it.
func (w *windows) next(now int64) bool {
	to := w.due
	slices.SortFunc(w.ended, func(a, b answeredAt) int { return cmp.Compare(a.end, b.end) })
	if w.cfg.ByCount() {
		if to = later(w.from, int64(shortestCount)); int64(len(w.ended)) < w.cfg.Requests {
			if now >= to {
				w.due = pace.Never
			}
			return false
		}
		to = max(to, w.ended[w.cfg.Requests-1].end)
	}
	if now < to {
		return false
	}
	in, ms := 0, 0.0
	for in < len(w.ended) && w.ended[in].end <= to {
		ms += float64(w.ended[in].took) / 1e6
		in++
	}
	w.ended = slices.Delete(w.ended, 0, in)
	w.report.Add(stable.NewWindow(w.from, to, int64(in), ms))
	w.open(to)
	return true
}

// endIfStable closes the windows that have ended, and ends the phase when they agree.
func (p *phase) endIfStable(now int64) {
	if p.windows == nil || p.stops.why != "" {
		return
	}
	for p.windows.next(now) {
		if p.windows.report.Stable {
			p.halt(stopStable, now)
			p.stops.hasten(now)
			return
		}
	}
}

// sum puts what was seen into the phase's result: the windows that agree are its steady window.
func (w *windows) sum(res *PhaseResult) {
	if w == nil {
		return
	}
	if res.Stability = w.report; w.report.Stable {
		last := w.report.Last()
		res.Gauge.SteadyStart, res.Gauge.SteadyEnd = last[0].From, last[len(last)-1].To
	}
}
