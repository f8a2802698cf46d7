package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// arrival is what a read says about when its bytes came.
type arrival struct {
	wall  int64 // kernel's receive time on the wall clock, ns; 0 unknown
	now   int64 // when the read returned, on the run clock
	seq   uint64
	whole bool // nothing beyond what was delivered had been read
}

// stampSource tells when the last read of a connection got its bytes.
type stampSource interface{ last() arrival }

// stamp is an arrival on the run clock.
type stamp struct {
	at     int64 // kernel's receive time if it gave one, else now
	now    int64
	seq    uint64
	kernel bool
	whole  bool
}

// jumpLimit is how far the wall clock may move against the monotonic one
// between two samples before kernel stamps in between are in doubt.
const jumpLimit = 10 * time.Microsecond

// wallOffset turns the kernel's wall-clock stamps into times of the run. The
// two clocks are slewed together, so the offset only changes when the wall
// clock is set.
type wallOffset struct {
	clock  record.Clock
	offset atomic.Int64 // wall clock − run clock, ns

	mu    sync.Mutex
	jumps int64
	worst int64
	last  int64 // when the last jump was noticed; record.None without any
}

func newWallOffset(clock record.Clock) *wallOffset {
	w := &wallOffset{clock: clock, last: record.None}
	w.offset.Store(w.measure())
	return w
}

// measure takes the wall clock between two readings of the run clock, 50
// times, and believes the tightest bracket.
func (w *wallOffset) measure() int64 {
	best, offset := int64(1<<62), int64(0)
	for range 50 {
		a := w.clock.Now()
		wall := time.Now().UnixNano()
		b := w.clock.Now()
		if b-a < best {
			best, offset = b-a, wall-(a+b)/2
		}
	}
	return offset
}

// sample measures again and notes a jump.
func (w *wallOffset) sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	offset := w.measure()
	moved := offset - w.offset.Swap(offset)
	if moved < 0 {
		moved = -moved
	}
	if moved > int64(jumpLimit) {
		w.jumps++
		w.worst = max(w.worst, moved)
		w.last = w.clock.Now()
	}
}

// at is the kernel's wall-clock stamp on the run clock, known to lie in
// [low, now]. If it does not, the wall clock was set and the offset is measured
// anew. A stamp from before that, read after it, still does not: ok is false.
func (w *wallOffset) at(wall, low, now int64) (t int64, ok bool) {
	inside := func() bool {
		t = wall - w.offset.Load()
		return t >= low-int64(jumpLimit) && t <= now+int64(jumpLimit)
	}
	if !inside() {
		w.sample()
		if !inside() {
			return now, false
		}
	}
	return min(max(t, low), now), true
}

// stamp is a on the run clock; low is the stamp before it. What the kernel's
// stamp does not date came between low and now, like bytes that share a read.
func (w *wallOffset) stamp(a arrival, low int64) stamp {
	s := stamp{at: a.now, now: a.now, seq: a.seq, whole: a.whole}
	if a.wall != 0 {
		var ok bool
		s.at, ok = w.at(a.wall, low, a.now)
		s.kernel, s.whole = true, a.whole && ok
	}
	return s
}

// before reports whether the bytes of a came before a time for certain. A kernel's
// stamp says so unless the wall clock was set since they came, which the next
// sample notices.
func (w *wallOffset) before(a arrival, at int64) bool {
	if a.now < at {
		return true
	}
	early := func() bool { return a.wall-w.offset.Load() < at-int64(jumpLimit) } // by more than the clocks may differ
	if a.wall == 0 || !early() {
		return false
	}
	w.sample()
	w.mu.Lock()
	defer w.mu.Unlock()
	return early() && (w.last == record.None || a.now-w.last > 2*tickEvery)
}

// jumped is how often and how far the wall clock was set.
func (w *wallOffset) jumped() (n, worst int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.jumps, w.worst
}
