package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/header"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/rlimit"
)

// Client sends exchanges to its targets. All methods may be called at any time
// from any goroutine.
type Client struct {
	clock           record.Clock
	maxBody         int64
	patience        time.Duration // of a probe
	handshakeWithin time.Duration
	crossWithin     time.Duration // see closeCrossed
	closesAfter     time.Duration // see the constant
	writeOut        time.Duration // see writeOut
	afterMark       time.Duration // see afterMark
	targets         []*target
	sources         []netip.Addr
	offset          *wallOffset
	flight          *flight
	dialing         chan struct{} // capacity: dials at once

	echoes       *echoes // measures stamps of the application's; nil where there are none
	kernelStamps bool

	// Borrowed memory.
	heads    sync.Pool  // *[]byte: rendered request headers
	buffers  sync.Pool  // *buffers: payloads and events
	unpacked sync.Pool  // *[]byte: payloads of streams that are being looked at
	inboxes  *sync.Pool // of resident readers
	large    *sync.Pool // for what does not fit into an inbox
	pages    *sync.Pool

	mu     sync.Mutex
	live   map[*conn]struct{} // nil once closed
	timers sync.WaitGroup     // the goroutine of flight.run
	conns  sync.WaitGroup     // goroutines of connections, dials and late writers

	closing sync.Once
	closed  error // Close's answer

	sourceTurn                 atomic.Uint64
	dials, reconnects          atomic.Int64
	reused, resent             atomic.Int64
	exactEvents, boundedEvents atomic.Int64
}

// Open prepares a client: it reads the targets and TLS files and looks host
// names up, once. Nothing is connected yet.
func Open(cfg Config) (*Client, error) {
	cl := &Client{
		clock:           cfg.Clock,
		maxBody:         cfg.MaxBody,
		patience:        probeTimeout,
		handshakeWithin: handshakeTimeout,
		crossWithin:     closeCrossed,
		closesAfter:     closesAfter,
		writeOut:        writeOut,
		afterMark:       afterMark,
		dialing:         make(chan struct{}, dialsAtOnce),
		inboxes:         newInboxes(),
		large:           newLargeBuffers(),
		pages:           newPages(),
		live:            map[*conn]struct{}{},
	}
	if cl.maxBody <= 0 {
		cl.maxBody = defaultMaxBody
	}
	cl.maxBody = min(cl.maxBody, math.MaxInt32)
	cl.heads.New = func() any { b := make([]byte, 0, 1<<10); return &b }
	cl.buffers.New = func() any { return &buffers{} }
	cl.unpacked.New = func() any { return new([]byte) }
	for _, s := range cfg.SourceAddresses {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, fmt.Errorf("source address %q: not an IP address", s)
		}
		cl.sources = append(cl.sources, a)
	}
	if err := cl.aim(&cfg); err != nil {
		return nil, err
	}
	rlimit.Raise()
	var err error
	if cl.flight, err = newFlight(cl.clock); err != nil {
		return nil, err
	}
	cl.kernelStamps = kernelStamps()
	cl.listen()
	cl.offset = newWallOffset(cl.clock)
	cl.timers.Add(1)
	go func() {
		defer cl.timers.Done()
		cl.flight.run(cl.expire, cl.offset.sample)
	}()
	return cl, nil
}

// aim makes the targets.
func (cl *Client) aim(cfg *Config) error {
	mode, ok := map[string]reuse{
		"": pooled, "pooled": pooled,
		"never": never, "sticky-user-sessions": sticky,
	}[cfg.Reuse]
	if !ok {
		return fmt.Errorf("connection reuse %q is unknown; use pooled, never or sticky-user-sessions", cfg.Reuse)
	}
	if len(cfg.Targets) == 0 {
		return fmt.Errorf("no URL to send to; give one, like http://localhost:8000")
	}
	agent := cfg.UserAgent
	if agent == "" {
		agent = "aiperf"
	}
	if err := header.Check("User-Agent", agent); err != nil {
		return err
	}
	shared, err := tlsConfig(cfg)
	if err != nil {
		return err
	}
	for _, raw := range cfg.Targets {
		t, err := parseTarget(raw, agent, mode)
		if err != nil {
			return err
		}
		if err := cl.equip(t, cfg, shared); err != nil {
			return err
		}
		cl.targets = append(cl.targets, t)
	}
	return nil
}

