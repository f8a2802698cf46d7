// Package loadgen drives one run: its phases of load, one after the other. In
// goes a Job (phases, conversations, endpoint, client), out come records, one
// per request, handed to Job.Emit in order of completion, and a Result that
// says what each phase really did.
//
// The steps: the mode says when (package mode), plays are rendered ahead of
// their time (maker.go, lookahead.go), the scheduler acquires the slots and sends
// (engine.go, phase.go, slots.go), the transport stamps, a finisher reads and counts
// (reader.go, answer.go, finish.go), a collector emits (finish.go). Everything the
// scheduler knows of the world is a clock and a sender, so tests run it in virtual time.
package loadgen

import (
	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/scale"
	"aiperf.dev/aiperf/loadgen/stable"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/tokenizer/chat"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// Job is one run to drive.
type Job struct {
	Phases    []schema.Phase
	Endpoint  schema.Endpoint
	Models    schema.Models
	Spec      *endpoint.Spec
	Set       *dataset.Set // profiling's conversations
	WarmupSet *dataset.Set // warmup's own; nil means Set
	Tokenizer tokenizer.Tokenizer
	Chat      *chat.Template // prompts are counted inside it; nil: as they are
	Client    *transport.Client
	Clock     record.Clock
	// World, if set, is the time and the network of the run in place of Client and
	// Clock; see World.
	World World
	// Share is the part of the run that is carried out here; see mode.Part.
	Share record.Share
	// Starts, if set, tells when a phase begins, in ns since T0, and from which number on
	// its requests are numbered: workers begin together, when the phase before is over
	// everywhere. It is called when that is so here and the first requests are ready, with
	// the first number that is free here, and waits for the others. Without it a phase
	// begins at once.
	Starts func(phase int, free int64) (start, number int64)
	// Blocks, if set, tells which sessions of a phase are played here, where that
	// follows how fast the answers are: in closed loops. Without it they are dealt out
	// beforehand.
	Blocks func(p *schema.Phase) func() (mode.Block, bool)
	// Seed is that of what runs may share which are compared with each other:
	// arrivals, choice and order of conversations, models, cancellations. Text is
	// that of what is this run's own: ids of sessions and requests.
	Seed, Text int64
	// Emit takes every record of every phase, once each, from one goroutine.
	// The record belongs to the receiver.
	Emit func(*record.Record)
	// Unsent, if set, takes a record of every request that was due by the
	// schedule and never sent, from the same goroutine as Emit; see record.Unsent.
	Unsent func(*record.Record)
	// Detail, if set, is shown every finished exchange before its buffers go
	// back, by several goroutines at once. What it returns goes to Keep with the
	// record, right before Emit; the record is not Keep's.
	Detail func(*record.Record, *transport.Exchange, Said) any
	Keep   func(*record.Record, any)
	// Grade, if set, judges an answer to a question with a known answer; several
	// goroutines call it at once.
	Grade func(*dataset.Known, Said) grade.Judgement
	// Slow, if set, tells whether Grade takes long for a question, since it runs programs:
	// then it is called when nothing is sent any more.
	Slow func(*dataset.Known) bool
	// Judge, if set, is asked about every record when it is complete: the first
	// missed SLO, by the clock of its load mode and from sending; "" when all held.
	Judge func(*record.Record) (failed, sent string)
	// Figures, if set, are those of the records of a window, of a phase that raises its
	// own load; without it no such figure is known.
	Figures func([]*record.Record, scale.Window) scale.Figures
	// Hide masks the secrets of the experiment in what servers say.
	Hide *secret.Masker
	// Between, if set, is called between two phases, when nothing is in flight.
	Between func()
	// Live, if set, is called about twice a second with a snapshot.
	Live func(Snapshot)
}

// Snapshot is the state of a running phase.
type Snapshot struct {
	Phase                 string
	Warmup                bool
	At, Start             int64 // ns since T0: now, and when the phase began
	Planned               int64 // requests, 0 when bounded by time
	Ends                  int64 // when sending ends by the clock, None when it does not
	Sent, Done, Failed    int64 // Failed without those that were cancelled or cut off
	Cancelled, Cut        int64 // as asked; by the end of the phase
	InFlight, Target      int
	RequestsPerSecond     float64 // answers of the last half second
	LagP99                float64 // ms, dispatch lateness of the last seconds
	TTFTP50, TTFTP99      float64 // ms, NaN when nothing arrived
	ITLP50, ITLP99        float64
	LatencyP50            float64 // of all answers, streamed or not
	LatencyP99            float64
	OutputTokensPerSecond float64
	// Waiting says what the phase waits for once nothing is sent any more:
	// "3 answers, cancelled in 12 s"; "" while it sends.
	Waiting string
	// Server is what servers say of themselves, put in by who reads their pages; nil
	// where none tells it.
	Server *ServerSnapshot
}

// ServerSnapshot is what servers said last. NaN is not known.
type ServerSnapshot struct {
	Running, Waiting float64 // requests
	KVUse            float64 // share of the KV cache, 0 to 1
}

// Interrupted is the reason of a run that was told to end.
const Interrupted = stopInterrupted

// ThresholdExceeded begins the reason of a run of which more requests failed than
// failed_request_threshold allows, in AIPerf's words.
const ThresholdExceeded = "--failed-request-threshold exceeded: "

// Result is what the phases did.
type Result struct {
	Phases []PhaseResult
	// Reason the run ended early, "" when it did not.
	Cancelled string
	// Unreachable says that it did because no server could be connected to, or because
	// none said anything any more.
	Unreachable bool
}

// PhaseResult is what one phase did. Times are ns since T0.
type PhaseResult struct {
	Name                       string
	Warmup                     bool
	Start, End                 int64            // phase start; last request over
	Answered                   int64            // the last that was not cut off was over; record.None without one
	Issued                     int64            // requests that were sent or failed in the attempt
	OK, Failed, CancelledCount int64            // CancelledCount: on purpose
	Cut                        int64            // of the sent ones, those that the end of the phase cut off
	Skipped                    map[string]int64 // turns and arrivals that were not sent, by reason (on_cap, …)
	Unsent                     int64            // of these, those that were due by the schedule
	// requests that the schedule wanted: issued and unsent ones; 0 in closed loop
	Due int64
	// requests, sessions, duration, interrupted, failures, unreachable, stalled, schedule,
	// adaptive_scale, stable
	Stop   string
	Closed bool // a closed loop: answers, and no clock, say when the next request goes
	// its concurrency; 0 in other modes, and where prefills alone are limited
	Target int
	// the second, lower limit that holds back requests of a closed loop: in_flight, prefill
	Capped string
	HeldUp int64 // turns of users that were due before the answer to the one before them
	// requests/s asked for, 0 in closed loop; the schedule's own mean when the rate varies
	Rate   float64
	Random bool // arrivals are random: the count of a window varies by chance
	// of random arrivals: variance of a count ÷ its mean; 1 for Poisson, 1/smoothness for gamma
	Dispersion float64
	// the load changes over the phase on purpose: a ramp of the rate, a series, a trace
	Varying   bool
	Gauge     Gauge
	Scale     *scale.Report    // of a phase that raises its own load; nil for any other
	Stability *stable.Report   // of a phase that ends by its own windows; nil for any other
	Branches  *record.Branches // of a set whose sessions start others; nil for any other
	Notes     []string         // what the watchdog had to do, one line each
}

// Gauge is an in-flight count kept independently of the records.
type Gauge struct {
	Mean                   float64 // time-weighted over the phase
	Max                    int
	HeldShare              float64 // share of Start..(last send) with in flight ≥ 0.95 × Target; NaN without target
	SteadyStart, SteadyEnd int64   // first reached and last left 0.95 × Target; None without
	// closed loop: ∫ in flight ÷ ∫ target of the moment, from first reaching it to the last send; NaN without target
	HeldRatio float64
	Residence int64 // Σ end − sent of all requests, ns: equals ∫ in flight by the records' own stamps
}
