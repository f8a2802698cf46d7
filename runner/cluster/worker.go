package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	neturl "net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
)

// Joining is what a worker is told.
type Joining struct {
	URL, Token string        // of the coordinator
	NATS       bool          // URL is that of a NATS server, which the coordinator uses
	Version    string        // of this program
	K          int64         // which worker it is; any that is missing below 0
	Wait       time.Duration // for a coordinator that is not there yet
	// Say is told what a signal has the worker do. nil: a worker that its coordinator has started
	// ends with it, and hears of signals from there.
	Say func(line string)

	driver onerun.Driver // what sends; nil is this process, on the real network
	was    string        // where it took orders before
}

// Join is a worker until the coordinator lets it go, or is gone, or ctx ends. With Wait it
// waits for one that is not there yet, or is gone. Where that has died the run under way goes on
// to its end, and what it gave is kept for the one that takes its place. A worker that somebody
// started by hand ends its part with issue, says so to the coordinator and goes: ErrLeft. For one
// that the coordinator started issue ends what goes on without a coordinator, and nothing else.
func Join(issue, ctx context.Context, j Joining) error {
	var keep *keeper
	if j.Wait > 0 && !j.NATS { // whose server may go while the coordinator lives
		keep = &keeper{}
		defer keep.drop()
	}
	until := time.Now().Add(j.Wait)
	for {
		err := j.join(issue, ctx, keep)
		switch {
		case errors.Is(err, errGone):
			if j.Wait == 0 || issue.Err() != nil {
				return nil
			}
			until = time.Now().Add(j.Wait)
		case errors.As(err, new(*givenUpError)):
			until = time.Now().Add(j.Wait)
		case !notThere(err) && !errors.As(err, new(*takenError)):
			return err
		}
		if j.Wait == 0 || issue.Err() != nil || time.Now().After(until) {
			return err
		}
		select {
		case <-issue.Done():
		case <-ctx.Done():
			return nil
		case <-time.After(knocking):
		}
	}
}

// ErrLeft is a worker that went on a signal, before its coordinator let it go.
var ErrLeft = errors.New("the worker was told to end")

// errGone is a coordinator that went without a word.
var errGone = errors.New("the coordinator is gone")

// takenError is a place that another worker has. It may be this one before it lost its way
// to the coordinator, which notices that a little later.
type takenError struct{ why string }

func (e *takenError) Error() string { return e.why }

// givenUpError is a coordinator that goes on without this worker.
type givenUpError struct{ why string }

func (e *givenUpError) Error() string { return e.why }

