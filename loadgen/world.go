package loadgen

import (
	"context"

	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/pace"
)

// World is the time and the network of a run that is simulated: time passes only
// when everybody waits, in WaitUntil, which also is where answers arrive. All of
// a simulated run happens on one goroutine, so that a run of an hour takes as
// long as its requests need to be rendered and read, and always comes out the
// same.
type World interface {
	pace.Clock
	network
}

// simulate drives job in its world.
func simulate(issue, run context.Context, job *Job) (Result, error) {
	d, err := newDriver(job, job.World, job.World)
	if err != nil {
		return Result{}, err
	}
	var rd reader
	d.engine.serial = true
	d.engine.read = func(r *request) { d.finisher.finish(r, &rd) }
	ready := make(chan struct{})
	close(ready)
	d.supply = func(p *phase, sessions mode.Sessions) (source, <-chan struct{}) {
		return &direct{open: func() (*request, bool) { return d.engine.maker.open(p, sessions) }}, ready
	}
	return d.run(issue, run), nil
}

// direct is a source that renders a request when it is asked for it.
type direct struct{ open func() (*request, bool) }

func (s *direct) next() (r *request, over bool) {
	r, ok := s.open()
	return r, !ok
}

func (*direct) close() {}
func (*direct) wait()  {}
