package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/queue"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/pace"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// Run drives the phases of job, one after the other, and returns when every
// request that was issued has been emitted. When issue ends nothing new is sent
// and answers are waited for within the phase's grace; when run ends everything
// is cancelled at once. A request that fails is data; an error means that the
// job could not be driven as it stands, and nothing was sent.
func Run(issue, run context.Context, job Job) (Result, error) {
	if job.World != nil {
		return simulate(issue, run, &job)
	}
	if job.Client == nil {
		return Result{}, errors.New("loadgen: no client")
	}
	most, _ := mode.Connections(job.Phases)
	if err := job.Client.Preflight(most); err != nil {
		return Result{}, err
	}
	pacer, err := pace.New(job.Clock)
	if err != nil {
		return Result{}, err
	}
	defer pacer.Close()
	d, err := newDriver(&job, pacer, job.Client)
	if err != nil {
		return Result{}, err
	}
	return d.run(issue, run), nil
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
	supply func(p *phase, sessions mode.Sessions) (s source, ready <-chan struct{})
}

func newDriver(job *Job, c pace.Clock, n network) (*driver, error) {
	if len(job.Phases) == 0 || job.Set == nil || job.Spec == nil || job.Emit == nil {
		return nil, errors.New("loadgen: a job needs phases, conversations, an endpoint and a receiver of records")
	}
	targets := job.Endpoint.URLs
	if job.Client != nil {
		targets = job.Client.Targets() // where those of the built-in server really are
	}
	n = newStepper(n, job.Spec, targets, c.Now)
	e := &engine{
		clock: c, sender: n, share: job.Share, targets: newTargets(&job.Endpoint, len(job.Models.Items), job.Share),
		outages: newOutages(&job.Endpoint), stall: newStall(&job.Endpoint, job.Client != nil),
	}
	if t := job.Endpoint.Timeout; t > 0 && !math.IsInf(t, 1) {
		e.timeout = int64(schema.Duration(t).Go())
	}
	e.next.Store(pace.Never)
	m, err := newMaker(job, e.done)
	if err != nil {
		return nil, err
	}
	if m.sticky {
		e.forget = n.Forget
	}
	e.maker = m
	f := &finisher{
		job: job, maker: m, post: e.post, wake: c.Wake, back: n, hide: job.Hide,
		live: newMeter(job.Live != nil), work: queue.NewMailbox[*request](linger, e.pressed),
		out: queue.NewMailbox[finished](linger, nil),
	}
	f.urls = newAddresses(job.Endpoint.URLs, m.Path(job.Models.Items[0].Name, m.Streaming), job.Hide)
	e.read = f.accept
	e.admitted = func(order, at int64) { f.out.Put(finished{order: order, admitted: at}, false) }
	if job.Unsent != nil {
		e.unsent = func(rec *record.Record) {
			f.judge(rec)
			f.out.Put(finished{order: e.completions, rec: rec}, false)
			e.completions++
		}
	}
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
		if d.phases[i].cfg.Seamless && d.phases[i].slots.countsPrefill {
			d.phases[i-1].slots.countsPrefill = true
		}
	}
	return d, nil
}

// set is what p plays.
func (d *driver) set(p *schema.Phase) *dataset.Set {
	if p.Kind == kindWarmup && p.Primes == "" && d.job.WarmupSet != nil {
		return d.job.WarmupSet
	}
	return d.job.Set
}

const kindWarmup = "warmup"

