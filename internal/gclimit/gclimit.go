// Package gclimit sets how much garbage may pile up while an experiment is read, while a
// run goes on, and while results are written. Each function gives back the one that ends it.
package gclimit

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// garbage is how much of it may pile up: so many percent of what is in use, but so many
// bytes at any rate, and always until the heap is as large as small heaps may be, or a
// small run would be searched through for every two megabytes it leaves behind.
type garbage struct {
	percent int
	least   uint64
	every   time.Duration // how often is looked at how much is in use
}

// small is a heap in bytes that is not searched for garbage.
const small = 32 << 20

// An experiment is read with as much as is in use. While results are written it is a
// fifth, since that is long lists of numbers and nothing is measured any more. While a run
// goes on it is as much as is in use: what is searched through then takes a processor from
// those who measure, and the results need the room later anyway.
var (
	whileReading   = garbage{usualPercent, 0, 10 * time.Millisecond}
	whileWriting   = garbage{20, 12 << 20, 10 * time.Millisecond}
	whileMeasuring = garbage{usualPercent, 32 << 20, 100 * time.Millisecond}
)

// usualPercent is Go's limit where the user (GOGC) has set none.
const usualPercent = 100

// Writing lets less garbage pile up, as while results are written, until the
// function it returns is called. A user's own lower limit (GOGC) stays.
func Writing() (end func()) {
	before := limit()
	if before >= 0 && before < whileWriting.percent {
		return func() {}
	}
	return whileWriting.keep(before)
}

// Measuring lets more garbage pile up, as while a run goes on, until the function it
// returns is called. A limit of the user's own stays.
func Measuring() (end func()) { return whileMeasuring.more() }

// Reading lets a small heap grow, as while an experiment is read, until the function it
// returns is called. A limit of the user's own stays.
func Reading() (end func()) { return whileReading.more() }

func (g garbage) more() (end func()) {
	before := limit()
	if before != usualPercent {
		return func() {}
	}
	return g.keep(before)
}

// limit is what is set now. It is not asked of debug.SetGCPercent, which sets another for
// a moment, at which a collection may begin.
func limit() int { return int(int64(read("/gc/gogc:percent"))) }

// keep holds to g until the function it returns is called, which sets the limit
// that was before.
func (g garbage) keep(before int) (end func()) {
	last := g.percentOf(inUse())
	debug.SetGCPercent(last)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(g.every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			if p := g.percentOf(inUse()); p != last {
				debug.SetGCPercent(p)
				last = p
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
	inUse = max(inUse, 1<<20)
	least := max(g.least, small-min(inUse, small))
	return max(g.percent, int(math.Ceil(100*float64(least)/float64(inUse))))
}

// inUse is what the last collection left, in bytes.
func inUse() uint64 { return read("/gc/heap/live:bytes") }

func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
