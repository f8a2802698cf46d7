package aiperf

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/sinks"
)

// SearchHistory is search_history.json: what AIPerf's adaptive search asked for, the runs
// of the search in their order, and its answer. A nil number is null.
type SearchHistory struct {
	Adaptive
	Iterations []Iteration
	Best       *int // of the iterations
	Boundary   Boundary
	Reason     string // convergence_reason
}

// Adaptive is what an adaptive search was asked for, as AIPerf's configuration says it.
type Adaptive struct {
	Planner     string   `json:"planner"`
	Space       []Range  `json:"search_space"`
	Objectives  []Goal   `json:"objectives"`
	Filters     []Filter `json:"sla_filters"`
	Most        int64    `json:"max_iterations"`
	Initial     int64    `json:"n_initial_points"`
	Seed        *int64   `json:"random_seed"`
	Patience    int64    `json:"improvement_patience"`
	Window      int64    `json:"plateau_window"`
	Flat        float64  `json:"plateau_threshold"`
	SearchedFor string   `json:"-"` // the path of the load
}

// Range is a dimension of the search.
type Range struct {
	Path string  `json:"path"`
	Lo   float64 `json:"lo"`
	Hi   float64 `json:"hi"`
	Kind string  `json:"kind"`
}

// Goal is an objective.
type Goal struct {
	Metric    string   `json:"metric"`
	Stat      string   `json:"stat"`
	Direction string   `json:"direction"`
	Threshold *float64 `json:"threshold"`
}

// Filter is a limit on a figure of a run.
type Filter struct {
	Tag       string  `json:"metric_tag"`
	Stat      string  `json:"stat"`
	Op        string  `json:"op"`
	Threshold float64 `json:"threshold"`
}

// Keeps tells whether a figure keeps the limit.
func (f Filter) Keeps(x float64) bool {
	switch f.Op {
	case "lt":
		return x < f.Threshold
	case "le":
		return x <= f.Threshold
	case "gt":
		return x > f.Threshold
	}
	return x >= f.Threshold
}

// Iteration is one run.
type Iteration struct {
	Load       Plain
	Objectives []float64 // nil where the run has none
	Breach     *Breach   // nil where its figures keep all limits
	Warning    bool      // it contradicts one at another load
}

// Breach is the first limit that a run does not keep.
type Breach struct {
	Filter
	Observed *float64
}

// Boundary is the bracket: iterations at the largest load that holds and the smallest above
// it that fails, nil where there is none.
type Boundary struct {
	Holds, Fails *int
	Cliff        bool // no load between was left undecided
}

// Complete fills in AIPerf's defaults.
func (a *Adaptive) Complete() {
	a.Planner = cmp.Or(a.Planner, "bayesian")
	for i := range a.Filters {
		a.Filters[i].Stat = cmp.Or(a.Filters[i].Stat, "p95")
	}
	for i := range a.Space {
		a.Space[i].Kind = cmp.Or(a.Space[i].Kind, "real")
	}
	for i := range a.Objectives {
		a.Objectives[i].Stat = cmp.Or(a.Objectives[i].Stat, "avg")
	}
	initial := int64(5)
	if !a.samples() {
		initial = 1
	}
	a.Initial, a.Patience, a.Window, a.Flat = cmp.Or(a.Initial, initial), cmp.Or(a.Patience, 10), cmp.Or(a.Window, 8), cmp.Or(a.Flat, 0.01)
}

// samples tells whether AIPerf's planner begins with points that it draws.
func (a *Adaptive) samples() bool { return a.Planner == "bayesian" || a.Planner == "optuna" }

// Maximizes tells whether more of the objective is better.
func (g Goal) Maximizes() bool { return strings.EqualFold(g.Direction, "maximize") }

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
	for i := range h.Iterations {
		iterations = append(iterations, object{}.with("iteration_idx", i).with("variation_values", h.at(i)).with("objective_values", h.objectives(i)).
			with("feasible", h.Iterations[i].Breach == nil).with("non_monotonic_warning", h.Iterations[i].Warning))
	}
	var best any
	if h.Best != nil {
		feasible := 0
		for _, x := range h.Iterations {
			if x.Breach == nil {
				feasible++
			}
		}
		best = []object{object{}.with("iteration_idx", *h.Best).with("objective_values", h.objectives(*h.Best)).with("variation_values", h.at(*h.Best)).
			with("feasible", true).with("feasible_count", feasible).with("pareto_rank", 0)}
	}
	return object{}.with("config", h.Adaptive.json()).with("iterations", iterations).with("best_trials", best).
		with("boundary_summary", h.boundary()).with("recipe", nil).with("convergence_reason", h.Reason)
}

func (h *SearchHistory) at(i int) object { return object{}.with(h.SearchedFor, h.Iterations[i].Load.V) }

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

func (h *SearchHistory) boundary() object {
	var low, high any
	if i := h.Boundary.Holds; i != nil {
		x := object{}.with("value", h.Iterations[*i].Load.V).with("iteration_idx", *i)
		var objective any
		if o := h.Iterations[*i].Objectives; o != nil {
			objective = number(o[0])
		}
		low = x.with("objective_value", objective)
	}
	binding := any(nil)
	if i := h.Boundary.Fails; i != nil {
		var breach any
		if b := h.Iterations[*i].Breach; b != nil {
			var observed any
			if b.Observed != nil {
				observed = number(*b.Observed)
			}
			binding = b.Tag
			breach = b.json().with("observed", observed)
		}
		high = object{}.with("value", h.Iterations[*i].Load.V).with("iteration_idx", *i).with("first_breach", breach)
	}
	out := object{}.with("swept_dim_path", h.SearchedFor).with("feasible_max", low).with("infeasible_min", high)
	if h.Planner != "smooth_isotonic" {
		return out
	}
	kind, ci := "smooth", any(nil)
	if h.Boundary.Cliff {
		kind = "cliff"
	}
	if h.Boundary.Holds != nil && h.Boundary.Fails != nil {
		ci = object{}.with("lo", h.Iterations[*h.Boundary.Holds].Load.V).with("hi", h.Iterations[*h.Boundary.Fails].Load.V)
	}
	return out.with("boundary_type", kind).with("binding_constraint", binding).with("boundary_ci", ci)
}

func (a *Adaptive) json() object {
	goals, space, filters := []object{}, []object{}, []object{}
	for _, g := range a.Objectives {
		var threshold any
		if g.Threshold != nil {
			threshold = number(*g.Threshold)
		}
		goals = append(goals, object{}.with("metric", g.Metric).with("stat", g.Stat).with("direction", strings.ToUpper(g.Direction)).with("threshold", threshold))
	}
	for _, x := range a.Space {
		space = append(space, object{}.with("path", a.SearchedFor).with("lo", number(x.Lo)).with("hi", number(x.Hi)).with("kind", x.Kind))
	}
	for _, f := range a.Filters {
		filters = append(filters, f.json())
	}
	var seed any
	if a.Seed != nil {
		seed = *a.Seed
	}
	return object{}.with("planner", a.Planner).with("objectives", goals).with("outcome_constraints", []object{}).with("max_iterations", a.Most).
		with("n_initial_points", a.Initial).with("random_seed", seed).with("improvement_patience", a.Patience).with("plateau_window", a.Window).
		with("plateau_threshold", number(a.Flat)).with("search_space", space).with("sla_filters", filters)
}

func (f Filter) json() object {
	return object{}.with("metric_tag", f.Tag).with("stat", f.Stat).with("op", f.Op).with("threshold", number(f.Threshold))
}
