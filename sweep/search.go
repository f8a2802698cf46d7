package sweep

import (
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// adaptiveSearch makes up its cells as it goes: the plan shows where it starts.
func adaptiveSearch() *Kind {
	return &Kind{
		Name: "adaptive_search", Class: "AdaptiveSearchSweep", Doc: "Cells that a search asks for, one after the other.", Searches: true, Unbuilt: true,
		Takes:  []fields.Setting{{Name: "search_space"}, {Name: "objectives"}, {Name: "max_iterations"}},
		points: func(schema.Sweep, *int64) ([]schema.Axis, []point, error) { return single() },
	}
}
