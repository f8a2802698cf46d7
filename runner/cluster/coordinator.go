package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
)

// Options is what a coordinator is told.
type Options struct {
	Workers int
	Version string // of this program: workers are of the same
	// Launch starts the worker that joins at url with a token. What it returns is closed
	// when the worker has ended, and then says why.
	Launch func(url, token string) (*Process, error)
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
	processes []*Process
	run       int

	mu     sync.Mutex
	joined int64
	all    chan struct{} // closed when every worker has joined
	now    *carrying     // the run under way; nil between two
	beats  []time.Time   // the last of each worker
}

// How long a coordinator waits.
const (
	joining   = time.Minute      // for all workers to join
	preparing = 30 * time.Minute // for files to be read
	silence   = 20 * time.Second // of a worker that is there
)

// Open starts the workers, and waits until all have joined.
func Open(ctx context.Context, o Options) (*Coordinator, error) {
	b, err := openBus()
	if err != nil {
		return nil, err
	}
	c := &Coordinator{o: o, bus: b, all: make(chan struct{}), beats: make([]time.Time, o.Workers)}
	if err := c.listen(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	for range o.Workers {
		p, err := o.Launch(b.server.ClientURL(), b.token)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.processes = append(c.processes, p)
	}
	if err := c.await(ctx, c.all, joining); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
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
	return errors.Join(join, blocks, beats, times, phases, ends)
}

// join gives a worker its number.
func (c *Coordinator) join(h hello) welcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case h.Version != c.o.Version:
		return welcome{Refused: fmt.Sprintf("this worker is aiperf %s, the coordinator %s", h.Version, c.o.Version)}
	case c.joined >= int64(c.o.Workers):
		return welcome{Refused: fmt.Sprintf("all workers have joined already: %d", c.o.Workers)}
	}
	w := welcome{K: c.joined, Of: int64(c.o.Workers), Dir: c.bus.dir}
	c.beats[w.K] = time.Now()
	if c.joined++; c.joined == w.Of {
		close(c.all)
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

// beat notes that a worker is there.
func (c *Coordinator) beat(m *nats.Msg) {
	var b beat
	if json.Unmarshal(m.Data, &b) != nil || b.K < 0 || b.K >= int64(len(c.beats)) || decode(b.Gob, &b.Live) != nil {
		return
	}
	c.mu.Lock()
	c.beats[b.K] = time.Now()
	run := c.now
	c.mu.Unlock()
	if run != nil && run.number == b.Run {
		run.seen(b.K, &b.Live)
	}
}

// silent is a worker of which nothing was heard for too long, or that has ended.
func (c *Coordinator) silent() error {
	for k, p := range c.processes {
		select {
		case <-p.Over:
			why := "it ended"
			if p.Err != nil {
				why = p.Err.Error()
			}
			return errLost(int64(k), int64(c.o.Workers), why)
		default:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		return nil // between two runs it may be busy with files
	}
	for k, at := range c.beats[:c.joined] {
		if quiet := time.Since(at); quiet > silence {
			return errLost(int64(k), int64(c.o.Workers), "nothing was heard of it for "+quiet.Round(time.Second).String())
		}
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
				joined := c.joined
				c.mu.Unlock()
				return fmt.Errorf("%d of %s did not come within %v", int64(c.o.Workers)-joined,
					words.CountOf(c.o.Workers, "worker", "workers"), within)
			}
		}
	}
}

// Driver carries out runs by these workers.
func (c *Coordinator) Driver() onerun.Driver { return onerun.Remote{Send: c.send} }

// Close lets the workers go.
func (c *Coordinator) Close() error {
	for k := range c.processes {
		if c.bus.conn != nil {
			_, _ = ask[answer](c.bus.conn, subjectOf(int64(k)), order{Quit: true}, time.Second)
		}
	}
	for _, p := range c.processes {
		select {
		case <-p.Over:
		case <-time.After(5 * time.Second):
			p.Kill()
			<-p.Over
		}
	}
	return c.bus.close()
}

// carrying is the run under way.
type carrying struct {
	c      *Coordinator
	number int
	n      int64
	clock  record.Clock
	to     onerun.Receiver
	dealt  []dealer // by phase

	mu     sync.Mutex
	phases map[int][]*nats.Msg // workers that wait at a phase
	free   int64               // the first number of a request that no worker has used
	lives  []*loadgen.Snapshot
	dones  []*done
	left   int
	ended  chan struct{} // closed when every worker is done
}

// dealer deals the sessions of a phase out.
type dealer struct {
	mu   sync.Mutex
	next func() (mode.Block, bool)
}

