package aiperf

import (
	"fmt"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// SearchHistory is search_history.json: what an adaptive search was told, each iteration
// and what it found.
type SearchHistory struct {
	Config     SearchConfig
	Iterations []SearchIteration
	Best       []int // iterations; none without a result
	Boundary   *SearchBoundary
	Tiers      []SearchTier // beside the first, whose boundary is above
	Recipe     string
	Reason     string // "" as long as the search goes on
}

// SearchConfig is what a search was told, with the limits of its first tier.
type SearchConfig struct {
	schema.Adaptive
	Filters []schema.SLAFilter
}

// SearchIteration is one point.
type SearchIteration struct {
	Values     []Plain   // by dimension
	Objectives []float64 // nil where it has no result
	Feasible   bool
	Warning    bool // it contradicts an earlier one
}

// SearchBoundary is where the limits begin to be missed.
type SearchBoundary struct {
	Holds, Fails *int        // iterations
	Breach       *Breach     // of Fails
	Kind         string      // smooth, cliff; "" where the planner does not say
	Binding      string      // the limit that decides, "" likewise
	CI           *[2]float64 // nil without an interval: a kept result is JSON, which has no NaN
}

// Breach is the first limit that a point misses.
type Breach struct {
	schema.SLAFilter
	Observed *float64
}

// SearchTier is the boundary under the limits of another tier.
type SearchTier struct {
	Label    string
	Filters  []schema.SLAFilter
	Best     []int
	Feasible []bool // of each iteration
	Boundary *SearchBoundary
	Reason   string
}

// WriteHistory writes search_history.json into dir.
func WriteHistory(dir string, h *SearchHistory) (sinks.FileInfo, error) {
	const name = "search_history.json"
	b, err := appendJSON(nil, h.json())
	if err != nil {
		return sinks.FileInfo{}, fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return sinks.WriteArtifact(dir, name, "aggregate", b)
}

func (h *SearchHistory) json() object {
	iterations := []object{}
	feasible := make([]bool, len(h.Iterations))
	for i, x := range h.Iterations {
		feasible[i] = x.Feasible
		iterations = append(iterations, object{}.with("iteration_idx", i).with("variation_values",
			h.values(i)).with("objective_values", h.objectives(i)).
			with("feasible", x.Feasible).with("non_monotonic_warning", x.Warning))
	}
	out := object{}.with("config", h.Config.json()).with("iterations", iterations).with("best_trials",
		h.best(h.Best, feasible)).
		with("boundary_summary", h.boundary(h.Boundary))
	if len(h.Tiers) > 0 { // ours: AIPerf's file has one boundary
		tiers := []object{}
		for _, t := range h.Tiers {
			tiers = append(tiers, object{}.with("label", t.Label).with("sla_filters",
				filters(t.Filters)).with("best_trials", h.best(t.Best, t.Feasible)).
				with("boundary_summary", h.boundary(t.Boundary)).with("convergence_reason", orNull(t.Reason)))
		}
		out = out.with("tiers", tiers)
	}
	return out.with("recipe", orNull(h.Recipe)).with("convergence_reason", orNull(h.Reason))
}

// orNull is a word, null where there is none.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// best are the best points, null where there are none.
func (h *SearchHistory) best(at []int, feasible []bool) any {
	if len(at) == 0 {
		return nil
	}
	n := 0
	for _, ok := range feasible {
		if ok {
			n++
		}
	}
	out := []object{}
	for _, i := range at {
		out = append(out, object{}.with("iteration_idx", i).with("objective_values",
			h.objectives(i)).with("variation_values", h.values(i)).
			with("feasible", feasible[i]).with("feasible_count", n).with("pareto_rank", 0))
	}
	return out
}

func (h *SearchHistory) values(i int) object {
	out := object{}
	for k, d := range h.Config.Space {
		out = out.with(underBenchmark(d), h.Iterations[i].Values[k].V)
	}
	return out
}

func (h *SearchHistory) objectives(i int) any {
	if h.Iterations[i].Objectives == nil {
		return nil
	}
	out := []any{}
	for _, x := range h.Iterations[i].Objectives {
		out = append(out, number(x))
	}
	return out
}

func (h *SearchHistory) boundary(b *SearchBoundary) any {
	if b == nil {
		return nil
	}
	var low, high any
	if b.Holds != nil {
		var objective any
		if o := h.Iterations[*b.Holds].Objectives; o != nil {
			objective = number(o[0])
		}
		low = object{}.with("value", h.Iterations[*b.Holds].Values[0].V).with("iteration_idx",
			*b.Holds).with("objective_value", objective)
	}
	if b.Fails != nil {
		var breach any
		if b.Breach != nil {
			breach = b.Breach.json()
		}
		high = object{}.with("value", h.Iterations[*b.Fails].Values[0].V).with("iteration_idx",
			*b.Fails).with("first_breach", breach)
	}
	out := object{}.with("swept_dim_path", underBenchmark(h.Config.Space[0])).with("feasible_max", low).
		with("infeasible_min", high)
	if b.Kind != "" {
		out = out.with("boundary_type", b.Kind)
	}
	if b.Binding != "" {
		out = out.with("binding_constraint", b.Binding)
	}
	if b.CI != nil {
		out = out.with("boundary_ci", object{}.with("lo", number(b.CI[0])).with("hi", number(b.CI[1])))
	}
	return out
}

func (c *SearchConfig) json() object {
	goals, constraints, space := []object{}, []object{}, []object{}
	for _, g := range c.Objectives {
		goals = append(goals, object{}.with("metric", g.Metric).with("stat", g.Stat).with("direction",
			strings.ToUpper(g.Direction)).with("threshold", numberOrNull(g.Threshold)))
	}
	for _, x := range c.Constraints {
		constraints = append(constraints, object{}.with("metric", x.Metric).with("op", x.Op).with("bound",
			number(x.Bound)))
	}
	for _, d := range c.Space {
		space = append(space, object{}.with("path", underBenchmark(d)).with("lo", number(d.Lo)).
			with("hi", number(d.Hi)).with("kind", d.Kind))
	}
	var seed any
	if c.RandomSeed != nil {
		seed = *c.RandomSeed
	}
	return object{}.with("planner", c.Planner).with("objectives", goals).with("outcome_constraints",
		constraints).with("max_iterations", c.MaxIterations).
		with("n_initial_points", c.InitialPoints).with("random_seed", seed).with("improvement_patience", c.Patience).
		with("plateau_window", c.PlateauWindow).with("plateau_threshold", number(c.PlateauFlat)).
		with("search_space", space).with("sla_filters", filters(c.Filters))
}

func numberOrNull(v *float64) any {
	if v == nil {
		return nil
	}
	return number(*v)
}

// underBenchmark is a dimension's path as AIPerf writes it.
func underBenchmark(d schema.SearchSpace) string { return strings.TrimPrefix(d.Path, "benchmark.") }

func filters(of []schema.SLAFilter) []object {
	out := []object{}
	for _, f := range of {
		out = append(out, filter(f))
	}
	return out
}

func filter(f schema.SLAFilter) object {
	return object{}.with("metric_tag", f.MetricTag).with("stat", f.Stat).with("op", f.Op).with("threshold",
		number(f.Threshold))
}

func (b *Breach) json() object { return filter(b.SLAFilter).with("observed", numberOrNull(b.Observed)) }