// newPhase checks cfg and prepares its schedule. It does not render yet.
func newPhase(d *driver, cfg *schema.Phase) (*phase, error) {
	var blocks func() (mode.Block, bool)
	if d.job.Blocks != nil {
		blocks = d.job.Blocks(cfg)
	}
	part, err := mode.OpenPart(cfg, d.job.Seed, d.set(cfg), d.job.Share, blocks)
	if failed := d.set(cfg).Err(); failed != nil { // which is why it could not be opened
		err = failed
	}
	if err != nil {
		return nil, err
	}
	whole, load, limits := cfg, part.Load, part.Limits
	cfg = part.Phase
	p := &phase{
		engine: d.engine, cfg: cfg, warmup: cfg.Kind == kindWarmup,
		keys: render.NewKeys(d.job.Seed, d.job.Text, cfg.Name), load: load,
		skipping: cfg.OnCap == "skip", finishes: cfg.OnCount == "finish",
		slots: newSlots(limits, load.Closed), punctual: newPunctual(limits, load.Closed),
		stops: stops{grace: graceOf(cfg, load.Patient), last: stopSchedule}, books: newBooks(),
	}
	p.shared = blocks != nil && load.Closed
	if whole.Requests == 0 && whole.Sessions == 0 && whole.Duration == nil && !load.Ends {
		return nil, diag.Errorf("phase %s: it has no end", cfg.Name).Try("set requests, sessions or duration")
	}
	switch { // what a worker has of these may be over before it was sent
	case part.Share.Of <= 1 || load.Ends:
	case whole.Requests > 0:
		p.stops.last = stopRequests
	case whole.Sessions > 0:
		p.stops.last = stopSessions
	}
	p.result = PhaseResult{
		Name: cfg.Name, Warmup: p.warmup, Varying: load.Varying || cfg.RateRamp != nil || cfg.AdaptiveScale != nil,
		Closed: load.Closed, Target: load.Target(cfg), Capped: p.slots.capped,
	}
	if cfg.AdaptiveScale != nil {
		figure := d.job.Figures
		if figure == nil {
			figure = noFigures
		}
		p.scaling, p.punctual = newScaling(cfg, figure), nil // which knows limits that stay
	}
	p.windows = newWindows(cfg)
	if d.set(cfg).Trees() {
		p.result.Branches = &p.books.branches.Branches
	}
	if cfg.Primes != "" {
		p.keys.Continue(render.NewKeys(d.job.Seed, d.job.Text, cfg.Primes))
	}
	if v := cfg.SystemIdleGapCapSeconds; v != nil {
		p.idleMost = int64(schema.Duration(*v).Go())
	} else {
		p.idleMost = pace.Never
	}
	p.treeIdleMost = pace.Never
	if v := cfg.TreeIdleGapCapSeconds; v != nil {
		p.treeIdleMost = int64(schema.Duration(*v).Go())
	}
	p.idleSince = record.None
	if !load.Closed {
		p.wait.arrivals, p.result.Rate = load.Arrivals, cfg.Rate
	}
	if load.Dispersion != nil {
		p.result.Random, p.result.Dispersion = true, load.Dispersion(cfg)
	}
	p.endShown.Store(pace.Never)
	return p, nil
}

