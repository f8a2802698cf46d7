// Package telemetry watches what stands beside the load, while it runs: the measuring
// machine (CPU use of this process, the Go scheduler, sleeps that wake late, throttling,
// clock jumps), servers' and exporters' pages of metrics, GPUs, and the network's round
// trip.
//
// Start begins to watch the machine, reports on each second, and Stop returns a Host for
// the time between; it costs less than one per cent of a core. A Scraper reads pages, and
// vocabulary.go says what their metrics mean.
package telemetry

import (
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"
)

// Host is what was seen between Start and Stop. Shares are 0..1; a value that
// this platform cannot tell is NaN.
type Host struct {
	Wall       time.Duration
	Cores      int     // usable by this process
	CPUSeconds float64 // used by this process
	CPUWorst   float64 // share of all usable cores in the worst second
	SchedP99   float64 // ms a goroutine that could run waited; NaN if few did
	GCLongest  float64 // ms, longest stop of the world
	Hiccup     Hiccup
	Throttled  float64 // share of cgroup periods throttled
	Steal      float64 // share of the machine's time taken by other guests
	RunDelay   float64 // time threads of this process were runnable but not running, per second
	WallJump   float64 // ms, wall clock against monotonic clock
	Clock      string  // the kernel's clock source, "" where it has no name
}

// Hiccup is how late naps of five milliseconds ended, less what the program's own work took.
type Hiccup struct {
	P999, Longest float64 // ms; P999 is NaN of fewer than 1,000 naps
	Lost          float64 // share of time lost: lateness beyond 1 ms
	N             int
	Stops         []Stop // the naps that ended 10 ms late and more, for whatever reason, in order
}

// Stop is a time in which nothing of this program ran, as far as a nap can tell.
type Stop struct{ From, To int64 } // ns of the clock of Start

// Second is what one second was like, or a little more or less than one.
type Second struct {
	Ended time.Time
	CPU   float64 // cores that this process used
}

// Monitor watches until Stop.
type Monitor struct {
	tell   func(Second)
	stop   chan struct{}
	done   chan struct{}
	began  time.Time
	wall   time.Time // without monotonic reading
	cpu    float64
	busy   busiest
	sched  []uint64
	gc     []uint64
	delay  delays
	hiccup hiccups
}

// Start begins to watch. The caller must call Stop. at is the clock of a run. tell, if set, is told of each
// second, from a goroutine of the monitor's that ends before Stop returns.
func Start(at func(time.Time) int64, tell func(Second)) *Monitor {
	m := &Monitor{
		tell: tell, stop: make(chan struct{}), done: make(chan struct{}),
		began: time.Now(), cpu: processCPU(), delay: readDelays(""),
	}
	m.wall = m.began.Round(0)
	m.busy = busiest{began: m.began, at: m.began, before: m.cpu, cpu: m.cpu}
	m.sched, m.gc = histogram(schedLatencies), histogram(gcPauses)
	m.hiccup.start(m.stop, at)
	go m.watch()
	return m
}

// busiest finds the time of about a second in which most of the CPU was used. The times
// follow each other without a gap from the beginning to the end, so that none of them is
// all that is above their mean.
type busiest struct {
	began, at   time.Time // of the time before, and of the one that runs
	before, cpu float64   // seconds of CPU used at these
	most        float64   // cores
}

// shortestTime is of a share of the CPU: less is added to the time before it.
const shortestTime = 200 * time.Millisecond

// second ends a time; what is too short goes on. It tells how many cores were used.
func (b *busiest) second(now time.Time, cpu float64) (cores float64, ok bool) {
	dt := now.Sub(b.at)
	if dt < shortestTime {
		return 0, false
	}
	cores = (cpu - b.cpu) / dt.Seconds()
	b.most = max(b.most, cores)
	b.began, b.before, b.at, b.cpu = b.at, b.cpu, now, cpu
	return cores, true
}

// end is second for the last time, which is taken together with the one before it where it
// is too short by itself.
func (b *busiest) end(now time.Time, cpu float64) float64 {
	if _, ok := b.second(now, cpu); !ok && now.After(b.began) {
		b.most = max(b.most, (cpu-b.before)/now.Sub(b.began).Seconds())
	}
	return b.most
}

// watch takes the CPU use of every second.
func (m *Monitor) watch() {
	defer close(m.done)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
			now := time.Now()
			if used, ok := m.busy.second(now, processCPU()); ok && m.tell != nil {
				m.tell(Second{Ended: now, CPU: used})
			}
		}
	}
}

// Stop ends watching and reports.
func (m *Monitor) Stop() Host {
	close(m.stop)
	<-m.done
	now := time.Now()
	wall, cpu := now.Sub(m.began), processCPU()
	h := Host{
		Wall: wall, Cores: runtime.GOMAXPROCS(0), CPUSeconds: cpu - m.cpu,
		SchedP99:  1e3 * quantileSince(schedLatencies, m.sched, 0.99),
		GCLongest: 1e3 * quantileSince(gcPauses, m.gc, 1),
		Hiccup:    m.hiccup.report(wall),
		WallJump:  math.Abs(float64(now.Round(0).Sub(m.wall)-wall)) / 1e6,
		Clock:     clockSource(),
	}
	h.CPUWorst = m.busy.end(now, cpu) / float64(h.Cores)
	h.Throttled, h.Steal, h.RunDelay = m.delay.since(wall)
	return h
}

const (
	schedLatencies = "/sched/latencies:seconds"
	gcPauses       = "/sched/pauses/total/gc:seconds"
)

func histogram(name string) []uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return slices.Clone(s[0].Value.Float64Histogram().Counts)
}

// fewestWaits is how many of a kind make a quantile of them; Go counts one wait
// of a goroutine in eight.
const fewestWaits = 100

// quantileSince is the upper edge, in seconds, of the bucket that holds
// quantile q of what was counted since before. The largest, q = 1, is 0 if
// nothing was counted; any other is NaN if too little was.
func quantileSince(name string, before []uint64, q float64) float64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return math.NaN()
	}
	h := s[0].Value.Float64Histogram()
	diff := make([]uint64, len(h.Counts))
	var total uint64
	for i, c := range h.Counts {
		diff[i] = c
		if i < len(before) {
			diff[i] -= before[i]
		}
		total += diff[i]
	}
	switch {
	case q < 1 && total < fewestWaits:
		return math.NaN()
	case total == 0:
		return 0
	}
	want, seen, edge := q*float64(total), uint64(0), 0.0
	for i, c := range diff {
		if c == 0 {
			continue
		}
		seen += c
		if edge = h.Buckets[i+1]; math.IsInf(edge, 1) {
			edge = h.Buckets[i]
		}
		if float64(seen) >= want {
			break
		}
	}
	return edge
}
