package telemetry

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Collectors of GPUs.
const (
	DCGM = "dcgm" // pages of NVIDIA's DCGM exporter
	NVML = "nvml" // NVIDIA's library, on this machine
	ROCM = "rocm" // pages of AMD's device metrics exporter
)

// IsGPU reports whether a collector watches GPUs.
func IsGPU(collector string) bool {
	return collector == DCGM || collector == NVML || collector == ROCM
}

// GPUField is a metric of a GPU: what its collector calls it and what AIPerf's files do.
type GPUField struct {
	Collector string `json:"collector,omitempty"` // "" for DCGM

	Source  string  `json:"source"`  // without _total
	Key     string  `json:"key"`     // in AIPerf's files
	Name    string  `json:"name"`    // for people
	Unit    string  `json:"unit"`    // of AIPerf's files
	Scale   float64 `json:"scale"`   // to that unit
	Counter bool    `json:"counter"` // it only grows
}

// Of reports whether the field is one of a collector's. A page that was named may be of
// either exporter, whatever was meant to be there: their names differ.
func (f *GPUField) Of(collector string) bool {
	return (cmp.Or(f.Collector, DCGM) == NVML) == (collector == NVML)
}

// Platform is AIPerf's word for who made the GPU.
func (f *GPUField) Platform() string {
	if f.Collector == ROCM {
		return "amd"
	}
	return "nvidia"
}

// GPUFields are the metrics that AIPerf 0.13 knows by itself, in its order, by collector.
// Which of them a page of DCGM has is the exporter's choice: its usual list lacks the
// share of time that the SMs were active, and what a power or heat limit took. Of several
// with one key, a GPU has the first that it says: AMD's exporter tells power by another
// name for each series of its products.
func GPUFields() []GPUField {
	fields := []GPUField{
		{"", "DCGM_FI_DEV_POWER_USAGE", "nvidia_power_usage", "NVIDIA GPU Power Usage", "W", 1, false},
		{
			"", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "nvidia_energy_consumption", "NVIDIA Energy Consumption", "MJ",
			1e-9, true,
		}, // mJ
		{"", "DCGM_FI_DEV_GPU_UTIL", "nvidia_gpu_utilization", "NVIDIA GPU Utilization", "%", 1, false},
		{"", "DCGM_FI_DEV_MEM_COPY_UTIL", "nvidia_memory_utilization", "NVIDIA Memory Utilization", "%", 1, false},
		{"", "DCGM_FI_DEV_FB_USED", "nvidia_memory_used", "NVIDIA GPU Memory Used", "GB", 1.048576e-3, false}, // MiB
		{"", "DCGM_FI_DEV_GPU_TEMP", "nvidia_temperature", "NVIDIA GPU Temperature", "°C", 1, false},
		{"", "DCGM_FI_PROF_SM_ACTIVE", "nvidia_sm_utilization", "NVIDIA SM Utilization", "%", 100, false}, // a ratio
		{"", "DCGM_FI_DEV_DEC_UTIL", "nvidia_decoder_utilization", "NVIDIA Decoder Utilization", "%", 1, false},
		{"", "DCGM_FI_DEV_ENC_UTIL", "nvidia_encoder_utilization", "NVIDIA Encoder Utilization", "%", 1, false},
		{"", "DCGM_FI_DEV_XID_ERRORS", "nvidia_xid_errors", "NVIDIA XID Errors", "count", 1, true},
		{"", "DCGM_FI_DEV_POWER_VIOLATION", "nvidia_power_violation", "NVIDIA Power Violation", "us", 1e-3, true}, // ns
	}
	for _, m := range nvmlMetrics() {
		if m.key != "" {
			fields = append(fields, GPUField{
				NVML, strings.TrimSuffix(m.name, "_total"), m.key, m.title, m.as, m.scale,
				m.kind == Counter,
			})
		}
	}
	return append(
		fields,
		GPUField{ROCM, "gpu_package_power", "amd_power", "AMD GPU Power", "W", 1, false},
		GPUField{ROCM, "gpu_power_usage", "amd_power", "AMD GPU Power", "W", 1, false},
		GPUField{ROCM, "gpu_average_package_power", "amd_power", "AMD GPU Power", "W", 1, false},
		// µJ
		GPUField{ROCM, "gpu_energy_consumed", "amd_energy_consumption", "AMD Energy Consumption", "MJ", 1e-12, true},
		GPUField{ROCM, "gpu_gfx_activity", "amd_gfx_activity", "AMD GFX Activity", "%", 1, false},
		GPUField{ROCM, "gpu_umc_activity", "amd_umc_activity", "AMD UMC Activity", "%", 1, false},
		GPUField{ROCM, "gpu_mma_activity", "amd_mm_activity", "AMD MM Activity", "%", 1, false},
		GPUField{ROCM, "gpu_used_vram", "amd_memory_used", "AMD GPU Memory Used", "GB", 1.048576e-3, false}, // MiB
		GPUField{ROCM, "gpu_junction_temperature", "amd_temperature", "AMD GPU Temperature", "°C", 1, false},
		GPUField{ROCM, "gpu_edge_temperature", "amd_temperature", "AMD GPU Temperature", "°C", 1, false},
		GPUField{ROCM, "gpu_ecc_uncorrect", "amd_ecc_uncorrectable", "AMD ECC Uncorrectable Errors", "count", 1, true},
	)
}

