package transport

import (
	"net/netip"
	"time"
	"unsafe"

	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// SetWallClock is to cl as if the machine's wall clock was set forward by d:
// from now on the kernel's stamps, and what is read from that clock, are d
// further from the offset that cl knows.
func SetWallClock(cl *Client, d time.Duration) { cl.offset.offset.Add(-int64(d)) }

// Resolved is to cl as if the name of its target had these addresses.
func Resolved(cl *Client, addrs ...netip.AddrPort) { cl.targets[0].addrs = addrs }

// SetPatience is how long a probe of cl waits.
func SetPatience(cl *Client, d time.Duration) { cl.patience = d }

// SetHandshakeTime is how long a handshake of cl may take.
func SetHandshakeTime(cl *Client, d time.Duration) { cl.handshakeWithin = d }

// SetCrossTime is within which time a close counts as one that crossed a request.
func SetCrossTime(cl *Client, d time.Duration) { cl.crossWithin = d }

// SetClosesAfter is within which time a close belongs to the answer before it.
func SetClosesAfter(cl *Client, d time.Duration) { cl.closesAfter = d }

// SetWriteOut is how long a request of cl may be on its way out after its answer.
func SetWriteOut(cl *Client, d time.Duration) { cl.writeOut = d }

// SetAfterMark is how long the end of a body may take after the mark of its answer.
func SetAfterMark(cl *Client, d time.Duration) { cl.afterMark = d }

// Recorded is the memory that x holds for its answer, without what was unpacked.
func Recorded(x *Exchange) int64 {
	n := cap(x.Events) * int(unsafe.Sizeof(Event{}))
	if b := x.buffers; b != nil {
		n += cap(b.body) + cap(b.packed.data) + cap(b.packed.last)
	}
	return int64(n)
}

// longBefore is more than two readings of the clocks differ by on a busy machine, in ns.
const longBefore = int64(time.Millisecond)

// Early hands text to the connection that carries x as its reader does that was
// stopped after it had read, before x was sent: by the kernel's stamp, if kernel,
// else by its own.
func Early(x *Exchange, text string, kernel bool) {
	o := x.op
	c := o.c
	a := arrival{now: x.Sent - 1, seq: 1 << 32, whole: true}
	if kernel {
		a = arrival{
			now: c.cl.clock.Now(), wall: x.Sent - longBefore + c.cl.offset.offset.Load(), seq: 1 << 32,
			whole: true,
		}
	}
	if !c.received([]byte(text), a, new(wire.Head)) {
		c.dead.Store(true)
		c.abandon(o, errUnasked)
		c.poke()
	}
}
