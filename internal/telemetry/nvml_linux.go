//go:build nvml

package telemetry

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"golang.org/x/sys/unix"
)

// OpenNVML reads this machine's GPUs through NVIDIA's library. It is loaded at the first
// look; the error is of builds without it.
func OpenNVML() (*Local, error) { return &Local{Read: (&boards{lib: nvml.New()}).read}, nil }

// gpmApart is the least time between two samples that NVML compares.
const gpmApart = 100 * time.Millisecond

// mostXIDs is how many errors are taken at a look.
const mostXIDs = 64

// seldom is at which looks figures are read that change slowly, or hardly ever in a run:
// the others repeat what they were. All calls of a look took 5 ms of a core on an H100,
// so that a budget of 1 % allowed two looks a second.
const seldom = 4

// boards are the GPUs of this machine. Nothing of the library is called before Init was
// successful, nor a function that the installed driver lacks: either ends the process.
// The library stays loaded until the process ends, since a driver that nobody uses
// forgets its counters.
type boards struct {
	lib    nvml.Interface
	open   bool
	all    []*board
	events nvml.EventSet // nil: errors are not told
	doubts []string      // of opening
	lacks  map[string]bool
}

// board is one GPU, or an instance of one (MIG).
type board struct {
	of     *boards
	dev    nvml.Device
	index  int
	labels [][2]string
	parent *board // of an instance
	inst   int    // its number on the parent

	unsupported map[string]bool // what it does not say: not asked again
	watched     bool            // its XID errors are told
	xids, xid   uint64          // how many, and the last one
	seen        uint64          // time stamp of the last sample of processes
	gpm         [2]nvml.GpmSample
	gpmAt       time.Time // of the sample before; zero for none
	gpmOff      bool
	shares      map[string]float64 // between the last two samples
	looks       int
	held        map[string]float64 // figures that are read seldom
}

// read is what all of them say now, and the time on a processor that it took.
func (b *boards) read() (*Page, time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadCPU()
	if !b.open {
		if err := b.init(); err != nil {
			return nil, 0, err
		}
	}
	r := nvmlReading{map[string][]Value{}, b.doubts}
	b.countXIDs()
	for _, g := range b.all {
		g.read(&r)
	}
	return nvmlPage(r.values, r.doubts), threadCPU() - began, nil
}

func threadCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// init loads the library and finds the GPUs.
func (b *boards) init() error {
	switch ret := b.lib.Init(); ret {
	case nvml.SUCCESS:
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return &NotPrometheusError{"NVML (libnvidia-ml.so.1) is not on this machine: is NVIDIA's driver installed?"}
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return &NotPrometheusError{"NVIDIA's driver is not loaded on this machine"}
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return &NotPrometheusError{"NVML and NVIDIA's driver are of different versions: restart the machine"}
	default:
		return &NotPrometheusError{"NVML cannot be used: " + ret.Error()}
	}
	count, ret := b.lib.DeviceGetCount()
	if ret != nvml.SUCCESS || count == 0 {
		return &NotPrometheusError{"NVML finds no GPU on this machine"}
	}
	b.lacks = map[string]bool{}
	host, _ := os.Hostname()
	for i := range count {
		dev, ret := b.lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			b.doubts = append(b.doubts, fmt.Sprintf("GPU %d cannot be opened: %s", i, ret.Error()))
			continue
		}
		g := &board{of: b, dev: dev, index: i, unsupported: map[string]bool{}, held: map[string]float64{}}
		g.label(host)
		b.all = append(b.all, g)
		b.all = append(b.all, g.instances()...)
	}
	b.watchXIDs()
	b.open = true
	return nil
}

// has reports whether the installed driver has a function.
func (b *boards) has(function string) bool {
	lacks, known := b.lacks[function]
	if !known {
		lacks = b.lib.Extensions().LookupSymbol(function) != nil
		b.lacks[function] = lacks
	}
	return !lacks
}

