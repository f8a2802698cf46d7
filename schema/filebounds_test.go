package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
)

// A number that a flag refuses is refused in a file, too.
func TestBoundsOfFlagsHoldInFiles(t *testing.T) {
	t.Parallel()
	options := schema.Options()
	beyond := map[string]float64{"ge": -1, "gt": 0, "le": 1, "lt": 0}
	dir, n := t.TempDir(), 0
	for _, f := range boundedFlags(t) {
		i := slices.IndexFunc(options,
			func(o schema.Option) bool { return slices.Contains(o.Names, strings.TrimPrefix(f.Name, "--")) })
		if i < 0 || options[i].Instead != "" || options[i].Path == "" {
			continue
		}
		for kind, bound := range f.Bounds {
			value, path := bound+beyond[kind], options[i].Path
			paths := []string{path}
			if short, mean := strings.CutSuffix(path, ".mean"); mean { // the number alone, and as an object
				paths = append(paths, short, short+".value")
			}
			for _, path := range paths {
				if wider(path, value) {
					continue
				}
				file := filepath.Join(dir, fmt.Sprintf("%d.json", n))
				if err := os.WriteFile(file, withValue(t, path, value), 0o600); err != nil {
					t.Fatal(err)
				}
				n++
				_, err := schema.Load(schema.Source{File: file, Command: "validate"})
				if err == nil || !strings.Contains(err.Error(), "must be") &&
					!strings.Contains(err.Error(), "expected ") {
					t.Errorf("%s %v is refused, %s: %v in a file says %v", f.Name, value, path, value, err)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d bounds", n)
	}
}

// wider reports whether a file takes what the flag does not: AIPerf's files have no
// recipes, take no cancellations as 0 percent, and ours take more trials.
func wider(path string, value float64) bool {
	return strings.HasPrefix(path, "sweep.recipe.") || path == "benchmark.phases.profiling.cancellation.rate" &&
		value == 0 || path == "multi_run.num_runs" && value == 11
}

// withValue is an experiment with a value at path.
func withValue(t *testing.T, path string, value float64) []byte {
	t.Helper()
	var doc map[string]any
	const base = `{"benchmark": {"model": "demo", "endpoint": {}, "datasets": [{"name": "main", "entries": 2}], "phases": [{"name": "warmup", "requests": 1}, {"name": "profiling", "requests": 2}]}}`
	if err := json.Unmarshal([]byte(base), &doc); err != nil {
		t.Fatal(err)
	}
	var at any = doc
	parts := strings.Split(path, ".")
	for i, part := range parts {
		switch x := at.(type) {
		case []any:
			j := slices.IndexFunc(x, func(m any) bool { return m.(map[string]any)["name"] == part })
			if j < 0 {
				j = len(x) - 1
			}
			at = x[j]
		case map[string]any:
			if i == len(parts)-1 {
				x[part] = value
				break
			}
			if x[part] == nil {
				x[part] = map[string]any{}
			}
			at = x[part]
		default:
			t.Fatal(fmt.Errorf("%s leads into %v", path, at))
		}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
