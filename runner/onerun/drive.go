package onerun

import (
	"context"
	"errors"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/gclimit"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// Local sends the run's requests from this process.
type Local struct{}

// Network is there.
func (Local) Network() bool { return true }

// Drive makes one connection to each target first, so that a wrong address is said
// in one line.
func (Local) Drive(issue, hard context.Context, run *Opened, s *Session) (_ *Result, err error) {
	clock, where := record.NewClock(), together|sending
	if s.Worker != nil {
		clock, where = s.Worker.Clock, sending
	}
	out := &Result{T0: clock.Wall(0), Doubt: run.doubt}
	w, seen, err := run.watch(issue, s, clock, where)
	if err != nil {
		return nil, err
	}
	job := run.job(clock, out, seen, s)
	job.Client = w.Client
	err = run.drive(issue, hard, job, out)
	out.Ended = time.Now()
	err = errors.Join(err, seen.stop(hard, out), w.Client.Close()) // which looks at the clocks once more
	out.Transport = w.Client.Stats()
	return out, err
}

// watch connects to the targets and starts the observers of a place. Both are the caller's
// to end.
func (run *Opened) watch(
	ctx context.Context, s *Session, clock record.Clock, where place,
) (_ *Watched, _ *observers, err error) {
	w := &Watched{Run: run, Session: s, Clock: clock, Transport: Transport(&run.Benchmark, run.Targets, clock)}
	if w.Client, err = transport.Open(w.Transport); err != nil {
		return nil, nil, err
	}
	for i := range run.Targets {
		if err := w.Client.Probe(ctx, i); err != nil {
			return nil, nil, errors.Join(Unreachable(err), w.Client.Close())
		}
	}
	seen, err := observe(ctx, w, where)
	if err != nil {
		return nil, nil, errors.Join(err, w.Client.Close())
	}
	return w, seen, nil
}

// Simulated carries out runs in worlds of their own: time passes only when
// everybody waits, and the machine is not watched.
type Simulated struct {
	World func(urls []string) (loadgen.World, error) // a new one, with the servers of these addresses
}

// Network is not there: addresses are names of servers in the world.
func (Simulated) Network() bool { return false }

// Drive is as long as the requests take to be made and read.
func (d Simulated) Drive(issue, hard context.Context, run *Opened, s *Session) (*Result, error) {
	world, err := d.World(run.Benchmark.Endpoint.URLs)
	if err != nil {
		return nil, err
	}
	clock := record.NewClock()
	out := &Result{T0: clock.Wall(0), Doubt: run.doubt, Transport: transport.Stats{Stamps: "kernel"}}
	seen, err := observe(issue, &Watched{Run: run, Session: s, Clock: clock}, together|sending)
	if err != nil {
		return nil, err
	}
	job := run.job(clock, out, seen, s)
	job.World = world
	err = run.drive(issue, hard, job, out)
	out.Ended = clock.Wall(world.Now())
	return out, errors.Join(err, seen.stop(hard, out))
}

// job is what the engine is to do; whoever watches is shown what it does.
func (run *Opened) job(clock record.Clock, out *Result, seen *observers, s *Session) loadgen.Job {
	tok := run.Tokenizer
	if run.Benchmark.Endpoint.UseServerTokenCount && run.ServerCounts() {
		tok = nil // while it is measured the server is asked nothing: its usage counts
	}
	show := func(rec *record.Record) {
		out.Note(rec)
		seen.record(rec)
		if s.Worker != nil {
			s.Worker.Record(rec)
		}
	}
	job := loadgen.Job{
		Phases: run.Benchmark.Phases, Endpoint: run.Benchmark.Endpoint, Models: run.Benchmark.Models,
		Spec: run.API, Set: run.Set, WarmupSet: run.Warmup,
		Tokenizer: tok, Chat: run.Chat, Clock: clock, Share: run.Share, Seed: run.Seed,
		Text: run.Text, Judge: run.judge, Hide: s.Hide,
		Emit: show, Unsent: show, Figures: run.figures,
	}
	if run.graders != nil {
		job.Grade, job.Slow = run.graders.grade, run.takesLong
	}
	if w := s.Worker; w != nil {
		job.Starts, job.Blocks = w.Starts, w.Blocks
	}
	var elsewhere func([]byte)
	if s.Worker != nil {
		elsewhere = s.Worker.Keep
	}
	seen.attach(&job, elsewhere)
	return job
}

// drive runs the job. Conversations that could not be read while it ran are its
// failure.
func (run *Opened) drive(issue, hard context.Context, job loadgen.Job, out *Result) (err error) {
	defer gclimit.Measuring()()
	out.Result, err = loadgen.Run(issue, hard, job)
	for _, set := range []*dataset.Set{run.Set, run.Warmup} {
		if err == nil && set != nil {
			err = set.Err()
		}
	}
	if bad := tokenizer.Err(job.Tokenizer); bad != nil {
		out.Doubt = "not all texts were counted: " + bad.Error()
	}
	return err
}

// Transport is how the targets of b are spoken to.
func Transport(b *schema.Benchmark, targets []string, clock record.Clock) transport.Config {
	e := &b.Endpoint
	conns, bounded := mode.Connections(b.Phases)
	if !bounded {
		conns = 0
	}
	return transport.Config{
		Targets: targets, Clock: clock, Reuse: e.ConnectionReuse, MaxConns: conns,
		Insecure: e.Insecure, CAFile: e.CAFile, ClientCert: e.ClientCert, ClientKey: e.ClientKey,
		HTTP2: e.HTTP == 2, ProxyEnv: e.Proxy == "env", SourceAddresses: e.SourceAddresses,
	}
}

// Unreachable is err as a failure of the run; a server that was not reached says
// itself what to try.
func Unreachable(err error) error {
	var said *diag.Error
	if errors.As(err, &said) {
		return err
	}
	return &diag.Error{Code: diag.Failed, Message: err.Error(), Cause: err}
}
