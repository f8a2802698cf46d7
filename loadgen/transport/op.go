package transport

import (
	"context"
	"net"
	"sync"

	"aiperf.dev/aiperf/internal/record"
)

// op is an exchange under way. It is delivered by exactly one goroutine: that
// of its connection, or the one that dials or speaks for it. Everybody else
// asks for an end with end.
type op struct {
	x  *Exchange
	cl *Client
	t  *target

	mu      sync.Mutex
	c       *conn              // the connection that carries it now
	kill    ending             // the end that was asked for
	abort   context.CancelFunc // ends dialling, or net/http's round trip
	done    bool               // the response side is settled
	writing bool               // a goroutine still writes x.Body
	parked  ending             // settled so, but delivery waits for that writer
	keep    *conn              // which is fit for another request when that writer is through
	again   bool               // sent once more when that writer is through
	former  *net.TCPConn       // which took the whole request, that was sent once more; open until o is delivered

	// Owned by flight.
	prev, next *op
	index      int // in the heap, -1 outside
	due        int64
	dueStatus  record.Status
}

// Before orders exchanges by their due time.
func (o *op) Before(p *op) bool { return o.due < p.due }

// ending is how an exchange ended; asked is when its end was due.
type ending struct {
	status     record.Status
	kind, text string
	asked      int64
}

func (e ending) isSet() bool { return e.status != "" }

// end asks for o to end as e says, unless it is already over: its connection
// is closed, and its owner delivers it.
func (o *op) end(e ending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done || o.kill.isSet() {
		return
	}
	o.kill = e
	switch {
	case o.c != nil:
		o.c.poke()
	case o.abort != nil:
		o.abort()
	}
}

// killed is the end that was asked for, if any.
func (o *op) killed() ending {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kill
}

// begin makes a way to abort what o does before it has a connection. It
// returns false when its end was asked for.
func (o *op) begin(abort context.CancelFunc) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.abort = abort
	return !o.kill.isSet()
}

// dialled forgets the way to abort dialling: o has a connection, or failed.
func (o *op) dialled() {
	o.mu.Lock()
	o.abort = nil
	o.mu.Unlock()
}

// finish settles o and delivers it, or leaves that to the goroutine that still
// writes its body.
func (o *op) finish(e ending) {
	o.mu.Lock()
	o.done = true
	c := o.c
	o.c = nil
	if o.writing {
		o.parked = e
		if c != nil {
			c.poke()
		}
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	o.deliver(e)
}

// written notes that the goroutine which wrote the body is through.
func (o *op) written(n, at int64) {
	o.mu.Lock()
	o.writing = false
	o.x.BytesSent += n
	o.x.WriteEnd = at
	parked, again, kept := o.parked, o.again, o.keep
	o.again, o.keep = false, nil
	o.mu.Unlock()
	switch {
	case kept == nil:
	case at == record.None:
		kept.poke()
	default:
		kept.keep()
	}
	switch {
	case parked.isSet():
		o.deliver(parked)
		return
	case again:
		o.cl.dialFor(o) // this goroutine is one that Close waits for
		return
	}
	o.armCancel()
}

// armCancel starts the clock of a deliberate cancellation.
func (o *op) armCancel() {
	if x := o.x; x.CancelAfter != record.None && x.WriteEnd != record.None {
		o.cl.flight.arm(o, x.WriteEnd+x.CancelAfter, record.Cancelled)
	}
}

// deliver hands the exchange back.
func (o *op) deliver(e ending) {
	x := o.x
	x.Status, x.ErrorKind, x.ErrorText, x.CancelAsked = e.status, e.kind, e.text, e.asked
	if e.status == record.Timeout && e.kind == "" {
		x.ErrorKind, x.ErrorText = stalledAt(x)
	}
	if x.End == record.None {
		x.End = o.cl.clock.Now()
	}
	if x.Sent == record.None && o.t != nil {
		x.Connected = o.t.connected.Load()
	}
	if o.former != nil {
		x.ResentRead = !wasReset(o.former)
		o.former.Close() //nolint:errcheck // nothing depends on it any more
	}
	o.cl.count(x)
	o.cl.flight.remove(o)
	done := x.Done
	done(x)
	o.cl.flight.active.Done()
}

// stalledAt names what an exchange was waiting for when its time was up.
func stalledAt(x *Exchange) (kind, text string) {
	switch {
	case x.Sent == record.None:
		return "connect_timeout", "no connection before the deadline"
	case x.WriteEnd == record.None:
		return "write_timeout", "the server did not take the whole request before the deadline"
	case x.FirstByte == record.None:
		return "header_timeout", "no answer before the deadline"
	case x.HTTPStatus == record.None:
		return "header_timeout", "the header of the answer was not complete at the deadline"
	}
	return "stall_timeout", "the answer was not complete at the deadline"
}
