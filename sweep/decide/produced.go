package decide

import (
	"maps"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
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

// lacking says what every cell of the plan lacks that the metric needs.
func lacking(p *sweep.Plan, tag string) (what, hint string) {
	m, ok := metrics.Lookup(tag)
	if len(p.Cells) == 0 {
		return "", ""
	}
	if !ok {
		if what, hint = unread(p, tag); what != "" {
			what = tag + what
		}
		return what, hint
	}
	for _, n := range needs {
		without := func(c *sweep.Cell) bool { return !n.met(&c.Resolved.Benchmark) }
		if m.Needs&n.need != 0 && !slices.ContainsFunc(p.Cells, func(c *sweep.Cell) bool { return !without(c) }) {
			return tag + n.what, n.hint
		}
	}
	return "", ""
}

// Lacking says what a body lacks that the metric needs, "" for nothing.
func Lacking(b *schema.Benchmark, tag string) (what, hint string) {
	m, ok := metrics.Lookup(tag)
	if !ok {
		return "", ""
	}
	for _, n := range needs {
		if m.Needs&n.need != 0 && !n.met(b) {
			return tag + n.what, n.hint
		}
	}
	return "", ""
}

// needs are what a metric may need of a cell, and what to do where it is missing.
var needs = []struct {
	need       metrics.Needs
	met        func(*schema.Benchmark) bool
	what, hint string
}{
	{
		metrics.Tokens,
		func(b *schema.Benchmark) bool { return b.Endpoint.Type == "" || producesTokens(b.Endpoint.Type) },
		" needs an endpoint that produces tokens",
		"this type has no tokens; use request_latency and request_throughput",
	},
	{
		metrics.Streaming, func(b *schema.Benchmark) bool { return b.Endpoint.Streaming }, " needs a streaming endpoint",
		"set endpoint.streaming: true (--streaming)",
	},
	{
		metrics.ClientCount, func(b *schema.Benchmark) bool { return !b.Endpoint.UseServerTokenCount },
		" needs this program's own count of tokens",
		"drop use_server_token_count: the server's count has nothing to be compared with",
	},
	{
		metrics.Limits, func(b *schema.Benchmark) bool { return len(b.SLOs) > 0 }, " needs SLOs to be good by",
		`set benchmark.slos, such as {time_to_first_token: 200} (--goodput "time_to_first_token:200")`,
	},
	{
		metrics.Answers, func(b *schema.Benchmark) bool { return b.Accuracy != nil },
		" needs questions with known answers", "set benchmark.accuracy, such as {benchmark: gsm8k, mode: mixed}",
	},
}

func producesTokens(endpoint string) bool {
	t := fields.EndpointNamed(endpoint)
	return t == nil || t.Tokens
}