// join is a worker once.
func (j *Joining) join(issue, ctx context.Context, keep *keeper) error {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &worker{
		loader: onerun.NewLoader(), quit: cancel, inbox: nats.NewInbox(), driver: j.driver, keep: keep,
		cut: make(chan struct{}), began: time.Now(), goes: context.Background(),
	}
	reach := func(url, token string, lost func()) (*nats.Conn, jetstream.JetStream, error) {
		if u, err := neturl.Parse(url); err == nil && private(u.Hostname()) { // it is there, and has little time
			return connect(url, token, lost, nats.Timeout(starting))
		}
		return connect(url, token, lost)
	}
	if j.NATS {
		reach = dialOnce
	}
	conn, js, err := reach(j.URL, j.Token, func() { w.lose(issue, ctx, j) })
	if err != nil {
		return err
	}
	defer conn.Close()
	w.conn, w.js, w.server = conn, js, conn.ConnectedServerId()
	host, _ := os.Hostname()
	if w.driver == nil {
		w.driver = onerun.Local{}
	}
	me := hello{
		Orders: w.inbox, K: j.K, Version: j.Version, Host: host, Node: os.Getenv("NODE_NAME"), PID: os.Getpid(), Was: j.was,
		Kept: keep.told(),
	}
	j.was = w.inbox
	orders, stops := make(chan *nats.Msg, 16), make(chan *nats.Msg, 16)
	_, takes := conn.ChanSubscribe(w.inbox, orders)
	_, ends := conn.ChanSubscribe(subjectStop, stops)
	_, hears := conn.Subscribe(me.here(), func(*nats.Msg) { w.heard.Store(int64(time.Since(w.began))) })
	// who has joined may be ordered
	if err := errors.Join(takes, ends, hears, conn.FlushTimeout(starting)); err != nil {
		return err
	}
	if me.Kept != nil && me.K < 0 {
		me.K = me.Kept.K // where its part belongs
	}
	w.me, err = ask[welcome](conn, subjectJoin, me, starting)
	if err == nil && w.me.Refused != "" && me.K != j.K {
		me.K = j.K
		w.me, err = ask[welcome](conn, subjectJoin, me, starting)
	}
	switch {
	case err != nil:
		return err
	case w.me.Taken:
		return &takenError{w.me.Refused}
	case w.me.Refused != "":
		return diag.New(w.me.Refused, "")
	}
	if w.me.Dir == "" && j.Say != nil {
		w.goes = issue
		defer context.AfterFunc(issue, func() { w.end(false); j.Say(w.going()) })()
		defer context.AfterFunc(outer, func() { j.Say(w.name() + " stops at once") })()
	}
	if w.dir, err = os.MkdirTemp(w.me.Dir, "worker-"); err != nil {
		return err
	}
	defer os.RemoveAll(w.dir)
	w.files = borrower{js, filepath.Join(w.dir, "files"), map[string]string{}}
	if err = w.work(ctx, orders, stops); err == nil && ctx.Err() != nil && outer.Err() == nil {
		return errGone
	}
	return err
}

// notThere tells whether an error says that nobody listens, as before a coordinator's machine
// has a name, or a way leads to it.
func notThere(err error) bool {
	return notAnswering(err) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, nats.ErrNoServers) ||
		errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrNoResponders)
}

// knocking is how long a worker waits before it tries a coordinator again.
const knocking = 200 * time.Millisecond

// worker sends its part of runs, one after the other.
type worker struct {
	conn   *nats.Conn
	js     jetstream.JetStream
	me     welcome
	inbox  string // of orders
	dir    string
	files  borrower
	loader *onerun.Loader
	driver onerun.Driver
	quit   func()
	began  time.Time
	heard  atomic.Int64 // when it last heard of the coordinator, in ns since it began
	keep   *keeper
	server string // which of NATS' it is
	once   sync.Once
	cut    chan struct{} // closed when the coordinator cannot be reached any more

	goes context.Context // over when the worker is to go by itself

	run  atomic.Int64 // the number of the run under way
	open *onerun.Opened
	away time.Duration // that a word takes from the coordinator
	key  string        // of what is open

	mu    sync.Mutex
	stops [2]func() // issue and hard of the run under way
	told  stop      // the last that came
	live  loadgen.Snapshot
	short bool // the run under way lacks what only the coordinator gives
}

func (w *worker) work(ctx context.Context, orders, stops chan *nats.Msg) error {
	var wait sync.WaitGroup
	defer wait.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wait.Go(func() {
		every := max(time.Duration(w.me.Beat), beatEvery/2)
		tick := time.NewTicker(every)
		defer tick.Stop()
		last, unheard := int64(0), 0
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// one that had no time to listen has no time to count, either
				at := w.heard.Load()
				if unheard++; at != last {
					last, unheard = at, 0
				}
				if unheard > missedSending && !w.alone() && time.Since(w.began)-time.Duration(at) > lease(every) {
					w.quit() // another may be asked to send what this one does
					return
				}
				w.mu.Lock()
				live := w.live
				w.mu.Unlock()
				b := beat{K: w.me.K, Orders: w.inbox, Run: int(w.run.Load())}
				if live.Phase != "" {
					b.Gob = encode(live)
				}
				_ = w.conn.Publish(subjectBeat, packed(b))
			case m := <-stops:
				var s stop
				if json.Unmarshal(m.Data, &s) == nil {
					w.mu.Lock()
					w.told = s
					w.mu.Unlock()
					w.obeyStop(int(w.run.Load()))
				}
			}
		}
	})
	for {
		select {
		case <-ctx.Done():
			w.end(true)
			if w.goes.Err() != nil {
				return w.leave()
			}
			return nil
		case <-w.goes.Done():
			return w.leave()
		case m := <-orders:
			var o order
			if err := json.Unmarshal(m.Data, &o); err != nil {
				continue
			}
			if o.Quit {
				_ = m.Respond(packed(answer{})) // nobody may wait for it
				if o.Why != "" {
					w.end(true)
					return &givenUpError{o.Why}
				}
				return nil
			}
			w.obey(ctx, m, &o)
		}
	}
}

