// Package gclimit sets how much garbage may pile up while results are written, and
// while a run goes on. Each function gives back the one that ends it.
package gclimit

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// garbage is how much of it may pile up: so many percent of what is in use, but
// so many bytes at any rate, or a small run would be searched through for every
// two megabytes it leaves behind.
type garbage struct {
	percent int
	least   uint64
	every   time.Duration // how often is looked at how much is in use
}

// While results are written a fifth of what is in use, since that is long lists
// of numbers and nothing is measured any more. While a run goes on as much as is
// in use: what is searched through then takes a processor from those who measure,
// and the results need the room later anyway.
var (
	whileWriting   = garbage{20, 12 << 20, 10 * time.Millisecond}
	whileMeasuring = garbage{usualPercent, 32 << 20, 100 * time.Millisecond}
)

// usualPercent is Go's limit where the user (GOGC) has set none.
const usualPercent = 100

// Writing lets less garbage pile up, as while results are written, until the
// function it returns is called. A user's own lower limit (GOGC) stays.
func Writing() (end func()) {
	before := debug.SetGCPercent(whileWriting.percent)
	if before >= 0 && before < whileWriting.percent {
		debug.SetGCPercent(before)
		return func() {}
	}
	return whileWriting.keep(before)
}

// Measuring lets more garbage pile up, as while a run goes on, until the function it
// returns is called. A limit of the user's own stays.
func Measuring() (end func()) {
	before := debug.SetGCPercent(usualPercent)
	if before != usualPercent {
		debug.SetGCPercent(before)
		return func() {}
	}
	return whileMeasuring.keep(before)
}

// keep holds to g until the function it returns is called, which sets the limit
// that was before.
func (g garbage) keep(before int) (end func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(g.every)
		defer tick.Stop()
		for last := 0; ; {
			if p := g.percentOf(inUse()); p != last {
				debug.SetGCPercent(p)
				last = p
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
		debug.SetGCPercent(before)
	}
}

// percentOf is the garbage to allow beside so many bytes in use, in percent of
// them.
func (g garbage) percentOf(inUse uint64) int {
	return max(g.percent, int(math.Ceil(100*float64(g.least)/float64(max(inUse, 1<<20)))))
}

// inUse is what the last collection left, in bytes.
func inUse() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
