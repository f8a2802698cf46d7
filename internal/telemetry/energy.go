package telemetry

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Energies are what GPUs said of their power and energy over a run.
type Energies struct{ of Histories }

// Add takes a sample; those of a source come in the order of their times.
func (e *Energies) Add(s Sample) {
	if !IsGPU(s.Collector) {
		return
	}
	if s.Metric != Up && s.Metric != Duration && energyScale(s.Metric) == 0 && powerScale(s.Metric) == 0 &&
		cappedScale(s.Metric) == 0 {
		return
	}
	if e.of == nil {
		e.of = Histories{}
	}
	e.of.Add(s)
}

// energyScale is to joules, powerScale to watts; 0 for any other metric.
func energyScale(metric string) float64 {
	return map[string]float64{
		"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 1e-3, "nvml_energy_joules": 1,
		"gpu_energy_consumed": 1e-6,
	}[strings.TrimSuffix(metric, "_total")]
}

func powerScale(metric string) float64 {
	return map[string]float64{
		"DCGM_FI_DEV_POWER_USAGE": 1, "nvml_power_watts": 1, "gpu_package_power": 1,
		"gpu_power_usage": 1, "gpu_average_package_power": 1,
	}[metric]
}

// cappedScale is to the seconds for which a limit held clocks down; 0 for any other metric.
func cappedScale(metric string) float64 {
	return map[string]float64{
		"DCGM_FI_DEV_POWER_VIOLATION": 1e-9, "DCGM_FI_DEV_THERMAL_VIOLATION": 1e-9,
		"nvml_power_violation_seconds": 1, "nvml_thermal_violation_seconds": 1,
	}[strings.TrimSuffix(metric, "_total")]
}

// Energy is that of all GPUs over a window, with what reports whether it can be relied on.
type Energy struct {
	GPUs     int
	Joules   float64
	Watts    float64 // mean: Joules / the window
	Method   string  // counter; trapezoid where some GPU has no counter
	Coverage float64 // share of the window in which every GPU is known
	Gap      float64 // s: the longest time without news of some GPU
	Torn     int     // readings that lacked a GPU which others had
	// Capped is the share of the window for which a power or heat limit held clocks down, of the
	// GPU where it was most: the others wait for it. NaN where no GPU says it.
	Capped float64
}

// What an energy needs to be shown: a window that is known nearly whole, and news often
// enough that what lies between two of them, at its edges, is small.
const (
	leastCoverage = 0.95
	gapShare      = 0.1
	gapAlways     = 2 // s
)

// Valid reports whether the energy can be shown over a window of so many seconds.
func (e *Energy) Valid(window float64) bool {
	return e.GPUs > 0 && e.Coverage >= leastCoverage && e.Gap <= max(gapAlways, gapShare*window)
}

// supply is one GPU: how its energy grew.
type supply struct {
	at     []int64
	joules []float64 // since the first
	method string
	order  int // of its figures: a counter before power, and one name of power before another
}

// Window is the energy between two moments, ns since T0. A GPU that several sources have
// counts once. Energy is that of its counter, between whose readings it grows evenly; one
// that falls began anew. Without a counter it is the area below its power, each reading
// of which holds at its moment.
func (e *Energies) Window(from, to int64) (out Energy) {
	all, capped := map[string]supply{}, map[string]float64{}
	torn := 0
	for source, h := range e.of {
		looks := len(h.Looks)
		for s := range h.Series {
			id := source
			for _, l := range s.Labels {
				if l[0] == "UUID" || l[0] == "serial_number" {
					id = l[1]
				}
			}
			if scale := cappedScale(s.Metric); scale > 0 && len(s.At) > 0 {
				held := counted(s, scale)
				capped[id] += held.grown(to) - held.grown(from)
			}
			g, ok := supplyOf(s)
			if !ok {
				continue
			}
			if g.order == 0 {
				torn += looks - len(s.At)
			}
			if had, ok := all[id]; !ok || g.order < had.order {
				all[id] = g
			}
		}
	}
	out = Energy{Method: "counter", Coverage: 1, Torn: torn, Capped: math.NaN()}
	for _, seconds := range capped {
		if share := seconds / (float64(to-from) / 1e9); !(share <= out.Capped) {
			out.Capped = min(1, share)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		g := all[id]
		out.GPUs++
		out.Joules += g.grown(to) - g.grown(from)
		if g.method != out.Method {
			out.Method = g.method
		}
		coverage, gap := g.coverage(from, to)
		out.Coverage, out.Gap = min(out.Coverage, coverage), max(out.Gap, gap)
	}
	if to > from {
		out.Watts = out.Joules / (float64(to-from) / 1e9)
	}
	return out
}

// counted is how a counter grew. Only its changes are news: an exporter may repeat what it
// read half a minute ago.
func counted(s *Series, scale float64) supply {
	g := supply{method: "counter"}
	total, last := 0.0, math.NaN()
	for i, v := range s.Values {
		switch {
		case math.IsNaN(last):
		case v == last:
			continue
		case v < last:
			total += v * scale
		default:
			total += (v - last) * scale
		}
		last = v
		g.at, g.joules = append(g.at, s.At[i]), append(g.joules, total)
	}
	return g
}

// supplyOf is what a series says about energy.
func supplyOf(s *Series) (g supply, ok bool) {
	if scale := energyScale(s.Metric); scale > 0 {
		g = counted(s, scale)
		return g, len(g.at) > 1
	}
	if scale := powerScale(s.Metric); scale > 0 {
		g.method, g.order = "trapezoid", 1
		if s.Metric == "gpu_power_usage" || s.Metric == "gpu_average_package_power" {
			g.order = 2
		}
		total := 0.0
		for i, v := range s.Values {
			if i > 0 {
				total += (v + s.Values[i-1]) / 2 * scale * float64(s.At[i]-s.At[i-1]) / 1e9
			}
			g.at, g.joules = append(g.at, s.At[i]), append(g.joules, total)
		}
		return g, len(g.at) > 1
	}
	return g, false
}

// grown is the energy up to a moment, between two readings in proportion to time. Beyond
// the first and the last there is none.
func (g *supply) grown(at int64) float64 {
	i, found := slices.BinarySearch(g.at, at)
	switch {
	case found:
		return g.joules[i]
	case i == 0:
		return g.joules[0]
	case i == len(g.at):
		return g.joules[i-1]
	}
	share := float64(at-g.at[i-1]) / float64(g.at[i]-g.at[i-1])
	return g.joules[i-1] + share*(g.joules[i]-g.joules[i-1])
}

// coverage is the share of the window between the first and the last reading, and the
// longest time between two that reaches into it, in s.
func (g *supply) coverage(from, to int64) (share, gap float64) {
	first, last := max(from, g.at[0]), min(to, g.at[len(g.at)-1])
	share = max(0, float64(last-first)) / float64(to-from)
	gap = float64(max(0, first-from, to-last)) / 1e9
	for i := 1; i < len(g.at); i++ {
		if g.at[i] > from && g.at[i-1] < to {
			gap = max(gap, float64(g.at[i]-g.at[i-1])/1e9)
		}
	}
	return share, gap
}
