package telemetry

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// hiccups counts how late each 1 ms sleep woke, in buckets of 50 µs.
type hiccups struct {
	wait    sync.WaitGroup
	buckets [4000]uint32 // 0..200 ms
	longest time.Duration
	lost    time.Duration
	n       int
}

const (
	nap         = time.Millisecond
	hiccupWidth = 50 * time.Microsecond
	// hiccupSlack is lateness that costs nothing: only what is beyond it is lost.
	hiccupSlack = time.Millisecond
)

// start sleeps on a thread of its own until stop is closed. A thread, because
// a goroutine would measure the Go scheduler, which has its own check.
func (h *hiccups) start(stop <-chan struct{}) {
	h.wait.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cores := runtime.GOMAXPROCS(0)
		was := threadUse()
		for {
			select {
			case <-stop:
				return
			default:
			}
			before := time.Now()
			sleep(nap)
			late := time.Since(before) - nap
			is := threadUse()
			h.add(machineShare(late, was, is, cores))
			was = is
		}
	})
}

// use is what was consumed up to a moment.
type use struct {
	parks int64         // times this thread gave up its core of its own accord
	cpu   time.Duration // CPU of the whole process
}

// machineShare is the part of a nap's lateness that the machine is to blame
// for. A thread that leaves a system call needs one of the runtime's
// processors; when this program keeps all of them busy it parks once more and
// waits for one. That wait is the client's own load (client_cpu and go_sched
// see it) and is taken off: CPU used meanwhile ÷ cores. What is left is time in
// which the process had work and no core, or stood still. Without this, with
// every processor spinning, 45 % of the time seemed lost where the kernel's run
// queue accounted for 4 %.
func machineShare(late time.Duration, before, after use, cores int) time.Duration {
	if after.parks-before.parks > 1 {
		late -= (after.cpu - before.cpu) / time.Duration(max(cores, 1))
	}
	return max(late, 0)
}

func (h *hiccups) add(late time.Duration) {
	h.n++
	h.buckets[min(int(late/hiccupWidth), len(h.buckets)-1)]++
	h.longest = max(h.longest, late)
	h.lost += max(0, late-hiccupSlack)
}

func (h *hiccups) report(wall time.Duration) Hiccup {
	h.wait.Wait()
	r := Hiccup{P999: math.NaN(), Longest: float64(h.longest) / 1e6, Lost: float64(h.lost) / float64(wall), N: h.n}
	if h.n == 0 {
		return r
	}
	want, seen := uint32(math.Ceil(0.999*float64(h.n))), uint32(0)
	i := slices.IndexFunc(h.buckets[:], func(c uint32) bool { seen += c; return seen >= want })
	r.P999 = min(float64(time.Duration(i+1)*hiccupWidth)/1e6, r.Longest)
	return r
}
