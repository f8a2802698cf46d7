//go:build nvml

package telemetry

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/google/go-cmp/cmp"
)

// fakeGPU says what a busy one does. A function that it does not have panics.
func fakeGPU(uuid string) *mock.Device {
	bus := [32]int8{}
	for i, c := range "00000000:0F:00.0" {
		bus[i] = int8(c)
	}
	return &mock.Device{
		GetUUIDFunc: func() (string, nvml.Return) { return uuid, nvml.SUCCESS },
		GetNameFunc: func() (string, nvml.Return) { return "NVIDIA Fake", nvml.SUCCESS },
		GetPciInfoFunc: func() (nvml.PciInfo, nvml.Return) {
			return nvml.PciInfo{BusId: bus},
				nvml.SUCCESS
		},
		GetPowerUsageFunc:             func() (uint32, nvml.Return) { return 612_345, nvml.SUCCESS },
		GetEnforcedPowerLimitFunc:     func() (uint32, nvml.Return) { return 700_000, nvml.SUCCESS },
		GetTotalEnergyConsumptionFunc: func() (uint64, nvml.Return) { return 5_000_250, nvml.SUCCESS },
		GetTemperatureFunc:            func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 61, nvml.SUCCESS },
		GetClockInfoFunc: func(c nvml.ClockType) (uint32, nvml.Return) {
			return 1000 + uint32(c),
				nvml.SUCCESS
		},
		GetDecoderUtilizationFunc: func() (uint32, uint32, nvml.Return) { return 3, 0, nvml.SUCCESS },
		GetEncoderUtilizationFunc: func() (uint32, uint32, nvml.Return) { return 4, 0, nvml.SUCCESS },
		GetJpgUtilizationFunc:     func() (uint32, uint32, nvml.Return) { return 0, 0, nvml.ERROR_NOT_SUPPORTED },
		GetViolationStatusFunc: func(p nvml.PerfPolicyType) (nvml.ViolationTime, nvml.Return) {
			return nvml.ViolationTime{ViolationTime: 2_500_000_000 + uint64(p)}, nvml.SUCCESS
		},
		GetMigModeFunc: func() (int, int, nvml.Return) { return 0, 0, nvml.SUCCESS },
		GetUtilizationRatesFunc: func() (nvml.Utilization, nvml.Return) {
			return nvml.Utilization{Gpu: 97, Memory: 44},
				nvml.SUCCESS
		},
		GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{Total: 80e9, Used: 60e9, Reserved: 5e8}, nvml.SUCCESS
		},
		GetCurrentClocksEventReasonsFunc: func() (uint64, nvml.Return) {
			return nvml.ClocksEventReasonSwPowerCap,
				nvml.SUCCESS
		},
		GetCurrentClocksThrottleReasonsFunc: func() (uint64, nvml.Return) {
			return nvml.ClocksThrottleReasonHwSlowdown,
				nvml.SUCCESS
		},
		GetSupportedEventTypesFunc: func() (uint64, nvml.Return) {
			return nvml.EventTypeXidCriticalError,
				nvml.SUCCESS
		},
		RegisterEventsFunc: func(uint64, nvml.EventSet) nvml.Return { return nvml.SUCCESS },
		GpmQueryDeviceSupportFunc: func() (nvml.GpmSupport, nvml.Return) {
			return nvml.GpmSupport{},
				nvml.SUCCESS
		},
		GetProcessUtilizationFunc: func(since uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) {
			if since >= 7 {
				return nil, nvml.ERROR_NOT_FOUND
			}
			return []nvml.ProcessUtilizationSample{
				{Pid: 1, TimeStamp: 5, SmUtil: 90},
				{Pid: 1, TimeStamp: 7, SmUtil: 30},
				{Pid: 2, TimeStamp: 6, SmUtil: 40},
			}, nvml.SUCCESS
		},
	}
}

// fakeNVML is a driver with GPUs that lacks some functions.
func fakeNVML(gpus []*mock.Device, events *mock.EventSet, lacks ...string) *mock.Interface {
	return &mock.Interface{
		InitFunc:                   func() nvml.Return { return nvml.SUCCESS },
		DeviceGetCountFunc:         func() (int, nvml.Return) { return len(gpus), nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) { return gpus[i], nvml.SUCCESS },
		EventSetCreateFunc:         func() (nvml.EventSet, nvml.Return) { return events, nvml.SUCCESS },
		ExtensionsFunc: func() nvml.ExtendedInterface {
			return &mock.ExtendedInterface{LookupSymbolFunc: func(name string) error {
				if slices.Contains(lacks, name) {
					return errors.New("undefined symbol")
				}
				return nil
			}}
		},
	}
}

// figures are the values of the GPU with an index, with the reason or the instance behind
// the name.
func figures(p *Page, gpu string) map[string]float64 {
	out := map[string]float64{}
	for _, f := range p.Families {
		for _, v := range f.Values {
			if l := Pairs(v.Labels); l["gpu"] == gpu {
				name := f.Name
				for _, part := range []string{l["reason"], l["mig"]} {
					if part != "" {
						name += " " + part
					}
				}
				out[name] = v.V
			}
		}
	}
	return out
}

