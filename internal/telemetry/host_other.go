//go:build !linux

package telemetry

import (
	"math"
	"runtime/metrics"
	"time"
)

// napper sleeps by the runtime's timers.
type napper struct{}

func newNapper() (napper, error) { return napper{}, nil }

func (napper) sleep(d time.Duration) { time.Sleep(d) }

func (napper) close() {}

// usedCPU is not known to the microsecond here: lateness is taken as it is.
func usedCPU() time.Duration { return 0 }

func clockSource() string { return "" }

// processCPU is the Go runtime's own account, in seconds: idle time left out.
func processCPU() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64() - s[1].Value.Float64()
}

type delays struct{}

func readDelays(string) delays { return delays{} }

func (delays) since(time.Duration) (throttled, steal, delay float64) {
	return math.NaN(), math.NaN(), math.NaN()
}