// bound is how many sessions p can start at most, 0 when nothing says.
func bound(p *phase) int64 {
	if p.skipping && !p.load.EveryTurn {
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
	const n = 64
	opening := p.load.Opening(p.cfg)
	switch {
	case p.shared: // what is rendered here no other worker sends
		return 2 * opening
	case p.load.Closed:
		return max(n, 2*opening) // half of it can go out before the rest is needed
	}
	return max(n, min(int(mode.PeakRate(p.cfg)/4), 8192))
}

// refill is how many of these must be missing before rendering goes on: waking
// the renderer for every request that is taken would cost more than rendering
// it, and requests that go out together are not to compete with those after.
func refill(p *phase) int {
	const n = 64
	switch {
	case p.shared:
		return p.load.Opening(p.cfg)
	case p.load.Closed:
		return max(n, p.load.Opening(p.cfg))
	}
	return n
}

// lookAhead is how requests are supplied: rendered by a goroutine of their own.
func (d *driver) lookAhead(p *phase, sessions mode.Sessions) (source, <-chan struct{}) {
	open := func() (*request, bool) { return d.engine.maker.open(p, sessions) }
	l := newLookahead(open, bound(p), ahead(p), refill(p), d.engine.clock.Wake, d.engine.pressed)
	return l, l.filled
}

// prepare renders ahead and opens connections, so that the phase can start.
func (d *driver) prepare(ctx context.Context, p *phase) {
	s, ready := d.supply(p, p.load.Sessions)
	p.source = s
	select {
	case <-ready:
	case <-ctx.Done():
	}
	if n := d.dials(p); n > 0 && ctx.Err() == nil {
		// A server that cannot be reached shows in the requests themselves.
		_ = d.network.Predial(ctx, n)
	}
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
	if p.load.Closed {
		n = p.load.Opening(p.cfg)
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
func (d *driver) run(issue, run context.Context) Result {
	defer context.AfterFunc(issue, d.interrupt)()
	defer context.AfterFunc(run, d.abort)()
	var watch, collector, live sync.WaitGroup
	stopWatch := make(chan struct{})
	d.readers.open(readersAtOnce())
	watch.Go(func() { d.readers.watch(stopWatch) })
	collector.Go(func() { d.finisher.collect(d.job.emit) })
	stopLive := make(chan struct{})
	if d.job.Live != nil {
		live.Go(func() { d.finisher.live.watch(stopLive, d.job.Clock, &d.current, d.job.Live) })
	}
	ctx, cancel := context.WithCancel(issue)
	defer cancel()
	defer context.AfterFunc(run, cancel)()
	begun := d.play(ctx)
	d.finisher.work.Close()
	d.readers.wait()
	close(stopWatch)
	watch.Wait()
	d.finisher.settle(&d.engine.aborted)
	d.finisher.out.Close()
	collector.Wait()
	close(stopLive)
	live.Wait()
	return d.result(begun)
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
func (d *driver) play(ctx context.Context) (begun []*phase) {
	e := d.engine
	for i, p := range d.phases {
		if e.interrupted.Load() || e.failing.Load() {
			break
		}
		if i > 0 && !p.cfg.Seamless && d.job.Between != nil {
			d.job.Between()
		}
		d.prepare(ctx, p)
		if i > 0 && p.cfg.Seamless {
			p.pred = d.phases[i-1]
		}
		d.current.Store(p)
		begun = append(begun, p)
		at, first := int64(math.MinInt64), e.free
		if d.job.Starts != nil {
			at, first = d.job.Starts(i, e.free)
		}
		e.play(p, at, first, i+1 < len(d.phases) && d.phases[i+1].cfg.Seamless)
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
	return begun
}

// result sums the phases up.
func (d *driver) result(begun []*phase) Result {
	var res Result
	for _, p := range begun {
		r := p.result
		t := &p.books.tally
		r.OK, r.Failed, r.CancelledCount, r.Cut = t.ok.Load(), t.failed.Load(), t.cancelled.Load(), t.cut.Load()
		if note := d.readers.note(p); note != "" {
			r.Notes = append(r.Notes, note)
		}
		res.Phases = append(res.Phases, r)
		switch f := p.tooMany.Load(); {
		case f == nil:
		case f.missed != "":
			res.Cancelled = fmt.Sprintf("stopped after %s of phase %s: %s", words.Count(f.of, "answer"), p.cfg.Name,
				f.missed)
		default:
			res.Cancelled = fmt.Sprintf(ThresholdExceeded+"%d/%d requests of phase %s failed", f.failed, f.of,
				p.cfg.Name)
		}
	}
	if n := len(res.Phases); n > 0 && d.job.Client != nil {
		res.Phases[n-1].Notes = append(res.Phases[n-1].Notes, closers(d.job.Client.Stats())...)
	}
	o := &d.engine.outages
	if n := len(res.Phases); n > 0 {
		res.Phases[n-1].Notes = append(res.Phases[n-1].Notes, o.notes()...)
	}
	if res.Cancelled == "" {
		res.Cancelled, res.Unreachable = o.over, o.over != ""
	}
	if s := &d.engine.stall; s.over != "" && res.Cancelled == "" {
		res.Cancelled, res.Unreachable = s.over, true
	}
	if d.engine.interrupted.Load() && res.Cancelled == "" {
		res.Cancelled = stopInterrupted
	}
	return res
}

// closers says of which servers connections could not be kept, or not be used again.
func closers(s transport.Stats) (notes []string) {
	for _, name := range s.Closers {
		notes = append(notes, name+" closes the connections that it says it keeps: each request got a fresh one from then on ("+
			words.Count(s.Resent, "request")+" sent once more; connection_reuse: never says so beforehand)")
	}
	for _, u := range s.Unasked {
		notes = append(notes, u.Target+" sent more than it was asked for on "+words.Count(u.Answers, "connection")+
			": what closely follows an answer may have been taken for the answer to the next request")
	}
	for _, o := range s.Older {
		notes = append(notes, o.Target+" answered in HTTP/1.1 though http: 2 was asked for: "+words.Count(o.Answers,
			"answer")+
			" of it; what was measured is HTTP/1.1")
	}
	for _, e := range s.Endless {
		notes = append(notes, e.Target+" does not end the body after the mark of its end: "+words.Count(e.Answers,
			"answer")+
			" ended at that mark, the first of them up to 1 s after it, and their connections were closed")
	}
	return notes
}

var _ network = (*transport.Client)(nil)
