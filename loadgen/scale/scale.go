// Package scale decides how a phase raises its own load while it runs, as AIPerf's
// adaptive_scale does: up while a window keeps all limits, and from the first window that
// does not it holds the last value that did. In go the figures of one window after
// another, out come the value to go on with and a report of all that was decided. It
// knows nothing of clocks, requests and slots.
package scale

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
)

// Window is what a phase did between two assessments. Times are ns since T0.
type Window struct {
	From      int64   `json:"from_ns"`
	To        int64   `json:"to_ns"`
	Sent      int64   `json:"sent"`
	Completed int64   `json:"completed"`
	Errors    int64   `json:"errors"`    // of the completed ones
	Cancelled int64   `json:"cancelled"` // of the completed ones
	Figures   Figures `json:"-"`
}

// Figures are a metric's statistics in a window, in its own unit; NaN where it has none.
type Figures func(metric, stat string) float64

// seconds is how long the window was.
func (w *Window) seconds() float64 { return float64(w.To-w.From) / 1e9 }

// OK is how many requests of the window succeeded.
func (w *Window) OK() int64 { return w.Completed - w.Errors - w.Cancelled }

// Throughput is that of the requests that succeeded, in requests/s.
func (w *Window) Throughput() float64 { return float64(w.OK()) / w.seconds() }

// The kinds of events, and the stages of a phase, in AIPerf's words.
const (
	Started  = "adaptive_phase_started"
	Assessed = "adaptive_window"
	Decided  = "adaptive_decision"
	Sustains = "sustain_started"
	Boundary = "boundary_discovered"
	Complete = "adaptive_complete"
	Failed   = "adaptive_failed"

	discover = "discover"
	sustain  = "sustain"
	complete = "complete"
)

// How a phase ended.
const (
	StatusCompleted  = "completed"
	StatusFailed     = "failed"
	StatusIncomplete = "incomplete" // something else ended the phase
)

// Event is one thing that was noticed or decided. Pointers are nil where there is no value
// yet.
type Event struct {
	Kind      string  `json:"event"`
	Stage     string  `json:"phase"`
	At        int64   `json:"at_ns"`
	Iteration int     `json:"iteration"`
	Candidate float64 `json:"candidate"` // the value of the window
	Before    float64 `json:"before"`
	After     float64 `json:"after"`

	Boundary     *float64 `json:"boundary,omitempty"`
	LastPassing  *float64 `json:"last_passing,omitempty"`
	FirstFailing *float64 `json:"first_failing,omitempty"`
	Step         *float64 `json:"step,omitempty"`
	Passed       *bool    `json:"passed,omitempty"`

	// the limit that is closest to breaking and the figures by limit (see Key), of windows and
	// steps; −1 and none of other events
	Binding int                `json:"binding"`
	Values  map[string]float64 `json:"values,omitempty"`
	Value   *float64           `json:"value,omitempty"` // of that limit
	Reason  string             `json:"reason"`
	Window  Window             `json:"window"`
}

// Candidate is one window, as the summary lists it.
type Candidate struct {
	Iteration int                           `json:"iteration"`
	Value     float64                       `json:"value"`
	Accepted  bool                          `json:"accepted"`
	Window    Window                        `json:"window"`
	Figures   map[string]map[string]float64 `json:"figures"` // by metric and statistic, in ms
}

// Report is all that a phase decided. Its slices are in order of time.
type Report struct {
	Config     *schema.AdaptiveScale `json:"config"`
	Status     string                `json:"status"`
	Reason     string                `json:"reason"`
	Events     []Event               `json:"events"`
	Candidates []Candidate           `json:"candidates"`

	Value          float64  `json:"value"` // the last one
	Boundary       *float64 `json:"boundary,omitempty"`
	LastPassing    *float64 `json:"last_passing,omitempty"`
	FirstFailing   *float64 `json:"first_failing,omitempty"`
	SustainedFrom  *int64   `json:"sustained_from_ns,omitempty"`
	SustainWindows int      `json:"sustain_windows"`
	SustainPassed  int      `json:"sustain_passed"`
}

// Listed are the figures that the summary has of every window.
var Listed = map[string][]string{
	metrics.InterTokenLatency: {"p50", "p95", "p99"},
	metrics.RequestLatency:    {"avg", "p50", "p95", "p99"},
	metrics.TimeToFirstToken:  {"p50", "p95", "p99"},
}

