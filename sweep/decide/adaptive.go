package decide

import (
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// checkAdaptive holds the figures that a sweep and its adaptive search name against the
// metrics that exist and that its cells can have.
func checkAdaptive(p *sweep.Plan, tags []string) (bad schema.Errors) {
	check := func(path, tag, stat string) {
		if _, err := ParseKey(tag+"."+stat, tags); err != nil {
			bad = append(bad, &schema.Error{Path: path, Message: err.Message, Hint: err.Hint})
		} else if what, hint := lacking(p, tag); what != "" {
			bad = append(bad, &schema.Error{Path: path, Message: what, Hint: hint})
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
	if m, ok := metrics.Lookup(a.Objectives[0].Metric); a.Pooling == "pooled" && (len(a.Objectives) > 1 || !ok || !m.PerRequest() || !slices.Contains(percentiles, a.Objectives[0].Stat)) {
		bad = append(bad, &schema.Error{Path: "sweep.objective_pooling", Message: "pooled takes one objective, a percentile of a metric of requests", Hint: "use mean, or such as --search-metric time_to_first_token --search-stat p95"})
	}
	return bad
}

var percentiles = []string{"p50", "p90", "p95", "p99"}
