package onerun

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/scale"
)

// figures are those of one window of a phase that raises its own load, by AIPerf's
// definitions where those are others. The records are the caller's.
func (run *Opened) figures(in []*record.Record, w scale.Window) scale.Figures {
	b := run.Benchmark
	c := metrics.NewCollector(metrics.Options{
		Streaming: b.Endpoint.Streaming, Tokens: run.API.ProducesTokens, ServerCount: b.Endpoint.UseServerTokenCount,
		SLOs: b.SLOs, Window: metrics.Window{Start: w.From, End: w.To},
	})
	for _, r := range in {
		r.InWindow, r.Measured, r.Warmup = true, true, false
		c.Add(r)
	}
	sum := c.Summaries()[0]
	return func(metric, stat string) float64 {
		s, ok := sum.Get(metric)
		if !ok {
			return math.NaN()
		}
		if s.Plain != nil {
			s = *s.Plain
		}
		return s.Value(stat)
	}
}
