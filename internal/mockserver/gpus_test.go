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
	if b := New(Config{Workers: 4}).gpuPage(GPUPath); b != nil {
		t.Errorf("a server without GPUs has a page: %s", b)
	}
}
