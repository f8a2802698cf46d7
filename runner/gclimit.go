package runner

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How much garbage may pile up while results are written: a quarter of what is
// in use, since that is long lists of numbers and nothing is measured any more;
// but leastGarbage at any rate, or a small run would be searched through for
// every two megabytes it leaves behind.
const (
	gcPercent    = 25
	leastGarbage = 16 << 20
)

// gcEvery is how often LimitGC looks at how much is in use.
const gcEvery = 10 * time.Millisecond

// LimitGC lets less garbage pile up until the function it returns is called.
// A user's own lower limit (GOGC) stays.
func LimitGC() (end func()) {
	before := debug.SetGCPercent(gcPercent)
	if before >= 0 && before < gcPercent {
		debug.SetGCPercent(before)
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(gcEvery)
		defer tick.Stop()
		for last := 0; ; {
			if p := garbagePercent(inUse()); p != last {
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

// garbagePercent is the garbage to allow beside so many bytes in use, in
// percent of them.
func garbagePercent(inUse uint64) int {
	return max(gcPercent, int(math.Ceil(100*leastGarbage/float64(max(inUse, 1<<20)))))
}

// inUse is what the last collection left, in bytes.
func inUse() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
