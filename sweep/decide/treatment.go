package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// compareArms compares each value of the treatment axis with the first one. Runs
// of one trial are pairs: they met the same load, minutes apart.
func (r *Results) compareArms(p *sweep.Plan) {
	arms, terms, err := treatment(p, Names())
	if err != nil || len(arms) == 0 {
		return // the command line refuses such a plan: CheckGates
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		at, rest := Side(c.Cell, p.Experiment.Compare.Axis)
		j := slices.IndexFunc(arms, func(a Arm) bool { return a.Name == at })
		cell := ArmCell{Label: rest, Closed: c.Cell.Closed(), Judged: c.Cell.Judged()}
		for _, o := range c.all {
			cell.Runs = append(cell.Runs, *o)
		}
		arms[j].Cells = append(arms[j].Cells, cell)
	}
	terms.Candidates = len(arms) - 1
	for _, candidate := range arms[1:] {
		if c, err := Compare(arms[0], candidate, terms); err == nil {
			r.Comparisons = append(r.Comparisons, c)
		}
	}
}

// treatment is the arms of the plan, without cells yet, and how they are
// compared; none without compare. An error says what is wrong with it.
func treatment(p *sweep.Plan, tags []string) ([]Arm, Terms, *diag.Error) {
	said := p.Experiment.Compare
	t, err := compareTerms(p, tags)
	if said == nil || err != nil {
		return nil, t, err
	}
	var arms []Arm
	for _, c := range p.Cells {
		if at, _ := Side(c, said.Axis); !slices.ContainsFunc(arms, func(a Arm) bool { return a.Name == at }) {
			arms = append(arms, Arm{Name: at})
		}
	}
	if len(arms) < 2 {
		return nil, t, &diag.Error{Path: axisOfCompare, Message: said.Axis +
			" has one value: there is nothing to compare", Hint: "give the axis a baseline and a candidate"}
	}
	return arms, t, nil
}

const axisOfCompare = "compare.axis"

// compareTerms is how the arms are compared. An error says what is wrong with it.
func compareTerms(p *sweep.Plan, tags []string) (Terms, *diag.Error) {
	said := p.Experiment.Compare
	if said == nil {
		return Terms{}, nil
	}
	t := Terms{Undecided: said.Undecided, Paired: true, Invalid: p.Experiment.AllowInvalid}
	for _, m := range []struct {
		name     string
		said, to *float64
		hint     string
	}{
		{"margin", said.Margin, &t.Margin, "0.05 is 5 %"},
		{"share_margin", said.ShareMargin, &t.ShareMargin, "0.01 is 1 point"},
	} {
		if m.said == nil {
			continue
		}
		if *m.to = *m.said; !(*m.to > 0 && *m.to < 1) || math.IsNaN(*m.to) {
			return t, &diag.Error{
				Path:    "compare." + m.name,
				Message: fmt.Sprintf("%g: expected more than 0 and less than 1", *m.to), Hint: m.hint,
			}
		}
	}
	t.MustDetect = said.MustDetect
	if err := t.checkMustDetect(); err != nil {
		err.Path = "compare.must_detect"
		return t, err
	}
	for i, name := range said.Metrics {
		k, err := ParseKey(name, tags)
		if err != nil {
			err.Path = fmt.Sprintf("compare.metrics.%d", i)
			return t, err
		}
		t.Primary = append(t.Primary, k)
	}
	i := slices.IndexFunc(p.Axes, func(a schema.Axis) bool { return a.Name == said.Axis || a.Path == said.Axis })
	if i < 0 {
		return t, &diag.Error{
			Path: axisOfCompare, Message: said.Axis + " is not an axis of the sweep",
			Hint: axesHint(said.Axis, p.Axes),
		}
	}
	return t, nil
}

// axesHint names the axes there are.
func axesHint(said string, axes []schema.Axis) string {
	if strings.TrimPrefix(said, "benchmark.") == "endpoint" {
		return "name the servers in sweep.parameters.endpoint, or in the variables that it uses"
	}
	var names []string
	for _, a := range axes {
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return "sweep has no axis: vary benchmark.endpoint, for example"
	}
	return "axes: " + strings.Join(names, ", ")
}

// Side is a cell's value on the treatment axis, as a comparison calls the side, and its place
// on the others.
func Side(c *sweep.Cell, axis string) (at, rest string) {
	others := sweep.Cell{Label: "base"}
	for _, v := range c.Point {
		if v.Axis == axis || v.Path == axis {
			at = (&sweep.Cell{Point: []sweep.Value{v}}).Short()
			continue
		}
		others.Point = append(others.Point, v)
	}
	return at, others.Short()
}

// Exit is the exit code that the comparisons ask for: WORSE before undecided.
func (r *Results) Exit() diag.Code {
	code := diag.OK
	for _, c := range r.Comparisons {
		switch c.Exit() {
		case diag.Missed:
			return diag.Missed
		case diag.Invalid:
			code = diag.Invalid
		}
	}
	return code
}