// label names the GPU as DCGM's exporter does.
func (g *board) label(host string) {
	add := func(name, value string) {
		if value != "" {
			g.labels = append(g.labels, [2]string{name, value})
		}
	}
	uuid, _ := g.dev.GetUUID()
	name, _ := g.dev.GetName()
	bus := ""
	if pci, ret := g.dev.GetPciInfo(); ret == nvml.SUCCESS {
		for _, c := range pci.BusId {
			if c == 0 {
				break
			}
			bus += string(rune(byte(c)))
		}
	}
	add("UUID", uuid)
	add("device", "nvidia"+strconv.Itoa(g.index))
	add("gpu", strconv.Itoa(g.index))
	add("hostname", host)
	add("modelName", name)
	add("pci_bus_id", bus)
}

// instances are those of a GPU that is divided.
func (g *board) instances() (out []*board) {
	if !g.of.has("nvmlDeviceGetMaxMigDeviceCount") || !g.divided() {
		return nil
	}
	most, ret := g.dev.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return nil
	}
	for i := range most {
		dev, ret := g.dev.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue // numbers may be free
		}
		uuid, _ := dev.GetUUID()
		m := &board{
			of: g.of, dev: dev, index: g.index, parent: g, inst: -1, unsupported: map[string]bool{},
			held: map[string]float64{},
		}
		m.labels = [][2]string{{"UUID", uuid}, {"gpu", strconv.Itoa(g.index)}, {"mig", strconv.Itoa(i)}}
		if id, ret := dev.GetGpuInstanceId(); ret == nvml.SUCCESS {
			m.inst = id
		}
		out = append(out, m)
	}
	return out
}

func (g *board) divided() bool {
	if !g.of.has("nvmlDeviceGetMigMode") {
		return false
	}
	now, _, ret := g.dev.GetMigMode()
	return ret == nvml.SUCCESS && now == nvml.DEVICE_MIG_ENABLE
}

// watchXIDs asks for errors of the GPUs, which are events.
func (b *boards) watchXIDs() {
	for _, name := range []string{
		"nvmlEventSetCreate", "nvmlDeviceRegisterEvents",
		"nvmlDeviceGetSupportedEventTypes",
	} {
		if !b.has(name) {
			return
		}
	}
	set, ret := b.lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		return
	}
	for _, g := range b.all {
		if g.parent != nil {
			continue
		}
		kinds, ret := g.dev.GetSupportedEventTypes()
		if ret == nvml.SUCCESS && kinds&nvml.EventTypeXidCriticalError != 0 &&
			g.dev.RegisterEvents(nvml.EventTypeXidCriticalError, set) == nvml.SUCCESS {
			g.watched, b.events = true, set
		}
	}
}

// countXIDs counts the errors since the last look.
func (b *boards) countXIDs() {
	if b.events == nil {
		return
	}
	for range mostXIDs {
		e, ret := b.events.Wait(0)
		if ret != nvml.SUCCESS {
			return
		}
		for _, g := range b.all {
			if g.watched && g.dev == e.Device && e.EventType == nvml.EventTypeXidCriticalError {
				g.xids++
				g.xid = e.EventData
			}
		}
	}
}

// nvmlReading collects what one look finds.
type nvmlReading struct {
	values map[string][]Value
	doubts []string
}

func (r *nvmlReading) add(metric, labels string, v float64) {
	r.values[metric] = append(r.values[metric], Value{Labels: labels, V: v})
}

