package sweep

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/pyrepr"
	"aiperf.dev/aiperf/schema"
)

// inBody is a path as it is said inside the body: without its root.
func inBody(path string) string { return strings.TrimPrefix(path, "benchmark.") }

// valueText is a value in a cell's label: its label when it has one, else as
// Python prints it, which is how AIPerf's labels and directories are written.
func valueText(a schema.Axis, i int) string {
	if object, ok := a.Values[i].(map[string]any); ok && object["label"] != nil {
		return labelOf(a, i)
	}
	return pyStr(a.Shown(i))
}

// shortText is a value as a table shows it.
func shortText(a schema.Axis, i int) string {
	if s, ok := a.Values[i].(string); ok && a.Shown(i) != s {
		return valueText(a, i) // its label is the credential
	}
	if i < len(a.Labels) && a.Labels[i] != "" {
		return a.Labels[i]
	}
	return valueText(a, i)
}

// shownAxes are axes whose values and labels hold no credential.
func shownAxes(axes []schema.Axis) []schema.Axis {
	out := slices.Clone(axes)
	for k, a := range axes {
		out[k].Values, out[k].Labels = slices.Clone(a.Values), slices.Clone(a.Labels)
		for i := range a.Values {
			out[k].Values[i] = a.Shown(i)
			if i < len(a.Labels) {
				out[k].Labels[i] = shortText(a, i)
			}
		}
	}
	return out
}

func labelOf(a schema.Axis, i int) string {
	if i < len(a.Labels) && a.Labels[i] != "" {
		return a.Labels[i]
	}
	return pyStr(a.Values[i].(map[string]any)["label"])
}

// dirName is the directory of a point: the last part of each path with its
// value. Where a value is a list or an object without a label it is the whole
// label, as in AIPerf.
func dirName(values []Value, texts []string, label string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		switch x := v.Value.(type) {
		case []any:
			return clean(label)
		case map[string]any:
			if x["label"] == nil {
				return clean(label)
			}
		}
		parts[i] = clean(v.Path[strings.LastIndex(v.Path, ".")+1:] + "_" + texts[i])
	}
	return strings.Join(parts, "__")
}

// pyStr is Python's str() of plain data.
func pyStr(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return pyRepr(v)
}

// pyRepr is Python's repr() of plain data; the keys of an object are sorted.
func pyRepr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case float64:
		return pyrepr.Float(v)
	case string:
		return pyrepr.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = pyRepr(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, pyrepr.Quote(k)+": "+pyRepr(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}
