package schema

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
)

// variants reads named cells: "name: flag=value, flag=value". A flag may be
// spelled as on the command line or as a path.
func variants(o Option, at Origin, words []string) ([]Assignment, error) {
	var runs []any
	for i, w := range words {
		name, rest, ok := strings.Cut(w, ":")
		if !ok || strings.Contains(name, "=") {
			name, rest = fmt.Sprintf("scenario_%d", i), w
		}
		body, err := variantBody(rest)
		if err != nil {
			return nil, err
		}
		runs = append(runs, map[string]any{"name": strings.TrimSpace(name), "benchmark": body})
	}
	if len(runs) < 2 {
		return nil, diag.New("one cell alone is no sweep", "give the flag at least twice")
	}
	return append(set(at, "sweep.type", "scenarios"), set(at, o.Path, runs)...), nil
}

func variantBody(text string) (map[string]any, error) {
	root := objectNode(Origin{})
	y := layer{index: newIndex()}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, diag.New(fmt.Sprintf("expected flag=value, got %q", strings.TrimSpace(part)), "such as --variant 'low: concurrency=1' --variant 'high: concurrency=8'")
		}
		list, err := assignmentsOf(name, strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			if bad := y.lay(root, a); bad != nil {
				return nil, diag.New(bad[0].Message, bad[0].Hint)
			}
		}
	}
	if n := root.at("benchmark.phases.profiling.requests"); n != nil && root.at("benchmark.datasets.main.entries") == nil {
		_ = y.lay(root, Assignment{Path: datasetPath + ".entries", Value: n.value}) // as --request-count does
	}
	if p := root.at("benchmark.phases.profiling"); p != nil {
		p.take("kind") // laid over the phase, which has one
	}
	body, _ := root.get("benchmark").plain().(map[string]any)
	return body, nil
}

// assignmentsOf reads flag=value inside a variant.
func assignmentsOf(name, value string) ([]Assignment, error) {
	for _, o := range Options() {
		if slices.Contains(o.Names, strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")) {
			return o.Parse(name, []string{value})
		}
	}
	path := Canonical(name)
	if hint, ok := newIndex().knownPath(path); !ok {
		return nil, diag.New("unknown field "+name, hint)
	}
	return []Assignment{{Path: path, Value: coerce(value, false)}}, nil
}
