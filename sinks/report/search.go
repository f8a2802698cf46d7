package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/search"
)

// This file says what a search found: one sentence for each outcome, a small table of
// the loads that were probed, and the same as data.

// searchSentences are the answer of a search, and how sure it is.
func (r *Report) searchSentences() []string {
	out := []string{r.searchAnswer(), "limit: " + r.searchLimit()}
	for _, l := range r.Search.Loads {
		if l.Torn {
			out = append(out, fmt.Sprintf("%s held in one run and failed in another: the server may not come back from more load as it was", load(l.Load)))
		}
	}
	if s := r.searchPrice(); s != "" {
		out = append(out, s)
	}
	return out
}

// searchAnswer is the bracket in one sentence.
func (r *Report) searchAnswer() string {
	a := r.Search
	unit := r.Plan.Searched().Name
	span := r.Plan.Experiment.Search.Range
	held := "no load is shown to hold"
	if a.Holds != nil {
		held = fmt.Sprintf("%s %s holds", unit, load(a.Holds.Load))
	}
	switch a.Outcome {
	case search.AtLeast:
		return fmt.Sprintf("At least %s %s: the upper end of the range holds", unit, load(a.Holds.Load))
	case search.Fewer:
		return fmt.Sprintf("Fewer than %s %s: the lower end of the range fails", unit, load(span[0]))
	case search.Contrary:
		return fmt.Sprintf("Not monotone: %s, %s fails, %s holds again", held, load(a.Fails.Load), load(a.Again.Load))
	case search.ClientLost:
		return fmt.Sprintf("Open above: %s; at %s no usable run was made (%s)", held, load(a.At), a.Why)
	case search.ServerLost:
		return fmt.Sprintf("The server died at %s %s (%s); before, %s", unit, load(a.At), a.Why, held)
	}
	between := held + ", and no load is shown to fail"
	switch {
	case a.Holds != nil && a.Fails != nil:
		between = fmt.Sprintf("%s, %s fails", held, load(a.Fails.Load))
	case a.Fails != nil:
		between = fmt.Sprintf("%s %s fails, and none below is shown to hold", unit, load(a.Fails.Load))
	}
	switch a.Outcome {
	case search.Spent:
		return "So far: " + between + "; the budget is spent"
	case search.Stopped:
		return "So far: " + between
	case search.Wide:
		return between + "; loads between are too close to the limit to be decided"
	}
	return between
}

// searchLimit is what a load has to show to hold, and how sure its ends are.
func (r *Report) searchLimit() string {
	text := r.searchLimits()
	switch a := r.Search; {
	case a.Holds == nil && a.Fails == nil:
		return text
	case a.Sure:
		return text + " (95 % intervals; each end was seen twice)"
	}
	return text + " (95 % intervals; one end was measured only once)"
}

// searchLimits are the conditions of a search in words.
func (r *Report) searchLimits() string {
	s := r.Plan.Experiment.Search
	var parts, limits []string
	slos := r.Plan.Cells[0].Resolved.Benchmark.SLOs
	for _, tag := range slices.Sorted(maps.Keys(slos)) {
		sign, unit := "<", ""
		if m, ok := metrics.Lookup(tag); ok {
			if unit = " " + m.Unit; m.LargerIsBetter {
				sign = ">"
			}
		}
		limits = append(limits, fmt.Sprintf("%s %s %g%s", tag, sign, slos[tag], unit))
	}
	if len(limits) > 0 {
		parts = append(parts, fmt.Sprintf("%.4g %% of all requests with %s", 100*s.Share, strings.Join(limits, " and ")))
	}
	return strings.Join(append(parts, s.Also...), ", ")
}

// searchPrice is what a narrower bracket costs, where there is a wide one.
func (r *Report) searchPrice() string {
	a := r.Search
	if a.Holds == nil || a.Fails == nil || a.Outcome != search.Wide && a.Outcome != search.Spent {
		return ""
	}
	wide := fmt.Sprintf("the bracket is %s wide", words.Percent(a.Fails.Load/a.Holds.Load-1))
	if a.Outcome == search.Spent {
		return wide + ": about 4 more probes halve it"
	}
	return wide + ": half of it takes about 4 times as many requests a run"
}

