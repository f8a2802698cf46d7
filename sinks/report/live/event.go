package live

import (
	"encoding/json"
	"math"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/loadgen"
)

// Event is one line of --progress json, and what a running plan leaves in its
// directory for those who watch. Figures that are not there are left out.
type Event struct {
	Event string    `json:"event"` // begin, live, done, end
	Time  time.Time `json:"time"`
	Index int       `json:"index"`          // of the run in the order of execution, from 0
	Runs  int       `json:"runs,omitempty"` // of the plan, where they are known
	Cell  int       `json:"cell"`
	Name  string    `json:"name"`
	Trial int       `json:"trial"`
	Why   string    `json:"why,omitempty"`      // a search made the run
	Stand string    `json:"standing,omitempty"` // what the search knew before it, and what was left of its budget
	Live  *Figures  `json:"live,omitempty"`

	Skipped bool             `json:"skipped,omitempty"` // of done: measured by an earlier process
	Verdict validity.Verdict `json:"verdict,omitempty"`
	Error   string           `json:"error,omitempty"`
	Tokens  *float64         `json:"output_tokens_per_second,omitempty"`
	TTFT    *float64         `json:"time_to_first_token_p99_ms,omitempty"`
	Good    *float64         `json:"good_share,omitempty"`
	Failed  int64            `json:"failed,omitempty"`
}

// Figures is a snapshot as JSON can hold it: times in seconds of the run,
// latencies in ms.
type Figures struct {
	Phase     string   `json:"phase"`
	Warmup    bool     `json:"warmup,omitempty"`
	Seconds   float64  `json:"seconds"`
	Ends      *float64 `json:"ends_seconds,omitempty"`
	Planned   int64    `json:"planned,omitempty"`
	Sent      int64    `json:"sent"`
	Done      int64    `json:"done"`
	Failed    int64    `json:"failed"`
	Cancelled int64    `json:"cancelled,omitempty"`
	InFlight  int      `json:"in_flight"`
	Target    int      `json:"target,omitempty"`
	Requests  *float64 `json:"requests_per_second,omitempty"`
	Tokens    *float64 `json:"output_tokens_per_second,omitempty"`
	LagP99    *float64 `json:"send_lag_p99_ms,omitempty"`
	TTFTP50   *float64 `json:"ttft_p50_ms,omitempty"`
	TTFTP99   *float64 `json:"ttft_p99_ms,omitempty"`
	ITLP50    *float64 `json:"itl_p50_ms,omitempty"`
	ITLP99    *float64 `json:"itl_p99_ms,omitempty"`
	Waiting   string   `json:"waiting,omitempty"`

	ServerRunning *float64 `json:"server_running,omitempty"`
	ServerWaiting *float64 `json:"server_waiting,omitempty"`
	ServerKVUse   *float64 `json:"server_kv_use,omitempty"` // 0 to 1
}

func orNaN(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// FiguresOf is a snapshot for JSON.
func FiguresOf(s loadgen.Snapshot) *Figures {
	f := &Figures{
		Phase: s.Phase, Warmup: s.Warmup, Seconds: float64(s.At-s.Start) / 1e9, Planned: s.Planned, Sent: s.Sent,
		Done:   s.Done,
		Failed: s.Failed, Cancelled: s.Cancelled, InFlight: s.InFlight, Target: s.Target,
		Requests: metrics.OrNil(s.RequestsPerSecond),
		Tokens:   metrics.OrNil(s.OutputTokensPerSecond), LagP99: metrics.OrNil(s.LagP99),
		TTFTP50: metrics.OrNil(s.TTFTP50), TTFTP99: metrics.OrNil(s.TTFTP99),
		ITLP50: metrics.OrNil(s.ITLP50), ITLP99: metrics.OrNil(s.ITLP99), Waiting: s.Waiting,
	}
	if n := s.Server; n != nil {
		f.ServerRunning, f.ServerWaiting = metrics.OrNil(n.Running), metrics.OrNil(n.Waiting)
		f.ServerKVUse = metrics.OrNil(n.KVUse)
	}
	if s.Ends != record.None {
		f.Ends = metrics.OrNil(float64(s.Ends-s.Start) / 1e9)
	}
	return f
}

// Snapshot is the inverse of FiguresOf, with the phase's start at 0.
func (f *Figures) Snapshot() loadgen.Snapshot {
	s := loadgen.Snapshot{
		Phase: f.Phase, Warmup: f.Warmup, At: int64(f.Seconds * 1e9), Planned: f.Planned, Sent: f.Sent, Done: f.Done,
		Failed:    f.Failed,
		Cancelled: f.Cancelled, InFlight: f.InFlight, Target: f.Target,
		LagP99: orNaN(f.LagP99), TTFTP50: orNaN(f.TTFTP50),
		TTFTP99: orNaN(f.TTFTP99), ITLP50: orNaN(f.ITLP50), ITLP99: orNaN(f.ITLP99), Waiting: f.Waiting,
		Ends: record.None,
	}
	if f.ServerRunning != nil || f.ServerWaiting != nil || f.ServerKVUse != nil {
		s.Server = &loadgen.ServerSnapshot{
			Running: orNaN(f.ServerRunning), Waiting: orNaN(f.ServerWaiting), KVUse: orNaN(f.ServerKVUse),
		}
	}
	if f.Requests != nil {
		s.RequestsPerSecond = *f.Requests
	}
	if f.Tokens != nil {
		s.OutputTokensPerSecond = *f.Tokens
	}
	if f.Ends != nil {
		s.Ends = int64(*f.Ends * 1e9)
	}
	return s
}

// Line is the event as one line of NDJSON.
func (e Event) Line() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		return nil // no field can fail: pointers are finite, times are of this century
	}
	return append(b, '\n')
}

// DoneEvent is a run that is over.
func DoneEvent(d Done, index, runs int, name string, at time.Time) Event {
	figure := func(name string) *float64 {
		if v, ok := d.Figures[name]; ok {
			return &v
		}
		return nil
	}
	return Event{
		Event: "done", Time: at, Index: index, Runs: runs, Cell: d.Cell, Name: name, Trial: d.Trial, Skipped: d.Skipped,
		Verdict: d.Verdict,
		Error:   d.Err, Tokens: figure(outputRate), TTFT: figure(ttftP99), Good: figure(goodShare), Failed: d.Failed,
	}
}