func TestNVML(t *testing.T) {
	t.Parallel()
	gpus := []*mock.Device{fakeGPU("GPU-a"), fakeGPU("GPU-b")}
	pending := []nvml.EventData{
		{Device: gpus[1], EventType: nvml.EventTypeXidCriticalError, EventData: 31},
		{Device: gpus[1], EventType: nvml.EventTypeXidCriticalError, EventData: 79},
	}
	events := &mock.EventSet{WaitFunc: func(wait uint32) (nvml.EventData, nvml.Return) {
		if wait != 0 {
			t.Errorf("a look waited %d ms for an event", wait)
		}
		if len(pending) == 0 {
			return nvml.EventData{}, nvml.ERROR_TIMEOUT
		}
		e := pending[0]
		pending = pending[1:]
		return e, nvml.SUCCESS
	}}
	b := &boards{lib: fakeNVML(gpus, events)}
	page, _, err := b.read()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"nvml_power_watts": 612.345, "nvml_power_limit_watts": 700, "nvml_energy_joules_total": 5000.25, "nvml_temperature_celsius": 61,
		"nvml_sm_clock_megahertz": 1000 + float64(nvml.CLOCK_SM), "nvml_memory_clock_megahertz": 1000 + float64(nvml.CLOCK_MEM),
		"nvml_decoder_utilization_percent": 3, "nvml_encoder_utilization_percent": 4, "nvml_power_violation_seconds_total": 2.5, "nvml_thermal_violation_seconds_total": 2.500000001,
		"nvml_mig_mode": 0, "nvml_utilization_percent": 97, "nvml_memory_utilization_percent": 44, "nvml_memory_used_bytes": 60e9, "nvml_memory_total_bytes": 80e9, "nvml_memory_reserved_bytes": 5e8,
		"nvml_clocks_held idle": 0, "nvml_clocks_held clocks_setting": 0, "nvml_clocks_held power_cap": 1, "nvml_clocks_held hardware": 0, "nvml_clocks_held sync_boost": 0,
		"nvml_clocks_held heat": 0, "nvml_clocks_held hardware_heat": 0, "nvml_clocks_held power_brake": 0, "nvml_xid_errors_total": 0,
		"nvml_sm_utilization_percent": 70, // of two processes, the last that each used
	}
	if diff := cmp.Diff(want, figures(page, "0")); diff != "" {
		t.Errorf("the first GPU (-want +got):\n%s", diff)
	}
	maps.Copy(want, map[string]float64{"nvml_xid_errors_total": 2, "nvml_xid_last_code": 79})
	if diff := cmp.Diff(want, figures(page, "1")); diff != "" {
		t.Errorf("the second GPU (-want +got):\n%s", diff)
	}
	power := Pairs(page.Families[0].Values[1].Labels)
	for name, v := range map[string]string{
		"UUID": "GPU-b", "device": "nvidia1", "modelName": "NVIDIA Fake",
		"pci_bus_id": "00000000:0F:00.0",
	} {
		if power[name] != v {
			t.Errorf("label %s is %q, want %q", name, power[name], v)
		}
	}
	gpus[0].GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 62, nvml.SUCCESS }
	for k := 1; k <= seldom; k++ {
		page, _, _ = b.read()
		if got, want := figures(page, "0")["nvml_temperature_celsius"], 61+float64(k/seldom); got != want {
			t.Errorf("look %d: %g °C, want %g: temperature is read at each %dth look", k, got, want, seldom)
		}
	}
	if sm := figures(page, "0")["nvml_sm_utilization_percent"]; sm != 0 {
		t.Errorf("no process ran since, and SMs are used to %g %%", sm)
	}
	if n := len(gpus[0].GetPowerUsageCalls()); n != 1+seldom {
		t.Errorf("power was read %d times in %d looks", n, 1+seldom)
	}
	if n := len(gpus[0].GetJpgUtilizationCalls()); n != 1 {
		t.Errorf("a figure that the GPU does not have was asked for %d times", n)
	}
}

// An older driver lacks functions: a call would end the process.
func TestNVMLOfOldDrivers(t *testing.T) {
	t.Parallel()
	g := fakeGPU("GPU-a")
	g.GetMemoryInfo_v2Func, g.GetCurrentClocksEventReasonsFunc, g.GetJpgUtilizationFunc, g.GetMigModeFunc,
		g.GpmQueryDeviceSupportFunc = nil, nil, nil, nil, nil
	g.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 16e9, Used: 4e9}, nvml.SUCCESS }
	events := &mock.EventSet{WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
		return nvml.EventData{},
			nvml.ERROR_TIMEOUT
	}}
	lib := fakeNVML([]*mock.Device{g}, events, "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetCurrentClocksEventReasons",
		"nvmlDeviceGetJpgUtilization", "nvmlDeviceGetMigMode", "nvmlGpmQueryDeviceSupport")
	page, _, err := (&boards{lib: lib}).read()
	if err != nil {
		t.Fatal(err)
	}
	got := figures(page, "0")
	if got["nvml_memory_used_bytes"] != 4e9 || got["nvml_clocks_held hardware"] != 1 ||
		got["nvml_sm_utilization_percent"] != 70 {
		t.Errorf("got %v", got)
	}
	if _, there := got["nvml_memory_reserved_bytes"]; there {
		t.Error("reserved memory is known")
	}
}

