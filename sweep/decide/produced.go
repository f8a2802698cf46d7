package decide

import (
	"maps"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// unproduced are gates and SLOs on metrics that no cell can produce: they could
// only be missed.
func unproduced(p *sweep.Plan, gates []Gate) (bad schema.Errors) {
	for i := range gates {
		g := &gates[i]
		for _, k := range g.refs {
			if what, hint := lacking(p, k.Tag); what != "" {
				bad = append(bad, &schema.Error{Path: g.Origin, Message: quoted(g.Expr, what), Hint: hint})
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range p.Cells {
		for _, tag := range slices.Sorted(maps.Keys(c.Resolved.Benchmark.SLOs)) {
			if what, hint := lacking(p, tag); what != "" && !seen[tag] {
				bad = append(bad, &schema.Error{Path: "benchmark.slos." + tag, Message: what, Hint: hint})
			}
			seen[tag] = true
		}
	}
	return bad
}

// lacking says what no cell of the plan has that the metric needs.
func lacking(p *sweep.Plan, tag string) (what, hint string) {
	m, ok := metrics.Lookup(tag)
	if !ok {
		return "", ""
	}
	streams, limits := false, false
	for _, c := range p.Cells {
		streams = streams || c.Resolved.Benchmark.Endpoint.Streaming
		limits = limits || len(c.Resolved.Benchmark.SLOs) > 0
	}
	switch {
	case m.Needs&metrics.Streaming != 0 && !streams:
		return tag + " needs a streaming endpoint", "set endpoint.streaming: true (--streaming)"
	case m.Needs&metrics.Limits != 0 && !limits:
		return tag + " needs SLOs to be good by", `set benchmark.slos, such as {time_to_first_token: 200} (--goodput "time_to_first_token:200")`
	}
	return "", ""
}
