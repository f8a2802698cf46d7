package flags

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// variants reads named cells: "name: flag=value, flag=value". A flag may be
// spelled as on the command line or as a path.
func variants(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
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
		return nil, diag.New("a sweep needs at least two variants", "give the flag at least twice")
	}
	return append(set(at, "sweep.type", fields.SweepTaking("runs", false).Name), set(at, o.Path, runs)...), nil
}

func variantBody(text string) (map[string]any, error) {
	root := source.ObjectNode(source.Origin{})
	x := fields.New()
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, diag.New(fmt.Sprintf("expected flag=value, got %q", strings.TrimSpace(part)),
				"such as --variant 'low: concurrency=1' --variant 'high: concurrency=8'")
		}
		list, err := assignmentsOf(name, strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			if bad := lower.Lay(x, root, a); bad != nil {
				return nil, diag.New(bad[0].Message, bad[0].Hint)
			}
		}
	}
	if n := root.At("benchmark.phases.profiling.requests"); n != nil &&
		root.At("benchmark.datasets.main.entries") == nil {
		// as --request-count does
		_ = lower.Lay(x, root, lower.Assignment{Path: fields.DatasetPath + ".entries", Value: n})
	}
	if p := root.At("benchmark.phases.profiling"); p != nil {
		p.Pop("kind") // laid over the phase, which has one
	}
	body, _ := root.Get("benchmark").Plain().(map[string]any)
	return body, nil
}

// assignmentsOf reads flag=value inside a variant.
func assignmentsOf(name, value string) ([]lower.Assignment, error) {
	for _, o := range Options() {
		if slices.Contains(o.Names, strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")) {
			return o.Parse(name, []string{value})
		}
	}
	path := fields.Canonical(name)
	if hint, ok := fields.New().KnownPath(path); !ok {
		return nil, diag.New("unknown field "+name, hint)
	}
	return set(source.Origin{}, path, fields.Coerce(value, false)), nil
}
