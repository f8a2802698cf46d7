package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
)

// carrying is the run under way.
type carrying struct {
	c      *Coordinator
	issue  context.Context // over when the run is to end
	number int
	n      int64
	clock  record.Clock
	to     onerun.Receiver
	dealt  []dealer // by phase

	mu      sync.Mutex
	phases  map[int][]waiting // workers that wait at a phase
	free    int64             // the first number of a request that no worker has used
	away    int64             // ns that a word takes to the farthest worker
	lives   []*loadgen.Snapshot
	dones   []*done
	early   *lostError // a worker that ended by itself, as on a signal; nil for none
	goesOn  bool       // without workers that are lost
	lost    map[int64]onerun.Lost
	stopped bool // the others were told to end, since one is lost or has failed
	left    int
	ended   chan struct{} // closed when every worker is done
}

// waiting is a worker that waits for an answer.
type waiting struct {
	k int64
	m *nats.Msg
}

// dealer deals the sessions of a phase out.
type dealer struct {
	mu   sync.Mutex
	next func() (mode.Block, bool)
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
		next, err := mode.Blocks(p, open.Seed, set, func(left int64) int64 { return r.size(p, left) })
		if err != nil {
			return err
		}
		r.dealt[i].next = next
	}
	return nil
}

// ahead is how long the requests of a block keep a worker busy, where so many are left.
const ahead = 2 * time.Second

