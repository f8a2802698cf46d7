package runner

import (
	"fmt"
	"math"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/fidelity"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// FidelityReport is trace.Fidelity without what could not be known: how close
// a replay came to its trace.
type FidelityReport struct {
	Score         float64  `json:"score"`                     // the least of the shares, less the prefix overlap that was missed
	Middle        bool     `json:"from_the_middle,omitempty"` // of sessions: rows are the requests sent, on_time the pauses kept
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

// newReplay is the comparison for a run, nil where nothing is replayed.
func newReplay(set *dataset.Set, phases []schema.Phase) *fidelity.Replay {
	scheduled, middle, pauses := false, false, true
	for i := range phases {
		m, err := mode.Of(&phases[i])
		if err == nil && m.Primed {
			middle, pauses = true, pauses && phases[i].SystemIdleGapCapSeconds == nil
		}
		scheduled = scheduled || err == nil && phases[i].Kind != "warmup" && m.Timed
	}
	p := fidelity.New(set, scheduled && !middle)
	if p != nil && middle {
		p.FromMiddle(pauses)
	}
	return p
}

// replayed hands one request to the comparison.
func replayed(p *fidelity.Replay, r *record.Record) {
	primes := r.Warmup && r.Phase == mode.Priming
	if p == nil || !primes && (r.Warmup || !r.Measured) || r.Sent == record.None {
		return
	}
	s := trace.Sent{At: time.Duration(r.Sent), Known: -1, Primes: primes}
	if r.ISL != record.None {
		s.In = r.ISL
	}
	if r.Status == record.OK && r.OSL != record.None {
		s.Out = r.OSL
	}
	if r.Cached != record.None {
		s.Known = r.Cached
	}
	if r.UsagePrompt != record.None {
		s.Asked = r.UsagePrompt
	}
	p.Add(fidelity.Played{
		Conversation: r.ConversationID, Session: r.SessionID, Parent: r.ParentSession, Turn: r.Turn,
		Intended: time.Duration(r.Intended), Ended: time.Duration(r.End),
	}, s)
}

func reportFidelity(f trace.Fidelity) *FidelityReport {
	out := &FidelityReport{
		Score: f.Score, Middle: f.Middle, Rows: f.Rows, Missing: f.Missing, OnTime: metrics.OrNil(f.OnTime), Dependencies: metrics.OrNil(f.Dependencies),
		InputLength: metrics.OrNil(f.InputLength), OutputLength: metrics.OrNil(f.OutputLength), PrefixReached: metrics.OrNil(f.Reached),
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
		parts = append(parts, fmt.Sprintf("%s %s (lag p99 %s)", name, words.Percent(*f.OnTime), words.Millis(*f.LagP99)))
	}
	add("dependencies kept", f.Dependencies)
	add("input length", f.InputLength)
	add("output length", f.OutputLength)
	if f.PrefixReached != nil && f.PrefixTrace != nil {
		parts = append(parts, fmt.Sprintf("prefix hits %s, the trace has %s", words.Percent(*f.PrefixReached), words.Percent(*f.PrefixTrace)))
	}
	return strings.Join(parts, " · ")
}
