package telemetry

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// hiccups counts how late each nap woke, in buckets of 50 µs.
type hiccups struct {
	wait    sync.WaitGroup
	buckets [4000]uint32 // 0..200 ms
	longest time.Duration
	lost    time.Duration
	n       int
	stops   []Stop
}

const (
	// nap is how long a sleep is. A thread that slept 1 ms in a system call kept one of
	// the runtime's processors from the connections, and the runtime's monitor awake
	// beside it: that took 3 % of a core, and an alarm each 5 ms takes a tenth of it.
	nap         = 5 * time.Millisecond
	hiccupWidth = 50 * time.Microsecond
	// hiccupSlack is lateness that costs nothing: only what is beyond it is lost.
	hiccupSlack = time.Millisecond
	// fewestNaps have a p99.9.
	fewestNaps = 1000
	// stopLeast is the least lateness that is kept as a standstill of its own, and
	// mostStops how many are kept.
	stopLeast = 10 * time.Millisecond
	mostStops = 1 << 12
)

// start naps until stop is closed, and where it cannot nap counts nothing. at is the
// clock of what it tells.
func (h *hiccups) start(stop <-chan struct{}, at func(time.Time) int64) {
	n, err := newNapper()
	if err != nil {
		return
	}
	h.wait.Go(func() {
		defer n.close()
		cores := runtime.GOMAXPROCS(0)
		was := usedCPU()
		for {
			select {
			case <-stop:
				return
			default:
			}
			before := time.Now()
			n.sleep(nap)
			woke := time.Now()
			late := woke.Sub(before) - nap
			is := usedCPU()
			h.add(machineShare(late, is-was, cores))
			if late >= stopLeast && len(h.stops) < mostStops {
				h.stops = append(h.stops, Stop{at(before.Add(nap)), at(woke)})
			}
			was = is
		}
	})
}

// machineShare is the part of a nap's lateness that the machine is to blame for:
// all but the CPU that this process used meanwhile ÷ cores. While the program keeps
// its processors busy a nap wakes late, too, and that wait is the client's own load
// (client_cpu and go_sched see it). What is left is time in which the process had work
// and no core, or stood still.
func machineShare(late, used time.Duration, cores int) time.Duration {
	if late > hiccupSlack {
		late -= used / time.Duration(max(cores, 1))
	}
	return max(late, 0)
}

// add counts a nap. A moment at which a nap was to end stands for the time of one nap, and is
// lost when nothing woke within the slack. A late one may miss several. So what is lost comes
// to as much as was taken, on average, even of standstills shorter than a nap.
func (h *hiccups) add(late time.Duration) {
	h.n++
	h.buckets[min(int(late/hiccupWidth), len(h.buckets)-1)]++
	h.longest = max(h.longest, late)
	if over := late - hiccupSlack; over > 0 {
		h.lost += (over + nap - 1) / nap * nap
	}
}

func (h *hiccups) report(wall time.Duration) Hiccup {
	h.wait.Wait()
	r := Hiccup{
		P999: math.NaN(), Longest: float64(h.longest) / 1e6, Lost: float64(h.lost) / float64(wall), N: h.n,
		Stops: h.stops,
	}
	if h.n < fewestNaps {
		return r
	}
	want, seen := uint32(math.Ceil(0.999*float64(h.n))), uint32(0)
	i := slices.IndexFunc(h.buckets[:], func(c uint32) bool { seen += c; return seen >= want })
	r.P999 = min(float64(time.Duration(i+1)*hiccupWidth)/1e6, r.Longest)
	return r
}
