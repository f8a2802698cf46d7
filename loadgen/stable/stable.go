// Package stable says when a load ends that goes on until it is steady, as perf_analyzer's
// does: it is cut into windows, one right behind the other, and is stable when throughput and
// mean latency of the last three differ by no more than a percentage.
//
// A run that chooses its end so is a little biased: windows that agree by chance end it as well
// as windows that agree because nothing changes, and what came before is left out. The report
// keeps every window, so that a reader sees what was left out.
package stable

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// Agreeing is how many windows must agree.
const Agreeing = 3

// Window is a stretch of the load, [From, To) in ns since T0. Requests count where they end.
type Window struct {
	From      int64   `json:"start_ns"`
	To        int64   `json:"end_ns"`
	Completed int64   `json:"completed"` // with an answer
	Rate      float64 `json:"requests_per_second"`
	Latency   float64 `json:"mean_latency_ms"` // 0 where nothing completed
}

// NewWindow is a window in which so many requests ended, after so many ms together.
func NewWindow(from, to, completed int64, ms float64) Window {
	w := Window{From: from, To: to, Completed: completed}
	if completed > 0 {
		w.Rate, w.Latency = float64(completed)/(float64(to-from)/1e9), ms/float64(completed)
	}
	return w
}

// Report is what a phase saw of itself.
type Report struct {
	Percentage float64  `json:"percentage"`
	Stable     bool     `json:"stable"`
	Windows    []Window `json:"windows"`
}

// New is the report of a phase that has seen nothing.
func New(cfg *schema.Stability) *Report { return &Report{Percentage: cfg.Percentage} }

// Add takes the next window and reports whether the load may end.
func (r *Report) Add(w Window) bool {
	r.Windows = append(r.Windows, w)
	rate, latency := r.ratios()
	most := 1 + r.Percentage/100
	r.Stable = rate <= most && latency <= most
	return r.Stable
}

// Last are the windows that must agree; nil where there are too few.
func (r *Report) Last() []Window {
	if len(r.Windows) < Agreeing {
		return nil
	}
	return r.Windows[len(r.Windows)-Agreeing:]
}

// Spread is by how many percent the highest throughput of the last three windows is above the
// lowest, and the same of latency. It is endless where there are too few windows, or one in
// which nothing completed.
func (r *Report) Spread() (rate, latency float64) {
	rate, latency = r.ratios()
	return (rate - 1) * 100, (latency - 1) * 100
}

// Answered is in how many of the last three windows something was answered.
func (r *Report) Answered() (n int) {
	for _, w := range r.Last() {
		if w.Completed > 0 {
			n++
		}
	}
	return n
}

func (r *Report) ratios() (rate, latency float64) {
	last := r.Last()
	if last == nil {
		return math.Inf(1), math.Inf(1)
	}
	over := func(of func(Window) float64) float64 {
		low, high := math.Inf(1), 0.0
		for _, w := range last {
			low, high = min(low, of(w)), max(high, of(w))
		}
		if low == 0 {
			return math.Inf(1)
		}
		return high / low
	}
	return over(func(w Window) float64 { return w.Rate }), over(func(w Window) float64 { return w.Latency })
}

// Sentence says how it went, and what that means for the figures.
func (r *Report) Sentence() string {
	if r.Stable {
		return r.Found() + "; they are the steady window, which looks a little steadier than the server is, since the " +
			"run ended when they agreed"
	}
	return r.Found() + "; so its rates and times are in doubt (check stable)"
}

// Found says how it went.
func (r *Report) Found() string {
	rate, latency := r.Spread()
	n := words.Count(len(r.Windows), "window")
	switch {
	case r.Stable:
		return fmt.Sprintf("stable after %s: throughput of the last three differs by %s, latency by %s",
			n, percent(rate), percent(latency))
	case len(r.Windows) < Agreeing:
		return fmt.Sprintf("not stable: only %s ended, and three must agree", n)
	case math.IsInf(rate, 1):
		return fmt.Sprintf("not stable after %s: something was answered in only %d of the last three", n, r.Answered())
	}
	return fmt.Sprintf("not stable after %s: throughput of the last three differs by %s, latency by %s, and both "+
		"may differ by %g %%", n, percent(rate), percent(latency), r.Percentage)
}

func percent(v float64) string { return words.Percent(v / 100) }
