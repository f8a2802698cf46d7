package aiperf_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// amdPage is a page of AMD's exporter: one GPU that says its package's power beside the
// other one, and one of an older series with an average.
const amdPage = `# TYPE gpu_package_power gauge
gpu_package_power{card_model="102-G30211-0C",gpu_id="0",hostname="h",serial_number="S0"} %d
# TYPE gpu_power_usage gauge
gpu_power_usage{card_model="102-G30211-0C",gpu_id="0",hostname="h",serial_number="S0"} 1
# TYPE gpu_average_package_power gauge
gpu_average_package_power{card_model="MI250",gpu_id="1",hostname="h",serial_number="S1"} 300
# TYPE gpu_energy_consumed gauge
gpu_energy_consumed{gpu_id="0",serial_number="S0"} %d
# TYPE gpu_used_vram gauge
gpu_used_vram{gpu_id="0",serial_number="S0"} 196592
# TYPE gpu_gfx_activity gauge
gpu_gfx_activity{gpu_id="0",serial_number="S0"} 97
`

// Pages of AMD's exporter fill AIPerf's file under AMD's keys and platform; of several
// figures for one key the first is taken.
func TestAMDPages(t *testing.T) {
	t.Parallel()
	v := chatRun(t, nil)
	v.info.GPUs = true
	t0 := time.Unix(1_700_000_000, 0)
	v.info.T0, v.info.Start, v.info.End = t0, t0.Add(time.Second), t0.Add(3*time.Second)
	var samples []telemetry.Sample
	for k := range 4 {
		at := int64(k) * 1e9
		page, err := telemetry.Parse(fmt.Appendf(nil, amdPage, 500+k, int64(k)*500_000_000))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Families {
			for _, x := range f.Values {
				samples = append(samples, telemetry.Sample{
					At: at, Source: "http://h:5000/metrics",
					Collector: telemetry.ROCM, Metric: f.Name, Labels: x.Labels, Kind: x.Kind, Value: x.V,
				})
			}
		}
		samples = append(samples, telemetry.Sample{
			At: at, Source: "http://h:5000/metrics", Collector: telemetry.ROCM,
			Metric: telemetry.Up, Kind: telemetry.Gauge, Value: 1,
		})
	}
	v.writeAs(t, aiperf.Profile{
		JSON: true, GPUs: &aiperf.GPUs{Fields: telemetry.GPUFields()}, Samples: each(samples),
	})
	b := load(t, filepath.Join(v.dir, "gpu_telemetry_export.jsonl"))
	type line struct {
		Index    int    `json:"gpu_index"`
		UUID     string `json:"gpu_uuid"`
		Name     string `json:"gpu_model_name"`
		Platform string
		Data     map[string]float64 `json:"telemetry_data"`
	}
	var got []line
	for text := range strings.Lines(string(b)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		got = append(got, l)
	}
	if len(got) != 8 {
		t.Fatalf("%d lines, want two for each of 4 looks:\n%s", len(got), b)
	}
	last, older := got[6], got[7]
	if last.Platform != "amd" || last.UUID != "S0" || last.Data["amd_power"] != 503 ||
		last.Data["amd_gfx_activity"] != 97 || math.Abs(last.Data["amd_memory_used"]-206.14) > 0.01 ||
		math.Abs(last.Data["amd_energy_consumption"]-1.5e-3) > 1e-9 {
		t.Errorf("the first GPU says %+v", last)
	}
	if older.Index != 1 || older.Name != "MI250" || older.Data["amd_power"] != 300 {
		t.Errorf("the older GPU says %+v", older)
	}
	var said struct {
		Telemetry struct {
			Endpoints map[string]struct {
				GPUs map[string]struct {
					Metrics map[string]map[string]any
				}
			}
		} `json:"telemetry_data"`
	}
	summary := load(t, filepath.Join(v.dir, "profile_export_aiperf.json"))
	if err := json.Unmarshal(summary, &said); err != nil {
		t.Fatal(err)
	}
	var power map[string]any
	if err := json.Unmarshal(summary, &power); err != nil {
		t.Fatal(err)
	}
	// 501, 502 and 503 W beside 300 W; 500 J a second by the counter, and 300 W × 2 s.
	for tag, want := range map[string]float64{"amd_total_gpu_power": 802, "amd_total_gpu_energy": 1600} {
		if m, ok := power[tag].(map[string]any); !ok || math.Abs(m["avg"].(float64)-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", tag, power[tag], want)
		}
	}
	metrics := said.Telemetry.Endpoints["h:5000"].GPUs["gpu_0"].Metrics
	if avg, _ := metrics["amd_energy_consumption"]["avg"].(float64); math.Abs(avg-1.5e-3) > 1e-9 {
		t.Errorf("over the profiling phase energy is %v, want what it grew by since the look before: 0.0015 MJ",
			metrics["amd_energy_consumption"])
	}
}
