package record

import "time"

// Clock turns moments into the nanoseconds that records hold. One Clock
// belongs to one run; its zero is T0.
type Clock struct{ began time.Time }

// NewClock starts a clock: now is T0.
func NewClock() Clock { return Clock{time.Now()} }

// ClockFrom is a clock whose T0 is t, which has a monotonic reading.
func ClockFrom(t time.Time) Clock { return Clock{t} }

// Now is the monotonic time since T0 in ns.
func (c Clock) Now() int64 { return int64(time.Since(c.began)) }

// At is t in ns since T0.
func (c Clock) At(t time.Time) int64 { return int64(t.Sub(c.began)) }

// Wall is the wall-clock moment of t ns since T0, as it looked at T0.
func (c Clock) Wall(t int64) time.Time { return c.began.Add(time.Duration(t)).Round(0) }

// Began is T0, with its monotonic reading.
func (c Clock) Began() time.Time { return c.began }
