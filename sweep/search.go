package sweep

import (
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// adaptiveSearch makes up its cells as it goes: the plan shows where it starts.
func adaptiveSearch() *Kind {
	return &Kind{
		Name: "adaptive_search", Class: "AdaptiveSearchSweep", Doc: "Cells that a search asks for, one after the other.", Searches: true,
		Takes: []fields.Setting{
			{Name: "search_space", Needed: "name a load with lo and hi"},
			{Name: "objectives"},
			{Name: "planner"},
			{Name: "max_iterations"},
			{Name: "n_initial_points"},
			{Name: "random_seed"},
			{Name: "improvement_patience"},
			{Name: "plateau_window"},
			{Name: "plateau_threshold"},
		},
		points: func(schema.Sweep, *int64) ([]schema.Axis, []point, error) { return single() },
	}
}
