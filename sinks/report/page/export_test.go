package page

import (
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// TrendCharts are those of the page of a trend.
func TrendCharts(t report.Trend) (out []*draw.Chart) {
	for i, s := range t.Told() {
		out = append(out, seriesChart(t, s, i))
	}
	return out
}
