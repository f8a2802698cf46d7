// Package alarm wakes a goroutine at a time, as exactly as the platform can.
// Go's own timers are late by half a millisecond, because the runtime's poller
// counts in those.
package alarm

import "time"

// farthest is how far ahead an alarm is set at most.
const farthest = int64(100 * 365 * 24 * time.Hour)
