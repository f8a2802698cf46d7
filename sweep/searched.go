package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

// SearchedRuns is how many usable runs of one load a search makes at most to decide it.
const SearchedRuns = 3

// Searched is the axis that a search varies; only plans with a search have one.
func (p *Plan) Searched() schema.Axis { return p.Axes[0] }

// Tier is one of several limits of a search.
type Tier struct {
	Name  string
	Share float64            // of all attempted requests that have to be good
	SLOs  map[string]float64 // that a good one meets, by metric
}

// Tiers are those of the plan's search, by name; none where it has one limit.
func (p *Plan) Tiers() (tiers []Tier) {
	s := p.Experiment.Search
	if s == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tiers)) {
		x := s.Tiers[name]
		t := Tier{Name: name, Share: s.Share, SLOs: map[string]float64{}}
		if x.Share != nil {
			t.Share = *x.Share
		}
		for _, text := range x.Where {
			if l, ok := schema.ParseLimit(text); ok {
				t.SLOs[l.Tag] = l.Value
			}
		}
		tiers = append(tiers, t)
	}
	return tiers
}

// Load is where the cell lies on the axis of a search.
func (c *Cell) Load() float64 {
	switch v := c.Point[0].Value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// GrowAt is the cell at a load of the plan's search.
func (p *Plan) GrowAt(load float64) (*Cell, error) {
	return p.Grow(map[string]any{p.Searched().Path: loadValue(load)})
}

// loadValue is a load as a person writes it.
func loadValue(load float64) any {
	if load == math.Trunc(load) {
		return int64(load)
	}
	return load
}

// checkSearch refuses a search that cannot be carried out, or cannot find anything,
// before anything is sent. Its two ends are tried; what is between them differs in the
// load alone.
func (p *Plan) checkSearch() error {
	s := p.Experiment.Search
	if s == nil {
		return nil
	}
	refuse := func(path, message, hint string) error {
		return &schema.Error{Path: "search" + path, Message: message, Hint: hint}
	}
	for _, other := range []struct {
		said bool
		path string
		hint string
	}{
		{p.Trials > 1, "multi_run.num_runs", "leave it out: a search decides how often each load is measured"},
		{p.MultiRun.Sentinel, "multi_run.sentinel", "leave it out: a search measures the ends of its bracket again"},
		{
			p.MultiRun.Convergence != nil, "multi_run.convergence",
			"leave it out: a search decides how often each load is measured",
		},
		{len(p.Gates) > 0, "gates", "move them to search.also, which holds every probe against them"},
		{p.Experiment.Compare != nil, "compare", "run one search for each system, and compare the brackets"},
	} {
		if other.said {
			return &schema.Error{Path: other.path, Message: "cannot be combined with search", Hint: other.hint}
		}
	}
	for _, a := range p.Axes {
		if len(p.Cells) > 1 && len(a.Values) > 1 {
			return &schema.Error{
				Path: strings.TrimPrefix(a.Path, "benchmark."), Place: a.Origin.Where,
				Message: "a list of values cannot be combined with search", Hint: "run one search for each of its values",
			}
		}
	}
	if len(p.Axes) != 1 || len(p.Cells) != 1 {
		return refuse(".path", s.Path+" has one value here", "leave out the flag that sets it")
	}
	a := AxisNamed(p.Axes[0].Name)
	if !a.Load {
		return refuse(".path", s.Path+" is not a load", "one of "+strings.Join(loads(), ", "))
	}
	loads := slices.Clone(s.Range)
	if s.Start != nil {
		loads = append(loads, *s.Start)
	}
	for i, x := range loads {
		if a.Whole && x != math.Trunc(x) {
			return refuse([]string{".range", ".range", ".start"}[i], fmt.Sprintf("%g is not a whole number", x),
				a.Name+" counts requests")
		}
	}
	if s.Range[0] >= s.Range[1] {
		return refuse(".range", fmt.Sprintf("%g is not below %g", s.Range[0], s.Range[1]),
			"the smallest load comes first, such as [1, 512]")
	}
	if x := s.Start; x != nil && (*x < s.Range[0] || *x > s.Range[1]) {
		return refuse(".start", fmt.Sprintf("%g lies outside of range, which is %g to %g", *x, s.Range[0], s.Range[1]),
			"leave it out to begin at an end of the range")
	}
	b := p.Cells[0].Resolved.Benchmark
	if len(b.SLOs) == 0 && len(s.Also) == 0 && len(s.Tiers) == 0 && s.Find != "knee" {
		return refuse("", "has no limit to look for", `say where, such as ["time_to_first_token < 500"]`)
	}
	if err := p.checkTiers(refuse); err != nil {
		return err
	}
	if s.Find == "knee" {
		if n := KneeLoads(s.Range[0], s.Range[1], a.Whole); n < FewestKneeLoads {
			return refuse(".range", fmt.Sprintf("has room for %s, and a knee takes %d", words.Count(n, "load"),
				FewestKneeLoads), "give a wider range, such as [1, 64]")
		}
		if least := FewestKneeLoads + 2; s.Budget.Probes < least {
			return refuse(".budget.probes", fmt.Sprintf("%d are too few: a knee takes %d loads, and two of them again",
				s.Budget.Probes, FewestKneeLoads), "give 20 or more")
		}
		if s.Start != nil {
			return refuse(".start", "is not for a knee, which is looked for over the whole range", "leave it out")
		}
	}
	shown := func(path string, share float64) error {
		least := int64(math.Ceil(math.Log(0.025) / math.Log(share))) // Clopper and Pearson, all of them good
		if n := Planned(b.Phases); n > 0 && SearchedRuns*n < least {
			return refuse(path, fmt.Sprintf("%g takes %s of one load to be shown, %d runs have %d", share,
				words.Count(least, "good request"), SearchedRuns, SearchedRuns*n),
				fmt.Sprintf("raise requests to %s or more, or lower the share", words.Whole(2*least)))
		}
		return nil
	}
	if len(b.SLOs) > 0 && len(s.Tiers) == 0 && s.Find != "knee" {
		if err := shown(".share", s.Share); err != nil {
			return err
		}
	}
	for _, t := range p.Tiers() {
		path := ".share"
		if s.Tiers[t.Name].Share != nil {
			path = ".tiers." + t.Name + path
		}
		if err := shown(path, t.Share); err != nil {
			return err
		}
	}
	if a, b, both := contradiction(s.Also); both {
		return refuse(".also", fmt.Sprintf("%q and %q cannot both hold", a, b), "keep one of them")
	}
	if s.Budget.Time != nil {
		var run time.Duration
		for _, f := range mode.WithPriming(b.Phases) {
			run += boundPhase(&f).AtLeast
		}
		if room := s.Budget.Time.Go(); run > 0 && (fewestProbes-1)*run >= room {
			return refuse(".budget.time", fmt.Sprintf("%s has no room for %d runs of at least %s", words.Span(room),
				fewestProbes, words.Span(run)),
				"both ends of a bracket are measured twice: raise it, or shorten the runs")
		}
	}
	at := s.Range[1]
	if _, err := p.doc.Resolve([]schema.Assignment{schema.Assign(p.Axes[0].Path,
		loadValue(at), p.Axes[0].Origin)}); err != nil {
		return fmt.Errorf("search.range: at %g: %w", at, err)
	}
	return nil
}

// checkTiers refuses tiers that cannot be told apart or found.
func (p *Plan) checkTiers(refuse func(path, message, hint string) error) error {
	s := p.Experiment.Search
	switch {
	case s.Tiers == nil:
		return nil
	case len(s.Tiers) < 2:
		return refuse(".tiers", "are one or none", "give two or more, or say where and share of the search")
	case s.Find == "knee":
		return refuse(".tiers", "are limits, and a knee has none", `leave them out, or find: "max"`)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tiers)) {
		switch {
		case strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}):
			return refuse(".tiers", fmt.Sprintf("%q is not a name", words.Clip(name, 40)), "letters, digits, - . and _ make one")
		case len(s.Tiers[name].Where) == 0:
			return refuse(".tiers."+name, "has no limit", `say where, such as ["time_to_first_token < 500"]`)
		}
	}
	return nil
}

