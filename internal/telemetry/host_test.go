package telemetry

import (
	"math"
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
	if math.Abs(got.Lost-0.019) > 1e-9 { // 10 × (20 − 1) ms of 10 s
		t.Errorf("lost share = %v, want 0.019", got.Lost)
	}
}

func TestMachineShare(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		late time.Duration
		b, a use
		want time.Duration
	}{
		{"woke late, found a processor at once", 20 * ms, use{3, 0}, use{4, 40 * ms}, 20 * ms},
		{"all processors busy with our own work", 20 * ms, use{3, 0}, use{5, 42 * ms}, 0},
		{"our work got half of its cores", 20 * ms, use{3, 0}, use{5, 20 * ms}, 10 * ms},
		{"stopped: no work at all was done", 500 * ms, use{3, 0}, use{6, 0}, 500 * ms},
		{"no account of threads", 20 * ms, use{}, use{}, 20 * ms},
		{"woke early", -ms / 2, use{3, 0}, use{4, 0}, 0},
	} {
		if got := machineShare(c.late, c.b, c.a, 2); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMonitorSeesThisProcess(t *testing.T) {
	t.Parallel()
	m := Start(nil)
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
		m := Start(nil)
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
