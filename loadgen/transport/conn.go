package transport

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// conn is one HTTP/1.1 connection. One goroutine, that of run, reads it for
// its whole life and delivers what it carries; whoever starts an exchange
// writes it. Both meet under the exchange's op.mu.
//
// What each chunk touches stands together, here, in reception, op and Exchange: of
// a thousand streams none is in the processor's cache when its next chunk comes.
type conn struct {
	cl     *Client
	cur    atomic.Pointer[op] // the exchange that is under way; see op.c
	dead   atomic.Bool        // no further exchange may start
	served bool               // it has carried an answer, the last of which ended at answered; the reader's
	resp   wire.Response
	rec    reception

	t   *target
	tcp *net.TCPConn
	nc  net.Conn    // what is read and written: tcp, or TLS over it
	raw rawConn     // non-blocking access to tcp, where the platform has it
	src stampSource // tells when the last read of nc got its bytes; nil where raw does

	// Guarded by the pool.
	session  string
	up, down *conn
	in       *list

	answered int64
	opening  *opening // what it took to open, until its first exchange has told
}

// opening is what opening a connection took, in ns; record.None for what was
// not needed. late is what of dial was this program's.
type opening struct{ dns, dial, tls, late int64 }

// errUnasked ends a connection on which bytes came that belong to no request.
var errUnasked = errors.New("the server sent bytes that were not asked for")

// sent says how an attempt to send on a connection went.
type sent uint8

const (
	started sent = iota // under way: the connection's goroutine delivers it
	stale               // the server had closed it and nothing was written
	refused             // the exchange's end was asked for before
)

// send writes o's request as far as the socket takes it without waiting; a
// goroutine writes the rest.
func (c *conn) send(o *op, reused bool) sent {
	head := c.cl.heads.Get().(*[]byte)
	*head = c.t.appendHead((*head)[:0], o.x)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.kill.isSet() {
		c.cl.heads.Put(head)
		return refused
	}
	c.begin(o, reused)
	if c.dead.Load() { // run saw the end of the connection and no exchange
		return c.unsend(o, head)
	}
	if !c.raw.ok() || c.t.tls != nil {
		c.handOver(o, head, 0)
		return started
	}
	n, err := c.raw.tryWrite(reused, *head, o.x.Body)
	if err != nil && n == 0 && reused {
		return c.unsend(o, head)
	}
	x := o.x
	if at := c.raw.wroteAt(); !x.Resent {
		x.Sent, c.rec.stamp.at = at, at
	}
	x.BytesSent = int64(n)
	switch {
	case err != nil: // nobody else can have noticed: end it as its reader would
		o.kill = ending{status: record.Connection, kind: "reset", text: "write: " + reason(err), asked: record.None}
		c.cl.heads.Put(head)
		c.poke()
	case n == len(*head)+len(x.Body):
		x.WriteEnd = c.cl.clock.Now()
		c.cl.heads.Put(head)
		o.armCancel()
	default:
		c.handOver(o, head, n)
	}
	return started
}

// begin ties o and c together.
func (c *conn) begin(o *op, reused bool) {
	x := o.x
	x.Reused = reused
	if took := c.opening; took != nil && !reused {
		x.DNS, x.Dial, x.TLS = took.dns, took.dial, took.tls
		if !x.Resent { // else Sent is from before
			x.Connecting = took.dial - took.late + max(took.tls, 0)
		}
	}
	c.opening = nil
	if x.Detailed {
		x.Local, x.Remote = c.tcp.LocalAddr().String(), c.tcp.RemoteAddr().String()
	}
	c.resp.Reset()
	if !x.Resent {
		x.Sent = c.cl.clock.Now()
	}
	c.rec.begin(x)
	o.c = c
	c.cur.Store(o)
}

// unsend unties them: nothing was written.
func (c *conn) unsend(o *op, head *[]byte) sent {
	c.cur.Store(nil)
	o.c = nil
	o.x.Sent, o.x.Reused = record.None, false // only a reused one is stale, and what is resent goes out on a fresh one
	c.cl.heads.Put(head)
	c.dead.Store(true)
	c.poke()
	return stale
}

// handOver lets a goroutine write what is left after n bytes. It is called
// under o.mu.
func (c *conn) handOver(o *op, head *[]byte, n int) {
	o.writing = true
	c.cl.conns.Add(1)
	go c.writeRest(o, head, n)
}

