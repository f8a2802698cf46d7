package schema

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// Adaptive is what an adaptive search is told: settings of the sweep block that only it takes.
type Adaptive struct {
	Planner         string              `json:"planner"`
	Space           []SearchSpace       `json:"search_space"`
	Objectives      []SearchObjective   `json:"objectives"`
	Constraints     []OutcomeConstraint `json:"outcome_constraints"`
	Tiers           []SLATier           `json:"sla_tiers"`
	MaxIterations   int                 `json:"max_iterations"`
	InitialPoints   int                 `json:"n_initial_points"`
	RandomSeed      *int64              `json:"random_seed"`
	Patience        int                 `json:"improvement_patience"`
	PlateauWindow   int                 `json:"plateau_window"`
	PlateauFlat     float64             `json:"plateau_threshold"`
	Terminator      string              `json:"optuna_terminator"`
	Pooling         string              `json:"objective_pooling"`
	StabilityTrials int                 `json:"monotonic_stability_trials"`
	Replicates      int                 `json:"sla_replicates"`
	WarmupSeconds   float64             `json:"sla_warmup_seconds"`
	ConstraintMode  string              `json:"constraint_mode"`
}

// SearchSpace is one dimension of a search.
type SearchSpace struct {
	Path  string  `json:"path"` // canonical
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	Kind  string  `json:"kind"`
	Prior string  `json:"prior"`

	Name   string        `json:"-"` // short and unique, as that of an axis
	Origin source.Origin `json:"-"`
}

// SearchObjective is what a search makes best.
type SearchObjective struct {
	Metric    string   `json:"metric"`
	Stat      string   `json:"stat"`
	Direction string   `json:"direction"`
	Threshold *float64 `json:"threshold"`
}

// OutcomeConstraint says what is better beside the objectives.
type OutcomeConstraint struct {
	Metric string  `json:"metric"`
	Op     string  `json:"op"`
	Bound  float64 `json:"bound"`
}

// Margin is how far x keeps the constraint, as a part of its bound; below 0 it does not.
func (c OutcomeConstraint) Margin(x float64) float64 {
	switch c.Op {
	case "<=":
		return margin(c.Bound-x, c.Bound)
	case ">=":
		return margin(x-c.Bound, c.Bound)
	}
	return -math.Abs(margin(x-c.Bound, c.Bound))
}

// SLAFilter is a limit on a figure of a run.
type SLAFilter struct {
	MetricTag string  `json:"metric_tag"`
	Stat      string  `json:"stat"`
	Op        string  `json:"op"`
	Threshold float64 `json:"threshold"`
}

