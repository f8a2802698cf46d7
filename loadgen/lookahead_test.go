package loadgen

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// eventually yields until cond holds; the test's own deadline ends a wait for ever.
func eventually(cond func() bool) {
	for !cond() {
		runtime.Gosched()
	}
}

func relaxed() bool { return false }

func (l *lookahead) have() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ready.Len()
}

// numbered renders requests with ascending ids, n of them or, if that is 0,
// without end.
func numbered(n int64) func() (*request, bool) {
	i := int64(-1)
	return func() (*request, bool) { i++; return &request{id: i}, n == 0 || i < n }
}

func TestLookaheadRendersInBatches(t *testing.T) {
	t.Parallel()
	l := newLookahead(numbered(0), 0, 8, 4, func() {}, relaxed)
	<-l.filled
	if got := l.have(); got != 8 {
		t.Fatalf("%d ready when filled, want 8", got)
	}
	next := int64(0)
	take := func() {
		t.Helper()
		if r, over := l.next(); over || r == nil || r.id != next {
			t.Fatalf("took %v, %v; want request %d", r, over, next)
		}
		next++
	}
	for range 3 {
		take()
	}
	for range 100 { // three missing wake nobody
		runtime.Gosched()
	}
	if got := l.have(); got != 5 {
		t.Fatalf("%d ready after three were taken, want 5", got)
	}
	take()
	eventually(func() bool { return l.have() == 8 })
	for range 40 {
		eventually(func() bool { return l.have() > 0 })
		take()
	}
	l.close()
	l.wait()
}

func TestLookaheadEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rendered, bound, want int64
		ahead                 int
	}{
		"as bound says":        {0, 10, 10, 4},
		"as the source says":   {7, 0, 7, 4},
		"fewer than are ahead": {3, 0, 3, 100},
		"bound below ahead":    {0, 2, 2, 100},
		"one at a time":        {5, 0, 5, 1},
		"nothing":              {-1, 0, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			woken := make(chan struct{}, 100)
			l := newLookahead(numbered(c.rendered), c.bound, c.ahead, 64, func() { woken <- struct{}{} }, relaxed)
			<-l.filled
			var got int64
			for {
				r, over := l.next()
				if over {
					break
				}
				if r == nil {
					<-woken // as promised to whoever finds nothing
					continue
				}
				got++
			}
			l.close()
			l.wait()
			if got != c.want {
				t.Errorf("%d requests, want %d", got, c.want)
			}
		})
	}
}

// Rendering gives way while others are pressed and enough is ready, and ends up
// with all that was asked for.
func TestLookaheadGivesWay(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	l := newLookahead(numbered(0), 0, 8, 2, func() {}, func() bool { return asked.Add(1) < 3 })
	<-l.filled
	for range 2 {
		l.next()
	}
	eventually(func() bool { return l.have() == 8 })
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times whether others are pressed, want until they are not", n)
	}
	for range 5 { // three are left: too few to wait for anybody
		eventually(func() bool { return l.have() > 0 })
		l.next()
	}
	l.close()
	l.wait()
}

// Whoever renders when it is stopped has to end, full or not.
func TestLookaheadStops(t *testing.T) {
	t.Parallel()
	l := newLookahead(numbered(0), 0, 4, 4, func() {}, relaxed)
	<-l.filled
	l.close()
	l.wait()
	for range 4 {
		if r, over := l.next(); r == nil || over {
			t.Fatal("what was ready is lost")
		}
	}
	if r, over := l.next(); r != nil || over {
		t.Errorf("took %v, %v of a stopped one", r, over)
	}
}
