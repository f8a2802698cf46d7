package onerun

import (
	"context"
	"errors"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
)

// Remote carries out runs whose requests others send: this process watches, and takes
// the records.
type Remote struct {
	// Send has the run sent, and hands every record over, from one goroutine.
	Send func(issue, hard context.Context, run *Opened, s *Session, clock record.Clock, to Receiver) (Sent, error)
}

// Receiver takes what senders tell. Each of its functions has one caller at a time.
type Receiver struct {
	Record func(*record.Record) // in order of completion; it is not kept
	Live   func(loadgen.Snapshot)
	Border func() // two phases meet: nothing is sent before it returns
}

// Sent is what was sent, by all senders together.
type Sent struct {
	loadgen.Result
	Transport transport.Stats
	Host      telemetry.Host // the worst of each kind
	Senders   []Sender       // by number
	Notes     []string
}

// Sender is what one of several senders says of its part of a run.
type Sender struct {
	Worker   int64  `json:"worker"`
	Host     string `json:"host"`
	Node     string `json:"node,omitempty"` // of a cluster, where that is known
	PID      int    `json:"pid"`
	Requests int64  `json:"requests"` // with a record
	// ms: how far its clock may be from the one that all set theirs by, and the latest
	// beginning of a phase after the time that all agreed upon
	ClockWithin float64  `json:"clock_within_ms"`
	BeganLate   float64  `json:"began_late_ms"`
	Cores       int      `json:"cores"`
	CPUSeconds  *float64 `json:"cpu_seconds,omitempty"`
}

// SendersError is about those who send a run. It says nothing of the server: the run may be
// sent again.
type SendersError struct{ Err error }

func (e *SendersError) Error() string { return e.Err.Error() }
func (e *SendersError) Unwrap() error { return e.Err }

// Network is there.
func (Remote) Network() bool { return true }

// Drive watches while others send.
func (d Remote) Drive(issue, hard context.Context, run *Opened, s *Session) (_ *Result, err error) {
	clock := record.NewClock()
	out := &Result{T0: clock.Wall(0), Doubt: run.doubt}
	w, seen, err := run.watch(issue, s, clock, together)
	if err != nil {
		return nil, err
	}
	sent, err := d.Send(issue, hard, run, s, clock, Receiver{
		Record: func(rec *record.Record) { out.Note(rec); seen.record(rec) },
		Live: func(x loadgen.Snapshot) {
			for _, tell := range seen.snapshots {
				tell(x)
			}
		},
		Border: func() {
			for _, b := range seen.borders {
				b.Border()
			}
		},
	})
	out.Result, out.Transport, out.Host, out.Senders = sent.Result, sent.Transport, sent.Host, sent.Senders
	out.Ended = time.Now()
	err = errors.Join(err, seen.stop(hard, out), w.Client.Close())
	out.Notes = append(out.Notes, sent.Notes...)
	return out, err
}