// Key names a limit as AIPerf does: time_to_first_token:p95:lt:250.
func Key(f schema.SLAFilter) string {
	return fmt.Sprintf("%s:%s:%s:%g", f.MetricTag, f.Stat, f.Op, f.Threshold)
}

// Scale is the rule of one phase.
type Scale struct {
	cfg    *schema.AdaptiveScale
	stage  string
	value  float64
	since  int64 // when the value that is held was set
	report Report
}

// New is the rule at the beginning of a phase; at is ns since T0.
func New(cfg *schema.AdaptiveScale, at int64) *Scale {
	s := &Scale{cfg: cfg, stage: discover, value: cfg.Control.Min, report: Report{Config: cfg}}
	s.note(Started, at, s.value, s.value, nil, judged{binding: -1}, nil, "adaptive scale discover phase started")
	return s
}

// Value is what the phase is to go on with.
func (s *Scale) Value() float64 { return s.value }

// judged are the limits of a window.
type judged struct {
	binding int
	value   float64
	margin  float64
	values  map[string]float64
	passed  bool
}

// judge holds a window against all limits. A figure that the window does not have breaks
// its limit: nothing shows that it was kept.
func (s *Scale) judge(w *Window) judged {
	j := judged{binding: -1, margin: math.Inf(1), values: map[string]float64{}, passed: true}
	for i, f := range s.cfg.SLA {
		x := w.Figures(f.MetricTag, f.Stat)
		margin := f.Margin(x)
		if math.IsNaN(x) {
			margin = math.Inf(-1)
		} else {
			j.values[Key(f)] = x
		}
		if !f.Keeps(x) || math.IsNaN(x) {
			j.passed = false
		}
		if j.binding < 0 || margin < j.margin {
			j.binding, j.margin, j.value = i, margin, x
		}
	}
	return j
}

// Assess judges a window that ended at w.To, and tells whether the phase is over.
func (s *Scale) Assess(w *Window) (over bool) {
	j := s.judge(w)
	n := len(s.report.Candidates)
	c := Candidate{
		Iteration: n, Value: s.value, Accepted: j.passed, Window: *w, Figures: map[string]map[string]float64{},
	}
	for metric, listed := range Listed {
		for _, stat := range listed {
			if x := w.Figures(metric, stat); !math.IsNaN(x) {
				if c.Figures[metric] == nil {
					c.Figures[metric] = map[string]float64{}
				}
				c.Figures[metric][stat] = x
			}
		}
	}
	s.report.Candidates = append(s.report.Candidates, c)
	e := s.note(Assessed, w.To, s.value, s.value, w, j, nil, "SLA window evaluated")
	e.Passed = &j.passed
	if s.stage == discover {
		return s.discovers(w, j)
	}
	return s.sustains(w, j)
}

// discovers goes up, or turns at the first value that breaks a limit.
func (s *Scale) discovers(w *Window, j judged) (over bool) {
	at, from := w.To, s.value
	if j.passed {
		s.report.LastPassing = &from
		if from < s.cfg.Control.Max {
			s.value = min(s.cfg.Control.Max, from+s.step(j.margin))
			step := s.value - from
			s.note(Decided, at, from, s.value, w, j, &step, said(j, "passes", ""))
			return false
		}
		s.hold(w, j, from, said(j, "passes", "")+": the largest value")
		return false
	}
	s.report.FirstFailing = &from
	if s.report.LastPassing == nil {
		s.stage = complete
		s.report.Status, s.report.Reason = StatusFailed, "no_sustainable_"+s.cfg.Control.Variable+"_found"
		s.note(Failed, at, from, from, w, j, nil, s.report.Reason)
		return true
	}
	s.hold(w, j, *s.report.LastPassing, said(j, "breaches", ""))
	return false
}

// hold begins to sustain a value.
func (s *Scale) hold(w *Window, j judged, value float64, why string) {
	at, from := w.To, s.value
	s.stage, s.value, s.since = sustain, value, at
	s.report.Boundary, s.report.SustainedFrom = &value, &at
	s.note(Sustains, at, from, value, w, j, nil, fmt.Sprintf("holding boundary_value=%g", value))
	e := s.note(Boundary, at, value, value, w, j, nil, why)
	e.Candidate = value
}

