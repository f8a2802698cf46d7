package decide

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Told is a statistic of a run that is read beside its requests: of its servers or GPUs.
// Low and High are between what it lies where the source says no more, as a percentile
// lies within its bucket: NaN where it is exact.
type Told struct{ Value, Low, High float64 }

// Beside are those of a run, by window.
type Beside map[string]map[Key]Told

// Add takes what one source says. Of several sources the worst counts, so that a limit
// that holds is held by each.
func (b Beside) Add(window string, k Key, t Told) {
	if !metrics.Finite(t.Value) {
		return
	}
	if b[window] == nil {
		b[window] = map[Key]Told{}
	}
	had, known := b[window][k]
	if m, _ := telemetry.MeasureOf(k.Tag); !known || (t.Value > had.Value) != m.LargerIsBetter {
		b[window][k] = t
	}
}

// Names are those of all figures that an experiment may name: of requests, and of what is
// read beside them.
func Names() []string { return append(metrics.Tags(), telemetry.MeasureTags()...) }

// statsOfTag are the statistics that a figure has.
func statsOfTag(tag string) []string {
	if m, ok := metrics.Lookup(tag); ok {
		return m.Stats()
	}
	if m, ok := telemetry.MeasureOf(tag); ok {
		return m.Stats
	}
	return metrics.StatNames()
}

// alone is the statistic of a figure that has only one; false where one must be named.
func alone(tag string) (stat string, ok bool) {
	if m, known := metrics.Lookup(tag); known {
		return "avg", !m.Distribution()
	}
	if m, known := telemetry.MeasureOf(tag); known {
		return m.Stats[0], len(m.Stats) == 1
	}
	return "avg", true
}

// LargerIsBetter says which way a figure is better.
func LargerIsBetter(tag string) bool { return directionOf(tag) == stats.Maximise }

// usual is the statistic that most ask for, of a figure with several.
func usual(tag string) string {
	if stats := statsOfTag(tag); !slices.Contains(stats, "p99") {
		return stats[len(stats)-1]
	}
	return "p99"
}

// besideValues are the values of the trials of what is read beside requests; nil where the
// figure is one of requests.
func (e Estimates) besideValues(k Key) []float64 {
	if _, known := telemetry.MeasureOf(k.Tag); !known {
		return nil
	}
	out := make([]float64, len(e.runs))
	for i, o := range e.runs {
		out[i] = math.NaN()
		if t, ok := o.Beside[e.window][k]; ok && !e.leftOut(o, k) {
			out[i] = t.Value
		}
	}
	return out
}

// besideOpen is how much less and how much more it may be than its value.
func (o *Outcome) besideOpen(window string, k Key) (less, more float64, known bool) {
	t, ok := o.Beside[window][k]
	if !ok || math.IsNaN(t.Low) || math.IsNaN(t.High) {
		return 0, 0, false
	}
	return max(0, t.Value-t.Low), max(0, t.High-t.Value), true
}

// unread says what no cell of the plan reads that the figure is of.
func unread(p *sweep.Plan, tag string) (what, hint string) {
	m, ok := telemetry.MeasureOf(tag)
	if !ok {
		return "", ""
	}
	reads, hint := func(b *schema.Benchmark) bool { return b.ServerMetrics.Enabled }, "drop --no-server-metrics (server_metrics.enabled: false)"
	switch m.Of {
	case telemetry.OfGPUs:
		reads, hint = func(b *schema.Benchmark) bool { return b.GPUTelemetry.Enabled }, "drop --no-gpu-telemetry (gpu_telemetry.enabled: false)"
	case telemetry.OfPlugin:
		reads = func(b *schema.Benchmark) bool { return len(b.Artifacts.Metrics) > 0 }
	}
	if slices.ContainsFunc(p.Cells, func(c *sweep.Cell) bool { return reads(&c.Resolved.Benchmark) }) {
		return "", ""
	}
	if m.Of == telemetry.OfPlugin {
		return " is of a plug-in, and none is named", "--metric-plugin FOLDER (artifacts.metrics) names it"
	}
	return " is of the " + string(m.Of) + ", whose metrics are not read", hint
}

// better says which way a figure that is read beside requests is better.
func better(tag string) (stats.Direction, bool) {
	m, ok := telemetry.MeasureOf(tag)
	if ok && m.LargerIsBetter {
		return stats.Maximise, true
	}
	return stats.Minimise, ok
}

// spanOf is what a figure that is read beside requests can be.
func spanOf(tag string) (low, high float64, known bool) {
	m, ok := telemetry.MeasureOf(tag)
	switch {
	case m.Unit == "ratio":
		return 0, 1, ok
	case m.Of == telemetry.OfPlugin:
		return math.Inf(-1), math.Inf(1), ok
	}
	return 0, math.Inf(1), ok
}

// keysBeside gives what some trial has beside requests; false where yield wants no more.
func (e Estimates) keysBeside(yield func(Key) bool) bool {
	if !slices.ContainsFunc(e.runs, func(o *Outcome) bool { return len(o.Beside) > 0 }) {
		return true
	}
	for _, m := range telemetry.Measures() {
		for _, stat := range m.Stats {
			k := Key{m.Tag, stat}
			has := func(o *Outcome) bool {
				_, ok := o.Beside[e.window][k]
				return ok
			}
			if slices.ContainsFunc(e.runs, has) && !yield(k) {
				return false
			}
		}
	}
	return true
}

// FromPlugins are the metrics of plug-ins that some cell has.
func (r *Results) FromPlugins() (out []*metrics.Metric) {
	for _, m := range telemetry.Measures() {
		told := false
		for i := range r.Cells {
			_, ok := r.Cells[i].Headline().Get(Key{m.Tag, "avg"})
			told = told || ok
		}
		if m.Of == telemetry.OfPlugin && told {
			out = append(out, &metrics.Metric{
				Tag: m.Tag, Header: m.Tag, Unit: m.Unit, LargerIsBetter: m.LargerIsBetter,
			})
		}
	}
	return out
}

// untold is why a run has no such figure.
func untold(tag string) string {
	switch m, ok := telemetry.MeasureOf(tag); {
	case !ok:
		return "no run measured it"
	case m.Of == telemetry.OfGPUs:
		return "no GPU was read in the run, or not well enough to rely on"
	case m.Of == telemetry.OfPlugin:
		return "its plug-in did not tell it"
	}
	return "no server tells it"
}
