// Package gclimit sets how much garbage may pile up: in a process that has collected none
// so far, while an experiment is read, while a run goes on, and while results are written.
// Each function gives back the one that ends it.
package gclimit

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
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

// leastInUse is what Go counts as in use at least, in bytes.
const leastInUse = 4 << 20

// firstPercent is the limit of a process that has collected nothing so far: it lets the heap
// become what is small. The tables of libraries alone would be searched through otherwise,
// and each command, and each server that a plan starts, begins with them.
const firstPercent = 100 * small / leastInUse

// first reports whether that is the limit outside of the functions below, and how many of
// them are at it.
var first struct {
	sync.Mutex
	now  bool
	kept int
}

// init comes before that of the libraries: packages are initialised in the order of their paths.
func init() {
	if os.Getenv("GOGC") == "" {
		begin()
		runtime.AddCleanup(new([32]byte), func(int) { collected() }, 0) // smaller ones share a block, which others keep
	}
}

func begin() {
	first.now = true
	debug.SetGCPercent(firstPercent)
}

// collected ends what begin begins.
func collected() {
	first.Lock()
	defer first.Unlock()
	first.now = false
	if first.kept == 0 {
		debug.SetGCPercent(usualPercent)
	}
}

func isFirst(limit int) bool {
	first.Lock()
	defer first.Unlock()
	return first.now && limit == firstPercent
}

// acquire begins to keep a limit, and reports whether the first one was set until then.
func acquire() (ours bool) {
	first.Lock()
	defer first.Unlock()
	first.kept++
	return first.now && first.kept == 1
}

// release sets the limit that was before, but the usual one in place of the first where
// the first collection was since.
func release(before int, ours bool) {
	first.Lock()
	defer first.Unlock()
	if first.kept--; ours && !first.now {
		before = usualPercent
	}
	debug.SetGCPercent(before)
}

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
	if before != usualPercent && !isFirst(before) {
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
	ours := acquire()
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
		release(before, ours)
	}
}

// percentOf is the garbage to allow beside so many bytes in use, in percent of
// them.
func (g garbage) percentOf(inUse uint64) int {
	inUse = max(inUse, leastInUse)
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
