// Package pace waits for moments in time, closer than the kernel's timers do.
package pace

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/alarm"
	"aiperf.dev/aiperf/internal/record"
)

// Clock is the time the scheduler lives in. Tests give it a virtual one.
type Clock interface {
	// Now is ns since T0.
	Now() int64
	// WaitUntil returns at t, or sooner after a Wake. A Wake that comes while
	// nobody waits ends the next wait at once.
	WaitUntil(t int64)
	// Wake may be called from any goroutine.
	Wake()
	// Sleeping is how long the waiter means to sleep; Awake when nobody
	// waits.
	Sleeping() int64
}

// Never is later than every deadline.
const Never = math.MaxInt64

// Awake is what Sleeping says when nobody waits.
const Awake = math.MinInt64

// Pacer is the real clock: an alarm with absolute times. A sleeper wakes some
// 50 to 150 µs late, by more the longer it slept, which would move arrivals that
// are close together closer still. So the alarm is set earlier by what waking
// usually takes, and the rest is waited for awake.
type Pacer struct {
	clock record.Clock
	alarm *alarm.Alarm
	until atomic.Int64 // what WaitUntil waits for; Awake when nobody waits
	woken atomic.Bool

	// Owned by WaitUntil.
	lead    int64 // how much earlier the alarm is set, in ns
	began   int64
	spun    int64 // time waited awake since began
	mayspin bool  // there is another processor for everybody else
}

const (
	maxLead  = int64(200 * time.Microsecond)
	leadStep = int64(2 * time.Microsecond)
	// spinShare is the part of one processor that is waited away at most.
	spinShare = 0.05
)

// New is awake.
func New(c record.Clock) (*Pacer, error) {
	a, err := alarm.New()
	if err != nil {
		return nil, fmt.Errorf("timer of the schedule: %w", err)
	}
	p := &Pacer{clock: c, alarm: a, lead: maxLead / 4, began: c.Now(), mayspin: runtime.GOMAXPROCS(0) > 1}
	p.until.Store(Awake)
	return p, nil
}

// Now is ns since T0.
func (p *Pacer) Now() int64 { return p.clock.Now() }

// Sleeping is how long WaitUntil means to wait, Awake when nobody does.
func (p *Pacer) Sleeping() int64 { return p.until.Load() }

// Close gives the timer back.
func (p *Pacer) Close() { p.alarm.Close() }

// WaitUntil returns at t, or sooner after a Wake.
func (p *Pacer) WaitUntil(t int64) {
	// The alarm is set before woken is read, and Wake sets woken before it
	// moves the alarm: one of the two always sees the other.
	p.until.Store(t)
	now := p.clock.Now()
	lead := p.allowed(now)
	if left := t - lead - now; left > 0 {
		p.alarm.Set(left)
		if !p.woken.Load() {
			p.alarm.Wait()
		}
		if now = p.clock.Now(); !p.woken.Load() {
			p.learn(now - (t - lead))
		}
	}
	if lead > 0 {
		p.spin(now, t)
	}
	p.until.Store(Awake)
	p.woken.Store(false)
}

// allowed is how much earlier the next alarm may be set.
func (p *Pacer) allowed(now int64) int64 {
	if !p.mayspin || float64(p.spun+p.lead) > spinShare*float64(now-p.began) {
		return 0
	}
	return p.lead
}

// learn moves lead towards the third quartile of how late wakings are.
func (p *Pacer) learn(late int64) {
	if late > p.lead {
		p.lead = min(p.lead+3*leadStep, maxLead)
	} else {
		p.lead = max(p.lead-leadStep, 0)
	}
}

// spin waits awake from now to t, or to a Wake.
func (p *Pacer) spin(now, t int64) {
	from := now
	for now < t && !p.woken.Load() {
		now = p.clock.Now()
	}
	p.spun += now - from
}

func (p *Pacer) Wake() {
	if !p.woken.Swap(true) && p.until.Load() != math.MinInt64 {
		p.alarm.Set(0)
	}
}
