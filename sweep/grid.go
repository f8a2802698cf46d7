package sweep

import (
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// alongAxes are the settings of kinds whose cells lie on axes.
var alongAxes = []fields.Setting{
	{Name: "parameters", Needed: "name a path and its values", Or: []string{"axes", "recipe"}},
	{Name: "axes"},
}

// grid combines every value with every other.
func grid() *Kind {
	return &Kind{
		Name: "grid", Class: "GridSweep", Doc: "Every combination of the values.", Takes: alongAxes,
		points: func(s schema.Sweep, _ *int64) ([]schema.Axis, []point, error) { return combined(s, false) },
	}
}

// combined is the product of the blocks of axes: the last block varies fastest.
func combined(s schema.Sweep, inStep bool) ([]schema.Axis, []point, error) {
	if len(s.Axes) == 0 { // no sweep, or the command line pinned every axis
		return single()
	}
	blocks, err := blocks(s, inStep)
	if err != nil {
		return nil, nil, err
	}
	if err := checkProduct(blocks); err != nil {
		return nil, nil, err
	}
	if err := refuseRepeated(blocks); err != nil {
		return nil, nil, err
	}
	var axes []schema.Axis
	for _, b := range blocks {
		axes = append(axes, b.axes...)
	}
	return axes, product(blocks), nil
}