// leave tells the coordinator that this worker goes.
func (w *worker) leave() error {
	if !w.alone() { // else nobody hears it
		_, _ = w.conn.Request(subjectLeave, packed(leave{w.me.K, w.inbox}), time.Second)
	}
	return ErrLeft
}

// name is what the worker is called.
func (w *worker) name() string { return fmt.Sprintf("worker %d of %d", w.me.K+1, w.me.Of) }

// going says what a signal has the worker do.
func (w *worker) going() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stops[0] == nil {
		return w.name() + " leaves, and tells the coordinator"
	}
	return w.name() + " sends nothing more, waits for its open requests and tells the coordinator; Ctrl-C again stops at once"
}

// obeyStop ends a run if it is the one that was told to end, also before it had begun here.
func (w *worker) obeyStop(run int) {
	w.mu.Lock()
	told := w.told
	w.mu.Unlock()
	if told.Run == run {
		w.end(told.Hard)
	}
}

// end ends the run under way.
func (w *worker) end(hard bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, f := range w.stops {
		if f != nil && (i == 0 || hard) {
			f()
		}
	}
}

// obey carries an order out. It answers as soon as it is known that it can.
func (w *worker) obey(ctx context.Context, m *nats.Msg, o *order) {
	w.run.Store(int64(o.Run))
	if o.Prepare != nil {
		w.keep.drop() // who asks for another run has no use for it
		w.key = o.Key
		a := answer{}
		var err error
		if w.open, err = w.prepare(ctx, o); err != nil {
			e := diag.Of(err)
			a.Failed, a.Hint = e.Error(), e.Hint
		} else {
			a.Digest = w.open.Set.Digest()
		}
		_ = m.Respond(packed(a))
		return
	}
	_ = m.Respond(packed(answer{}))
	var d done
	if o.Hand {
		d = w.hand(o.Run)
	} else {
		w.keep.begin(kept{w.key, w.me.K, o.T0})
		d = w.drive(ctx, o)
	}
	if _, err := w.conn.Request(subjectDone, encode(d), time.Minute); err != nil {
		w.quit()
	}
}

// prepare opens a run.
func (w *worker) prepare(ctx context.Context, o *order) (_ *onerun.Opened, err error) {
	spec := *o.Prepare
	if o.Files != "" {
		if spec, err = w.files.place(ctx, spec, o.Files); err != nil {
			return nil, err
		}
	}
	spec.Share = record.Share{K: w.me.K, Of: w.me.Of}
	return w.loader.Open(ctx, ctx, spec)
}

