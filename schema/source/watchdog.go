package source

import (
	"fmt"
	"os"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// Evaluation of an experiment must end within these.
const (
	maxTime   = 10 * time.Second
	maxMemory = 512 << 20 // beyond what the process held before
)

// watching counts the evaluations under way. Time and memory are known for the
// process, not for one of them, so those that run side by side share their sum.
var watching atomic.Int64

// Watchdog ends the process when evaluation takes too long or too much memory.
// CUE and templates take no context and a goroutine that runs them cannot be
// stopped, so leaving is the only sure way out.
type Watchdog struct {
	place       atomic.Pointer[string] // what is said to be too much
	done, ended chan struct{}
}

// Watch begins to watch the evaluation of a file, until Stop.
func Watch(name string) *Watchdog {
	w := &Watchdog{done: make(chan struct{}), ended: make(chan struct{})}
	w.suspect(name)
	watching.Add(1)
	go w.watch(time.Now(), memory(), processTime())
	return w
}

// suspect names the place whose evaluation is likely to grow without end.
func (w *Watchdog) suspect(place string) { w.place.Store(&place) }

// Stop ends the watch.
func (w *Watchdog) Stop() {
	close(w.done)
	<-w.ended
	watching.Add(-1)
}

func (w *Watchdog) watch(began time.Time, held uint64, used time.Duration) {
	defer close(w.ended)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	most := int64(1) // evaluations at the same time as this one
	for {
		select {
		case <-w.done:
			return
		case <-tick.C:
		}
		most = max(most, watching.Load())
		if limit := time.Duration(most) * maxTime; time.Since(began) > maxTime && processTime()-used > limit {
			leave(*w.place.Load(), fmt.Sprintf("takes more than %v of CPU to evaluate", maxTime))
		}
		if memory() > held+uint64(most)*maxMemory {
			leave(*w.place.Load(), fmt.Sprintf("needs more than %d MB to evaluate", maxMemory>>20))
		}
	}
}

func leave(place, what string) {
	fmt.Fprintf(os.Stderr, "aiperf: %s: %s\n  hint: write the values instead of computing them\n", place, what)
	os.Exit(int(diag.Usage))
}

func memory() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