// resume says what --resume does about a plan that ended early.
func (r *Report) resume() string {
	if r.Search != nil && r.Search.Outcome == search.Spent {
		return "--resume with a larger search.budget goes on"
	}
	return "--resume measures the rest"
}

// mostLoads is how many loads the table has room for: those next to the limit.
const mostLoads = 12

// probes is the table of the loads that were probed.
func (r *Report) probes(s *sheet) {
	a := r.Search
	if len(a.Loads) == 0 { // it ended before its first usable run
		return
	}
	s.line("")
	g := grid{head: []string{r.Plan.Searched().Name, "runs", "good %", "95 % interval", "requests", ""}, left: 0}
	loads := r.nearLimit()
	for _, l := range loads {
		row := []string{load(l.Load), fmt.Sprint(l.Runs), "–", "", "", string(l.State)}
		if l.Of > 0 {
			row[2] = fmt.Sprintf("%.4g", 100*l.Share)
			row[3] = fmt.Sprintf("%.4g to %.4g", 100*l.Low, 100*l.High)
			row[4] = words.Whole(int64(l.Of))
		}
		g.rows = append(g.rows, row)
	}
	g.write(s)
	if n := len(a.Loads) - len(loads); n > 0 {
		s.line(fmt.Sprintf("  … and %s farther from the limit", words.Count(n, "other load")))
	}
	if n := slices.IndexFunc(a.Runs, func(x search.Run) bool { return x.Unfit != "" }); n >= 0 && a.Outcome != search.ClientLost && a.Outcome != search.ServerLost {
		s.wrapped("  ", "unusable runs were repeated, the first one: "+a.Runs[n].Unfit)
	}
}

// nearLimit are the loads next to the bracket.
func (r *Report) nearLimit() []search.Load {
	loads := r.Search.Loads
	middle := 0
	for i := range loads {
		if h := r.Search.Holds; h != nil && loads[i].Load <= h.Load {
			middle = i
		}
	}
	from := max(0, min(middle-mostLoads/2+1, len(loads)-mostLoads))
	return loads[from:min(len(loads), from+mostLoads)]
}

func load(x float64) string { return fmt.Sprintf("%.6g", x) }

// searchDoc is a search as data.
type searchDoc struct {
	Outcome    search.Outcome `json:"outcome"`
	Axis       string         `json:"axis"`
	Holds      *float64       `json:"holds,omitempty"` // the largest load that holds
	Fails      *float64       `json:"fails,omitempty"` // the smallest above it that fails
	HoldsAgain *float64       `json:"holds_again,omitempty"`
	Twice      bool           `json:"ends_seen_twice"`
	Loads      []loadDoc      `json:"loads"`
	Probes     []probeDoc     `json:"probes"`
}

type loadDoc struct {
	Load     float64      `json:"load"`
	Decision search.State `json:"decision"`
	Runs     int          `json:"runs"`
	Share    *float64     `json:"good_share,omitempty"`
	Low      *float64     `json:"low,omitempty"`
	High     *float64     `json:"high,omitempty"`
	Requests int64        `json:"requests,omitempty"`
}

type probeDoc struct {
	Probe    int     `json:"probe"`
	Load     float64 `json:"load"`
	Unusable string  `json:"unusable,omitempty"`
}

func (r *Report) searchDoc() *searchDoc {
	a := r.Search
	if a == nil {
		return nil
	}
	at := func(l *search.Load) *float64 {
		if l == nil {
			return nil
		}
		return &l.Load
	}
	d := &searchDoc{Outcome: a.Outcome, Axis: r.Plan.Searched().Name, Holds: at(a.Holds), Fails: at(a.Fails), HoldsAgain: at(a.Again), Twice: a.Sure, Loads: []loadDoc{}, Probes: []probeDoc{}}
	for _, l := range a.Loads {
		x := loadDoc{Load: l.Load, Decision: l.State, Runs: l.Runs, Requests: int64(l.Of)}
		if l.Of > 0 && !math.IsNaN(l.Share) {
			x.Share, x.Low, x.High = &l.Share, &l.Low, &l.High
		}
		d.Loads = append(d.Loads, x)
	}
	for i, x := range a.Runs {
		d.Probes = append(d.Probes, probeDoc{i + 1, x.Load, x.Unfit})
	}
	return d
}