// drive sends the part of a run.
func (w *worker) drive(ctx context.Context, o *order) done {
	run := o.Run
	issue, stopIssue := context.WithCancel(ctx)
	hard, stopHard := context.WithCancel(ctx)
	defer stopIssue()
	defer stopHard()
	w.mu.Lock()
	w.stops, w.short = [2]func(){stopIssue, stopHard}, false
	w.mu.Unlock()
	w.obeyStop(run)
	if w.goes.Err() != nil {
		w.end(false)
	}
	defer func() {
		w.mu.Lock()
		w.stops, w.live = [2]func(){}, loadgen.Snapshot{}
		w.mu.Unlock()
	}()
	d := done{K: w.me.K, Run: run}
	fail := func(err error) done {
		e := diag.Of(err)
		d.Failed, d.Hint = e.Error(), e.Hint
		return d
	}
	clock, within, err := w.clock()
	if err != nil {
		return fail(err)
	}
	d.Within, w.away = within.Seconds()*1e3, within
	dir := filepath.Join(w.dir, strconv.Itoa(run))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	if err := w.open.Start(hard, plugin.Host{}); err != nil {
		return fail(err)
	}
	defer w.open.Close()
	ship := &shipper{w: w, run: run}
	still := ship.every()
	res, err := w.driver.Drive(issue, hard, w.open, &onerun.Session{
		Dir: dir, Live: func(x loadgen.Snapshot) { w.mu.Lock(); w.live = x; w.mu.Unlock() },
		Worker: &onerun.Worker{
			Clock: clock, T0: time.Unix(0, o.T0), Record: ship.add, Keep: ship.keep,
			Starts: func(phase int, free int64) (int64, int64) {
				at, first := w.starts(hard, run, phase, free)
				if at != record.None {
					d.Late = max(d.Late, float64(clock.Now()-at)/1e6)
				}
				return at, first
			},
			Blocks: func(p *schema.Phase) func() (mode.Block, bool) { return w.blocks(run, p) },
		},
	})
	still()
	err = errors.Join(err, ship.flush())
	d.Batches, d.Records = ship.sent, ship.records
	if err != nil {
		return fail(err)
	}
	d.Result = *res
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.short && res.Cancelled == "" {
		w.keep.end(d)
	}
	return d
}

// clocked is how many times a worker asks for the time.
const clocked = 16

// clock is the coordinator's clock, on this machine. Of several questions the one that
// was answered most quickly says the most: the answer was given in the middle of it, or
// at most half of its time away from that: so far off it may be.
func (w *worker) clock() (_ record.Clock, within time.Duration, err error) {
	best := time.Duration(1<<63 - 1)
	var t0 time.Time
	for range clocked {
		asked := time.Now()
		m, err := w.conn.Request(subjectClock, nil, starting)
		if err != nil {
			return record.Clock{}, 0, err
		}
		took := time.Since(asked)
		ns, err := strconv.ParseInt(string(m.Data), 10, 64)
		if err != nil {
			return record.Clock{}, 0, err
		}
		if took < best {
			best, t0 = took, asked.Add(took/2-time.Duration(ns))
		}
	}
	return record.ClockFrom(t0), best / 2, nil
}

// starts waits until all workers are at a phase, and tells when it begins and from which
// number on its requests are numbered. Where the run is over meanwhile the phase begins
// at once, and ends.
func (w *worker) starts(ctx context.Context, run, phase int, free int64) (at, first int64) {
	var b begins
	m, err := w.conn.RequestWithContext(ctx, subjectPhase, packed(atPhase{w.me.K, run, phase, free, int64(w.away)}))
	if err != nil || json.Unmarshal(m.Data, &b) != nil {
		w.lack()
		w.end(true) // it may be that nobody else does
		return record.None, free
	}
	return b.At, b.First
}

// blocks asks for the sessions of a closed loop. Others have those that they were given
// before.
func (w *worker) blocks(run int, p *schema.Phase) func() (mode.Block, bool) {
	if p.Requests == 0 && p.Sessions == 0 {
		return nil
	}
	i := 0
	for at := range w.open.Benchmark.Phases {
		if w.open.Benchmark.Phases[at].Name == p.Name {
			i = at
		}
	}
	return func() (mode.Block, bool) {
		b, err := ask[block](w.conn, subjectBlocks, atPhase{K: w.me.K, Run: run, Phase: i}, time.Minute)
		if err != nil {
			w.lack()
		}
		return b.Block, err == nil && !b.Over
	}
}
