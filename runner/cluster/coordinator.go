package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner/onerun"
)

// Options is what a coordinator is told.
type Options struct {
	Workers int
	Version string // of this program: workers are of the same
	Listen  string // host and port for workers of other machines; "" for those that Launch starts
	Token   string // that they have to know; "" for a new one
	// Missing, where workers join by themselves, is told how many have not, and where they can.
	Missing func(n int64, address string)
	// Launch starts worker k, which joins at url with a token. What it returns is closed
	// when the worker has ended, and then says why. nil: workers join by themselves.
	Launch func(url, token string, k int64) (*Process, error)
}

// Process is a worker that was started here.
type Process struct {
	Over chan struct{} // closed at its end
	Err  error         // valid then
	Kill func()
}

// Coordinator has workers carry out runs. It belongs to one goroutine.
type Coordinator struct {
	o         Options
	bus       *bus
	processes []*Process // by worker
	run       int
	files     *lender // for workers of other machines; nil where they read what is here

	pulse string // subject of what the coordinator itself has said
	still func() // ends its words

	mu     sync.Mutex
	seats  []seat
	all    chan struct{} // closed when every worker has joined
	now    *carrying     // the run under way; nil between two
	echoed bool          // the coordinator has heard its own last word
	fences map[string]time.Time
}

// How long a coordinator waits.
const (
	joining   = time.Minute      // for all workers that it started to join
	arriving  = 30 * time.Minute // for those that are started by somebody else
	preparing = 30 * time.Minute // for files to be read
	silence   = 10 * time.Second // for what was sent and does not come
)

// Open starts the workers, and waits until all have joined.
func Open(ctx context.Context, o Options) (*Coordinator, error) {
	b, err := openBus(o.Listen, o.Token)
	if err != nil {
		return nil, err
	}
	c := newCoordinator(&o, b)
	if o.Launch == nil {
		c.files = newLender(b.js)
	}
	if err := c.listen(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.fill(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func newCoordinator(o *Options, b *bus) *Coordinator {
	return &Coordinator{
		o: *o, bus: b, all: make(chan struct{}), seats: make([]seat, o.Workers), processes: make([]*Process, o.Workers),
		fences: map[string]time.Time{}, still: func() {},
	}
}

// fill starts the workers that are not there, at first and after one was lost, and waits
// until all have joined.
func (c *Coordinator) fill(ctx context.Context) error {
	for k, p := range c.processes {
		if p != nil && !p.over() {
			continue
		}
		if c.o.Launch == nil {
			continue
		}
		c.leave(int64(k))
		p, err := c.o.Launch(c.bus.url, c.bus.token, int64(k))
		if err != nil {
			return err
		}
		c.processes[k] = p
	}
	for {
		c.mu.Lock()
		all, missing := c.all, c.missing()
		c.mu.Unlock()
		if c.o.Launch != nil {
			return c.await(ctx, all, joining)
		}
		if missing > 0 {
			c.o.Missing(missing, c.bus.address)
		}
		err := c.await(ctx, all, arriving)
		lost := (*lostError)(nil)
		if !errors.As(err, &lost) {
			return err
		}
		c.leave(lost.k) // before the others were there: another may come
	}
}

// leave frees the place of a worker that is gone, or as good as gone.
func (c *Coordinator) leave(k int64) {
	if p := c.processes[k]; p != nil && !p.over() {
		p.Kill()
		<-p.Over
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.missing() == 0 {
		c.all = make(chan struct{})
	}
	c.fence(&c.seats[k], c.processes[k] != nil)
	c.seats[k] = seat{}
}

// missing is how many workers have not joined.
func (c *Coordinator) missing() (n int64) {
	for _, s := range c.seats {
		if s.Orders == "" {
			n++
		}
	}
	return n
}

// over tells whether the process has ended.
func (p *Process) over() bool {
	select {
	case <-p.Over:
		return true
	default:
		return false
	}
}

// listen answers what workers ask.
func (c *Coordinator) listen(ctx context.Context) error {
	_, err := c.bus.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{"aiperf.records.*"}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.FileStorage, MaxMsgSize: maxPayload,
	})
	if err != nil {
		return err
	}
	_, join := hear(c.bus.conn, subjectJoin, c.join)
	_, blocks := hear(c.bus.conn, subjectBlocks, func(q atPhase) block {
		if run := c.under(q.Run); run != nil {
			return run.block(q.Phase)
		}
		return block{Over: true}
	})
	_, beats := c.bus.conn.Subscribe(subjectBeat, c.beat)
	_, times := c.bus.conn.Subscribe(subjectClock, func(m *nats.Msg) {
		if run := c.current(); run != nil {
			_ = m.Respond([]byte(strconv.FormatInt(run.clock.Now(), 10)))
		}
	})
	_, phases := c.bus.conn.Subscribe(subjectPhase, func(m *nats.Msg) {
		var q atPhase
		if json.Unmarshal(m.Data, &q) != nil {
			return
		}
		if run := c.under(q.Run); run != nil {
			run.at(q, m)
		}
	})
	_, ends := c.bus.conn.Subscribe(subjectDone, func(m *nats.Msg) {
		var d done
		if decode(m.Data, &d) != nil {
			return
		}
		_ = m.Respond(nil)
		if run := c.under(d.Run); run != nil {
			run.over(&d)
		}
	})
	pulse := c.say()
	// a worker that asks at once is heard
	return errors.Join(join, blocks, beats, times, phases, ends, pulse, c.bus.conn.FlushTimeout(starting))
}

// join gives a worker its number.
func (c *Coordinator) join(h hello) welcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !strings.HasPrefix(h.Orders, nats.InboxPrefix):
		return welcome{Refused: "this worker does not say where it takes orders"}
	case h.Version != c.o.Version:
		return welcome{Refused: fmt.Sprintf("this worker is aiperf %s, the coordinator %s", h.Version, c.o.Version)}
	case c.missing() == 0:
		return welcome{Refused: fmt.Sprintf("all workers have joined already: %d", c.o.Workers), Taken: true}
	case h.K >= int64(c.o.Workers):
		return welcome{Refused: fmt.Sprintf("worker %d is not one of the %d, which count from 0", h.K, c.o.Workers)}
	case h.K >= 0 && c.seats[h.K].Orders != "":
		return welcome{Refused: fmt.Sprintf("worker %d has joined already", h.K), Taken: true}
	}
	k := h.K
	if k < 0 {
		k = int64(slices.IndexFunc(c.seats, func(s seat) bool { return s.Orders == "" }))
	}
	c.seats[k] = seat{hello: h, heard: time.Now()}
	delete(c.fences, h.Was) // what it sent has ended
	if c.missing() == 0 {
		close(c.all)
	}
	w := welcome{K: k, Of: int64(c.o.Workers), Beat: int64(c.beatEvery())}
	if c.o.Launch != nil { // on this machine
		w.Dir = c.bus.dir
	}
	return w
}

