package runner

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/sinks"
)

// FidelityReport is trace.Fidelity without what could not be known: how close
// a replay came to its trace.
type FidelityReport struct {
	// the least of the shares, less the prefix overlap that was missed
	Score float64 `json:"score"`
	// of sessions: rows are the requests sent, on_time the pauses kept
	Middle        bool     `json:"from_the_middle,omitempty"`
	Rows          int      `json:"rows"`
	Missing       int      `json:"missing"`
	OnTime        *float64 `json:"on_time,omitempty"`
	LagP50        *float64 `json:"send_lag_p50_ms,omitempty"`
	LagP99        *float64 `json:"send_lag_p99_ms,omitempty"`
	Dependencies  *float64 `json:"dependencies_kept,omitempty"`
	InputLength   *float64 `json:"input_length,omitempty"`
	OutputLength  *float64 `json:"output_length,omitempty"`
	PrefixTrace   *float64 `json:"prefix_hit_rate_trace,omitempty"`
	PrefixReached *float64 `json:"prefix_hit_rate_server,omitempty"`
}

func reportFidelity(f trace.Fidelity) *FidelityReport {
	out := &FidelityReport{
		Score: f.Score, Middle: f.Middle, Rows: f.Rows, Missing: f.Missing, OnTime: metrics.OrNil(f.OnTime),
		Dependencies: metrics.OrNil(f.Dependencies),
		InputLength:  metrics.OrNil(f.InputLength), OutputLength: metrics.OrNil(f.OutputLength),
		PrefixReached: metrics.OrNil(f.Reached),
	}
	if f.Timed > 0 {
		p50, p99 := float64(f.LagP50)/1e6, float64(f.LagP99)/1e6
		out.LagP50, out.LagP99 = &p50, &p99
	}
	if f.PrefixHit > 0 || !math.IsNaN(f.Reached) {
		out.PrefixTrace = metrics.OrNil(f.PrefixHit)
	}
	return out
}

// row is the replay as the runs table has it.
func (f *FidelityReport) row() sinks.ReplayRow {
	row := sinks.NoReplay()
	if f == nil {
		return row
	}
	row.Fidelity = f.Score
	for _, c := range []struct{ to, from *float64 }{
		{&row.LagP99, f.LagP99},
		{&row.Dependencies, f.Dependencies},
		{&row.Input, f.InputLength},
		{&row.Output, f.OutputLength},
		{&row.HitTrace, f.PrefixTrace},
		{&row.HitServer, f.PrefixReached},
	} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
	return row
}

// line is the replay in words.
func (f *FidelityReport) line() string {
	sent := words.Whole(int64(f.Rows-f.Missing)) + " of " + words.CountOf(f.Rows, "row", "rows") + " sent"
	if f.Middle {
		sent = words.CountOf(f.Rows, "request", "requests") + " sent"
	}
	parts := []string{"replay fidelity " + words.Percent(f.Score) + ": " + sent}
	add := func(name string, v *float64) {
		if v != nil {
			parts = append(parts, name+" "+words.Percent(*v))
		}
	}
	if f.OnTime != nil && f.LagP99 != nil {
		name := "on time"
		if f.Middle {
			name = "pauses kept"
		}
		parts = append(parts, fmt.Sprintf("%s %s (lag p99 %s)", name, words.Percent(*f.OnTime),
			words.Millis(*f.LagP99)))
	}
	add("dependencies kept", f.Dependencies)
	add("input length", f.InputLength)
	add("output length", f.OutputLength)
	if f.PrefixReached != nil && f.PrefixTrace != nil {
		parts = append(parts, fmt.Sprintf("prefix hits %s, the trace has %s", words.Percent(*f.PrefixReached),
			words.Percent(*f.PrefixTrace)))
	}
	return strings.Join(parts, " · ")
}