// gpuUnits are the units of help texts, as in "Clock (in MHz)".
var gpuUnits = map[string]string{
	"w": "W", "%": "%", "percent": "%", "gb": "GB", "gib": "GB", "mb": "MB", "mib": "MB",
	"kb": "KB", "kib": "KB", "mhz": "MHz", "ghz": "GHz",
	"c": "°C", "°c": "°C", "celsius": "°C", "us": "us", "ms": "ms", "s": "sec", "mj": "MJ", "j": "J",
}

var inUnit = regexp.MustCompile(`(?i)\(in\s+([^\s)]+)\)`)

// ReadGPUFields reads more metrics from DCGM's own list of fields: a line each with the
// field, gauge or counter, and a help text. Fields that are known already are left out;
// doubts tells of lines of another form.
func ReadGPUFields(r io.Reader) (fields []GPUField, doubts []string, err error) {
	known := map[string]bool{}
	for _, f := range GPUFields() {
		known[f.Source] = f.Of(DCGM)
	}
	scan := bufio.NewScanner(r)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(scan.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, ",", 3)
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		switch {
		case len(parts) != 3:
			doubts = append(doubts, fmt.Sprintf("line %d: want a field, gauge or counter, and a help text", n))
		case !strings.HasPrefix(parts[0], "DCGM_FI_"):
			doubts = append(doubts, fmt.Sprintf("line %d: the field does not begin with DCGM_FI_", n))
		case parts[1] != Gauge && parts[1] != Counter:
			doubts = append(doubts, fmt.Sprintf("line %d: the type is neither gauge nor counter", n))
		case !known[parts[0]]:
			known[parts[0]] = true
			fields = append(fields, customField(parts[0], parts[1], parts[2]))
		}
	}
	return fields, doubts, scan.Err()
}

// customField is a field under the name that AIPerf gives it. AIPerf takes its statistics
// as those of a gauge, whatever its type.
func customField(source, _, help string) GPUField {
	suffix := source
	for _, p := range []string{"DCGM_FI_DEV_", "DCGM_FI_PROF_"} {
		suffix = strings.TrimPrefix(suffix, p)
	}
	f := GPUField{Source: source, Key: "nvidia_" + strings.ToLower(suffix), Unit: "count", Scale: 1}
	if m := inUnit.FindStringSubmatch(help); m != nil && gpuUnits[strings.ToLower(m[1])] != "" {
		f.Unit = gpuUnits[strings.ToLower(m[1])]
	}
	name, _, _ := strings.Cut(help, "(")
	if name = strings.TrimSpace(name); name == "" {
		name = strings.ReplaceAll(f.Key, "_", " ")
	}
	words := strings.Fields(strings.ToLower(name))
	for i, w := range words {
		switch w {
		case "gpu", "xid", "sm", "nvlink", "pci", "pcie", "cpu", "ram", "vram", "ecc":
			words[i] = strings.ToUpper(w)
		default:
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	f.Name = strings.Join(words, " ")
	return f
}