// plainNVML are figures of which each is one call.
var plainNVML = []struct {
	metric, function string
	seldom           bool
	read             func(nvml.Device) (float64, nvml.Return)
}{
	{"nvml_power_watts", "nvmlDeviceGetPowerUsage", false, func(d nvml.Device) (float64, nvml.Return) {
		milliwatts, ret := d.GetPowerUsage()
		return float64(milliwatts) / 1e3, ret
	}},
	{"nvml_power_limit_watts", "nvmlDeviceGetEnforcedPowerLimit", true, func(d nvml.Device) (float64, nvml.Return) {
		milliwatts, ret := d.GetEnforcedPowerLimit()
		return float64(milliwatts) / 1e3, ret
	}},
	{
		"nvml_energy_joules_total", "nvmlDeviceGetTotalEnergyConsumption",
		false, func(d nvml.Device) (float64, nvml.Return) {
			millijoules, ret := d.GetTotalEnergyConsumption()
			return float64(millijoules) / 1e3, ret
		},
	},
	{"nvml_temperature_celsius", "nvmlDeviceGetTemperature", true, func(d nvml.Device) (float64, nvml.Return) {
		v, ret := d.GetTemperature(nvml.TEMPERATURE_GPU)
		return float64(v), ret
	}},
	{"nvml_sm_clock_megahertz", "nvmlDeviceGetClockInfo", false, func(d nvml.Device) (float64, nvml.Return) {
		v, ret := d.GetClockInfo(nvml.CLOCK_SM)
		return float64(v), ret
	}},
	{"nvml_memory_clock_megahertz", "nvmlDeviceGetClockInfo", true, func(d nvml.Device) (float64, nvml.Return) {
		v, ret := d.GetClockInfo(nvml.CLOCK_MEM)
		return float64(v), ret
	}},
	{
		"nvml_decoder_utilization_percent", "nvmlDeviceGetDecoderUtilization",
		true, func(d nvml.Device) (float64, nvml.Return) {
			v, _, ret := d.GetDecoderUtilization()
			return float64(v), ret
		},
	},
	{
		"nvml_encoder_utilization_percent", "nvmlDeviceGetEncoderUtilization",
		true, func(d nvml.Device) (float64, nvml.Return) {
			v, _, ret := d.GetEncoderUtilization()
			return float64(v), ret
		},
	},
	{"nvml_jpeg_utilization_percent", "nvmlDeviceGetJpgUtilization", true, func(d nvml.Device) (float64, nvml.Return) {
		v, _, ret := d.GetJpgUtilization()
		return float64(v), ret
	}},
	{
		"nvml_power_violation_seconds_total", "nvmlDeviceGetViolationStatus",
		false, func(d nvml.Device) (float64, nvml.Return) {
			v, ret := d.GetViolationStatus(nvml.PERF_POLICY_POWER)
			return float64(v.ViolationTime) / 1e9, ret
		},
	},
	{
		"nvml_thermal_violation_seconds_total", "nvmlDeviceGetViolationStatus",
		true, func(d nvml.Device) (float64, nvml.Return) {
			v, ret := d.GetViolationStatus(nvml.PERF_POLICY_THERMAL)
			return float64(v.ViolationTime) / 1e9, ret
		},
	},
	{"nvml_mig_mode", "nvmlDeviceGetMigMode", true, func(d nvml.Device) (float64, nvml.Return) {
		v, _, ret := d.GetMigMode()
		return float64(v), ret
	}},
}

// reasons are why clocks are held down. Idle GPUs and clocks that somebody set are no
// reasons to worry about, and are told as well.
var reasons = []struct {
	name string
	bit  uint64
}{
	{"idle", nvml.ClocksEventReasonGpuIdle},
	{"clocks_setting", nvml.ClocksEventReasonApplicationsClocksSetting},
	{"power_cap", nvml.ClocksEventReasonSwPowerCap},
	{"hardware", nvml.ClocksThrottleReasonHwSlowdown},
	{"sync_boost", nvml.ClocksEventReasonSyncBoost},
	{"heat", nvml.ClocksEventReasonSwThermalSlowdown},
	{"hardware_heat", nvml.ClocksThrottleReasonHwThermalSlowdown},
	{"power_brake", nvml.ClocksThrottleReasonHwPowerBrakeSlowdown},
}

