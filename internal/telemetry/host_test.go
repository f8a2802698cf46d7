package telemetry

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestHiccupReport(t *testing.T) {
	t.Parallel()
	var h hiccups
	for range 9990 {
		h.add(100 * time.Microsecond)
	}
	for range 10 {
		h.add(20 * time.Millisecond)
	}
	got := h.report(10 * time.Second)
	if got.N != 10000 || got.Longest != 20 {
		t.Errorf("n %d longest %v ms, want 10000 and 20", got.N, got.Longest)
	}
	if math.Abs(got.P999-0.15) > 1e-9 { // upper edge of the bucket of 0.1 ms
		t.Errorf("p99.9 = %v ms, want 0.15", got.P999)
	}
	if math.Abs(got.Lost-0.02) > 1e-9 { // 10 × 4 naps of 10 s
		t.Errorf("lost share = %v, want 0.02", got.Lost)
	}
}

// What is lost is the time that the machine stood still, less the slack of each
// standstill, whether that is longer or shorter than a nap.
func TestLostTimeIsWhatWasTaken(t *testing.T) {
	t.Parallel()
	for _, stop := range []time.Duration{
		time.Millisecond, 2 * time.Millisecond,
		5 * time.Millisecond, 50 * time.Millisecond,
	} {
		var h hiccups
		var taken, now time.Duration
		r := rand.New(rand.NewPCG(1, uint64(stop)))
		for range 4000 {
			begin := now + 20*nap + time.Duration(r.Int64N(int64(nap))) // at any time of a nap
			for ; now+nap <= begin; now += nap {
				h.add(0)
			}
			due := now + nap
			now = max(due, begin+stop)
			h.add(now - due)
			taken += max(0, stop-hiccupSlack)
		}
		if math.Abs(float64(h.lost-taken)) > 0.05*float64(taken) {
			t.Errorf("standstills of %v: lost %v, taken were %v", stop, h.lost, taken)
		}
	}
}

func TestMachineShare(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		name       string
		late, used time.Duration
		want       time.Duration
	}{
		{"the program had no core", 20 * ms, 0, 20 * ms},
		{"all processors busy with our own work", 20 * ms, 42 * ms, 0},
		{"our work got half of its cores", 20 * ms, 20 * ms, 10 * ms},
		{"stopped: no work at all was done", 500 * ms, 0, 500 * ms},
		{"late by less than counts", ms / 2, ms, ms / 2},
		{"woke early", -ms / 2, 0, 0},
	} {
		if got := machineShare(c.late, c.used, 2); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMonitorSeesThisProcess(t *testing.T) {
	t.Parallel()
	m := Start(func(t time.Time) int64 { return t.UnixNano() }, nil)
	x := 0.0
	for i := range 5_000_000 { // some CPU to be seen
		x += math.Sqrt(float64(i))
	}
	h := m.Stop()
	if h.CPUSeconds <= 0 || h.Wall <= 0 || h.Cores < 1 || x == 0 {
		t.Errorf("report %+v: no CPU, wall time or cores seen", h)
	}
	if h.WallJump > 1000 {
		t.Errorf("wall clock jumped by %v ms", h.WallJump)
	}
}

// A wall clock that is set while the host is watched shows by how much.
func TestWallJump(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		m := Start(func(t time.Time) int64 { return t.UnixNano() }, nil)
		m.wall = m.wall.Add(-jump) // as if it had shown another time then
		if got := m.Stop().WallJump; math.Abs(got-3.6e6) > 1000 {
			t.Errorf("set by %v: a jump of %v ms", jump, got)
		}
	}
}

// Each second is told once, at its end, and none after Stop.
func TestSecondsAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []time.Duration
		m := &Monitor{stop: make(chan struct{}), done: make(chan struct{}), began: time.Now()}
		m.tell = func(s Second) {
			told = append(told, s.Ended.Sub(m.began))
			if s.CPU < 0 || math.IsNaN(s.CPU) {
				t.Errorf("second %d used %v cores", len(told), s.CPU)
			}
		}
		go m.watch()
		time.Sleep(3500 * time.Millisecond)
		close(m.stop)
		<-m.done
		if want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}; !slices.Equal(told, want) {
			t.Errorf("told at %v, want %v", told, want)
		}
	})
}
