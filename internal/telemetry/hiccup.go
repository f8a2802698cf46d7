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
)

// start sleeps on a thread of its own until stop is closed. A thread, because
// a goroutine would measure the Go scheduler, which has its own check.
func (h *hiccups) start(stop <-chan struct{}) {
	h.wait.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for {
			select {
			case <-stop:
				return
			default:
			}
			before := time.Now()
			sleep(nap)
			h.add(time.Since(before) - nap)
		}
	})
}

func (h *hiccups) add(late time.Duration) {
	late = max(late, 0)
	h.n++
	h.buckets[min(int(late/hiccupWidth), len(h.buckets)-1)]++
	h.longest = max(h.longest, late)
	if late > nap {
		h.lost += late
	}
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