// read adds what the GPU says. A figure that it does not have is not asked for again.
func (g *board) read(r *nvmlReading) {
	labels := Labels(g.labels)
	if g.parent != nil {
		g.readInstance(r, labels)
		return
	}
	lost := false
	try := func(metric, function string, read func() nvml.Return) {
		if g.unsupported[metric] || !g.of.has(function) {
			return
		}
		switch read() {
		case nvml.ERROR_NOT_SUPPORTED:
			g.unsupported[metric] = true
		case nvml.ERROR_GPU_IS_LOST:
			lost = true
		}
	}
	again := g.looks%seldom != 0
	g.looks++
	for _, m := range plainNVML {
		if m.seldom && again {
			if v, known := g.held[m.metric]; known {
				r.add(m.metric, labels, v)
			}
			continue
		}
		try(m.metric, m.function, func() nvml.Return {
			v, ret := m.read(g.dev)
			delete(g.held, m.metric)
			if ret == nvml.SUCCESS {
				r.add(m.metric, labels, v)
				g.held[m.metric] = v
			}
			return ret
		})
	}
	try("nvml_utilization_percent", "nvmlDeviceGetUtilizationRates", func() nvml.Return {
		v, ret := g.dev.GetUtilizationRates()
		if ret == nvml.SUCCESS {
			r.add("nvml_utilization_percent", labels, float64(v.Gpu))
			r.add("nvml_memory_utilization_percent", labels, float64(v.Memory))
		}
		return ret
	})
	g.memory(r, labels, try)
	g.reasons(r, labels, try)
	if g.watched {
		r.add("nvml_xid_errors_total", labels, float64(g.xids))
		if g.xids > 0 {
			r.add("nvml_xid_last_code", labels, float64(g.xid))
		}
	}
	if !g.profile(r, labels, "nvml_sm_utilization_percent", "nvml_dram_utilization_percent",
		"nvml_sm_occupancy_percent", "nvml_tensor_utilization_percent") && g.gpmOff {
		try("nvml_sm_utilization_percent", "nvmlDeviceGetProcessUtilization",
			func() nvml.Return { return g.processes(r, labels) })
	}
	if lost {
		r.doubts = append(r.doubts, fmt.Sprintf("GPU %d is lost: the driver no longer reaches it", g.index))
	}
}

// memory is that of the second form where the driver has it: the first counts what the
// driver reserves as used.
func (g *board) memory(r *nvmlReading, labels string, try func(string, string, func() nvml.Return)) {
	if g.of.has("nvmlDeviceGetMemoryInfo_v2") {
		try("nvml_memory_used_bytes", "nvmlDeviceGetMemoryInfo_v2", func() nvml.Return {
			m, ret := g.dev.GetMemoryInfo_v2()
			if ret == nvml.SUCCESS {
				r.add("nvml_memory_used_bytes", labels, float64(m.Used))
				r.add("nvml_memory_total_bytes", labels, float64(m.Total))
				r.add("nvml_memory_reserved_bytes", labels, float64(m.Reserved))
			}
			return ret
		})
		return
	}
	try("nvml_memory_used_bytes", "nvmlDeviceGetMemoryInfo", func() nvml.Return {
		m, ret := g.dev.GetMemoryInfo()
		if ret == nvml.SUCCESS {
			r.add("nvml_memory_used_bytes", labels, float64(m.Used))
			r.add("nvml_memory_total_bytes", labels, float64(m.Total))
		}
		return ret
	})
}

// reasons are asked for by their newer name where the driver knows it.
func (g *board) reasons(r *nvmlReading, labels string, try func(string, string, func() nvml.Return)) {
	function, read := "nvmlDeviceGetCurrentClocksEventReasons", g.dev.GetCurrentClocksEventReasons
	if !g.of.has(function) {
		function, read = "nvmlDeviceGetCurrentClocksThrottleReasons", g.dev.GetCurrentClocksThrottleReasons
	}
	try("nvml_clocks_held", function, func() nvml.Return {
		bits, ret := read()
		if ret != nvml.SUCCESS {
			return ret
		}
		for _, why := range reasons {
			v := 0.0
			if bits&why.bit != 0 {
				v = 1
			}
			r.add("nvml_clocks_held", Labels(append(append([][2]string{}, g.labels...), [2]string{"reason", why.name})),
				v)
		}
		return ret
	})
}

// processes is the sum of what each process used last, at most 100. NVML finds nothing
// where none ran.
func (g *board) processes(r *nvmlReading, labels string) nvml.Return {
	samples, ret := g.dev.GetProcessUtilization(g.seen)
	if ret != nvml.SUCCESS && ret != nvml.ERROR_NOT_FOUND {
		return ret
	}
	last := map[uint32]nvml.ProcessUtilizationSample{}
	for _, s := range samples {
		if s.TimeStamp >= last[s.Pid].TimeStamp {
			last[s.Pid] = s
		}
		g.seen = max(g.seen, s.TimeStamp)
	}
	sum := uint32(0)
	for _, s := range last {
		sum += min(s.SmUtil, 100)
	}
	r.add("nvml_sm_utilization_percent", labels, float64(min(sum, 100)))
	return nvml.SUCCESS
}

