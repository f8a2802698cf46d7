//go:build !linux

package loadgen

import (
	"runtime"
	"sync/atomic"
	"time"
)

// spin is how long before its time a wait stops sleeping and spins: timers
// here wake about half a millisecond late.
const spin = 600 * time.Microsecond

// alarm is a timer that sleeps nearly to its end and spins the rest.
type alarm struct {
	began time.Time
	at    atomic.Int64 // ns since began
	moved chan struct{}
}

func (a *alarm) open() error {
	a.began, a.moved = time.Now(), make(chan struct{}, 1)
	return nil
}

func (a *alarm) close() {}

// set rings the alarm in left ns.
func (a *alarm) set(left int64) {
	a.at.Store(int64(time.Since(a.began)) + min(left, int64(100*365*24*time.Hour)))
	if left <= 0 {
		select {
		case a.moved <- struct{}{}:
		default:
		}
	}
}

// wait returns when the alarm has rung.
func (a *alarm) wait() {
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
