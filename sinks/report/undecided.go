package report

import (
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// onlyLoads are the flags with which a plan measures the loads of some cells and no others, and the
// cells that are measured then: what is decided is not measured again. The results go into a new
// directory, because they are not those of the whole plan. There are none where the loads are not
// lists of numbers that can be typed, or all of them are open.
func (r *Report) onlyLoads(open []*decide.CellResult) (changes []argv.Change, kept []*decide.CellResult) {
	kept = r.everyCell()
	if len(open) == 0 || !r.Plan.Crossed() {
		return nil, kept
	}
	for i, a := range r.Plan.Axes {
		loads := r.loadsOf(i, open)
		if a.Group != 0 || len(loads) == 0 || len(loads) == len(a.Values) {
			continue
		}
		list := strings.Join(loads, ",")
		change := argv.Change{
			Flag:  "set",
			Value: "sweep.parameters." + strings.TrimPrefix(a.Path, "benchmark.") + "=[" + list + "]",
		}
		for _, o := range schema.Options() {
			if o.Path == a.Path && o.Sweep {
				change = argv.Change{Flag: o.Names[0], Value: list}
			}
		}
		changes = append(changes, change)
		kept = slices.DeleteFunc(kept, func(c *decide.CellResult) bool {
			return !slices.Contains(loads, c.Cell.Point[i].Label)
		})
	}
	if len(changes) > 0 && strings.HasPrefix(r.Command, "aiperf profile") { // aiperf run always does
		changes = append(changes, argv.Change{Flag: "artifact-dir", Value: argv.Beside(r.Dir)})
	}
	return changes, kept
}

// everyCell are the cells of the results.
func (r *Report) everyCell() (cells []*decide.CellResult) {
	for i := range r.Results.Cells {
		cells = append(cells, &r.Results.Cells[i])
	}
	return cells
}

// loadsOf are the values that cells have on one axis, in the order of the axis: of loads that are
// plain numbers, and of nothing else.
func (r *Report) loadsOf(axis int, cells []*decide.CellResult) (loads []string) {
	if !sweep.AxisNamed(r.Plan.Axes[axis].Name).Load {
		return nil
	}
	for _, c := range r.Plan.Cells {
		label := c.Point[axis].Label
		if _, err := strconv.ParseFloat(label, 64); err != nil {
			return nil
		}
		open := slices.ContainsFunc(cells, func(x *decide.CellResult) bool { return x.Cell.Point[axis].Label == label })
		if open && !slices.Contains(loads, label) {
			loads = append(loads, label)
		}
	}
	return loads
}
