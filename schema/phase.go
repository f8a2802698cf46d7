package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Phase is one stretch of load. Zero means unset for counts and limits.
type Phase struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // warmup, profiling
	// concurrency, poisson, gamma, constant, user_centric, fixed_schedule
	Type                   string         `json:"type"`
	ExcludeFromResults     bool           `json:"exclude_from_results"`
	Requests               int64          `json:"requests,omitempty"`
	Duration               *Duration      `json:"duration,omitempty"`
	Sessions               int64          `json:"sessions,omitempty"`
	Concurrency            int            `json:"concurrency,omitempty"`
	InFlight               int            `json:"in_flight,omitempty"` // ours: requests on the wire at most
	PrefillConcurrency     int            `json:"prefill_concurrency,omitempty"`
	GracePeriod            *Duration      `json:"grace_period,omitempty"` // nil: 30 s for profiling, infinite for warmup
	Rate                   float64        `json:"rate,omitempty"`
	RateSeries             RateSeries     `json:"rate_series,omitempty"`
	Smoothness             float64        `json:"smoothness,omitempty"`
	Users                  int            `json:"users,omitempty"`
	AutoOffset             *bool          `json:"auto_offset,omitempty"`
	StartOffset            *int64         `json:"start_offset,omitempty"` // ms
	EndOffset              *int64         `json:"end_offset,omitempty"`   // ms
	ConcurrencyRamp        *Ramp          `json:"concurrency_ramp,omitempty"`
	PrefillRamp            *Ramp          `json:"prefill_ramp,omitempty"`
	RateRamp               *Ramp          `json:"rate_ramp,omitempty"`
	Cancellation           *Cancellation  `json:"cancellation,omitempty"`
	AdaptiveScale          *AdaptiveScale `json:"adaptive_scale,omitempty"`
	Stability              *Stability     `json:"stability,omitempty"` // ours
	FailedRequestThreshold *float64       `json:"failed_request_threshold,omitempty"`
	Seamless               bool           `json:"seamless"`
	OnCap                  string         `json:"on_cap,omitempty"`   // ours: queue (default), skip
	OnCount                string         `json:"on_count,omitempty"` // ours: cut (default), finish
	// Once: nothing bounds it, and each question of the benchmark that it plays is asked once.
	Once bool `json:"-"`

	// Of agentic_replay.
	TrajectoryStartMinRatio  *float64 `json:"trajectory_start_min_ratio,omitempty"` // of the recorded time; nil: 0.25
	TrajectoryStartMaxRatio  *float64 `json:"trajectory_start_max_ratio,omitempty"` // nil: 0.75
	BurstPhaseStarts         bool     `json:"burst_phase_starts,omitempty"`
	SystemIdleGapCapSeconds  *float64 `json:"system_idle_gap_cap_seconds,omitempty"`
	AgenticWarmupGracePeriod *float64 `json:"agentic_warmup_grace_period,omitempty"` // s

	// LaterReplay: it starts as in AIPerf after 0.13. TreeIdleGapCapSeconds is how long no request of a session and of
	// those it starts may be under way while turns of them wait. Both follow from Benchmark.AIPerf.
	LaterReplay           bool     `json:"-"`
	TreeIdleGapCapSeconds *float64 `json:"-"`
	// Primes is the name of the phase for which this one primes the server's
	// cache; nobody writes it.
	Primes string `json:"-"`
}

// Stability ends a phase by its own windows; see package loadgen/stable.
type Stability struct {
	Percentage float64  `json:"percentage"`
	Mode       string   `json:"mode"`     // time_windows, count_windows
	Interval   Duration `json:"interval"` // s, of a time window
	Requests   int64    `json:"requests"` // of a count window
}

// ByCount tells whether a window ends after a count of requests.
func (s *Stability) ByCount() bool { return s.Mode == "count_windows" }

// Words are what is looked for: "until throughput and latency of three windows of 5 s agree within 10 %".
func (s *Stability) Words() string {
	window := fmt.Sprintf("%g s", float64(s.Interval))
	if s.ByCount() {
		window = fmt.Sprintf("%d requests", s.Requests)
	}
	return fmt.Sprintf("until throughput and latency of three windows of %s agree within %g %%", window, s.Percentage)
}

// AdaptiveScale is how a phase raises its own load while it runs; see package loadgen/scale.
type AdaptiveScale struct {
	Control              ScaleControl  `json:"control"`
	AssessmentPeriod     Duration      `json:"assessment_period"` // s, of a window
	MinCompletedRequests int64         `json:"min_completed_requests"`
	SustainDuration      Duration      `json:"sustain_duration"` // s
	Strategy             ScaleStrategy `json:"strategy"`
	SLA                  []SLAFilter   `json:"sla"`
}

// UnmarshalJSON also takes the switch that AIPerf's files have in place of the block.
func (a *AdaptiveScale) UnmarshalJSON(b []byte) error {
	if s := string(b); s == "true" || s == "false" {
		return nil
	}
	type plain AdaptiveScale
	return json.Unmarshal(b, (*plain)(a))
}

// ScaleControl is the setting that is raised, and how far.
type ScaleControl struct {
	Variable string  `json:"variable"` // concurrency, prefill_concurrency, request_rate
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
}

// ScaleStrategy is how far a step goes.
type ScaleStrategy struct {
	Type              string  `json:"type"` // ramp_until_fail
	StepPolicy        string  `json:"step_policy"`
	BaseStep          int     `json:"base_step"`
	StepPercent       float64 `json:"step_percent"`
	MaxStepMultiplier int     `json:"max_step_multiplier"`
}

// FixedPercentStep is the step policy that goes by a percentage of the value.
const FixedPercentStep = "fixed_percent_step"

// What a phase can raise by itself.
const (
	ScaleConcurrency = "concurrency"
	ScalePrefill     = "prefill_concurrency"
	ScaleRate        = "request_rate"
)

// Range is the setting and how far it may be raised: "concurrency from 1 to 64"; "" for nil.
func (a *AdaptiveScale) Range() string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%s from %g to %g", strings.ReplaceAll(a.Control.Variable, "_", " "), a.Control.Min, a.Control.Max)
}

// Whole tells whether the setting is a count.
func (a *AdaptiveScale) Whole() bool { return a.Control.Variable != ScaleRate }

// Scales is how p raises a setting by itself; nil when it raises none, or another.
func (p *Phase) Scales(variable string) *AdaptiveScale {
	if a := p.AdaptiveScale; a != nil && a.Control.Variable == variable {
		return a
	}
	return nil
}

// RatePoint is one knot of a piecewise linear rate.
type RatePoint struct {
	TimeS float64 `json:"time_s"`
	QPS   float64 `json:"qps"`
}

// Ramp grows a limit or a rate from nearly nothing to its target.
type Ramp struct {
	Duration Duration `json:"duration"`
	Strategy string   `json:"strategy,omitempty"` // linear (default), exponential, poisson
}

// Cancellation ends a share of the requests early, on purpose.
type Cancellation struct {
	Rate  float64 `json:"rate"`            // percent
	Delay float64 `json:"delay,omitempty"` // seconds after the request was written
}
