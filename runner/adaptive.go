package runner

import (
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/search/planner"
	"aiperf.dev/aiperf/sweep/source"
)

// history is search_history.json of an adaptive search so far, nil for every other plan.
func (r *runner) history() *aiperf.SearchHistory {
	a := source.Adapt(r.plan, r.result.Outcomes)
	if a == nil {
		return nil
	}
	h := &aiperf.SearchHistory{
		Config: r.searchConfig(), Recipe: r.plan.RecipeName, Reason: string(a.Ended),
		Best: a.Tiers[0].Best, Boundary: boundaryOf(a, 0),
	}
	for i, x := range a.Iterations {
		it := aiperf.SearchIteration{
			Objectives: x.Tiers[0].Goals, Feasible: x.Tiers[0].Feasible,
			Warning: a.Tiers[0].Warnings[i],
		}
		for _, v := range x.Runs[0].Run.Cell.Point {
			it.Values = append(it.Values, aiperf.Plain{V: v.Value})
		}
		h.Iterations = append(h.Iterations, it)
	}
	if len(a.Tiers) == 1 {
		return h
	}
	for k, t := range a.Tiers {
		tier := aiperf.SearchTier{
			Label: t.Label, Filters: t.Filters, Best: t.Best,
			Boundary: boundaryOf(a, k), Reason: string(t.Ended),
		}
		for _, x := range a.Iterations {
			tier.Feasible = append(tier.Feasible, x.Tiers[k].Feasible)
		}
		h.Tiers = append(h.Tiers, tier)
	}
	return h
}

// searchConfig is what the search was told, as AIPerf writes it.
func (r *runner) searchConfig() aiperf.SearchConfig {
	c := aiperf.SearchConfig{Adaptive: *r.plan.Adaptive, Filters: source.Tiers(r.plan)[0].Filters}
	if row, ok := planner.Named(c.Planner); ok && !row.Draws {
		c.InitialPoints = 1
	}
	return c
}

// boundaryOf is where along a single dimension the limits of a tier begin to be missed.
func boundaryOf(a *source.Adapted, tier int) *aiperf.SearchBoundary {
	b := a.Tiers[tier].Boundary
	if b == nil {
		return nil
	}
	out := &aiperf.SearchBoundary{Holds: b.Holds, Fails: b.Fails, Kind: b.Kind}
	if !math.IsNaN(b.Low) && !math.IsNaN(b.High) {
		out.CI = &[2]float64{b.Low, b.High}
	}
	if b.Fails != nil {
		if x := a.Iterations[*b.Fails].Breach[tier]; x != nil {
			out.Breach = &aiperf.Breach{SLAFilter: x.SLAFilter, Observed: x.Observed}
		}
	}
	if b.Binding >= 0 {
		f := a.Tiers[tier].Filters[b.Binding]
		out.Binding = f.MetricTag + ":" + f.Stat
	}
	return out
}

// postProcess is what is worked out of the finished cells, nil for nothing.
func postProcess(p *schema.PostProcess) *aiperf.PostProcess {
	if p == nil {
		return nil
	}
	text := func(names ...string) string {
		for _, name := range names {
			if s, ok := p.Params[name].(string); ok {
				return s
			}
		}
		return ""
	}
	out := &aiperf.PostProcess{
		Handler: p.Handler, File: p.File, Metric: text("metric_tag"), Stat: text("stat"),
		Swept: text("swept_param", "concurrency_param"), Other: text("osl_param"),
	}
	if out.Stat == "" {
		out.Stat = "avg"
	}
	if x, ok := p.Params["threshold_pct"].(float64); ok {
		out.Share = x
	}
	list, _ := p.Params["sla_filters"].([]any)
	for _, item := range list {
		m, _ := item.(map[string]any)
		f := schema.SLAFilter{Stat: "p95"}
		for name, to := range map[string]*string{"metric_tag": &f.MetricTag, "stat": &f.Stat, "op": &f.Op} {
			if s, ok := m[name].(string); ok {
				*to = s
			}
		}
		f.Threshold, _ = m["threshold"].(float64)
		out.Filters = append(out.Filters, f)
	}
	return out
}

// adapted writes the history of an adaptive search after an iteration: what is known
// outlasts a program that is killed.
func (r *runner) adapted() error {
	if r.plan.Adaptive == nil || !r.opt.AIPerf || len(r.result.Outcomes)%r.plan.Trials != 0 {
		return nil
	}
	_, err := aiperf.WriteHistory(r.dir.Path, r.history())
	return err
}

// pointOf is where a cell of an adaptive search lies, by what the journal has of it.
func (r *runner) pointOf(made map[string]any) []float64 {
	var out []float64
	for _, d := range r.plan.Adaptive.Space {
		x, ok := made[strings.TrimPrefix(d.Path, "benchmark.")].(float64)
		if !ok {
			x = math.NaN()
		}
		out = append(out, x)
	}
	if slices.ContainsFunc(out, math.IsNaN) {
		return nil
	}
	return out
}

// adaptiveCounts is counts of an adaptive search: a run of an iteration that misses the limits
// found what was looked for, and a cell counts by its newest one.
func (res *Result) adaptiveCounts(run sweep.Run) bool {
	for i := range slices.Backward(res.Outcomes) {
		if r := res.Outcomes[i].Run; r.ID == run.ID || run.ID == "" && r.Cell == run.Cell {
			x := res.Adaptive.Iterations[i/res.Plan.Trials].Tiers[0]
			return x.Feasible || len(x.Margins) == 0
		}
	}
	return true
}
