package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// defaultGrace is how long a measured phase waits for answers after its end.
const defaultGrace = 30 * time.Second

// Run drives the phases of job, one after the other, and returns when every
// request that was issued has been emitted. When issue ends nothing new is sent
// and answers are waited for within the phase's grace; when run ends everything
// is cancelled at once. A request that fails is data; an error means that the
// job could not be driven as it stands, and nothing was sent.
func Run(issue, run context.Context, job Job) (Result, error) {
	if job.Client == nil {
		return Result{}, errors.New("loadgen: no client")
	}
	if err := job.Client.Preflight(connections(job.Phases)); err != nil {
		return Result{}, err
	}
	pacer, err := newPacer(job.Clock)
	if err != nil {
		return Result{}, err
	}
	defer pacer.Close()
	d, err := newDriver(&job, pacer, job.Client)
	if err != nil {
		return Result{}, err
	}
	return d.run(issue, run)
}

// connections is the largest number of connections that some phase is known to
// need at once; 0 when none is bounded.
func connections(phases []schema.Phase) int {
	most := 0
	for i := range phases {
		p := &phases[i]
		n := int64(slots(p))
		for _, limit := range []int64{int64(p.InFlight), p.Requests} {
			if n > 0 && limit > 0 {
				n = min(n, limit)
			}
		}
		if n == 0 {
			n = int64(p.InFlight)
		}
		most = max(most, int(n))
	}
	return most
}

// network is what a run needs of the transport.
type network interface {
	sender
	releaser
	Forget(affinity string)
	Predial(ctx context.Context, n int) error
}

// driver is one run: the scheduler, those who read the answers, and the phases.
type driver struct {
	job      *Job
	engine   *engine
	network  network
	finisher *finisher
	readers  *readers
	phases   []*phase
	current  atomic.Pointer[phase]
	// supply starts rendering the requests of a phase; ready is closed when it
	// can begin.
	supply func(p *phase, c casting) (s source, ready <-chan struct{})
}

func newDriver(job *Job, c clock, n network) (*driver, error) {
	if len(job.Phases) == 0 || job.Set == nil || job.Spec == nil || job.Emit == nil {
		return nil, errors.New("loadgen: a job needs phases, conversations, an endpoint and a receiver of records")
	}
	e := &engine{clock: c, sender: n}
	if t := job.Endpoint.Timeout; t > 0 && !math.IsInf(t, 1) {
		e.timeout = int64(seconds(t))
	}
	e.next.Store(never)
	rd, err := newRenderer(job, e.done)
	if err != nil {
		return nil, err
	}
	if rd.sticky {
		e.forget = n.Forget
	}
	e.render = rd
	f := &finisher{
		job: job, render: rd, post: e.post, wake: c.Wake, back: n, secret: secrets(&job.Endpoint),
		live: newMeter(job.Live != nil), work: newMailbox[*request](linger, e.pressed), out: newMailbox[finished](linger, nil),
	}
	for _, u := range job.Endpoint.URLs {
		f.urls = append(f.urls, plainURL(u, rd.path))
	}
	if len(f.urls) == 0 {
		f.urls = []string{""}
	}
	e.read = f.take
	d := &driver{job: job, engine: e, network: n, finisher: f, readers: newReaders(f, job.Clock.Now, &e.aborted)}
	d.supply = d.lookAhead
	for i := range job.Phases {
		p, err := newPhase(d, &job.Phases[i])
		if err != nil {
			return nil, err
		}
		d.phases = append(d.phases, p)
	}
	for i := len(d.phases) - 1; i > 0; i-- { // what a phase holds is handed on to those that follow seamlessly
		if d.phases[i].cfg.Seamless && d.phases[i].countsPrefill {
			d.phases[i-1].countsPrefill = true
		}
	}
	return d, nil
}

// set is what p plays.
func (d *driver) set(p *schema.Phase) *dataset.Set {
	if p.Kind == kindWarmup && d.job.WarmupSet != nil {
		return d.job.WarmupSet
	}
	return d.job.Set
}

const kindWarmup = "warmup"

