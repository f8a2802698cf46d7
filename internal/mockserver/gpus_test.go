package mockserver

import (
	"strings"
	"testing"
)

// Power is that of the load, and energy its integral: an idle second, a second at half
// load, then one beyond full load.
func TestGPUPowerFollowsLoad(t *testing.T) {
	t.Parallel()
	now := int64(0)
	s := New(Config{Workers: 4, GPUs: 2})
	s.clock = func() int64 { return now }
	const second = int64(1e9)
	for _, step := range []struct {
		until   int64
		active  int64
		power   string
		energyJ string
	}{{second, 0, "70.0", "70000.0"}, {2 * second, 2, "385.0", "455000.0"}, {3 * second, 9, "700.0", "1.155e+06"}} {
		s.figures.active = step.active
		now = step.until
		page := string(s.gpuPage(GPUPath))
		for _, want := range []string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="1",`, `Hostname="mock"} ` + step.power + "\n",
			`Hostname="mock"} ` + step.energyJ + "\n",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%d active until %d: no %q in\n%s", step.active, step.until, want, page)
			}
		}
	}
	if page := string(s.gpuPage(GPUPath)); strings.Contains(page, "VIOLATION") || s.figures.slower() != 1 {
		t.Errorf("power is limited without being asked for: %s", page)
	}
	if b := New(Config{Workers: 4}).gpuPage(GPUPath); b != nil {
		t.Errorf("a server without GPUs has a page: %s", b)
	}
}

// A limit on power holds a GPU below what its load wants: its clock falls, times grow by as
// much, and the counter has the time.
func TestGPUPowerCap(t *testing.T) {
	t.Parallel()
	now := int64(0)
	s := New(Config{Workers: 4, GPUs: 1, PowerCap: 350})
	s.clock = func() int64 { return now }
	for _, step := range []struct {
		active int64
		slower float64
		page   []string
	}{
		{1, 1, []string{`"} 227.5` + "\n", `"} 1980.0` + "\n", `DCGM_FI_DEV_POWER_VIOLATION{`, `"} 0.0` + "\n"}},
		{4, 2, []string{`"} 350.0` + "\n", `"} 990.0` + "\n", `"} 1e+09` + "\n", `"} 577500.0` + "\n"}},
	} {
		s.figures.active = step.active
		now += int64(1e9)
		page := string(s.gpuPage(GPUPath))
		for _, want := range step.page {
			if !strings.Contains(page, want) {
				t.Errorf("%d active: no %q in\n%s", step.active, want, page)
			}
		}
		if got := s.figures.slower(); got != step.slower {
			t.Errorf("%d active: times are %v times as long, want %v", step.active, got, step.slower)
		}
	}
}
