//go:build !linux

package transport

import "time"

// alarm wakes one waiter at a time. Timers here are late by up to a
// millisecond; what happened when is recorded as it was.
type alarm struct{ timer *time.Timer }

func newAlarm() (*alarm, error) {
	t := time.NewTimer(time.Hour)
	return &alarm{t}, nil
}

// set makes wait return in left ns, instead of what was set before. It may be
// called while somebody waits.
func (a *alarm) set(left int64) { a.timer.Reset(time.Duration(min(max(left, 0), int64(time.Hour)))) }

// wait returns when the alarm has rung.
func (a *alarm) wait() { <-a.timer.C }

func (a *alarm) close() { a.timer.Stop() }