// send has the workers carry out a run.
func (c *Coordinator) send(
	issue, hard context.Context, open *onerun.Opened, s *onerun.Session, clock record.Clock, to onerun.Receiver,
) (onerun.Sent, error) {
	c.run++
	if what := onerun.Apart(&open.Benchmark); what != "" {
		return onerun.Sent{}, diag.New(what+": not with several workers, which have the answers", "leave --workers out")
	}
	run := &carrying{
		c: c, number: c.run, n: int64(c.o.Workers), clock: clock, to: to, phases: map[int][]*nats.Msg{},
		lives: make([]*loadgen.Snapshot, c.o.Workers), left: c.o.Workers, ended: make(chan struct{}),
	}
	if err := run.deal(open); err != nil {
		return onerun.Sent{}, err
	}
	if err := c.prepare(issue, open); err != nil {
		return onerun.Sent{}, err
	}
	c.mu.Lock()
	c.now = run
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.now = nil; c.mu.Unlock() }()
	merged, stopMerge := newMerger(run.n, to.Record), make(chan struct{})
	var wait sync.WaitGroup
	var lost error
	wait.Go(func() { lost = run.collect(hard, merged, stopMerge) })
	defer context.AfterFunc(issue, func() { c.stop(run.number, false) })()
	defer context.AfterFunc(hard, func() { c.stop(run.number, true) })()
	for k := range run.n {
		if _, err := ask[answer](c.bus.conn, subjectOf(k), order{Run: run.number}, starting); err != nil {
			close(stopMerge)
			wait.Wait()
			return onerun.Sent{}, errLost(k, run.n, err.Error())
		}
	}
	liveOver := make(chan struct{})
	wait.Go(func() { run.show(liveOver) })
	err := c.await(context.WithoutCancel(hard), run.ended, 0)
	if err != nil { // the others would send less than was asked for
		c.stop(run.number, true)
	}
	close(liveOver)
	close(stopMerge)
	wait.Wait()
	merged.flush()
	sent, failed := run.sum()
	return sent, errors.Join(err, failed, lost)
}

// stop ends a run at all workers. One that does not hear it is gone.
func (c *Coordinator) stop(run int, hard bool) {
	_ = c.bus.conn.Publish(subjectStop, packed(stop{run, hard}))
}

// prepare has every worker open the run, and sees that all play the same.
func (c *Coordinator) prepare(ctx context.Context, open *onerun.Opened) error {
	want := open.Set.Digest()
	answers, errs := make([]answer, c.o.Workers), make([]error, c.o.Workers)
	var wait sync.WaitGroup
	for k := range c.o.Workers {
		wait.Go(func() {
			spec := open.Spec
			ctx, cancel := context.WithTimeout(ctx, preparing)
			defer cancel()
			m, err := c.bus.conn.RequestWithContext(ctx, subjectOf(int64(k)), packed(order{Prepare: &spec, Run: c.run}))
			if err == nil {
				err = json.Unmarshal(m.Data, &answers[k])
			}
			errs[k] = err
		})
	}
	wait.Wait()
	for k, a := range answers {
		switch {
		case errs[k] != nil:
			return errLost(int64(k), int64(c.o.Workers), errs[k].Error())
		case a.Failed != "":
			return diag.New(fmt.Sprintf("worker %d of %d: %s", k+1, c.o.Workers, a.Failed), a.Hint)
		case a.Digest != want:
			return diag.New(fmt.Sprintf("worker %d of %d has other data than the coordinator", k+1, c.o.Workers),
				"did a file of the experiment change just now?")
		}
	}
	return nil
}

// deal prepares the blocks of closed loops.
func (r *carrying) deal(open *onerun.Opened) error {
	r.dealt = make([]dealer, len(open.Benchmark.Phases))
	for i := range open.Benchmark.Phases {
		p := &open.Benchmark.Phases[i]
		set := open.Set
		if p.Kind == "warmup" && p.Primes == "" && open.Warmup != nil {
			set = open.Warmup
		}
		if _, err := mode.OpenPart(p, open.Seed, set, record.Share{Of: r.n}, nil); err != nil {
			return err
		}
		next, err := mode.Blocks(p, open.Seed, set, func() int64 { return r.size(p) })
		if err != nil {
			return err
		}
		r.dealt[i].next = next
	}
	return nil
}

// ahead is how long the requests of a block keep a worker busy at least.
const ahead = 2 * time.Second

// size is how many requests the next block has.
func (r *carrying) size(p *schema.Phase) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	rate := 0.0
	for _, l := range r.lives {
		if l != nil {
			rate = max(rate, l.RequestsPerSecond)
		}
	}
	n := max(int64(rate*ahead.Seconds()), 2*int64(max(p.Concurrency, p.InFlight, 1))/r.n)
	if p.Requests > 0 { // the last blocks are small, so that all end together
		n = min(n, max(1, p.Requests/(4*r.n)))
	}
	return max(1, n)
}