// newPhase checks cfg and prepares its schedule. It does not render yet.
func newPhase(d *driver, cfg *schema.Phase) (*phase, error) {
	p := &phase{
		engine: d.engine, cfg: cfg, warmup: cfg.Kind == kindWarmup, keys: newKeys(d.job.Seed, cfg.Name),
		rated: openLoop(cfg), skipping: cfg.OnCap == "skip", finishes: cfg.OnCount == "finish",
		skipped: map[string]int64{}, grace: graceOf(cfg),
	}
	if cfg.Requests == 0 && cfg.Sessions == 0 && cfg.Duration == nil && cfg.Type != typeFixed {
		return nil, errorf(cfg, "it has no end; hint: set requests, sessions or duration")
	}
	a, err := arrivals(cfg, d.job.Seed, d.set(cfg))
	if err != nil {
		return nil, err
	}
	switch a := a.(type) {
	case *burst:
	case *fixed:
		p.arrivals, p.trace = a, a
	case *users:
		p.arrivals, p.userGap = a, int64(seconds(a.gap))
	default:
		p.arrivals = a
	}
	p.result = PhaseResult{Name: cfg.Name, Warmup: p.warmup}
	if p.arrivals != nil && p.trace == nil {
		p.result.Rate = cfg.Rate
	}
	p.result.Varying = p.trace != nil || cfg.RateRamp != nil || len(cfg.RateSeries) > 0
	p.result.Dispersion = dispersion(cfg)
	p.result.Random = p.result.Dispersion > 0
	p.limits(d.job.Seed)
	p.countsPrefill = p.prefill.on
	p.endShown.Store(never)
	return p, nil
}

// dispersion is the variance of the number of arrivals in a long window over
// its mean: for independent gaps the square of their coefficient of variation
// (Cox, Renewal Theory). 0 where arrivals are not random.
func dispersion(cfg *schema.Phase) float64 {
	switch {
	case len(cfg.RateSeries) > 0 || cfg.Type == typePoisson:
		return 1
	case cfg.Type == typeGamma && cfg.Smoothness > 0:
		return 1 / cfg.Smoothness
	case cfg.Type == typeGamma:
		return 1
	}
	return 0
}

// limits prepares the slots and, in a closed loop, chooses those that are the
// arrivals: the outermost ones.
func (p *phase) limits(root int64) {
	n := slots(p.cfg)
	p.sessions = newLimit(n, limitSteps(n, p.cfg.ConcurrencyRamp, rampStream(root, p.cfg, "concurrency")))
	n = p.cfg.PrefillConcurrency
	p.prefill = newLimit(n, limitSteps(n, p.cfg.PrefillRamp, rampStream(root, p.cfg, "prefill")))
	n = p.cfg.InFlight
	p.wire = newLimit(n, limitSteps(n, nil, nil))
	if p.arrivals != nil {
		return
	}
	most := 0
	for _, l := range []struct {
		*limit
		n    int
		name string
	}{{&p.sessions, slots(p.cfg), ""}, {&p.wire, p.cfg.InFlight, "in_flight"}, {&p.prefill, p.cfg.PrefillConcurrency, "prefill"}} {
		switch {
		case !l.on:
		case p.gate == nil:
			p.gate, most, p.result.Closed = l.limit, l.n, true
		case l.n < most:
			p.result.Capped = l.name
		}
	}
}

// graceOf is how long answers are waited for after the phase's duration.
func graceOf(cfg *schema.Phase) int64 {
	switch {
	case cfg.GracePeriod != nil && math.IsInf(float64(*cfg.GracePeriod), 1):
		return never
	case cfg.GracePeriod != nil:
		return int64(cfg.GracePeriod.Go())
	case cfg.Kind == kindWarmup || cfg.Type == typeUsers:
		return never
	}
	return int64(defaultGrace)
}

// samplerSeed is the root of the order in which p plays its conversations.
func samplerSeed(root int64, p *schema.Phase) int64 {
	return int64(seed.Of(root, "sampling/"+p.Name))
}

// cast is what p plays, in order, from the beginning.
func (d *driver) cast(p *phase) (casting, error) {
	set := d.set(p.cfg)
	switch {
	case p.trace != nil:
		return newFixed(p.cfg, set)
	case p.userGap > 0:
		return newUsers(p.cfg, d.job.Seed, set)
	}
	return sampled{set.Sampler(samplerSeed(d.job.Seed, p.cfg))}, nil
}

// bound is how many sessions p can start at most, 0 when nothing says.
func bound(p *phase) int64 {
	if p.skipping && !p.rated {
		return 0 // skipped arrivals take their conversations with them
	}
	b := p.cfg.Sessions
	if r := p.cfg.Requests; r > 0 && (b == 0 || r < b) {
		b = r
	}
	return b
}

// ahead is how many requests are rendered before they are due: those that go
// out at once, or a quarter of a second's arrivals.
func ahead(p *phase) int {
	n := 64
	if p.gate != nil {
		return max(n, 2*opening(p.cfg)) // half of it can go out before the rest is needed
	}
	rate := p.cfg.Rate
	for _, k := range p.cfg.RateSeries {
		rate = max(rate, k.QPS)
	}
	return max(n, min(int(rate/4), 8192))
}

// refill is how many of these must be missing before rendering goes on: waking
// the renderer for every request that is taken would cost more than rendering
// it, and requests that go out together are not to compete with those after.
func refill(p *phase) int {
	n := 64
	if p.gate != nil {
		n = max(n, opening(p.cfg))
	}
	return n
}