// sustains goes on holding, or goes down when a limit breaks after all.
func (s *Scale) sustains(w *Window, j judged) (over bool) {
	at, from := w.To, s.value
	s.report.SustainWindows++
	if !j.passed {
		if from <= s.cfg.Control.Min {
			s.stage, s.report.LastPassing = complete, nil
			s.report.Status, s.report.Reason = StatusFailed, "no_sustainable_"+s.cfg.Control.Variable+"_found"
			s.note(Failed, at, from, from, w, j, nil, s.report.Reason)
			return true
		}
		s.value, s.since = max(s.cfg.Control.Min, from-s.step(j.margin)), at
		step := from - s.value
		s.note(Decided, at, from, s.value, w, j, &step, said(j, "breaches", " during sustain"))
		return false
	}
	s.report.SustainPassed++
	s.report.LastPassing = &from
	s.note(Decided, at, from, from, w, j, nil, said(j, "passes", " during sustain"))
	if float64(at-s.since) < float64(s.cfg.SustainDuration)*1e9 {
		return false
	}
	s.stage = complete
	s.report.Status, s.report.Reason = StatusCompleted, "sustain_duration_completed"
	s.note(Complete, at, from, from, w, j, nil, s.report.Reason)
	return true
}

// step is how far the value goes: a percentage of it, or a number of base steps by the
// smallest margin to a limit. Counts go by whole steps.
func (s *Scale) step(margin float64) float64 {
	p := s.cfg.Strategy
	step := float64(p.BaseStep) * max(1, math.Floor(min(1, margin)*float64(p.MaxStepMultiplier)))
	if p.StepPolicy == schema.FixedPercentStep {
		step = s.value * p.StepPercent / 100
	}
	if s.cfg.Whole() {
		step = max(1, math.Ceil(step))
	}
	return step
}

func said(j judged, what, when string) string {
	return fmt.Sprintf("SLA value %.3f %s configured filters%s", j.value, what, when)
}

// note adds an event.
func (s *Scale) note(
	kind string, at int64, before, after float64, w *Window, j judged, step *float64, why string,
) *Event {
	e := Event{
		Kind: kind, Stage: s.stage, At: at, Iteration: max(0, len(s.report.Candidates)-1),
		Candidate: before, Before: before, After: after,
		Boundary: s.report.Boundary, LastPassing: s.report.LastPassing, FirstFailing: s.report.FirstFailing,
		Step: step, Binding: -1, Reason: why,
	}
	if kind == Assessed || step != nil {
		e.Binding, e.Values = j.binding, j.values
	}
	if w != nil {
		e.Window = *w
		if !math.IsNaN(j.value) {
			e.Value = &j.value
		}
	}
	s.report.Events = append(s.report.Events, e)
	return &s.report.Events[len(s.report.Events)-1]
}

// Sentence is the answer: the value that kept the limits, and the one that did not.
func (r *Report) Sentence() string {
	limits := make([]string, len(r.Config.SLA))
	for i, f := range r.Config.SLA {
		limits[i] = f.String()
	}
	name, kept := r.Config.Control.Variable, strings.Join(limits, ", ")
	var s string
	switch {
	case r.Status == StatusFailed:
		return fmt.Sprintf("no %s kept the limits (%s): %g, the smallest, missed them", name, kept, r.Config.Control.Min)
	case r.LastPassing == nil:
		return fmt.Sprintf("no %s was judged against the limits (%s) before the phase ended", name, kept)
	case r.Status == StatusCompleted:
		s = fmt.Sprintf("%s %g kept the limits (%s) for %g s", name, *r.LastPassing, kept,
			float64(r.Config.SustainDuration))
	default:
		s = fmt.Sprintf("the phase ended early: %s %g kept the limits (%s)", name, *r.LastPassing, kept)
	}
	switch {
	case r.FirstFailing == nil:
		s += ", and nothing that was tried missed them"
	case r.Boundary != nil && *r.Boundary != *r.LastPassing:
		s += fmt.Sprintf("; %g missed them, and %g kept them only at first", *r.FirstFailing, *r.Boundary)
	default:
		s += fmt.Sprintf("; %g missed them", *r.FirstFailing)
	}
	return s
}

// Report is what was decided until the phase ended. A phase that something else ended
// first says so.
func (s *Scale) Report() *Report {
	r := s.report
	r.Value = s.value
	if r.Status == "" {
		r.Status, r.Reason = StatusIncomplete, "phase_ended"
	}
	return &r
}
