package sweep

import (
	"maps"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
)

// unproduced are gates and SLOs on metrics that no cell can produce: those that
// live on the events of a stream where nothing is streamed.
func (p *Plan) unproduced() (bad schema.Errors) {
	for _, c := range p.Cells {
		if c.Resolved.Benchmark.Endpoint.Streaming {
			return nil
		}
	}
	refuse := func(path, tag string, quote func(string) string) {
		if m, ok := metrics.Lookup(tag); ok && m.Needs&metrics.Streaming != 0 {
			bad = append(bad, &schema.Error{
				Path: path, Message: quote(tag + " needs a streaming endpoint"), Hint: "set endpoint.streaming: true (--streaming)",
			})
		}
	}
	for i := range p.Gates {
		g := &p.Gates[i]
		for _, k := range g.refs {
			refuse(g.Origin, k.Tag, func(m string) string { return quoted(g.Expr, m) })
		}
	}
	seen := map[string]bool{}
	for _, c := range p.Cells {
		for _, tag := range slices.Sorted(maps.Keys(c.Resolved.Benchmark.SLOs)) {
			if !seen[tag] {
				refuse("benchmark.slos."+tag, tag, func(m string) string { return m })
			}
			seen[tag] = true
		}
	}
	return bad
}