// current is the run under way, nil between two.
func (c *Coordinator) current() *carrying {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// under is the run under way, if it has that number.
func (c *Coordinator) under(number int) *carrying {
	if run := c.current(); run != nil && run.number == number {
		return run
	}
	return nil
}

// await waits for what all workers do together, and notices when one is gone. within 0 is
// as long as it takes.
func (c *Coordinator) await(ctx context.Context, what <-chan struct{}, within time.Duration) error {
	began := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-what:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if err := c.silent(); err != nil {
				return err
			}
			if within > 0 && time.Since(began) > within {
				c.mu.Lock()
				missing := c.missing()
				c.mu.Unlock()
				return fmt.Errorf("%d of %s did not come within %v", missing,
					words.CountOf(c.o.Workers, "worker", "workers"), within)
			}
		}
	}
}

// Driver carries out runs by these workers.
func (c *Coordinator) Driver() onerun.Driver { return onerun.Remote{Senders: c} }

// Close lets the workers go.
func (c *Coordinator) Close() error {
	c.still()
	for k := range c.processes {
		if at := c.orders(int64(k)); c.bus.conn != nil && at != "" {
			_, _ = ask[answer](c.bus.conn, at, order{Quit: true}, time.Second) // it may be gone
		}
	}
	for _, p := range c.processes {
		if p == nil {
			continue
		}
		select {
		case <-p.Over:
		case <-time.After(5 * time.Second):
			p.Kill()
			<-p.Over
		}
	}
	return c.bus.close()
}

// orders is where worker k takes them.
func (c *Coordinator) orders(k int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seats[k].Orders
}

// sender is what worker k is called.
func (c *Coordinator) sender(k int64) onerun.Sender {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.seats[k]
	return onerun.Sender{Worker: k, Host: h.Host, Node: h.Node, PID: h.PID}
}

// Send has the workers carry out a run.
func (c *Coordinator) Send(
	issue, hard context.Context, open *onerun.Opened, clock record.Clock, to onerun.Receiver,
) (onerun.Sent, error) {
	if what := onerun.Apart(&open.Benchmark); what != "" {
		return onerun.Sent{}, diag.New(what+": not with several workers, which have the answers", "leave --workers out")
	}
	run := c.begin(issue, clock, to)
	if err := run.deal(open); err != nil {
		return onerun.Sent{}, err
	}
	if err := errors.Join(c.fill(issue), c.fenced(issue)); err != nil {
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
		c: c, issue: issue, number: c.run, n: int64(c.o.Workers), clock: clock, to: to, phases: map[int][]*nats.Msg{},
		lives: make([]*loadgen.Snapshot, c.o.Workers), left: c.o.Workers, ended: make(chan struct{}),
	}
}

// carry has all workers follow an order about a run, and takes what they tell of it.
func (c *Coordinator) carry(issue, hard context.Context, run *carrying, o order) (onerun.Sent, error) {
	c.mu.Lock()
	c.now = run
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.now = nil; c.mu.Unlock() }()
	merged, stopMerge := newMerger(run.n, run.to.Record), make(chan struct{})
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
		err = c.await(context.WithoutCancel(hard), run.ended, 0)
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
	sent, failed := run.sum()
	return sent, errors.Join(c.gone(err), failed, lost)
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