// writeRest writes header and body from byte n on, waiting as long as it takes
// or until the connection is closed. How a failed write ends the exchange is
// for the reader to find out: the server may have said why.
func (c *conn) writeRest(o *op, head *[]byte, n int) {
	defer c.cl.conns.Done()
	body := o.x.Body
	var wrote int64
	var err error
	if c.t.tls != nil { // one record rather than two
		*head = append(*head, body...)
		body = nil
	}
	if n < len(*head) {
		wrote, err = writeAll(c.nc, (*head)[n:])
		n = len(*head)
	}
	if err == nil && len(body) > 0 {
		var more int64
		more, err = writeAll(c.nc, body[n-len(*head):])
		wrote += more
	}
	at := c.cl.clock.Now()
	if err != nil {
		at = record.None
	}
	if cap(*head) <= maxRecycled {
		c.cl.heads.Put(head)
	}
	o.written(wrote, at)
}

func writeAll(w io.Writer, b []byte) (int64, error) {
	n, err := w.Write(b)
	return int64(n), err
}

// poke wakes whoever reads or writes c, so that they end. It does not wait.
func (c *conn) poke() {
	c.dead.Store(true)
	c.tcp.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // it fails only when closed already
}

// run reads c until it ends, then closes it and delivers what it carried.
func (c *conn) run() {
	var err error // why reading ended
	if c.resident() {
		err = c.raw.resident(c)
	} else {
		err = c.pull()
	}
	if err == nil {
		err = errUnasked
	}
	c.dead.Store(true)
	c.t.pool.remove(c)
	c.cl.gone(c)
	if o := c.cur.Load(); o != nil {
		c.abandon(o, err)
	} else {
		c.close()
	}
}

func (c *conn) close() {
	c.nc.Close() //nolint:errcheck // nothing depends on it any more
}

// resident reports whether c is read by raw reads.
func (c *conn) resident() bool { return c.raw.ok() && c.t.tls == nil }

// received takes b, which one read delivered; false ends the connection, whose
// exchange, if it still has one, has got no answer: b was not asked for. A header in b is
// parsed to head, which belongs to the reader.
func (c *conn) received(b []byte, a arrival, head *wire.Head) bool {
	o := c.cur.Load()
	if o == nil { // nobody asked for anything
		if c.served && len(bytes.TrimSpace(b)) > 0 {
			c.t.pool.unasked.Add(1)
		}
		return false
	}
	o.mu.Lock() // waits for the write that is being made
	mine, killed := o.c == c, o.kill.isSet()
	o.mu.Unlock()
	if !mine || killed {
		return false
	}
	x := o.x
	if c.served && x.BytesReceived == 0 && c.cl.offset.before(a, x.Sent) {
		return false // they were there when x was sent, and nobody had seen them
	}
	x.BytesReceived += int64(len(b))
	c.rec.arrive(c.cl.offset.stamp(a, c.rec.stamp.at))
	x.Hear(c.rec.stamp.at)
	c.resp.Scratch = head
	rest, err := c.resp.Feed(b)
	c.resp.Scratch = nil
	c.rec.depart()
	switch {
	case err != nil:
		c.conclude(o, c.rec.broken(err), false)
		return false
	case c.resp.Done():
		if c.rec.mark != record.None {
			c.t.pool.ends.Store(true)
		}
		return c.conclude(o, c.rec.end(), c.resp.KeepAlive() && len(rest) == 0)
	case c.rec.mark == record.None || c.rec.timed:
	case c.t.pool.neverEnds():
		return c.endAtMark(o, c.rec.mark)
	default:
		c.rec.timed = true
		c.cl.flight.arm(o, c.rec.mark+int64(c.cl.afterMark), record.OK)
	}
	return true
}

// afterMark is how long the end of a body may take after the mark that ends its
// answer. Many servers send the last chunk in a write of its own, right after
// the mark, and their connections stay usable; some never send it. A second is
// more than a round trip and less than anybody minds, for it is asked of few
// answers: see pool.neverEnds.
const afterMark = time.Second

// endAtMark ends o, whose mark has come, at at; the connection is of no more use.
func (c *conn) endAtMark(o *op, at int64) bool {
	c.t.pool.endless.Add(1)
	return c.conclude(o, c.rec.endAtMark(at), false)
}

// writeOut is how long a request may still be on its way out after its answer
// was complete. Most are out already, and only the goroutine that wrote them has
// not heard: on a busy machine an answer overtakes it.
const writeOut = 100 * time.Millisecond

// conclude ends o as e says. If the connection is fit for another request it
// goes back to the pool before the exchange is delivered: at once, or, where a
// goroutine still writes the request, when that is through.
func (c *conn) conclude(o *op, e ending, reusable bool) bool {
	c.rec.fill()
	o.mu.Lock()
	c.cur.Store(nil)
	reusable = reusable && !o.kill.isSet()
	later := reusable && o.writing
	if reusable {
		c.served, c.answered = true, c.rec.stamp.at
		o.c = nil
	}
	if later {
		o.keep = c
		c.tcp.SetWriteDeadline(time.Now().Add(c.cl.writeOut)) //nolint:errcheck // it fails only when closed already
	}
	o.mu.Unlock()
	kept := later || reusable && c.t.pool.put(c)
	o.finish(e)
	return kept
}

