package decide

import (
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Absent are the figures that the limits and objectives of a sweep name and that no cell of it
// can have, with what to do. AIPerf takes them and finds every cell infeasible, so they are said
// and stop nothing.
func Absent(p *sweep.Plan) (out []string) {
	say := func(tag string) {
		if what, hint := lacking(p, tag); what != "" && !slices.Contains(out, what+": "+hint) {
			out = append(out, what+": "+hint)
		}
	}
	for _, f := range p.Filters {
		say(f.MetricTag)
	}
	if a := p.Adaptive; a != nil {
		for _, o := range a.Objectives {
			say(o.Metric)
		}
		for _, t := range a.Tiers {
			for _, f := range t.Filters {
				say(f.MetricTag)
			}
		}
	}
	return out
}

// checkAdaptive holds the figures that a sweep and its adaptive search name against the
// metrics that exist.
func checkAdaptive(p *sweep.Plan, tags []string) (bad schema.Errors) {
	check := func(path, tag, stat string) {
		if _, err := ParseKey(tag+"."+stat, tags); err != nil {
			bad = append(bad, &schema.Error{Path: path, Message: err.Message, Hint: err.Hint})
		}
	}
	filters := func(path string, of []schema.SLAFilter) {
		for i, f := range of {
			check(fmt.Sprintf("%s.%d", path, i), f.MetricTag, f.Stat)
		}
	}
	filters("sweep.sla_filters", p.Filters)
	if pp := p.PostProcess; pp != nil {
		if tag, ok := pp.Params["metric_tag"].(string); ok {
			stat, _ := pp.Params["stat"].(string)
			if stat == "" {
				stat = "avg"
			}
			check("sweep.post_process.params.metric_tag", tag, stat)
			if what, hint := lacking(p, tag); what != "" { // its only figure
				bad = append(bad, &schema.Error{
					Path: "sweep.post_process.params.metric_tag", Message: what,
					Hint: hint,
				})
			}
		}
	}
	a := p.Adaptive
	if a == nil {
		return bad
	}
	for i, o := range a.Objectives {
		check(fmt.Sprintf("sweep.objectives.%d", i), o.Metric, o.Stat)
	}
	for i, c := range a.Constraints {
		check(fmt.Sprintf("sweep.outcome_constraints.%d", i), c.Metric, "avg")
	}
	for i, t := range a.Tiers {
		filters(fmt.Sprintf("sweep.sla_tiers.%d.filters", i), t.Filters)
	}
	if m, ok := metrics.Lookup(a.Objectives[0].Metric); a.Pooling == "pooled" &&
		(len(a.Objectives) > 1 || !ok || !m.PerRequest() || !slices.Contains(percentiles, a.Objectives[0].Stat)) {
		bad = append(bad, &schema.Error{
			Path:    "sweep.objective_pooling",
			Message: "pooled takes one objective, a percentile of a metric of requests",
			Hint:    "use mean, or such as --search-metric time_to_first_token --search-stat p95",
		})
	}
	return bad
}

var percentiles = []string{"p50", "p90", "p95", "p99"}
