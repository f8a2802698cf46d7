package loadgen

import (
	"math"
	"sync/atomic"

	"aiperf.dev/aiperf/internal/record"
)

// clock is the time the scheduler lives in. Tests give it a virtual one.
type clock interface {
	// Now is ns since T0.
	Now() int64
	// WaitUntil returns at t, or sooner after a Wake. A Wake that comes while
	// nobody waits ends the next wait at once.
	WaitUntil(t int64)
	// Wake may be called from any goroutine.
	Wake()
	// Sleeping is how long the waiter means to sleep; the lowest number when
	// nobody waits.
	Sleeping() int64
}

// never is later than every deadline.
const never = math.MaxInt64

// pacer is the real clock: an alarm with absolute times.
type pacer struct {
	clock record.Clock
	alarm alarm
	until atomic.Int64 // what WaitUntil waits for; math.MinInt64 when awake
	woken atomic.Bool
}

func newPacer(c record.Clock) (*pacer, error) {
	p := &pacer{clock: c}
	p.until.Store(math.MinInt64)
	return p, p.alarm.open()
}

func (p *pacer) Now() int64      { return p.clock.Now() }
func (p *pacer) Sleeping() int64 { return p.until.Load() }
func (p *pacer) Close()          { p.alarm.close() }

func (p *pacer) WaitUntil(t int64) {
	// The alarm is set before woken is read, and Wake sets woken before it
	// moves the alarm: one of the two always sees the other.
	p.until.Store(t)
	left := t - p.clock.Now()
	if left > 0 {
		p.alarm.set(left)
		if !p.woken.Load() {
			p.alarm.wait()
		}
	}
	p.until.Store(math.MinInt64)
	p.woken.Store(false)
}

func (p *pacer) Wake() {
	if !p.woken.Swap(true) && p.until.Load() != math.MinInt64 {
		p.alarm.set(0)
	}
}
