package sweep

import "aiperf.dev/aiperf/schema"

// zip moves all axes in step: the first value of each, then the second.
func zip() *Kind {
	return &Kind{
		Name: "zip", Class: "ZipSweep", Doc: "The values of all axes in step, as many of each.", Takes: alongAxes,
		InStep: true,
		points: func(s schema.Sweep, _ *int64) ([]schema.Axis, []point, error) { return combined(s, true) },
	}
}
