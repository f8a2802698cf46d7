package sweep

import (
	"encoding/json"
	"fmt"
	"slices"

	"aiperf.dev/aiperf/schema"
)

// State names the state that the cell needs the server in: what brings it there
// and where it is; "" where nothing does.
func (c *Cell) State() string {
	e := &c.Resolved.Benchmark.Endpoint
	if e.Flip == nil {
		return ""
	}
	f := *e.Flip
	f.Timeout = 0 // patience changes nothing
	b, err := json.Marshal(struct {
		URLs []string
		Flip schema.Flip
	}{e.URLs, f})
	if err != nil {
		panic("a flip that was read cannot be written: " + err.Error())
	}
	return string(b)
}

// byState makes neighbours of the cells of one state, in the order in which the
// states come first.
func byState(cells []*Cell) []*Cell {
	states := make([]string, 0, len(cells))
	for _, c := range cells {
		states = append(states, c.State())
	}
	if !slices.ContainsFunc(states, func(s string) bool { return s != "" }) {
		return cells
	}
	first := map[string]int{}
	for i, s := range slices.Backward(states) {
		first[s] = i
	}
	slices.SortStableFunc(cells, func(a, b *Cell) int { return first[a.State()] - first[b.State()] })
	return cells
}

// Flips are the runs before which the server changes its state, when the plan is
// carried out without a break.
func (p *Plan) Flips() (before []Run) {
	last := ""
	for _, r := range p.Runs {
		if s := r.Cell.State(); s != last {
			before, last = append(before, r), s
		}
	}
	return before
}

// checkFlips refuses a plan in which a cell would find the server in the state
// that another one left behind.
func (p *Plan) checkFlips() error {
	with := slices.IndexFunc(p.Cells, func(c *Cell) bool { return c.State() != "" })
	without := slices.IndexFunc(p.Cells, func(c *Cell) bool { return c.State() == "" })
	if with < 0 || without < 0 {
		return nil
	}
	return &schema.Error{
		Path: "benchmark.endpoint.flip",
		Message: fmt.Sprintf("%s brings its server into a state and %s does not: it would be measured in whatever state the last run left",
			p.Cells[with].Short(), p.Cells[without].Short()),
		Hint: "give each endpoint its own flip",
	}
}
