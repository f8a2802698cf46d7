// Package onerun carries out one run: a Spec, which is plain data, becomes a Result.
//
// A Loader opens what the spec names (conversations, tokenizer, API); a Driver sends
// it, on the real network or in simulated time; observers watch: each is a row of
// the catalogue in observe.go, which starts before the first request, sees what it
// asks for, and adds what it learned to the Result. Nothing here knows of plans,
// trials or verdicts' words: that is the room above.
package onerun

import (
	"context"
	"time"

	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// Spec is one run as plain data: whoever has it can carry the run out, in this
// process or another.
type Spec struct {
	Meta sinks.RunMeta `json:"meta"` // which run it is; T0 and Share are the journal's to fill
	// Benchmark is the resolved body. Its phases are those that the run goes through,
	// and its files are where they are.
	Benchmark schema.Benchmark `json:"benchmark"`
	// Seed is that of what runs share which are compared with each other, Text that
	// of what is this run's own.
	Seed int64 `json:"seed"`
	Text int64 `json:"text_seed"`
	// Share is the part of the run that is carried out here.
	Share record.Share `json:"share,omitzero"`
	// Targets are the addresses of Benchmark.Endpoint.URLs with the built-in server's
	// real ones; empty in simulated time, where nobody can be asked anything.
	Targets []string `json:"targets,omitempty"`
	// AllowCode: the code of answers may be run, to judge it.
	AllowCode bool `json:"allow_code,omitempty"`
}

// ServerCounts tells whether the server is the run's tokenizer.
func (s *Spec) ServerCounts() bool { return s.Benchmark.Tokenizer.Name == tokenizer.Server }

// Session is what a driver needs beside the run: where files go, and who is told.
type Session struct {
	Dir  string                 // the run's folder, which is there
	Hide *secret.Masker         // nil hides nothing
	Live func(loadgen.Snapshot) // nil: nobody watches

	Exporters []Exporter // who else is shown what happens, beside the run

	Worker *Worker // of a run that is one of several parts; nil: it is the whole
}

// Worker is what the part of a run needs of those who hold the parts together.
type Worker struct {
	Clock  record.Clock                                      // of all parts
	T0     time.Time                                         // of all, by the clock of who holds them together
	Starts func(phase int, free int64) (start, number int64) // see loadgen.Job
	Blocks func(p *schema.Phase) func() (mode.Block, bool)   // the same
	Record func(*record.Record)                              // takes every record: nothing of it changes any more
	Keep   func(packed []byte)                               // takes what is kept beside the next record
}

// Result is what a run did and what its observers saw, before anybody judges it: plain
// data, so that it may come from another process.
type Result struct {
	loadgen.Result
	T0        time.Time // every time of the run counts from it
	Ended     time.Time
	Emitted   int64          // records, of all phases
	Span      metrics.Window // first sent .. last ended of what counts, ns since T0
	Transport transport.Stats
	Senders   []Sender // where there are several

	// What observers add.
	Host     telemetry.Host
	Identity *verdict.Identity // nil where the server does not say what it is
	Fidelity *trace.Fidelity   // nil where nothing recorded was played
	Swaps    grade.Swaps       // among the answers to questions
	Doubt    string            // about the token counts; "" for none
	Lost     string            // why records could not be written; "" when all were
	Notes    []string          // what the run's warnings say beside, one line each
	Log      []string          // what only the log says, once a plan
	Sources  []telemetry.Source
}

// Driver carries out a run that was opened. The run ends itself, with issue at the
// next point where nothing is cut off, or with hard at once. The error is about the
// run as a whole; requests that fail are data.
type Driver interface {
	Drive(issue, hard context.Context, run *Opened, s *Session) (*Result, error)
	// Network tells whether the addresses of a run are those of real servers, which
	// may be waited for and asked.
	Network() bool
}

// lose notes why records could not be written; what went wrong first is told.
func (m *Result) lose(err error) {
	if err != nil && m.Lost == "" {
		m.Lost = err.Error()
	}
}

// Note counts a record that the engine hands over.
func (m *Result) Note(r *record.Record) {
	m.Emitted++
	if r.Warmup || !r.InWindow || r.Sent == record.None || r.End == record.None {
		return
	}
	if m.Span.End == 0 {
		m.Span.Start = r.Sent
	}
	m.Span.Start, m.Span.End = min(m.Span.Start, r.Sent), max(m.Span.End, r.End)
}