// keep puts c, whose request was written to its end after the answer was
// complete, where the next one finds it.
func (c *conn) keep() {
	if c.tcp.SetWriteDeadline(time.Time{}) != nil || !c.t.pool.put(c) {
		c.poke()
	}
}

// abandon closes c, and ends o, which c carried when it ended because of err.
func (c *conn) abandon(o *op, err error) {
	if c.crossed(o, err) {
		c.resend(o, err)
		return
	}
	closed := c.closed()
	c.close()
	o.mu.Lock()
	mine, kill := o.c == c, o.kill
	o.mu.Unlock()
	switch {
	case !mine:
	case c.rec.mark != record.None && (kill.status == record.OK || kill.status == record.Timeout):
		c.endAtMark(o, min(c.cl.clock.Now(), c.rec.mark+int64(c.cl.afterMark)))
	case kill.isSet():
		c.conclude(o, kill, false)
	default:
		c.conclude(o, c.broke(err, closed), false)
	}
}

// closeCrossed is within which time a close that crossed a request shows: a
// round trip. A server that closes later has worked on the request.
const closeCrossed = time.Second

// crossed reports whether o, which got no answer, is to be sent once more on a
// fresh connection, since c had carried an answer before and the peer closed it at
// about the time when o was sent: then, and only then, that is allowed (RFC 9112,
// 9.3.1). Or c brought bytes that nobody had asked for, and whatever comes next may
// be no answer either.
func (c *conn) crossed(o *op, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.c != c || o.kill.isSet() || !c.served {
		return false
	}
	return errors.Is(err, errUnasked) ||
		c.cl.clock.Now()-o.x.Sent < int64(c.cl.crossWithin) && o.x.BytesReceived == 0 && !c.resp.Started() &&
			(errors.Is(err, io.EOF) || isAny(err, errnoClosed[:]...))
}

// closesAfter is within which time a server closes a connection because of the
// answer that it carried last. Some decide so without announcing it, and read what
// has come meanwhile into the void.
const closesAfter = 10 * time.Millisecond

// resend gives o, which c cannot carry because of err, a fresh connection, as soon
// as nobody writes its request any more.
//
// A server that closes with bytes that it has not read resets the connection, but
// some shut it down first, and the reset follows the end. So c is left open until o
// is delivered: by then it shows whether the server had read the request.
func (c *conn) resend(o *op, err error) {
	c.rec.fill()
	reset := isAny(err, errnoClosed[:]...)
	early := errors.Is(err, io.EOF) && c.cl.clock.Now()-c.answered < int64(c.cl.closesAfter)
	o.mu.Lock()
	c.cur.Store(nil)
	o.c = nil
	later := o.writing
	o.again = later
	if whole := o.x.WriteEnd != record.None; whole && !later && !reset && !early {
		o.former = c.tcp
	} else {
		c.close()
	}
	o.x.Resent, o.x.WriteEnd, o.x.BytesSent = true, record.None, 0
	o.mu.Unlock()
	c.cl.resent.Add(1)
	c.t.pool.lost.Add(1)
	if !later {
		c.cl.aside(func() { c.cl.dialFor(o) })
	}
}

// jiffy is the longest step of the kernel's coarse clock.
const jiffy = 10 * time.Millisecond

// closed is when the peer closed c, as far as the kernel says. c is still open here. The
// kernel and the clock are asked one after the other: of ten tries the one that was held
// up least between them counts.
func (c *conn) closed() int64 {
	at, least := c.cl.clock.Now(), int64(math.MaxInt64)
	for try := 0; c.raw.ok() && try < 10 && least > int64(jiffy)/10; try++ {
		asked := c.cl.clock.Now()
		silent := c.raw.silent()
		if now := c.cl.clock.Now(); now-asked < least {
			at, least = now-silent, now-asked
		}
	}
	return max(c.rec.stamp.at, at)
}

// broke says how the exchange ended when the connection did, because of err, and was
// closed.
func (c *conn) broke(err error, closed int64) ending {
	eof := errors.Is(err, io.EOF)
	switch {
	case eof && c.resp.EOF() == nil:
		e := c.rec.end()
		c.rec.x.End = closed // nothing else says that no more comes
		return e
	case c.resp.Foreign() != nil:
		return c.rec.broken(c.resp.Foreign())
	case c.rec.mark != record.None: // nothing was due but the end of the body
		return c.rec.endAtMark(closed)
	case c.resp.Started():
		return c.rec.cut(err)
	case eof:
		return ending{
			status: record.Connection, kind: "reset",
			text: "the server closed the connection without an answer", asked: record.None,
		}
	}
	e := failed(err)
	e.text = "the connection broke before an answer: " + e.text
	if !c.served && c.t.tls == nil {
		e.text += "; does this server want https://?"
	}
	return e
}
