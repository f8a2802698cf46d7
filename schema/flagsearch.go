package schema

import (
	"fmt"
	"strings"
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
		return nil, usage{"one cell alone is no sweep", "give the flag at least twice"}
	}
	return append(set(at, "sweep.type", "scenarios"), set(at, o.Path, runs)...), nil
}

func variantBody(text string) (map[string]any, error) {
	root := objectNode(Origin{})
	d := &Document{index: newIndex()}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usage{fmt.Sprintf("expected flag=value, got %q", strings.TrimSpace(part)), "such as --variant 'low: concurrency=1' --variant 'high: concurrency=8'"}
		}
		list, err := assignmentsOf(name, strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			if bad := d.apply(root, a); bad != nil {
				return nil, usage{bad[0].Message, bad[0].Hint}
			}
		}
	}
	if n := root.at("benchmark.phases.profiling.requests"); n != nil && root.at("benchmark.datasets.main.entries") == nil {
		_ = d.apply(root, Assignment{Path: datasetPath + ".entries", Value: n.value}) // as --request-count does
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
		if contains(o.Names, strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")) {
			return o.Parse(name, []string{value})
		}
	}
	path := Canonical(name)
	if hint, ok := newIndex().knownPath(path); !ok {
		return nil, usage{"unknown field " + name, hint}
	}
	return []Assignment{{Path: path, Value: coerce(value, false)}}, nil
}

// searchSpace reads ranges: path:lo,hi or path:lo,hi:int, with :log.
func searchSpace(o Option, at Origin, words []string) ([]Assignment, error) {
	var out []any
	for _, w := range words {
		parts := strings.Split(w, ":")
		if len(parts) < 2 {
			return nil, usage{fmt.Sprintf("expected path:lo,hi, got %q", short(w)), "such as concurrency:1,64:int"}
		}
		lo, hi, ok := strings.Cut(parts[1], ",")
		if !ok {
			return nil, usage{fmt.Sprintf("expected path:lo,hi, got %q", short(w)), "such as concurrency:1,64:int"}
		}
		dim := map[string]any{"path": strings.TrimPrefix(Canonical(parts[0]), "benchmark."), "lo": coerce(lo, false), "hi": coerce(hi, false)}
		for _, p := range parts[2:] {
			switch fold(p) {
			case "int", "real":
				dim["kind"] = fold(p)
			case "log", "log_uniform":
				dim["prior"] = "log-uniform"
			default:
				return nil, usage{fmt.Sprintf("%q is not one of int, real, log", p), ""}
			}
		}
		out = append(out, dim)
	}
	return append(set(at, "sweep.type", "adaptive_search"), set(at, o.Path, out)...), nil
}

// objective sets one member of the only objective that flags can name.
func objective(member string) flagAction {
	return func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		return set(at, o.Path+".0."+member, w), err
	}
}

// slaFilters reads metric:stat:op:threshold.
func slaFilters(words []string) ([]any, error) {
	var out []any
	for _, w := range words {
		parts := strings.Split(w, ":")
		if len(parts) != 4 {
			return nil, usage{fmt.Sprintf("expected metric:stat:op:threshold, got %q", short(w)), "such as time_to_first_token:p95:lt:200"}
		}
		out = append(out, map[string]any{"metric_tag": parts[0], "stat": parts[1], "op": parts[2], "threshold": coerce(parts[3], false)})
	}
	return out, nil
}

// slaTiers reads name=filter,filter.
func slaTiers(o Option, at Origin, words []string) ([]Assignment, error) {
	var out []any
	for i, w := range words {
		name, rest, ok := strings.Cut(w, "=")
		if !ok {
			return nil, usage{fmt.Sprintf("expected name=metric:stat:op:threshold,…, got %q", short(w)), ""}
		}
		filters, err := slaFilters(strings.Split(rest, ","))
		if err != nil {
			return nil, err
		}
		out = append(out, map[string]any{"label": name, "filters": filters, "ordering_rank": int64(i)})
	}
	return set(at, o.Path, out), nil
}
