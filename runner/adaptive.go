package runner

import (
	"encoding/json"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
)

// history is search_history.json of a search that an adaptive search of AIPerf's made,
// nil for every other plan. Whether a run is feasible says what it showed itself, as in
// AIPerf; the boundary is the bracket, and the best iteration is one at a load that holds.
func (r *runner) history() (*aiperf.SearchHistory, error) {
	s := r.plan.Experiment.Search
	if s == nil || s.Adaptive == nil {
		return nil, nil
	}
	h := &aiperf.SearchHistory{}
	b, err := json.Marshal(s.Adaptive)
	if err == nil {
		err = json.Unmarshal(b, &h.Adaptive)
	}
	if err != nil {
		return nil, err
	}
	h.Most, h.SearchedFor = int64(s.Budget.Probes), strings.TrimPrefix(r.plan.Searched().Path, "benchmark.")
	h.Complete()
	a := r.result.Search
	for i := range r.result.Outcomes {
		o := &r.result.Outcomes[i]
		x := aiperf.Iteration{Load: aiperf.Plain{V: o.Run.Cell.Point[0].Value}, Breach: breach(h.Filters, o)}
		for _, g := range h.Objectives {
			if v := figure(o, g.Metric, g.Stat); v != nil {
				x.Objectives = append(x.Objectives, *v)
			}
		}
		for k := range i {
			other := r.result.Outcomes[k].Run.Cell.Load()
			bad := h.Iterations[k].Breach != nil
			x.Warning = x.Warning || x.Breach == nil && bad && other < o.Run.Cell.Load() || x.Breach != nil && !bad && other > o.Run.Cell.Load()
		}
		h.Iterations = append(h.Iterations, x)
		if l := at(a, o.Run.Cell.Load()); l == nil || l.State != search.Holds || x.Breach != nil || x.Objectives == nil {
			continue
		}
		if h.Best == nil || h.Objectives[0].Maximizes() == (x.Objectives[0] > h.Iterations[*h.Best].Objectives[0]) {
			h.Best = &i
		}
	}
	h.Boundary = aiperf.Boundary{Holds: r.lastAt(a.Holds), Fails: r.lastAt(a.Fails), Cliff: true}
	for _, l := range a.Loads {
		h.Boundary.Cliff = h.Boundary.Cliff && l.State != search.Undecided
	}
	h.Reason = reason(h.Planner, a.Outcome)
	return h, nil
}

// at is what a search knows of a load, nil where no run was usable.
func at(a *search.Answer, load float64) *search.Load {
	for i := range a.Loads {
		if a.Loads[i].Load == load {
			return &a.Loads[i]
		}
	}
	return nil
}

// lastAt is the last usable run at a load, nil for no load.
func (r *runner) lastAt(l *search.Load) (at *int) {
	for i := range r.result.Outcomes {
		if l != nil && r.result.Outcomes[i].Run.Cell.Load() == l.Load && r.result.Search.After[i] != "" {
			at = &i
		}
	}
	return at
}

// breach is the first limit that a run does not keep.
func breach(limits []aiperf.Filter, o *decide.Outcome) *aiperf.Breach {
	for _, f := range limits {
		if v := figure(o, f.Tag, f.Stat); v == nil || !f.Keeps(*v) {
			return &aiperf.Breach{Filter: f, Observed: v}
		}
	}
	return nil
}

// figure is a statistic of a run as AIPerf has it, nil where the run has none.
func figure(o *decide.Outcome, tag, stat string) *float64 {
	if len(o.Summaries) == 0 {
		return nil
	}
	scale := 1.0
	if tag == "request_error_rate" { // in percent
		tag, scale = metrics.ErrorRate, 100
	}
	s, ok := o.Summaries[0].Get(tag)
	if !ok {
		return nil
	}
	return metrics.OrNil(scale * s.Value(stat))
}

// reason is why the search ended, in AIPerf's words.
func reason(planner string, how search.Outcome) string {
	by := "monotonic_"
	if planner == "smooth_isotonic" {
		by = "smooth_isotonic_"
	}
	switch how {
	case search.Bracketed:
		return by + "precision_reached"
	case search.AtLeast:
		return by + "no_failure_in_range"
	case search.Fewer:
		return by + "no_pass_in_range"
	case search.Spent:
		return "max_iterations"
	}
	return "unknown"
}
