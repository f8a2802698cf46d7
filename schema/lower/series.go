package lower

import (
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/source"
)

// SeriesFile reads a rate over time from JSON: a list of points, or an object
// with one.
func SeriesFile(name string) (map[string]any, *diag.Error) {
	text, bad := source.ReadFile(name)
	if bad != nil {
		return nil, diag.New(name+": "+bad[0].Message, "")
	}
	v, err := source.JsonValue(string(text))
	if err != nil {
		return nil, diag.New(name+": not JSON: "+err.Error(), "")
	}
	switch v := v.(type) {
	case []any:
		return map[string]any{"points": v}, nil
	case map[string]any:
		if v["points"] != nil {
			return v, nil
		}
	}
	return nil, diag.New(name+": holds no list of points",
		"such as [{\"time_s\": 0, \"qps\": 1}, {\"time_s\": 60, \"qps\": 10}]")
}