// Start sends x and returns without waiting for the network: it writes on an
// idle connection if there is one, and otherwise leaves dialling to a
// goroutine. x.Done is called exactly once, later.
func (cl *Client) Start(x *Exchange) {
	x.reset()
	o := &op{cl: cl, x: x}
	x.op = o
	if !cl.flight.add(o) {
		go refuse(x, "the client is closed")
		return
	}
	if x.Target < 0 || x.Target >= len(cl.targets) {
		cl.aside(func() { o.finish(ours("target", fmt.Sprintf("no target %d", x.Target))) })
		return
	}
	o.t = cl.targets[x.Target]
	if err := checkPath(x.Path); err != nil {
		cl.aside(func() { o.finish(ours("path", err.Error())) })
		return
	}
	if o.t.rpc != nil {
		cl.aside(func() { cl.call(o) })
		return
	}
	if o.t.via != nil {
		cl.aside(func() { cl.roundTrip(o) })
		return
	}
	if c := o.t.pool.pop(x.Affinity); c != nil {
		switch c.send(o, true) {
		case started:
			return
		case refused:
			cl.aside(func() { cl.returnUnused(c); o.finish(o.killed()) })
			return
		}
		cl.reconnects.Add(1)
	}
	cl.aside(func() { cl.dialFor(o) })
}

// aside runs f on a goroutine that Close waits for.
func (cl *Client) aside(f func()) {
	cl.conns.Add(1)
	go func() {
		defer cl.conns.Done()
		f()
	}()
}

// refuse ends an exchange that a closed client was given.
func refuse(x *Exchange, why string) {
	x.Status, x.ErrorKind, x.ErrorText = record.Client, "closed", why
	x.Done(x)
}

// ours is an ending that is this program's fault.
func ours(kind, text string) ending {
	return ending{status: record.Client, kind: kind, text: text, asked: record.None}
}

// dialFor opens a connection for o and starts what lives with it.
func (cl *Client) dialFor(o *op) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !o.begin(cancel) {
		o.finish(o.killed())
		return
	}
	c, err := cl.dial(ctx, o.t)
	o.dialled()
	if err != nil {
		e := o.killed()
		if !e.isSet() {
			e = failed(err)
		}
		o.finish(e)
		return
	}
	o.t.pool.adopt(c, o.x.Affinity)
	if c.send(o, false) == refused {
		cl.returnUnused(c)
		o.finish(o.killed())
	}
	cl.aside(c.run) // on a stack that dialling did not grow
}

// returnUnused puts a connection that carried nothing where others find it.
func (cl *Client) returnUnused(c *conn) {
	if !c.t.pool.put(c) {
		c.poke()
	}
}

