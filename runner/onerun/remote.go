package onerun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
)

// Remote carries out runs whose requests others send: this process watches, and takes
// the records.
type Remote struct{ Senders Senders }

// Senders send runs. What they tell comes from one goroutine, and has come when they return.
type Senders interface {
	// Send has the run sent. All times are by clock.
	Send(issue, hard context.Context, run *Opened, clock record.Clock, to Receiver) (Sent, error)
	// Kept tells whether they have sent the run already and keep what they saw, since those who held
	// them together are gone; t0 is what its times count from.
	Kept(run *Opened) (t0 time.Time, is bool)
	// Fetch takes what they keep of it.
	Fetch(ctx context.Context, run *Opened, to Receiver) (Sent, error)
}

// Receiver takes what senders tell. Each of its functions has one caller at a time.
type Receiver struct {
	// Record takes one, in order of completion, with what Worker.Keep got beside it. It is not kept.
	Record func(r *record.Record, packed []byte)
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
	Lost        *Lost    `json:"lost,omitempty"`
}

// Lost is what became of a sender that the others went on without.
type Lost struct {
	After float64 `json:"after_seconds"` // since T0
	Why   string  `json:"why"`
}

// SendersError is about those who send a run. It says nothing of the server: the run may be
// sent again.
type SendersError struct{ Err error }

func (e *SendersError) Error() string { return e.Err.Error() }
func (e *SendersError) Unwrap() error { return e.Err }

// Network is there.
func (Remote) Network() bool { return true }

// Drive watches while others send. Of a run that was sent before nothing is left to be watched:
// its records are taken, and that is noted.
func (d Remote) Drive(issue, hard context.Context, run *Opened, s *Session) (_ *Result, err error) {
	if t0, is := d.Senders.Kept(run); is {
		return d.fetch(hard, run, s, record.ClockFrom(t0))
	}
	clock := record.NewClock()
	out := &Result{T0: clock.Wall(0), Doubt: run.doubt}
	w, seen, err := run.watch(issue, s, clock, together)
	if err != nil {
		return nil, err
	}
	sent, err := d.Senders.Send(issue, hard, run, clock, seen.receiver(out))
	out.take(&sent)
	out.Ended = time.Now()
	err = errors.Join(err, seen.stop(hard, out), w.Client.Close())
	out.Notes = append(out.Notes, sent.Notes...)
	return out, err
}

// fetch takes the records of a run that was sent while nobody held its parts together.
func (d Remote) fetch(ctx context.Context, run *Opened, s *Session, clock record.Clock) (*Result, error) {
	out := &Result{T0: clock.Wall(0), Doubt: run.doubt}
	seen, err := observe(ctx, &Watched{Run: run, Session: s, Clock: clock, Over: true}, afterwards)
	if err != nil {
		return nil, err
	}
	sent, err := d.Senders.Fetch(ctx, run, seen.receiver(out))
	out.take(&sent)
	out.Ended = clock.Wall(out.Span.End)
	err = errors.Join(err, seen.stop(ctx, out))
	out.Notes = append(append(out.Notes, sent.Notes...),
		"the coordinator died while the workers sent this run, so nothing was read of the server's and GPUs' own metrics")
	return out, err
}

// receiver shows what senders tell to all who look.
func (s *observers) receiver(out *Result) Receiver {
	return Receiver{
		Record: func(rec *record.Record, packed []byte) {
			if err := s.unpack(rec, packed); err != nil {
				out.lose(fmt.Errorf("what a worker kept of an exchange: %w", err))
			}
			out.Note(rec)
			s.record(rec)
		},
		Live: func(x loadgen.Snapshot) {
			for _, tell := range s.snapshots {
				tell(x)
			}
		},
		Border: func() {
			for _, b := range s.borders {
				b.Border()
			}
		},
	}
}

// take is what senders sent.
func (m *Result) take(sent *Sent) {
	m.Result, m.Transport, m.Host, m.Senders = sent.Result, sent.Transport, sent.Host, sent.Senders
}
