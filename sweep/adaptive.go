package sweep

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/sweep/search/planner"
)

// adaptiveSearch makes up its cells as it goes: the plan shows the first one.
func adaptiveSearch() *Kind {
	return &Kind{
		Name: "adaptive_search", Class: "AdaptiveSearchSweep",
		Doc: "Cells that a planner asks for, one after the other.", Searches: true,
		Takes: []fields.Setting{
			{Name: "search_space", Needed: "name a path with lo and hi"},
			{Name: "objectives"},
			{Name: "outcome_constraints"},
			{Name: "planner"},
			{Name: "sla_tiers"},
			{Name: "max_iterations"},
			{Name: "n_initial_points"},
			{Name: "random_seed"},
			{Name: "improvement_patience"},
			{Name: "plateau_window"},
			{Name: "plateau_threshold"},
			{Name: "optuna_sampler"},
			{Name: "optuna_acquisition"},
			{Name: "optuna_terminator"},
			{Name: "objective_pooling"},
			{Name: "monotonic_stability_trials"},
			{Name: "sla_replicates"},
			{Name: "sla_precision"},
			{Name: "sla_warmup_seconds"},
			{Name: "constraint_mode"},
		},
		points: firstPoint,
	}
}

// firstPoint is where an adaptive search begins.
func firstPoint(s schema.Sweep, base *int64) ([]schema.Axis, []point, error) {
	if s.Adaptive == nil {
		return single()
	}
	for i := range s.Adaptive.Space { // what counts requests or tokens is whole, also where nobody says so
		if d := &s.Adaptive.Space[i]; AxisNamed(d.Name).Whole {
			d.Kind = "int"
		}
	}
	terms := plannerTerms(&s, base)
	if setting, why := terms.Check(); setting != "" {
		return nil, nil, &schema.Error{
			Path: "sweep." + setting, Place: s.Adaptive.Space[0].Origin.Where, Message: why,
			Hint: hints[setting],
		}
	}
	first := planner.Next(terms, nil)
	axes := make([]schema.Axis, len(s.Adaptive.Space))
	for i, dim := range s.Adaptive.Space {
		axes[i] = schema.Axis{
			Path: dim.Path, Name: dim.Name,
			Origin: dim.Origin,
		}.At(searchedValue(terms.Space[i], first.At[i]))
	}
	pt := newPoint([]block{{axes, 1}}, []int{0})
	warmAlike(s.Adaptive, &pt)
	return axes, []point{pt}, nil
}

// hints are what to do where a planner cannot search.
var hints = map[string]string{
	"planner":      "one of " + strings.Join(planner.Names(), ", "),
	"search_space": "or use planner: bayesian",
	"sla_filters":  "such as --search-sla time_to_first_token:p95:lt:250, or use planner: bayesian",
	"objectives":   "or use planner: bayesian",
}

// plannerTerms are what the planner of an adaptive search is told.
func plannerTerms(s *schema.Sweep, base *int64) planner.Terms {
	a := s.Adaptive
	t := planner.Terms{
		Planner: a.Planner, Limited: len(s.Filters)+len(a.Tiers) > 0, Most: a.MaxIterations, Initial: a.InitialPoints,
		Patience: a.Patience, Window: a.PlateauWindow, Flat: a.PlateauFlat,
		Seed: defaultSeed, Stability: a.StabilityTrials, Replicates: a.Replicates, Precision: searchPrecision,
		Expected: a.ConstraintMode == "eic", Terminator: a.Terminator,
	}
	switch {
	case a.RandomSeed != nil:
		t.Seed = *a.RandomSeed
	case base != nil:
		t.Seed = *base
	}
	for _, dim := range a.Space {
		d := planner.Dimension{
			Path: dim.Path, Low: dim.Lo, High: dim.Hi, Whole: dim.Kind == "int",
			Log: dim.Prior == "log-uniform",
		}
		if d.Whole {
			d.Low, d.High = math.Ceil(d.Low), math.Floor(d.High)
		}
		t.Space = append(t.Space, d)
	}
	for _, g := range a.Objectives {
		t.Goals = append(t.Goals, planner.Goal{Maximize: g.Direction == "maximize", Worst: g.Threshold})
	}
	return t
}

// searchPrecision is AIPerf's SLA_PRECISION_DEFAULT.
const searchPrecision = 0.05

// searchedValue is a value of a dimension as a cell has it.
func searchedValue(d planner.Dimension, x float64) any {
	if d.Whole {
		return int64(x)
	}
	return x
}