// opening is the number of slots that open together.
func opening(cfg *schema.Phase) int {
	return cmp.Or(slots(cfg), cfg.InFlight, cfg.PrefillConcurrency)
}

// lookAhead is how requests are supplied: rendered by a goroutine of their own.
func (d *driver) lookAhead(p *phase, c casting) (source, <-chan struct{}) {
	open := func(index int64) (*request, bool) { return d.engine.render.open(p, c, index) }
	l := newLookahead(open, bound(p), ahead(p), refill(p), d.engine.clock.Wake, d.engine.pressed)
	return l, l.filled
}

// prepare renders ahead and opens connections, so that the phase can start.
func (d *driver) prepare(ctx context.Context, p *phase) error {
	c, err := d.cast(p)
	if err != nil {
		return err
	}
	s, ready := d.supply(p, c)
	p.source = s
	select {
	case <-ready:
	case <-ctx.Done():
	}
	if n := d.dials(p); n > 0 && ctx.Err() == nil {
		// A server that cannot be reached shows in the requests themselves.
		_ = d.network.Predial(ctx, n)
	}
	return nil
}

// maxPredial bounds the connections that are opened for a phase by rate, whose
// number in flight nobody knows.
const maxPredial = 64

// dials is how many connections to open per target before p starts.
func (d *driver) dials(p *phase) int {
	if r := d.job.Endpoint.ConnectionReuse; r != "" && r != "pooled" {
		return 0
	}
	n := min(maxPredial, int(p.cfg.Rate/10)+1)
	if p.gate != nil {
		n = opening(p.cfg)
	}
	for _, most := range []int64{p.cfg.Requests, int64(p.cfg.InFlight), int64(p.cfg.Concurrency)} {
		if most > 0 {
			n = int(min(int64(n), most))
		}
	}
	targets := max(1, len(d.job.Endpoint.URLs))
	return (n + targets - 1) / targets
}

// run drives the phases and waits for everything that was started.
func (d *driver) run(issue, run context.Context) (Result, error) {
	defer context.AfterFunc(issue, d.interrupt)()
	defer context.AfterFunc(run, d.abort)()
	var watch, collector, live sync.WaitGroup
	stopWatch := make(chan struct{})
	d.readers.open(readersAtOnce())
	watch.Go(func() { d.readers.watch(stopWatch) })
	collector.Go(func() { collect(d.finisher.out, d.job.emit) })
	stopLive := make(chan struct{})
	if d.job.Live != nil {
		live.Go(func() { d.finisher.live.watch(stopLive, d.job.Clock, &d.current, d.job.Live) })
	}
	ctx, cancel := context.WithCancel(issue)
	defer cancel()
	defer context.AfterFunc(run, cancel)()
	begun, err := d.play(ctx)
	d.finisher.work.close()
	d.readers.wait()
	close(stopWatch)
	watch.Wait()
	d.finisher.out.close()
	collector.Wait()
	close(stopLive)
	live.Wait()
	return d.result(begun), err
}

func (d *driver) interrupt() {
	d.engine.interrupted.Store(true)
	d.engine.clock.Wake()
}

func (d *driver) abort() {
	d.engine.aborted.Store(true)
	d.interrupt()
}

// play runs the phases until the last one, or until one did not end by itself.
// It returns those that were begun, all over.
func (d *driver) play(ctx context.Context) (begun []*phase, err error) {
	e := d.engine
	for i, p := range d.phases {
		if e.interrupted.Load() || e.failing.Load() {
			break
		}
		if err = d.prepare(ctx, p); err != nil {
			break
		}
		if i > 0 && p.cfg.Seamless {
			p.pred = d.phases[i-1]
		}
		d.current.Store(p)
		begun = append(begun, p)
		e.play(p, i+1 < len(d.phases) && d.phases[i+1].cfg.Seamless)
		p.source.close()
		p.source.wait()
	}
	e.waitFor(func() bool {
		for _, p := range begun {
			if !p.over.Load() {
				return false
			}
		}
		return true
	})
	return begun, err
}

// result sums the phases up.
func (d *driver) result(begun []*phase) Result {
	var res Result
	for _, p := range begun {
		r := p.result
		r.OK, r.Failed, r.CancelledCount = p.tally.ok.Load(), p.tally.failed.Load(), p.tally.cancelled.Load()
		if note := d.readers.note(p); note != "" {
			r.Notes = append(r.Notes, note)
		}
		res.Phases = append(res.Phases, r)
		if p.failing.Load() {
			res.Cancelled = fmt.Sprintf("phase %s: %d of %d requests failed, more than failed_request_threshold allows",
				p.cfg.Name, r.Failed, r.OK+r.Failed+r.CancelledCount)
		}
	}
	if d.engine.interrupted.Load() && res.Cancelled == "" {
		res.Cancelled = stopInterrupted
	}
	return res
}

var _ network = (*transport.Client)(nil)