// block is the next one of a phase.
func (r *carrying) block(phase int) block {
	if phase < 0 || phase >= len(r.dealt) {
		return block{Over: true}
	}
	d := &r.dealt[phase]
	d.mu.Lock()
	defer d.mu.Unlock()
	b, ok := d.next()
	return block{b, !ok}
}

// soon is how far off the beginning of a phase is when the last worker is ready for it.
const soon = 20 * time.Millisecond

// at has a worker wait at a phase until all are there.
func (r *carrying) at(q atPhase, m *nats.Msg) {
	r.mu.Lock()
	r.phases[q.Phase] = append(r.phases[q.Phase], m)
	r.free = max(r.free, q.Free)
	first := r.free
	waiting := r.phases[q.Phase]
	if int64(len(waiting)) == r.n {
		delete(r.phases, q.Phase)
	}
	r.mu.Unlock()
	if int64(len(waiting)) < r.n {
		return
	}
	go func() {
		if q.Phase > 0 {
			r.to.Border()
		}
		start := packed(begins{r.clock.Now() + int64(soon), first})
		for _, m := range waiting {
			_ = m.Respond(start)
		}
	}()
}

// seen takes a worker's own snapshot.
func (r *carrying) seen(k int64, x *loadgen.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x.Phase != "" {
		r.lives[k] = x
	}
}

// show tells twice a second where all workers are together.
func (r *carrying) show(over <-chan struct{}) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			r.mu.Lock()
			x, ok := together(r.lives)
			r.mu.Unlock()
			if ok {
				x.At = r.clock.Now()
				r.to.Live(x)
			}
		}
	}
}

// over notes that a worker is done.
func (r *carrying) over(d *done) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.dones, func(o *done) bool { return o.K == d.K }) {
		return
	}
	r.dones = append(r.dones, d)
	if d.Failed != "" { // the others would wait for it, or send less than was asked for
		r.c.stop(r.number, true)
	}
	if r.left--; r.left == 0 {
		close(r.ended)
	}
}

// batches is how many messages with records the workers have sent.
func (r *carrying) batches() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dones {
		n += d.Batches
	}
	return n
}

// collect takes the records out of the stream, until all have come that workers sent, or
// no more can come.
func (r *carrying) collect(ctx context.Context, to *merger, over <-chan struct{}) error {
	consumer, err := r.c.bus.js.CreateOrUpdateConsumer(context.WithoutCancel(ctx), streamName, jetstream.ConsumerConfig{
		Durable: "coordinator", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 4096,
	})
	if err != nil {
		return err
	}
	var got int64
	ending, last := false, time.Now()
	for {
		select {
		case <-over:
			ending = true
		default:
		}
		if ending && got >= r.batches() {
			return nil
		}
		list, err := consumer.Fetch(256, jetstream.FetchMaxWait(100*time.Millisecond))
		if err != nil {
			return fmt.Errorf("records of workers: %w", err)
		}
		n := 0
		for m := range list.Messages() {
			n++
			var b batch
			if err := decode(m.Data(), &b); err != nil {
				return fmt.Errorf("records of a worker: %w", err)
			}
			if b.Run == r.number {
				got++
				to.add(&b)
			}
			if err := m.Ack(); err != nil {
				return fmt.Errorf("records of workers: %w", err)
			}
		}
		if n > 0 {
			last = time.Now()
		}
		if missing := r.batches() - got; ending && missing > 0 && time.Since(last) > silence {
			return fmt.Errorf("%s with records of workers did not come", words.CountOf(missing, "message", "messages"))
		}
	}
}

// sum is what all workers did.
func (r *carrying) sum() (onerun.Sent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.dones, func(a, b *done) int { return int(a.K - b.K) })
	var sent onerun.Sent
	var parts []loadgen.Result
	for _, d := range r.dones {
		if d.Failed != "" {
			return sent, &diag.Error{
				Code: diag.Failed, Message: fmt.Sprintf("worker %d of %d: %s", d.K+1, r.n, d.Failed), Hint: d.Hint,
			}
		}
		parts = append(parts, d.Result.Result)
		sent.Host = worst(sent.Host, d.Result.Host, len(parts) == 1)
		sent.Transport = addStats(sent.Transport, d.Result.Transport)
		for _, note := range d.Result.Notes {
			if !slices.Contains(sent.Notes, note) {
				sent.Notes = append(sent.Notes, note)
			}
		}
	}
	sent.Result = loadgen.Merge(parts)
	return sent, nil
}