// FewestKneeLoads show a knee.
const FewestKneeLoads = 6

// KneeLoads is how many loads a range has, up to FewestKneeLoads, that differ enough to be measured.
func KneeLoads(low, high float64, whole bool) int {
	if whole {
		return min(FewestKneeLoads, int(high-low)+1)
	}
	return FewestKneeLoads
}

// fewestProbes certify a bracket: both ends are seen twice.
const fewestProbes = 4

// contradiction finds two conditions on one figure that no run can meet.
func contradiction(conditions []string) (a, b string, found bool) {
	type bound struct {
		text  string
		value float64
	}
	above, below := map[string]bound{}, map[string]bound{}
	for _, text := range conditions {
		at := strings.IndexAny(text, "<>")
		if at < 0 {
			continue
		}
		name := strings.TrimSpace(text[:at])
		v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(text[at+1:], "=")), 64)
		if err != nil {
			continue // more than a figure and a number
		}
		if text[at] == '>' {
			above[name] = bound{text, v}
		} else {
			below[name] = bound{text, v}
		}
		if lo, hi := above[name], below[name]; lo.text != "" && hi.text != "" && lo.value >= hi.value {
			return lo.text, hi.text, true
		}
	}
	return "", "", false
}

// loads are the settings that a search may vary.
func loads() (names []string) {
	for _, a := range slices.DeleteFunc(KnownAxes(), func(a KnownAxis) bool { return !a.Load }) {
		if a.Setting != "" {
			a.Name = a.Setting
		}
		names = append(names, a.Name)
	}
	return names
}

// FlatElasticity is where more load hardly gives more throughput: below it twice the load
// gives less than a quarter more.
const FlatElasticity = 1.0 / 3
