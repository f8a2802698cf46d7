package chart

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	telemetries "aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// metricWords turn the name of a metric into words.
var metricWords = strings.NewReplacer("_", " ", "cpu", "CPU", "gpu", "GPU", "kv_", "KV ")

// telemetry is chart 9: what server, GPU and host said meanwhile, one strip a
// metric, on the clock of the requests.
func telemetry(d *Data, c *Cell) ([]draw.Panel, string) {
	const missing = "no telemetry was collected for this cell"
	t, err := sinks.ReadTable(c.Dir, "telemetry", nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing
	case err != nil:
		return nil, err.Error()
	}
	shown, held, end := map[strip]map[string][]draw.Point{}, map[string]float64{}, 0.0
	samples := map[strip]map[string]int{}
	for i := range t.N {
		if text(t, "cell", i) != c.ID || number(t, "trial", i) > 0 || text(t, "kind", i) != "gauge" {
			continue
		}
		s, ok := stripOf(text(t, "metric", i), text(t, "unit", i), text(t, "collector", i))
		if !ok {
			continue
		}
		if shown[s] == nil {
			shown[s], samples[s] = map[string][]draw.Point{}, map[string]int{}
		}
		at, v, name := number(t, "t_ns", i)/1e9, number(t, "value", i), text(t, "source", i)
		end = max(end, at)
		if l := text(t, "labels", i); l != "" {
			name += " " + l
		}
		pts, key := shown[s][name], s.label+" "+name
		if before, ok := held[key]; ok && s.holds { // until now
			pts = append(pts, draw.At(at, before, ""))
		}
		delete(held, key)
		if !math.IsNaN(v) {
			pts, held[key] = append(pts, draw.At(at, v, "")), v
			samples[s][name]++
		}
		shown[s][name] = pts
	}
	enough := func(s strip) bool {
		counts := slices.Collect(maps.Values(samples[s]))
		return slices.ContainsFunc(counts, func(n int) bool { return n >= samplesFewest })
	}
	often := slices.ContainsFunc(slices.Collect(maps.Keys(shown)), func(s strip) bool { return s.holds && enough(s) })
	maps.DeleteFunc(shown, func(s strip, _ map[string][]draw.Point) bool {
		return !enough(s) && !(s.holds && often) // what never changes has few samples, of the whole run
	})
	if len(samples) > 0 && len(shown) == 0 {
		return nil, fmt.Sprintf("fewer than %d samples of this cell: a longer run has more", samplesFewest)
	}
	var out []draw.Panel
	order := slices.SortedFunc(maps.Keys(shown),
		func(a, b strip) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.label, b.label)) })
	for _, s := range order[:min(len(order), stripsMost)] {
		p := draw.Panel{Y: draw.Axis{Label: s.label, Zero: true}}
		for k, name := range slices.Sorted(maps.Keys(shown[s])) {
			pts := shown[s][name]
			if v, ok := held[s.label+" "+name]; ok && s.holds {
				pts = append(pts, draw.At(end, v, ""))
			}
			if len(shown[s]) == 1 { // the only one needs no name
				name = ""
			}
			p.Series = append(p.Series, draw.Series{Name: name, Ink: draw.Nth(k), Line: true, Bare: true, Points: pts})
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, missing
	}
	out[len(out)-1].X.Label = "time since the experiment began (s)"
	return out, ""
}

// samplesFewest make a line over time.
const samplesFewest = 3

// stripsMost is how many strips stand below each other: what servers say of running,
// waiting and the cache, power and use of GPUs, this machine.
const stripsMost = 6

// strip is a panel of chart 9.
type strip struct {
	rank  int
	label string
	holds bool // a value holds until the next
}

// stripOf is where a gauge is shown: what is known of servers by its word, what collectors
// of machines measure by its name.
func stripOf(metric, unit, collector string) (strip, bool) {
	all := telemetries.Words()
	for _, m := range telemetries.Means(metric) {
		named := func(w telemetries.Word) bool { return w.Name == m.Word }
		if i := slices.IndexFunc(all, named); all[i].Type == telemetries.Gauge {
			label := "server: " + all[i].Name
			// running and waiting are of nothing else, and the name is as high as the strip
			if unit := all[i].Unit; unit != "requests" {
				label += " (" + unit + ")"
			}
			return strip{i, label, true}, true
		}
	}
	if label, ok := ofGPU[gpuKey(metric, collector)]; ok {
		return strip{len(all), label, false}, true
	}
	metric = metricWords.Replace(metric)
	if unit != "" {
		metric += " (" + unit + ")"
	}
	return strip{len(all) + 1, metric, false}, collector == "host"
}

// ofGPU are the strips of GPUs, by AIPerf's key for them: what a limit of power or of
// computing shows in. The table has the others.
var ofGPU = map[string]string{
	"nvidia_power_usage": "GPU power (W)", "amd_power": "GPU power (W)",
	"nvidia_gpu_utilization": "GPU use (%)", "amd_gfx_activity": "GPU use (%)",
}

// gpuKey is AIPerf's key of a GPU's metric, "" for none.
func gpuKey(metric, collector string) string {
	if !telemetries.IsGPU(collector) {
		return ""
	}
	for _, f := range telemetries.GPUFields() {
		if f.Of(collector) && f.Source == strings.TrimSuffix(metric, "_total") {
			return f.Key
		}
	}
	return ""
}
