package cluster

import (
	"context"
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

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/onerun"
)

// Options is what a coordinator is told.
type Options struct {
	Workers int
	Version string // of this program: workers are of the same
	Listen  string // host and port for workers of other machines; "" for those that Launch starts
	NATS    string // address of a NATS server for these workers, in place of one of the coordinator's own
	Token   string // that they have to know; "" for a new one, or for a NATS server that wants none
	// Missing, where workers join by themselves, is told how many have not, where they can, and
	// for how long they are waited for.
	Missing func(n int64, address string, within time.Duration)
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
	open := func() (*bus, error) { return openBus(o.Listen, o.Token) }
	if o.NATS != "" {
		open = func() (*bus, error) { return openExternal(ctx, o.NATS, o.Token) }
	}
	b, err := open()
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
	for k := range c.o.Workers {
		c.mu.Lock()
		gone := c.seats[k].Orders != "" && c.seats[k].closed
		c.mu.Unlock()
		if gone {
			c.leave(int64(k))
		}
	}
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
			c.o.Missing(missing, c.bus.address, arriving)
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
	if err := c.stream(ctx); err != nil {
		return err
	}
	_, join := hear(c.bus.conn, subjectJoin, c.join)
	_, blocks := hear(c.bus.conn, subjectBlocks, func(q atPhase) block {
		if run := c.under(q.Run); run != nil {
			return run.block(q.Phase)
		}
		return block{Over: true}
	})
	_, leaves := hear(c.bus.conn, subjectLeave, c.left)
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
	return errors.Join(join, blocks, leaves, beats, times, phases, ends, pulse, c.bus.conn.FlushTimeout(starting))
}

// stream keeps records until they are taken.
func (c *Coordinator) stream(ctx context.Context) error {
	_, err := c.bus.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{"aiperf.records.*"}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.FileStorage, MaxMsgSize: maxPayload,
	})
	return err
}

// renew makes what a server may have lost when it was started again.
func (c *Coordinator) renew(ctx context.Context) error {
	if !c.bus.restarted() {
		return nil
	}
	c.files = newLender(c.bus.js)
	return c.stream(ctx)
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

// left notes that a worker goes by itself: it sends nothing any more.
func (c *Coordinator) left(l leave) struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.K >= 0 && l.K < int64(len(c.seats)) && c.seats[l.K].Orders == l.Orders {
		c.seats[l.K].closed, c.seats[l.K].left = true, true
	}
	return struct{}{}
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
