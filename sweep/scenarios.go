package sweep

import (
	"fmt"
	"maps"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// scenarioAxis names the one axis that a list of scenarios makes.
const scenarioAxis = "scenario"

// scenarios are cells with names, each saying what it changes.
func scenarios() *Kind {
	return &Kind{
		Name: "scenarios", Class: "ScenarioSweep", Doc: "Named cells, each with the settings it changes.",
		Takes: []fields.Setting{{Name: "runs", Needed: "name at least one cell"}}, points: scenarioPoints,
	}
}

// scenarioPoints are points of one axis, the scenario's name.
func scenarioPoints(s schema.Sweep, _ *int64) ([]schema.Axis, []point, error) {
	if len(s.Scenarios) == 0 {
		return nil, nil, &schema.Error{
			Path: "sweep.runs", Message: "no scenarios: the matrix is empty",
			Hint: "name one, or leave the sweep out",
		}
	}
	if n := len(s.Scenarios); n > maxCells {
		return nil, nil, &schema.Error{Path: "sweep.runs", Message: fmt.Sprintf("%s cells; at most %s", words.Whole(n),
			words.Whole(maxCells)), Hint: "divide them among several plans"}
	}
	axis := schema.Axis{Path: scenarioAxis, Name: scenarioAxis}
	seen := map[string]int{}
	var out []point
	for i, sc := range s.Scenarios {
		name := sc.Name
		if name == "" {
			name = fmt.Sprintf("scenario_%d", i)
		}
		if first, twice := seen[name]; twice {
			return nil, nil, &schema.Error{
				Path:    fmt.Sprintf("sweep.runs.%d.name", i),
				Message: fmt.Sprintf("%q is the name of scenario %d too", name, first),
			}
		}
		seen[name] = i
		plain := map[string]any{}
		maps.Copy(plain, sc.Values)
		axis.Values, axis.Labels = append(axis.Values, name), append(axis.Labels, name)
		out = append(out, point{
			values: []Value{{scenarioAxis, scenarioAxis, name, name}}, set: sc.Assignments,
			plain: plain, label: name, name: scenarioDir(sc, name, s.Hide),
		})
	}
	return []schema.Axis{axis}, out, nil
}

// scenarioDir is the scenario's name, or made of its values where it gives some.
func scenarioDir(sc schema.Scenario, name string, hide *secret.Masker) string {
	if len(sc.Named) == 0 {
		return clean(name)
	}
	parts := make([]string, len(sc.Named))
	for i, k := range sc.Named {
		parts[i] = clean(k[strings.LastIndex(k, ".")+1:] + "_" + pyStr(schema.Masked(k, sc.Values[k], hide)))
	}
	return strings.Join(parts, "__")
}
