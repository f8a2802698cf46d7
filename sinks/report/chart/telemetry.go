package chart

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

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
	byMetric := map[string]map[string][]draw.Point{}
	for i := range t.N {
		if text(t, "cell", i) != c.ID || number(t, "trial", i) > 0 || math.IsNaN(number(t, "value", i)) {
			continue
		}
		name := metricWords.Replace(text(t, "metric", i))
		if u := text(t, "unit", i); u != "" {
			name += " (" + u + ")"
		}
		if byMetric[name] == nil {
			byMetric[name] = map[string][]draw.Point{}
		}
		source := text(t, "source", i)
		byMetric[name][source] = append(byMetric[name][source], draw.At(number(t, "t_ns", i)/1e9, number(t, "value", i), ""))
	}
	var out []draw.Panel
	for _, name := range slices.Sorted(maps.Keys(byMetric)) {
		if len(out) == 5 {
			break
		}
		p := draw.Panel{Y: draw.Axis{Label: name, Zero: true}}
		for k, source := range slices.Sorted(maps.Keys(byMetric[name])) {
			pts := byMetric[name][source]
			slices.SortStableFunc(pts, func(a, b draw.Point) int { return cmp.Compare(a.X, b.X) })
			p.Series = append(p.Series, draw.Series{Name: source, Ink: draw.Nth(k), Line: true, Bare: true, Points: pts})
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, missing
	}
	out[len(out)-1].X.Label = "time since the experiment began (s)"
	return out, ""
}