// Keeps tells whether x keeps the limit.
func (f SLAFilter) Keeps(x float64) bool {
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

// Margin is how far x keeps the limit, as a part of it; below 0 it does not.
func (f SLAFilter) Margin(x float64) float64 {
	d := f.Threshold - x
	if strings.HasPrefix(f.Op, "g") {
		d = -d
	}
	return margin(d, f.Threshold)
}

// String is the limit as people write it: time_to_first_token.p95 < 250.
func (f SLAFilter) String() string {
	sign := map[string]string{"lt": "<", "le": "<=", "gt": ">", "ge": ">="}[f.Op]
	return fmt.Sprintf("%s.%s %s %g", f.MetricTag, f.Stat, sign, f.Threshold)
}

func margin(d, of float64) float64 {
	if of == 0 {
		return d
	}
	return d / math.Abs(of)
}

// SLATier are the limits of one tier.
type SLATier struct {
	Label   string      `json:"label"`
	Filters []SLAFilter `json:"filters"`
	Rank    *int        `json:"ordering_rank"`
}

// PostProcess is a calculation over the finished cells.
type PostProcess struct {
	Handler string         `json:"handler"`
	Params  map[string]any `json:"params"`
	File    string         `json:"output_filename"`
}

// Ranked are the tiers in their order.
func (a *Adaptive) Ranked() []SLATier {
	out := slices.Clone(a.Tiers)
	rank := func(t SLATier) int {
		if t.Rank == nil {
			return math.MaxInt
		}
		return *t.Rank
	}
	slices.SortStableFunc(out, func(x, y SLATier) int { return rank(x) - rank(y) })
	return out
}

// adaptive reads the settings of an adaptive search: the checked block for the values, the
// block as written for the places.
func (d *draft) adaptive(sw *source.Node, a *Adaptive) (bad Errors) {
	if len(d.axes.All) > 0 {
		return source.Mistake(d.axes.All[0].Origin, strings.TrimPrefix(d.axes.All[0].Path, "benchmark."),
			"a list of values cannot be combined with an adaptive search",
			"give one value, or make it a dimension of search_space")
	}
	paths := make([]string, len(a.Space))
	for i := range a.Space {
		s := &a.Space[i]
		s.Path = fields.Canonical(s.Path)
		s.Origin = sw.Origin
		if n := sw.At(fmt.Sprintf("search_space.%d.path", i)); n != nil {
			s.Origin = n.Origin
		}
		paths[i] = s.Path
		bad = append(bad, d.searchedPath(a, i)...)
	}
	for i, name := range axisNames(paths) {
		a.Space[i].Name = name
	}
	if a.MaxIterations == 0 {
		a.MaxIterations = 30 // as AIPerf's recipes have it, and the objective
	}
	if len(a.Objectives) == 0 {
		a.Objectives = []SearchObjective{{Metric: "output_token_throughput", Stat: "avg", Direction: "maximize"}}
	}
	if n := sw.Get("n_initial_points"); a.InitialPoints >= a.MaxIterations &&
		(a.Planner == "bayesian" || a.Planner == "optuna") {
		if n != nil {
			bad = append(bad, source.Mistake(n.Origin, "sweep.n_initial_points",
				fmt.Sprintf("%d leaves no iteration of %d for the model", a.InitialPoints, a.MaxIterations),
				"take fewer, or raise max_iterations")...)
		}
		a.InitialPoints = a.MaxIterations - 1 // of the default as many as there is room for
	}
	if w := d.root.At("benchmark.phases.warmup.name"); a.WarmupSeconds > 0 &&
		(w == nil || w.Origin.Reason != source.Follows) {
		a.WarmupSeconds = 0 // the experiment has a warmup of its own
	}
	return append(bad, d.tiers(sw, a)...)
}

// searchedPath checks that a dimension names a number of a cell.
func (d *draft) searchedPath(a *Adaptive, i int) Errors {
	s, at := &a.Space[i], fmt.Sprintf("sweep.search_space.%d.path", i)
	body := strings.TrimPrefix(s.Path, "benchmark.")
	hint, known := d.index.KnownPath(s.Path)
	switch {
	case !known:
		return Errors{{Path: at, Place: s.Origin.Where, Message: "unknown field " + body, Hint: hint}}
	case !fields.Sweepable(s.Path):
		return source.Mistake(s.Origin, at, body+" cannot be searched",
			"a dimension is a field of the benchmark or a variable")
	case slices.ContainsFunc(a.Space[:i],
		func(b SearchSpace) bool { return lower.AxisKey(b.Path) == lower.AxisKey(s.Path) }):
		return source.Mistake(s.Origin, at, body+" is a dimension twice", "")
	case s.Kind == "int" && math.Ceil(s.Lo) > math.Floor(s.Hi):
		return source.Mistake(s.Origin, at, fmt.Sprintf("there is no whole number from %g to %g", s.Lo, s.Hi),
			"widen the range, or leave out int")
	}
	return nil
}

// tiers checks the tiers of a search.
func (d *draft) tiers(sw *source.Node, a *Adaptive) (bad Errors) {
	n := sw.Get("sla_tiers")
	if n == nil || len(a.Tiers) == 0 {
		return nil
	}
	if len(a.Tiers) < 2 || len(a.Tiers) > 10 {
		bad = append(bad, source.Mistake(n.Origin, "sweep.sla_tiers", fmt.Sprintf("%d of two to ten tiers",
			len(a.Tiers)), "limits of one kind are sla_filters (--search-sla)")...)
	}
	seen := map[string]bool{}
	for _, t := range a.Tiers {
		if seen[t.Label] {
			bad = append(bad, source.Mistake(n.Origin, "sweep.sla_tiers",
				fmt.Sprintf("two tiers are called %q", t.Label), "")...)
		}
		seen[t.Label] = true
	}
	return bad
}
