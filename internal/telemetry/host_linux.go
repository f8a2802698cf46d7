package telemetry

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aiperf.dev/aiperf/internal/alarm"
)

// napper sleeps on an alarm; the runtime's timers wake half a millisecond late when
// idle and would drown what is looked for.
type napper struct{ alarm *alarm.Alarm }

func newNapper() (napper, error) {
	a, err := alarm.New()
	return napper{a}, err
}

func (n napper) sleep(d time.Duration) {
	n.alarm.Set(int64(d))
	n.alarm.Wait()
}

func (n napper) close() { n.alarm.Close() }

// usedCPU is the CPU time that this process has used so far.
func usedCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// clockSource is what the kernel reads the time from: tsc, kvm-clock, …
func clockSource() string {
	b, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// processCPU is user plus system time of this process, in seconds.
func processCPU() float64 {
	if used := usedCPU(); used > 0 {
		return used.Seconds()
	}
	return math.NaN()
}

// delays are counters of time that was taken from this process.
type delays struct {
	root               string  // of the file system they are read from
	periods, throttled float64 // cgroup v2, of our group and of the outermost that we see
	steal, total       float64 // jiffies of the machine
	runDelay           float64 // seconds, over all threads alive; NaN where the kernel does not count
}

func readDelays(root string) delays {
	d := delays{root: root}
	// either may have the limit: inside a container the outermost one
	for _, group := range []string{"", ownGroup(root)} {
		for line := range lines(root + "/sys/fs/cgroup" + group + "/cpu.stat") {
			switch k, v, _ := strings.Cut(line, " "); k {
			case "nr_periods":
				d.periods += number(v)
			case "nr_throttled":
				d.throttled += number(v)
			}
		}
	}
	for line := range lines(root + "/proc/stat") {
		if f := strings.Fields(line); len(f) > 8 && f[0] == "cpu" {
			d.steal = number(f[8])
			for _, x := range f[1:9] {
				d.total += number(x)
			}
		}
	}
	d.runDelay = math.NaN()
	threads, _ := os.ReadDir(root + "/proc/self/task")
	for _, t := range threads {
		for line := range lines(root + "/proc/self/task/" + t.Name() + "/schedstat") {
			if f := strings.Fields(line); len(f) == 3 {
				if math.IsNaN(d.runDelay) {
					d.runDelay = 0
				}
				d.runDelay += number(f[1]) / 1e9
			}
		}
	}
	return d
}

// since is the shares of throttled periods, stolen time and run delay.
func (d delays) since(wall time.Duration) (throttled, steal, delay float64) {
	now := readDelays(d.root)
	throttled, steal = share(now.throttled-d.throttled, now.periods-d.periods),
		share(now.steal-d.steal, now.total-d.total)
	return throttled, steal, share(now.runDelay-d.runDelay, wall.Seconds())
}

// ownGroup is the path of our cgroup below the outermost one that we see.
func ownGroup(root string) string {
	for line := range lines(root + "/proc/self/cgroup") {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return path
		}
	}
	return ""
}

func share(part, whole float64) float64 {
	if whole <= 0 {
		return math.NaN()
	}
	return part / whole
}

func lines(path string) func(func(string) bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(string(b), "\n")
}

func number(s string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return math.NaN()
	}
	return f
}
