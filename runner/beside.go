package runner

import (
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep/decide"
)

// beside are the figures of a run that gates may name and no single request tells: the rows of
// its table, of several pages of metrics the worst.
func beside(rep *RunReport, summaries []metrics.Summary) decide.Beside {
	out := decide.Beside{}
	add := func(rows []sinks.MetricRow) {
		for i := range rows {
			r := &rows[i]
			k := decide.Key{Tag: r.Metric, Stat: r.Stat}
			out.Add(r.Window, k, decide.Told{Value: r.Value, Low: r.Low, High: r.High})
		}
	}
	add(serverMetrics(sinks.Place{}, rep.servers))
	add(pluginMetrics(sinks.Place{}, rep.Told))
	for i := range summaries {
		add(energyMetrics(sinks.Place{}, &summaries[i], rep.energy))
	}
	return out
}