// readInstance adds what an instance says: its GPU says the rest.
func (g *board) readInstance(r *nvmlReading, labels string) {
	if m, ret := g.dev.GetMemoryInfo(); ret == nvml.SUCCESS {
		r.add("nvml_mig_memory_used_bytes", labels, float64(m.Used))
	}
	if g.inst >= 0 {
		g.profile(r, labels, "nvml_mig_sm_utilization_percent", "nvml_mig_dram_utilization_percent", "", "")
	}
}

// profile adds shares of the time since the sample before, which GPUs since Hopper
// count. It is false where there are none, and gpmOff where there never will be.
func (g *board) profile(r *nvmlReading, labels, sm, dram, occupancy, tensor string) bool {
	if g.gpmOff || g.gpm[0] == nil && !g.openProfile() {
		return false
	}
	now := time.Now()
	if !g.gpmAt.IsZero() && now.Sub(g.gpmAt) < gpmApart { // a look between phases: what was said holds
		return g.tellShares(r, labels)
	}
	g.gpm[0], g.gpm[1] = g.gpm[1], g.gpm[0] // the one before, the one now
	var ret nvml.Return
	if g.parent != nil {
		ret = g.parent.dev.GpmMigSampleGet(g.inst, g.gpm[1])
	} else {
		ret = g.dev.GpmSampleGet(g.gpm[1])
	}
	if ret != nvml.SUCCESS {
		g.gpmOff = g.gpmAt.IsZero() // the whole of a divided GPU has none
		g.gpmAt = time.Time{}
		return false
	}
	first := g.gpmAt.IsZero()
	if g.gpmAt = now; first {
		return false
	}
	want := nvml.GpmMetricsGetType{Sample1: g.gpm[0], Sample2: g.gpm[1]}
	names := [...]struct {
		name string
		id   nvml.GpmMetricId
	}{
		{sm, nvml.GPM_METRIC_SM_UTIL},
		{dram, nvml.GPM_METRIC_DRAM_BW_UTIL},
		{occupancy, nvml.GPM_METRIC_SM_OCCUPANCY},
		{tensor, nvml.GPM_METRIC_ANY_TENSOR_UTIL},
	}
	for i, n := range names {
		want.Metrics[i].MetricId = uint32(n.id)
	}
	want.NumMetrics = uint32(len(names))
	if g.of.lib.GpmMetricsGet(&want) != nvml.SUCCESS {
		return false
	}
	g.shares = map[string]float64{}
	for i, n := range names {
		if m := want.Metrics[i]; n.name != "" && m.NvmlReturn == uint32(nvml.SUCCESS) && m.Value >= 0 {
			g.shares[n.name] = min(m.Value, 100)
		}
	}
	return g.tellShares(r, labels)
}

func (g *board) tellShares(r *nvmlReading, labels string) bool {
	for name, v := range g.shares {
		r.add(name, labels, v)
	}
	return len(g.shares) > 0
}

// openProfile gets room for two samples.
func (g *board) openProfile() bool {
	g.gpmOff = true
	for _, name := range []string{
		"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleGet",
		"nvmlGpmMigSampleGet", "nvmlGpmMetricsGet",
	} {
		if !g.of.has(name) {
			return false
		}
	}
	whole := g
	if g.parent != nil {
		whole = g.parent
	}
	if can, ret := whole.dev.GpmQueryDeviceSupport(); ret != nvml.SUCCESS || can.IsSupportedDevice == 0 {
		return false
	}
	for i := range g.gpm {
		sample, ret := g.of.lib.GpmSampleAlloc()
		if ret != nvml.SUCCESS {
			return false
		}
		g.gpm[i] = sample
	}
	g.gpmOff = false
	return true
}