// warmAlike gives the warmup that a search added to its cells their values.
func warmAlike(a *schema.Adaptive, pt *point) {
	for _, v := range pt.values {
		if leaf, ok := strings.CutPrefix(v.Path, fields.PhasePath+"."); ok && a.WarmupSeconds > 0 {
			pt.set = append(pt.set, schema.Assign("benchmark.phases.warmup."+leaf, v.Value,
				schema.Origin{Source: schema.ByAxis, Where: "axis " + v.Axis}))
		}
	}
}

// Base is the benchmark of which an adaptive search varies settings, as it was given; nil
// where one of them must have a value and was given none.
func (p *Plan) Base() *schema.Resolved {
	r, err := p.doc.Resolve(nil)
	if err != nil {
		return nil
	}
	return r
}

// PlannerTerms are what the planner of the plan's adaptive search is told.
func (p *Plan) PlannerTerms() planner.Terms {
	return plannerTerms(&schema.Sweep{Adaptive: p.Adaptive, Filters: p.Filters}, p.Experiment.RandomSeed)
}

// GrowPoint is the cell at a point of the plan's adaptive search.
func (p *Plan) GrowPoint(x []float64) (*Cell, error) {
	at := map[string]any{}
	for k, d := range p.PlannerTerms().Space {
		at[d.Path] = searchedValue(d, x[k])
	}
	return p.Grow(at)
}

// PointOf is where the cell lies in the space of an adaptive search.
func (c *Cell) PointOf() []float64 {
	out := make([]float64, len(c.Point))
	for k, v := range c.Point {
		out[k] = math.NaN()
		switch x := v.Value.(type) {
		case int64:
			out[k] = float64(x)
		case float64:
			out[k] = x
		}
	}
	return out
}

// Iterated is run number n, from 0, of the plan's adaptive search, which has AIPerf's
// folders: a folder of its own for each iteration, also at a point that was measured before.
func (p *Plan) Iterated(c *Cell, trial, n int) Run {
	r := p.RunOf(c, trial)
	r.Label = fmt.Sprintf("run_%04d", n%p.Trials+1)
	r.Dir = fmt.Sprintf("search_iter_%04d/profile_runs/%s", n/p.Trials, r.Label)
	return r
}

// checkAdaptive refuses what an adaptive search cannot be combined with, and tries the ends
// of its space.
func (p *Plan) checkAdaptive() error {
	a := p.Adaptive
	if a == nil {
		return nil
	}
	for _, other := range []struct {
		said bool
		path string
		hint string
	}{
		{p.MultiRun.Sentinel, "multi_run.sentinel", "leave it out: a search chooses its runs itself"},
		{
			p.MultiRun.Convergence != nil, "multi_run.convergence",
			"leave it out: multi_run.num_runs says how many runs an iteration has",
		},
		{p.Experiment.Compare != nil, "compare", "run one search for each system"},
		{p.Experiment.Search != nil, "search", "keep one of them"},
	} {
		if other.said {
			return &schema.Error{
				Path: other.path, Message: "cannot be combined with an adaptive search",
				Hint: other.hint,
			}
		}
	}
	if x, y, both := opposed(p.Filters); both {
		return &schema.Error{
			Path: "sweep.sla_filters", Message: fmt.Sprintf("%s and %s cannot both hold", x, y),
			Hint: "keep one of them",
		}
	}
	terms := p.PlannerTerms()
	for _, end := range []func(planner.Dimension) float64{
		func(d planner.Dimension) float64 { return d.Low }, func(d planner.Dimension) float64 { return d.High },
	} {
		var set []schema.Assignment
		var text []string
		for k, d := range terms.Space {
			v := searchedValue(d, end(d))
			set = append(set, schema.Assign(d.Path, v, p.Axes[k].Origin))
			text = append(text, fmt.Sprintf("%s %v", p.Axes[k].Name, v))
		}
		if _, err := p.doc.Resolve(set); err != nil {
			return fmt.Errorf("sweep.search_space: at %s: %w", strings.Join(text, ", "), err)
		}
	}
	return nil
}

// opposed finds two limits on one figure that no run can meet.
func opposed(limits []schema.SLAFilter) (a, b schema.SLAFilter, found bool) {
	for _, a := range limits {
		for _, b := range limits {
			if a.MetricTag == b.MetricTag && a.Stat == b.Stat && strings.HasPrefix(a.Op, "g") &&
				strings.HasPrefix(b.Op, "l") &&
				(a.Threshold > b.Threshold || a.Threshold == b.Threshold && (a.Op == "gt" || b.Op == "lt")) {
				return a, b, true
			}
		}
	}
	return a, b, false
}