// size is how many requests the next block has, of so many that are left.
func (r *carrying) size(p *schema.Phase, left int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	rate := 0.0
	for _, l := range r.lives {
		if l != nil {
			rate = max(rate, l.RequestsPerSecond)
		}
	}
	each := max(1, int64(max(p.Concurrency, p.InFlight))/r.n) // under way at one worker
	n := max(int64(rate*ahead.Seconds()), 8*each)
	if p.Requests > 0 || p.Sessions > 0 { // the last blocks are small, so that all end together
		n = max(each/2, min(n, left/(4*r.n)))
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

// soon is how far off the beginning of a phase is when the last worker is ready for it, and as
// many times as long as a word takes to the farthest one, of which some may be lost on the way.
const (
	soon      = 20 * time.Millisecond
	soonAways = 4
)

// at has a worker wait at a phase until all are there.
func (r *carrying) at(q atPhase, m *nats.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases[q.Phase] = append(r.phases[q.Phase], waiting{q.K, m})
	r.free, r.away = max(r.free, q.Free), max(r.away, min(q.Away, int64(time.Second)))
	r.start(q.Phase)
}

// start begins a phase at which all wait who are there. r.mu is held.
func (r *carrying) start(phase int) {
	here, first, in := r.phases[phase], r.free, int64(soon)+soonAways*r.away
	if len(here) == 0 || int64(len(here)+len(r.lost)) < r.n {
		return
	}
	delete(r.phases, phase)
	go func() {
		if phase > 0 {
			r.to.Border()
		}
		start := packed(begins{r.clock.Now() + in, first})
		for _, w := range here {
			_ = w.m.Respond(start)
		}
	}()
}

// without has the run go on without a worker that is lost, if that was asked for and others
// are there.
func (r *carrying) without(gone *lostError) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lose(gone.k, gone.why)
}

// lose is without; r.mu is held.
func (r *carrying) lose(k int64, why string) bool {
	if _, before := r.lost[k]; before {
		return true
	}
	if !r.goesOn || r.stopped || r.issue.Err() != nil || int64(len(r.lost)+1) >= r.n {
		return false
	}
	r.lost[k] = onerun.Lost{After: float64(r.clock.Now()) / 1e9, Why: why}
	r.lives[k] = nil
	for phase := range r.phases {
		r.phases[phase] = slices.DeleteFunc(r.phases[phase], func(w waiting) bool { return w.k == k })
		r.start(phase)
	}
	if !r.has(k) {
		r.leaves()
	}
	return true
}

// has tells whether worker k is done. r.mu is held.
func (r *carrying) has(k int64) bool {
	return slices.ContainsFunc(r.dones, func(d *done) bool { return d.K == k })
}

// leaves notes that one worker less is under way. r.mu is held.
func (r *carrying) leaves() {
	if r.left--; r.left == 0 {
		close(r.ended)
	}
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
	if _, gone := r.lost[d.K]; gone || r.has(d.K) {
		return
	}
	if d.Result.Cancelled == loadgen.Interrupted && r.early == nil && !r.stopped && r.issue.Err() == nil {
		early := &lostError{d.K, r.n, signalled}
		if r.lose(d.K, early.why) {
			d.Result.Cancelled = "" // the others go on
			r.dones = append(r.dones, d)
			return
		}
		r.early = early
	}
	r.dones = append(r.dones, d)
	// the others would wait for it, or send less than was asked for
	if (d.Failed != "" || r.early != nil) && !r.stopped {
		r.stopped = true
		r.c.stop(r.number, true)
	}
	r.leaves()
}

// missing is how many messages with records have not come, of those of which workers have told.
func (r *carrying) missing(to *merger) (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dones {
		n += max(0, d.Batches-to.came(d.K))
	}
	return n
}

// again is how long a message with records may be on its way before it is sent once more.
const again = 5 * time.Second

// collect takes the records out of the stream, until all have come that workers sent, or
// no more can come.
func (r *carrying) collect(ctx context.Context, to *merger, over <-chan struct{}) error {
	consumer, err := r.c.bus.js.CreateOrUpdateConsumer(context.WithoutCancel(ctx), streamName, jetstream.ConsumerConfig{
		Durable: "coordinator", AckPolicy: jetstream.AckExplicitPolicy, AckWait: again, MaxAckPending: 4096,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(64))
	if err != nil {
		return err
	}
	defer messages.Stop()
	ending, last := false, time.Now()
	for {
		select {
		case <-over:
			ending = true
		default:
		}
		m, err := messages.Next(jetstream.NextMaxWait(100 * time.Millisecond))
		switch {
		case err == nil:
			last = time.Now()
			r.forget(to)
			if err := r.take(m, to); err != nil {
				return err
			}
			continue
		case !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, jetstream.ErrNoHeartbeat):
			return fmt.Errorf("records of workers: %w", err)
		}
		missing := r.missing(to)
		if ending && missing == 0 { // nothing of a lost worker's is left, either
			return nil
		}
		if ending && time.Since(last) > silence {
			return fmt.Errorf("%s with records of workers did not come", words.CountOf(missing, "message", "messages"))
		}
	}
}

// forget has nobody wait for what lost workers do not tell any more.
func (r *carrying) forget(to *merger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.lost {
		to.parts[k].upTo = math.MaxInt64
	}
}

// take is a message with records. One of an earlier run, or that came before, counts for nothing.
func (r *carrying) take(m jetstream.Msg, to *merger) error {
	var b batch
	if err := decode(m.Data(), &b); err != nil {
		return fmt.Errorf("records of a worker: %w", err)
	}
	if b.Run == r.number && (b.Beside == nil || len(b.Beside) == len(b.Records)) {
		to.add(&b)
	}
	if err := m.Ack(); err != nil {
		return fmt.Errorf("records of workers: %w", err)
	}
	return nil
}

// sum is what all workers did.
func (r *carrying) sum(to *merger) (onerun.Sent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.dones, func(a, b *done) int { return int(a.K - b.K) })
	var sent onerun.Sent
	var parts []loadgen.Result
	machines := map[string]telemetry.Host{}
	for _, d := range r.dones {
		if d.Failed != "" {
			return sent, &diag.Error{
				Code: diag.Failed, Message: fmt.Sprintf("worker %d of %d: %s", d.K+1, r.n, d.Failed), Hint: d.Hint,
			}
		}
		parts = append(parts, d.Result.Result)
		s := r.c.sender(d.K)
		s.Requests, s.ClockWithin, s.BeganLate = d.Records, d.Within, d.Late
		s.Cores, s.CPUSeconds = d.Result.Host.Cores, metrics.OrNil(d.Result.Host.CPUSeconds)
		if lost, is := r.lost[d.K]; is {
			s.Lost = &lost
		}
		sent.Senders = append(sent.Senders, s)
		if h, there := machines[s.Host]; there {
			machines[s.Host] = besides(h, d.Result.Host)
		} else {
			machines[s.Host] = d.Result.Host
		}
		sent.Transport = addStats(sent.Transport, d.Result.Transport)
		for _, note := range d.Result.Notes {
			if !slices.Contains(sent.Notes, note) {
				sent.Notes = append(sent.Notes, note)
			}
		}
	}
	for i, name := range slices.Sorted(maps.Keys(machines)) {
		if sent.Host = worst(sent.Host, machines[name]); i == 0 {
			sent.Host = machines[name]
		}
	}
	for _, k := range slices.Sorted(maps.Keys(r.lost)) {
		if lost := r.lost[k]; !r.has(k) && len(parts) > 0 {
			sent.Senders = append(sent.Senders, onerun.Sender{Worker: k, Requests: to.parts[k].taken, Lost: &lost})
			parts = append(parts, to.parts[k].left.Result(parts[0], int64(lost.After*1e9)))
		}
	}
	slices.SortFunc(sent.Senders, func(a, b onerun.Sender) int { return int(a.Worker - b.Worker) })
	sent.Result = loadgen.Merge(parts)
	return sent, nil
}
