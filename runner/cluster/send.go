package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner/onerun"
)

// Send has the workers carry out a run.
func (c *Coordinator) Send(
	issue, hard context.Context, open *onerun.Opened, clock record.Clock, to onerun.Receiver,
) (onerun.Sent, error) {
	if what := onerun.Apart(&open.Benchmark); what != "" {
		return onerun.Sent{}, diag.New(what+": not with several workers, which have the answers", "leave --workers out")
	}
	run := c.begin(issue, clock, to)
	run.goesOn = open.Benchmark.OnWorkerLoss == "continue"
	if err := run.deal(open); err != nil {
		return onerun.Sent{}, err
	}
	if err := errors.Join(c.fill(issue), c.fenced(issue), c.renew(issue)); err != nil {
		return onerun.Sent{}, err
	}
	if err := c.prepare(issue, open); err != nil {
		return onerun.Sent{}, err
	}
	return c.carry(issue, hard, run, order{T0: clock.Wall(0).UnixNano()})
}

// Kept tells whether every worker keeps its part of a run, and all of them parts of the same
// sending of it.
func (c *Coordinator) Kept(open *onerun.Opened) (t0 time.Time, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.key(open)
	for k, s := range c.seats {
		if s.Kept == nil || s.Kept.Key != key || s.Kept.K != int64(k) || s.Kept.T0 != c.seats[0].Kept.T0 {
			return t0, false
		}
	}
	return time.Unix(0, c.seats[0].Kept.T0), true
}

// key names a run in such a number of parts.
func (c *Coordinator) key(open *onerun.Opened) string {
	sum := sha256.Sum256(append(packed(open.Spec), fmt.Sprint(open.Set.Digest(), c.o.Workers)...))
	return hex.EncodeToString(sum[:])
}

// Fetch takes what the workers keep of a run. What cannot be had may be sent again.
func (c *Coordinator) Fetch(ctx context.Context, _ *onerun.Opened, to onerun.Receiver) (onerun.Sent, error) {
	sent, err := c.carry(ctx, ctx, c.begin(ctx, record.Clock{}, to), order{Hand: true})
	if err != nil && ctx.Err() == nil {
		err = &onerun.SendersError{Err: err}
	}
	return sent, err
}

// begin is the next run. What workers keep of an earlier one is not asked for after it.
func (c *Coordinator) begin(issue context.Context, clock record.Clock, to onerun.Receiver) *carrying {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.seats {
		c.seats[k].Kept = nil
	}
	c.run++
	return &carrying{
		c: c, issue: issue, number: c.run, n: int64(c.o.Workers), clock: clock, to: to, phases: map[int][]waiting{},
		lives: make([]*loadgen.Snapshot, c.o.Workers), left: c.o.Workers, ended: make(chan struct{}),
		lost: map[int64]onerun.Lost{},
	}
}

// carry has all workers follow an order about a run, and takes what they tell of it.
func (c *Coordinator) carry(issue, hard context.Context, run *carrying, o order) (onerun.Sent, error) {
	c.mu.Lock()
	c.now = run
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.now = nil; c.mu.Unlock() }()
	merged, stopMerge := newMerger(run.n, run.to.Record), make(chan struct{})
	for k := range merged.parts {
		if run.goesOn {
			merged.parts[k].left = loadgen.Left{}
		}
	}
	var wait sync.WaitGroup
	var lost error
	wait.Go(func() { lost = run.collect(hard, merged, stopMerge) })
	defer context.AfterFunc(issue, func() { c.stop(run.number, false) })()
	defer context.AfterFunc(hard, func() { c.stop(run.number, true) })()
	o.Run = run.number
	var err error
	for k := int64(0); k < run.n && err == nil; k++ {
		if _, gone := ask[answer](c.bus.conn, c.orders(k), o, starting); gone != nil {
			err = &lostError{k, run.n, gone.Error()}
		}
	}
	liveOver := make(chan struct{})
	wait.Go(func() { run.show(liveOver) })
	if err == nil {
		err = c.ending(hard, run)
	}
	if err != nil { // the others would send less than was asked for
		run.mu.Lock()
		run.stopped = true
		run.mu.Unlock()
		c.stop(run.number, true)
	}
	close(liveOver)
	close(stopMerge)
	wait.Wait()
	merged.flush()
	if run.mu.Lock(); run.early != nil { // it has said why before it went
		err = run.early
	}
	run.mu.Unlock()
	sent, failed := run.sum(merged)
	return sent, errors.Join(c.gone(err), failed, lost)
}

// ending waits until all workers are done, or all that are left where the run goes on without others.
func (c *Coordinator) ending(hard context.Context, run *carrying) error {
	for {
		err := c.await(context.WithoutCancel(hard), run.ended, 0)
		lost := (*lostError)(nil)
		if !errors.As(err, &lost) || !run.without(lost) {
			return err
		}
		c.leave(lost.k)
		c.processes[lost.k] = nil // another one is started for the next run
	}
}

// gone frees the place of a worker that an error is about: the run may be sent again, by
// another in its place.
func (c *Coordinator) gone(err error) error {
	lost := (*lostError)(nil)
	if !errors.As(err, &lost) {
		return err
	}
	c.leave(lost.k)
	return &onerun.SendersError{Err: lost}
}

// stop ends a run at all workers. One that does not hear it is gone.
func (c *Coordinator) stop(run int, hard bool) {
	_ = c.bus.conn.Publish(subjectStop, packed(stop{run, hard}))
}

// prepare has every worker open the run, and sees that all play the same.
func (c *Coordinator) prepare(ctx context.Context, open *onerun.Opened) error {
	want, o := open.Set.Digest(), order{Run: c.run, Key: c.key(open)}
	spec := open.Spec
	if c.files != nil {
		var err error
		if spec, o.Files, err = c.files.lend(ctx, &open.Spec); err != nil {
			return err
		}
	}
	o.Prepare = &spec
	told := packed(o)
	answers, errs, ready := make([]answer, c.o.Workers), make([]error, c.o.Workers), make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(ready)
		var wait sync.WaitGroup
		for k := range c.o.Workers {
			wait.Go(func() {
				m, err := c.bus.conn.RequestWithContext(ctx, c.orders(int64(k)), told)
				if err == nil {
					err = json.Unmarshal(m.Data, &answers[k])
				}
				errs[k] = err
			})
		}
		wait.Wait()
	}()
	if err := c.await(ctx, ready, preparing); err != nil {
		cancel()
		<-ready
		return c.gone(err)
	}
	for k, a := range answers {
		switch {
		case errs[k] != nil:
			return c.gone(&lostError{int64(k), int64(c.o.Workers), errs[k].Error()})
		case a.Failed != "":
			return diag.New(fmt.Sprintf("worker %d of %d: %s", k+1, c.o.Workers, a.Failed), a.Hint)
		case a.Digest != want:
			return diag.New(fmt.Sprintf("worker %d of %d has other data than the coordinator", k+1, c.o.Workers),
				"did a file of the experiment change just now?")
		}
	}
	return nil
}
