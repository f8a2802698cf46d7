package telemetry

// NVMLSource is what files call this machine's GPUs when NVML reads them, as AIPerf does.
const NVMLSource = "pynvml://localhost"

// NoNVML is why a build has no NVML, and what to do about it.
const NoNVML = "this aiperf was built without NVML: build it with CGO_ENABLED=1 go build -tags nvml ./cmd/aiperf, or run NVIDIA's DCGM exporter"

// nvmlMetric is a figure of NVML's: what tables call it, and AIPerf's files if they have it.
type nvmlMetric struct {
	name, unit, kind, help string

	key, title, as string  // in AIPerf's files; "" for none
	scale          float64 // to AIPerf's unit
}

// nvmlMetrics are all of them. Power is NVML's own mean over a second on GPUs since Ampere, so
// that energy is taken from the counter where there is one.
func nvmlMetrics() []nvmlMetric {
	return []nvmlMetric{
		{"nvml_power_watts", "watts", Gauge, "Power draw.", "nvidia_power_usage", "NVIDIA GPU Power Usage", "W", 1},
		{
			"nvml_energy_joules_total", "joules", Counter, "Energy since the driver was loaded.",
			"nvidia_energy_consumption", "NVIDIA Energy Consumption", "MJ", 1e-6,
		},
		{
			"nvml_utilization_percent", "percent", Gauge, "Share of the last sample period with a kernel on the GPU.",
			"nvidia_gpu_utilization", "NVIDIA GPU Utilization", "%", 1,
		},
		{
			"nvml_memory_utilization_percent", "percent", Gauge,
			"Share of the last sample period in which memory was read or written.", "nvidia_memory_utilization",
			"NVIDIA Memory Utilization", "%", 1,
		},
		{
			"nvml_memory_used_bytes", "bytes", Gauge,
			"Memory that is allocated, without what the driver reserves, as nvidia-smi shows it.",
			"nvidia_memory_used", "NVIDIA GPU Memory Used", "GB", 1e-9,
		},
		{
			"nvml_temperature_celsius", "celsius", Gauge, "Temperature of the GPU.",
			"nvidia_temperature", "NVIDIA GPU Temperature", "°C", 1,
		},
		{
			"nvml_sm_utilization_percent", "percent", Gauge,
			"Share of the time, over all SMs, in which they had work; before Hopper the sum of what its processes used, as far as the driver says it.",
			"nvidia_sm_utilization", "NVIDIA SM Utilization", "%", 1,
		},
		{
			"nvml_decoder_utilization_percent", "percent", Gauge, "Use of the video decoder.",
			"nvidia_decoder_utilization", "NVIDIA Decoder Utilization", "%", 1,
		},
		{
			"nvml_encoder_utilization_percent", "percent", Gauge, "Use of the video encoder.",
			"nvidia_encoder_utilization", "NVIDIA Encoder Utilization", "%", 1,
		},
		{
			"nvml_jpeg_utilization_percent", "percent", Gauge, "Use of the JPEG decoder.", "nvidia_jpg_utilization",
			"NVIDIA JPG Utilization", "%", 1,
		},
		{
			"nvml_power_violation_seconds_total", "seconds", Counter, "Time for which the power limit held clocks down.",
			"nvidia_power_violation", "NVIDIA Power Violation", "us", 1e6,
		},

		{
			name: "nvml_thermal_violation_seconds_total", unit: "seconds", kind: Counter,
			help: "Time for which heat held clocks down.",
		},
		{name: "nvml_power_limit_watts", unit: "watts", kind: Gauge, help: "Power limit in force."},
		{name: "nvml_sm_clock_megahertz", unit: "megahertz", kind: Gauge, help: "Clock of the SMs."},
		{name: "nvml_memory_clock_megahertz", unit: "megahertz", kind: Gauge, help: "Clock of the memory."},
		{name: "nvml_memory_total_bytes", unit: "bytes", kind: Gauge, help: "Memory."},
		{
			name: "nvml_memory_reserved_bytes", unit: "bytes", kind: Gauge,
			help: "Memory that the driver keeps to itself.",
		},
		{
			name: "nvml_clocks_held", kind: Gauge,
			help: "Whether a reason holds clocks below what they could be: 1 or 0, by reason.",
		},
		{
			name: "nvml_sm_occupancy_percent", unit: "percent", kind: Gauge,
			help: "Share of the warps that could have been on the SMs.",
		},
		{
			name: "nvml_tensor_utilization_percent", unit: "percent", kind: Gauge,
			help: "Share of the time in which tensor cores worked.",
		},
		{
			name: "nvml_dram_utilization_percent", unit: "percent", kind: Gauge,
			help: "Share of the memory's bandwidth in use.",
		},
		{name: "nvml_xid_errors_total", kind: Counter, help: "XID errors since the collector was opened."},
		{name: "nvml_xid_last_code", kind: Gauge, help: "Code of the last XID error since the collector was opened."},
		{name: "nvml_mig_mode", kind: Gauge, help: "Whether the GPU is divided into instances (MIG): 1 or 0."},
		{
			name: "nvml_mig_memory_used_bytes", unit: "bytes", kind: Gauge,
			help: "Memory of an instance that is allocated.",
		},
		{
			name: "nvml_mig_sm_utilization_percent", unit: "percent", kind: Gauge,
			help: "nvml_sm_utilization_percent of an instance.",
		},
		{
			name: "nvml_mig_dram_utilization_percent", unit: "percent", kind: Gauge,
			help: "nvml_dram_utilization_percent of an instance.",
		},
	}
}

// nvmlPage makes a page of values by metric, in the order of the catalogue.
func nvmlPage(values map[string][]Value, doubts []string) *Page {
	page := &Page{Doubts: doubts}
	for _, m := range nvmlMetrics() {
		if len(values[m.name]) == 0 {
			continue
		}
		f := Family{Name: m.name, Help: m.help, Unit: m.unit, Type: m.kind, Values: values[m.name]}
		for i := range f.Values {
			f.Values[i].Kind = m.kind
		}
		page.Families = append(page.Families, f)
	}
	return page
}