// Predial opens connections until every target has n idle ones, or ctx ends.
// The first error is returned after all attempts have ended.
func (cl *Client) Predial(ctx context.Context, n int) error {
	if !cl.flight.enter() {
		return fmt.Errorf("predial: the client is closed")
	}
	defer cl.flight.active.Done()
	results := make(chan error)
	total := 0
	for _, t := range cl.targets {
		if t.via != nil || t.rpc != nil {
			continue
		}
		for range n - t.pool.waiting() {
			total++
			cl.aside(func() { cl.predial(ctx, t, results) })
		}
	}
	var first error
	for range total {
		if err := <-results; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// predial opens one connection and starts what lives with it.
func (cl *Client) predial(ctx context.Context, t *target, result chan<- error) {
	c, err := cl.dial(ctx, t)
	if err != nil {
		result <- fmt.Errorf("connect to %s: %s", t.name, reason(err))
		return
	}
	cl.returnUnused(c)
	cl.aside(c.run)
	result <- nil
}

// Reach tells why some target of cfg cannot be sent to, or nil. It connects to
// each once, TLS included, and sends nothing: a run can be refused before
// anything is prepared for it.
func Reach(ctx context.Context, cfg Config) error {
	cl, err := Open(cfg)
	if err != nil {
		return err
	}
	for i := range cl.targets {
		if err = cl.Probe(ctx, i); err != nil {
			break
		}
	}
	return errors.Join(err, cl.Close())
}

// Probe makes one connection to a target, TLS included, and closes it. A target
// that does not even refuse is given up after some seconds; the kernel would try
// for two minutes.
func (cl *Client) Probe(ctx context.Context, target int) error {
	t := cl.targets[target]
	if t.via != nil {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, cl.patience)
	defer cancel()
	c, err := cl.open(within, t)
	switch {
	case err == nil:
		if err := c.tcp.Close(); err != nil || t.rpc == nil {
			return err
		}
		t.rpc.connect(within)
		return nil
	case isTimeout(err) && ctx.Err() == nil:
		return unreachable(t, fmt.Sprintf("cannot reach %s: no connection within %v", t.name, cl.patience), err)
	}
	return unreachable(t, fmt.Sprintf("cannot reach %s: %s", t.name, reason(err)), err)
}

func unreachable(t *target, message string, err error) error {
	hint := "is the server running there? with --url mock: in its place the built-in one answers"
	if host, ok := strings.CutSuffix(t.name, ":80"); ok { // most who mean it would not measure there
		hint = "without a port an address means port 80: try --url " + host + ":8000, or the port that the server listens at"
	}
	if isTLS(err) { // it is, and the reason says what to change
		hint = ""
		var noTLS tls.RecordHeaderError
		address, https := strings.CutPrefix(t.name, "https://")
		if https && (errors.As(err, &noTLS) || errors.Is(err, errNoHandshake)) {
			hint = "try --url http://" + address
		}
	}
	return &diag.Error{Code: diag.Failed, Message: message, Cause: err, Hint: hint}
}

// Cancel ends x: its socket is closed and Done is called, on the goroutine of
// its connection, with status Cancelled. An exchange that is over stays as it is.
func (cl *Client) Cancel(x *Exchange) {
	if o := x.op; o != nil {
		o.end(ending{status: record.Cancelled, kind: "cancelled", asked: cl.clock.Now()})
	}
}

// CancelAll ends every exchange under way with status.
func (cl *Client) CancelAll(status record.Status) {
	now := cl.clock.Now()
	for _, o := range cl.flight.all() {
		cl.expire(o, status, now)
	}
}

// expire ends o because its time, due, has come.
func (cl *Client) expire(o *op, status record.Status, due int64) {
	e := ending{status: status, asked: due}
	if status == record.Cancelled {
		e.kind = "cancelled"
	}
	o.end(e)
}

// Forget ends a sticky session: its connections are closed, at once or after
// what they carry.
func (cl *Client) Forget(affinity string) {
	for _, t := range cl.targets {
		for _, c := range t.pool.forget(affinity) {
			c.poke()
		}
	}
}

// Release takes x's payload and events back. x must not be used after.
func (cl *Client) Release(x *Exchange) {
	b := x.buffers
	if b == nil {
		return
	}
	if x.unpacked != nil {
		if cap(x.Payload) <= maxRecycled {
			*x.unpacked = x.Payload
			cl.unpacked.Put(x.unpacked)
		}
	} else {
		b.body = x.Payload
	}
	b.events = x.Events
	x.Payload, x.Events, x.buffers, x.unpacked, x.op = nil, nil, nil, nil, nil
	if cap(b.body)+cap(b.packed.data) <= maxRecycled {
		cl.buffers.Put(b)
	}
}

// Stats is what happened so far.
func (cl *Client) Stats() Stats {
	s := Stats{
		Dials: cl.dials.Load(), Reconnects: cl.reconnects.Load(), Reused: cl.reused.Load(),
		Exact: cl.exactEvents.Load(), Interval: cl.boundedEvents.Load(), Stamps: "application",
	}
	s.Resent, s.StampError = cl.resent.Load(), cl.echoes.result()
	s.ClockJumps, s.ClockJump = cl.offset.jumped()
	for _, t := range cl.targets {
		if t.pool.closes() {
			s.Closers = append(s.Closers, t.name)
		}
		if n := t.pool.endless.Load(); n > 0 {
			s.Endless = append(s.Endless, Answers{Target: t.name, Answers: n})
		}
		if n := t.pool.unasked.Load(); n > 0 {
			s.Unasked = append(s.Unasked, Answers{Target: t.name, Answers: n})
		}
		if n := t.older.Load(); n > 0 {
			s.Older = append(s.Older, Answers{Target: t.name, Answers: n})
		}
		if cl.kernelStamps && t.via == nil && t.rpc == nil {
			s.Stamps = "kernel"
		}
	}
	return s
}

// listen opens the echoes where a target's stamps are the application's.
func (cl *Client) listen() {
	for _, t := range cl.targets {
		if cl.echoes == nil && (!cl.kernelStamps || t.via != nil || t.rpc != nil) {
			cl.echoes = newEchoes(cl.clock.Now)
		}
	}
}

// count adds a finished exchange to the statistics.
func (cl *Client) count(x *Exchange) {
	if x.Reused {
		cl.reused.Add(1)
		if x.Status == record.OK {
			cl.targets[x.Target].pool.kept.Add(1)
		}
	}
	bounded := int64(0)
	for i := range x.Events {
		if x.Events[i].Low != x.Events[i].At {
			bounded++
		}
	}
	if bounded > 0 {
		cl.boundedEvents.Add(bounded)
	}
	if n := int64(len(x.Events)) - bounded; n > 0 && !math.IsNaN(x.ReceiveLag) {
		cl.exactEvents.Add(n)
	}
}

// Close cancels what is under way, closes every connection and waits for all
// goroutines. It must not be called from Done or OnEvent. A second call waits
// for the first.
func (cl *Client) Close() error {
	cl.closing.Do(func() { cl.closed = cl.close() })
	return cl.closed
}

func (cl *Client) close() error {
	cl.flight.close()
	cl.CancelAll(record.Cancelled)
	cl.flight.active.Wait()
	cl.mu.Lock()
	live := cl.live
	cl.live = nil
	cl.mu.Unlock()
	for c := range live {
		c.poke()
	}
	for _, t := range cl.targets {
		if t.via != nil {
			t.via.CloseIdleConnections()
		}
		if t.rpc != nil {
			t.rpc.close() //nolint:errcheck // nothing depends on it any more
		}
	}
	cl.conns.Wait()
	cl.timers.Wait()
	cl.echoes.close()
	cl.offset.sample()
	return nil
}

// keep registers a connection; false once closed.
func (cl *Client) keep(c *conn) bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.live == nil {
		return false
	}
	cl.live[c] = struct{}{}
	return true
}

// gone forgets a connection that ended.
func (cl *Client) gone(c *conn) {
	cl.mu.Lock()
	delete(cl.live, c)
	cl.mu.Unlock()
}

// reservedDescriptors are kept for files, logs and what else a run opens.
const reservedDescriptors = 64

// Preflight tells why n connections at once cannot fit on this machine, or nil.
func (cl *Client) Preflight(n int) error {
	if limit, open, ok := rlimit.Descriptors(); ok && n+open+reservedDescriptors > limit {
		return &diag.Error{
			Code: diag.Failed,
			Message: fmt.Sprintf("%d connections need %d file descriptors and the limit is %d (%d are open)", n,
				n+open+reservedDescriptors, limit, open),
			Hint: "raise the limit with ulimit -n, or lower the concurrency",
		}
	}
	ports, ok := rlimit.LocalPorts()
	if !ok {
		return nil
	}
	destinations := 0
	for _, t := range cl.targets {
		if t.via == nil {
			t.mu.Lock()
			destinations += len(t.addrs)
			t.mu.Unlock()
		}
	}
	if room := ports * max(1, len(cl.sources)) * max(1, destinations); n > room {
		return &diag.Error{
			Code:    diag.Failed,
			Message: fmt.Sprintf("%d connections need as many local ports and there are %d (%d per source and destination address)", n, room, ports),
			Hint:    "list more source addresses, widen net.ipv4.ip_local_port_range, or lower the concurrency",
		}
	}
	return nil
}
