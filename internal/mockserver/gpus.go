package mockserver

import "fmt"

// GPUPath is where a server with GPUs has its page in the words of NVIDIA's DCGM exporter.
const GPUPath = "/dcgm/metrics"

// What a GPU takes when nothing runs and when every slot is busy, in watts.
const (
	idleWatts = 70.0
	fullWatts = 700.0
)

// slots is how many requests keep the server fully busy.
func (c *Config) slots() int {
	switch {
	case c.Step > 0:
		return c.Batch
	case c.Workers > 0:
		return c.Workers
	}
	return Defaults().Batch
}

// load is the share of slots in use; f is locked.
func (f *figures) load() float64 { return min(1, float64(f.active)/float64(f.slots)) }

// wanted is the power that a GPU would take without a limit; f is locked.
func (f *figures) wanted() float64 { return idleWatts + (fullWatts-idleWatts)*f.load() }

// power is what it takes; f is locked.
func (f *figures) power() float64 {
	if f.cap > 0 {
		return min(f.wanted(), f.cap)
	}
	return f.wanted()
}

// slower is the factor by which the limit on power makes all times grow.
func (f *figures) slower() float64 {
	if f.cap == 0 {
		return 1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wanted() / f.power()
}

// integrate counts the load up to now; f is locked.
func (f *figures) integrate() {
	now := f.now()
	f.joules += f.power() * seconds(now-f.busyAt)
	if f.power() < f.wanted() {
		f.capped += now - f.busyAt
	}
	f.busyAt = now
}

// gpuPage is the page: power follows the load, and energy is its integral over the life of
// the server. All GPUs do the same.
func (s *Server) gpuPage(path string) (b []byte) {
	if path != GPUPath || s.cfg.GPUs == 0 {
		return nil
	}
	f := &s.figures
	f.mu.Lock()
	defer f.mu.Unlock()
	f.integrate()
	load := f.load()
	type figure struct {
		name, kind, help string
		value            float64
	}
	page := []figure{
		{"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", 1980 * f.power() / f.wanted()},
		{"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", 35 + 45*load},
		{"DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", f.power()},
		{
			"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ).",
			1e3 * f.joules,
		},
		{"DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", 100 * load},
		{"DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %).", 60 * load},
		{"DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.", 0},
		{"DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", 40_000 + 32_000*load},
	}
	if f.cap > 0 { // what few exporters are told to say
		page = append(page, figure{
			"DCGM_FI_DEV_POWER_VIOLATION", "counter", "Throttling duration due to power constraints (in ns).", float64(f.capped),
		})
	}
	for _, m := range page {
		b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for i := range s.cfg.GPUs {
			id := fmt.Sprintf(`gpu="%d",UUID="GPU-00000000-0000-4000-8000-%012d",pci_bus_id="00000000:%02X:00.0",device="nvidia%d",modelName="Simulated GPU",Hostname="mock"`, i, i, i+1, i)
			b = series(b, m.name, m.value, id)
		}
	}
	return b
}
