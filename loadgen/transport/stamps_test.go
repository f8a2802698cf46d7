package transport

import (
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// A stamp lies between the one before it and its read, whatever happens to the
// wall clock. One from before a jump that is read after it is bounded by them.
func TestStampsOverAJump(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		clock := record.NewClock()
		w := newWallOffset(clock)
		low := clock.Now()
		wall := time.Now().UnixNano()
		now := clock.Now()
		if s := w.stamp(arrival{wall: wall, now: now, whole: true}, low); s.at < low || s.at > now || !s.kernel ||
			!s.whole {
			t.Errorf("before the jump: %+v outside [%d, %d]", s, low, now)
		}
		if n, _ := w.jumped(); n != 0 {
			t.Skip("the machine's clock is being set") // possible, if hardly
		}
		w.offset.Add(int64(jump)) // as if the clock had been set since the last sample
		if s := w.stamp(arrival{wall: wall, now: now, whole: true}, low); s.at < low || s.at > now || !s.whole {
			t.Errorf("after %s: %+v outside [%d, %d]", jump, s, low, now)
		}
		n, worst := w.jumped()
		if n != 1 || worst < int64(jump.Abs()-time.Second) {
			t.Errorf("%d jumps, worst %d ns", n, worst)
		}
		s := w.stamp(arrival{wall: wall - int64(jump), now: now, whole: true}, low)
		if s.at != now || s.whole || !s.kernel {
			t.Errorf("stamped before the jump, read after it: %+v, want one that came by %d", s, now)
		}
		if s := w.stamp(arrival{now: now, whole: true}, low); s.at != now || s.kernel || !s.whole {
			t.Errorf("without a stamp of the kernel: %+v", s)
		}
	}
}

// The clocks agree to some microseconds: a stamp that is off by less than a jump
// is moved into the span in which it must lie.
func TestStampsAreInOrder(t *testing.T) {
	t.Parallel()
	w := newWallOffset(record.NewClock())
	zero := w.offset.Load()
	const low, now, little = 2e6, 3e6, 1e3 // ns
	for wall, want := range map[int64]int64{low - little: low, low: low, 2.5e6: 2.5e6, now: now, now + little: now} {
		if s := w.stamp(arrival{wall: zero + wall, now: now, whole: true}, low); s.at != want || !s.whole {
			t.Errorf("stamped at %d within [%.0f, %.0f]: %+v, want %d", wall, low, now, s, want)
		}
	}
}

// An event that a stamp does not date is an interval, and so is the first one
// after it if nothing else says more.
func TestUndatedEvent(t *testing.T) {
	t.Parallel()
	clock := record.NewClock()
	w := newWallOffset(clock)
	r, resp := newReception()
	feed := func(wall, at int64, data string) {
		r.arrive(w.stamp(arrival{wall: wall, now: at, seq: uint64(at), whole: true}, r.stamp.at))
		if _, err := resp.Feed([]byte(data)); err != nil {
			t.Fatal(err)
		}
		r.depart()
	}
	zero := w.offset.Load()
	const old = int64(2 * time.Hour) // by how much the clock was set
	feed(zero+2e6, 3e6, streamHead)
	feed(zero+4e6-old, 5e6, event("a"))
	feed(zero+6e6, 7e6, event("b"))
	feed(zero+8e6, 9e6, event("c"))
	want := [][2]int64{{2e6, 5e6}, {6e6, 6e6}, {8e6, 8e6}}
	for i, e := range r.x.Events {
		if off := int64(time.Millisecond) / 2; e.Low < want[i][0]-off || e.Low > want[i][0]+off ||
			e.At < want[i][1]-off || e.At > want[i][1]+off || (e.Low == e.At) != (i > 0) {
			t.Errorf("event %d came in (%d, %d], want (%d, %d]", i, e.Low, e.At, want[i][0], want[i][1])
		}
	}
}
