package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// quick is 50,000 requests and 100,000 chunks per CPU-second on two cores.
func quick() *Calibration {
	return &Calibration{
		Version: "test", Cores: 2, When: time.Now(),
		Short:   Trial{Requests: 25_000, Seconds: 1, CPU: 0.5},
		Streams: Trial{Requests: 100, Chunks: 10_000, Seconds: 1, CPU: 0.1},
	}
}

func rated(stream bool, rate float64, osl float64) *schema.Benchmark {
	return &schema.Benchmark{
		Endpoint: schema.Endpoint{Streaming: stream},
		Datasets: []schema.Dataset{{Prompts: schema.Prompts{OSL: &schema.Shape{Mean: &osl}}}},
		Phases:   []schema.Phase{{Type: "constant", Rate: rate / 2}, {Type: "poisson", Rate: rate}},
	}
}

func TestPlannedLoad(t *testing.T) {
	t.Parallel()
	c := quick()
	for _, x := range []struct {
		name             string
		b                *schema.Benchmark
		requests, chunks float64
		ratio            float64
	}{
		{"requests", rated(false, 10_000, 16), 10_000, 0, 10},                 // 0.2 of 2 CPU-seconds a second
		{"streams", rated(true, 1_000, 64), 1_000, 64_000, 2 / (0.02 + 0.64)}, // and 0.64 for the chunks
		{"closed loop", &schema.Benchmark{Phases: []schema.Phase{{Concurrency: 9}}}, 0, 0, math.Inf(1)},
		{"series", &schema.Benchmark{Phases: []schema.Phase{{RateSeries: schema.RateSeries{{TimeS: 0, QPS: 5}, {TimeS: 9, QPS: 500}}}}}, 500, 0, 200},
	} {
		l := Planned(x.b)
		if l.Requests != x.requests || l.Chunks != x.chunks || c.Ratio(l) != x.ratio {
			t.Errorf("%s: %+v, ratio %v; want %v requests/s, %v chunks/s, ratio %v", x.name, l, c.Ratio(l), x.requests,
				x.chunks, x.ratio)
		}
	}
}

func TestWhenHeadroomIsTried(t *testing.T) {
	t.Parallel()
	cores := float64(runtime.GOMAXPROCS(0))
	for _, x := range []struct {
		l    Load
		last *Calibration
		want bool
	}{
		{Load{Requests: 3_900 * cores}, nil, false}, // a fifth of a slow machine
		{Load{Requests: 4_100 * cores}, nil, true},
		{Load{Requests: 10, Chunks: 21_000 * cores}, nil, true},
		{Load{Requests: 2_500 * cores, Chunks: 10_000 * cores}, nil, true},
		{Load{Requests: 19_000}, quick(), false}, // 19 % of 100,000
		{Load{Requests: 21_000}, quick(), true},
		{Load{}, quick(), false},
	} {
		if got := demanding(x.l, x.last); got != x.want {
			t.Errorf("demanding(%+v, calibrated %v) = %v, want %v", x.l, x.last != nil, got, x.want)
		}
	}
	// 1 CPU-second for 20,000 requests: 40,000/s on two cores.
	if got := (Trial{Requests: 20_000, CPU: 1}).ratio(Load{Requests: 30_000}, 2); math.Abs(got-4.0/3) > 1e-12 {
		t.Errorf("ratio %v, want 4/3", got)
	}
	if got := (Trial{Requests: 100, Chunks: 50_000, CPU: 0.5}).ratio(Load{stream: true, Requests: 100, Chunks: 400_000},
		2); got != 0.5 {
		t.Errorf("ratio of streams %v, want 0.5", got)
	}
	if s := (Load{stream: true, isl: 512, osl: 4096}).shape(); s.OSL != longestTrialed ||
		s.Span > 300*time.Millisecond || s.ISL != 512 || !s.Stream {
		t.Errorf("shape of long answers: %+v", s)
	}
}

func TestBusiestCell(t *testing.T) {
	t.Parallel()
	plan := &sweep.Plan{}
	for _, rate := range []float64{100, 5000, 200} {
		c := &sweep.Cell{ID: "x"}
		c.Resolved = &schema.Resolved{Benchmark: *rated(false, rate, 1)}
		plan.Cells = append(plan.Cells, c)
	}
	if l, ratio, ok := quick().Busiest(plan); !ok || l.Requests != 5000 || ratio != 20 {
		t.Errorf("busiest %+v, ratio %v, %v; want 5,000/s, 20", l, ratio, ok)
	}
}

// A plan that is small is never tried: no process is started for it.
func TestSmallPlansAreNotTried(t *testing.T) {
	t.Parallel()
	plan := &sweep.Plan{Cells: []*sweep.Cell{{ID: "x", Resolved: &schema.Resolved{Benchmark: *rated(true, 10, 16)}}}}
	got, err := headrooms(context.Background(), plan,
		Options{Exe: filepath.Join(t.TempDir(), "none"), Version: "no such version"})
	if err != nil || len(got) != 0 {
		t.Errorf("headrooms of 10 requests/s: %v, %v; want nothing", got, err)
	}
	plan.Cells[0].Resolved.Benchmark = *rated(false, 1e6, 1)
	if _, err = headrooms(context.Background(), plan, Options{
		Exe:     filepath.Join(t.TempDir(), "none"),
		Version: "no such version",
	}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("headrooms of 1,000,000 requests/s without a program to start: %v", err)
	}
}

func TestCalibrationIsKept(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", os.Getenv("XDG_CACHE_HOME"))
	if c := LastCalibration("test"); c != nil {
		t.Fatalf("a calibration before any: %+v", c)
	}
	c := quick()
	c.Cores = runtime.GOMAXPROCS(0)
	path, err := c.Keep()
	if err != nil {
		t.Fatalf("Keep: %v", err)
	}
	if got := LastCalibration("test"); got == nil || got.Short.Requests != c.Short.Requests {
		t.Errorf("LastCalibration = %+v, want what was kept", got)
	}
	if LastCalibration("another version") != nil {
		t.Error("a calibration of another version is believed")
	}
	c.When = time.Now().Add(-2 * oldest)
	if _, err := c.Keep(); err != nil || LastCalibration("test") != nil {
		t.Errorf("an old calibration is believed (%v)", err)
	}
	for _, text := range []string{
		"", "{}", `{"version":"test"`,
		`{"version":"test","short":{"requests":1,"cpu_seconds":0}}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if c := LastCalibration("test"); c != nil {
			t.Errorf("%q is a calibration: %+v", text, c)
		}
	}
}

// Where the load is more than this machine can drive, so many machines are named that can.
func TestEnoughMachines(t *testing.T) {
	t.Parallel()
	for _, ratio := range []float64{0.99, 0.5, 0.3, 0.04} {
		n := enough(ratio)
		if all := ratio * float64(n); all < 1.25 || ratio*float64(n-1) >= 1.25 {
			t.Errorf("%d machines for a load that one drives %v times: together %v times", n, ratio, all)
		}
		err := tooMuch(&sweep.Cell{}, Load{Requests: 1e6}, ratio, 1)
		if want := fmt.Sprintf("%d machines like this one (--workers %[1]d ", n); !strings.Contains(diag.Of(err).Hint, want) {
			t.Errorf("the hint %q does not say %q", diag.Of(err).Hint, want)
		}
	}
}
