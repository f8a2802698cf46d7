//go:build !linux

package alarm

import (
	"runtime"
	"sync/atomic"
	"time"
)

// spin is how long before its time a wait stops sleeping and spins: timers
// here wake about half a millisecond late.
const spin = 600 * time.Microsecond

// Alarm is a timer that sleeps nearly to its end and spins the rest.
type Alarm struct {
	began time.Time
	at    atomic.Int64 // ns since began
	moved chan struct{}
}

// New makes an alarm that is not set.
func New() (*Alarm, error) {
	a := &Alarm{began: time.Now(), moved: make(chan struct{}, 1)}
	a.at.Store(farthest)
	return a, nil
}

// Close frees the alarm. Nobody may wait for it any more.
func (a *Alarm) Close() {}

// Set makes Wait return in left ns, instead of what was set before; at once
// when that is past. It may be called while somebody waits.
func (a *Alarm) Set(left int64) {
	a.at.Store(int64(time.Since(a.began)) + min(max(left, 0), farthest))
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

// Wait returns when the alarm has rung.
func (a *Alarm) Wait() {
	for {
		left := time.Duration(a.at.Load()) - time.Since(a.began)
		switch {
		case left <= 0:
			return
		case left > spin:
			t := time.NewTimer(left - spin)
			select {
			case <-t.C:
			case <-a.moved:
				t.Stop()
			}
		default:
			runtime.Gosched()
		}
	}
}