// Nothing of the library is called where Init was not successful: the fake has no other
// function.
func TestNVMLWithoutDriver(t *testing.T) {
	t.Parallel()
	for _, ret := range []nvml.Return{
		nvml.ERROR_LIBRARY_NOT_FOUND, nvml.ERROR_DRIVER_NOT_LOADED,
		nvml.ERROR_LIB_RM_VERSION_MISMATCH, nvml.ERROR_UNKNOWN,
	} {
		b := &boards{lib: &mock.Interface{InitFunc: func() nvml.Return { return ret }}}
		page, _, err := b.read()
		if no := (*NotPrometheusError)(nil); page != nil || !errors.As(err, &no) {
			t.Errorf("%v: page %v, error %v", ret, page, err)
		}
	}
}

// A GPU that is divided says memory and shares by instance, one that is lost says nothing
// and is named, and shares since the last sample are those of GPM.
func TestNVMLInstancesAndProfile(t *testing.T) {
	t.Parallel()
	samples := map[nvml.GpmSample]string{}
	whole, lost := fakeGPU("GPU-a"), fakeGPU("GPU-b")
	instance := &mock.Device{
		GetUUIDFunc:          func() (string, nvml.Return) { return "MIG-1", nvml.SUCCESS },
		GetGpuInstanceIdFunc: func() (int, nvml.Return) { return 9, nvml.SUCCESS },
		GetMemoryInfoFunc:    func() (nvml.Memory, nvml.Return) { return nvml.Memory{Used: 7e9}, nvml.SUCCESS },
	}
	whole.GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, 1, nvml.SUCCESS }
	whole.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 3, nvml.SUCCESS }
	whole.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i != 2 {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return instance, nvml.SUCCESS
	}
	can := func() (nvml.GpmSupport, nvml.Return) { return nvml.GpmSupport{IsSupportedDevice: 1}, nvml.SUCCESS }
	whole.GpmQueryDeviceSupportFunc, lost.GpmQueryDeviceSupportFunc = can, can
	whole.GpmSampleGetFunc = func(nvml.GpmSample) nvml.Return { return nvml.ERROR_NOT_SUPPORTED }
	whole.GetProcessUtilizationFunc = func(uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) {
		return nil,
			nvml.ERROR_NOT_SUPPORTED
	}
	whole.GpmMigSampleGetFunc = func(inst int, s nvml.GpmSample) nvml.Return {
		if inst != 9 {
			t.Errorf("sample of instance %d", inst)
		}
		samples[s] = "taken"
		return nvml.SUCCESS
	}
	lost.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
	lost.GpmSampleGetFunc = func(nvml.GpmSample) nvml.Return { return nvml.ERROR_GPU_IS_LOST }
	lib := fakeNVML([]*mock.Device{whole, lost}, nil)
	lib.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) { return nil, nvml.ERROR_NOT_SUPPORTED }
	lib.GpmSampleAllocFunc = func() (nvml.GpmSample, nvml.Return) { return &mock.GpmSample{}, nvml.SUCCESS }
	lib.GpmMetricsGetFunc = func(m *nvml.GpmMetricsGetType) nvml.Return {
		if samples[m.Sample1] == "" || samples[m.Sample2] == "" || m.Sample1 == m.Sample2 {
			t.Error("samples that were not taken are compared")
		}
		for i := range m.NumMetrics {
			m.Metrics[i].Value = 10 * float64(m.Metrics[i].MetricId)
		}
		return nvml.SUCCESS
	}
	b := &boards{lib: lib}
	first, _, err := b.read()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(first.Doubts,
		func(d string) bool { return d == "GPU 1 is lost: the driver no longer reaches it" }) {
		t.Errorf("doubts %q", first.Doubts)
	}
	for _, g := range b.all { // as if the time between two samples had passed
		if !g.gpmAt.IsZero() {
			g.gpmAt = g.gpmAt.Add(-gpmApart)
		}
	}
	second, _, _ := b.read()
	third, _, _ := b.read() // too soon for a sample: what was said holds
	for _, page := range []*Page{second, third} {
		got := figures(page, "0")
		if got["nvml_mig_memory_used_bytes 2"] != 7e9 || got["nvml_mig_sm_utilization_percent 2"] != 20 ||
			got["nvml_mig_dram_utilization_percent 2"] != 100 {
			t.Errorf("got %v", got)
		}
	}
}
