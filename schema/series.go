package schema

import "aiperf.dev/aiperf/internal/diag"

// seriesFile reads a rate over time from JSON: a list of points, or an object
// with one.
func seriesFile(name string) (map[string]any, *diag.Error) {
	text, bad := readFile(name)
	if bad != nil {
		return nil, diag.New(name+": "+bad[0].Message, "")
	}
	v, err := jsonValue(string(text))
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
	return nil, diag.New(name+": holds no list of points", "such as [{\"time_s\": 0, \"qps\": 1}, {\"time_s\": 60, \"qps\": 10}]")
}
