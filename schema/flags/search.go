package flags

import (
	"fmt"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// searchSpace reads what a search varies: path:lo,hi or path:lo,hi:int.
func searchSpace(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	var dims []any
	for _, w := range words {
		parts := strings.Split(w, ":")
		wrong := diag.New(fmt.Sprintf("expected path:lo,hi or path:lo,hi:int, got %q", source.Short(w)),
			"such as --search-space concurrency:1,64:int")
		if len(parts) < 2 || len(parts) > 3 {
			return nil, wrong
		}
		lo, hi, ok := strings.Cut(parts[1], ",")
		a, err1 := number(lo)
		b, err2 := number(hi)
		if !ok || err1 != nil || err2 != nil {
			return nil, wrong
		}
		dim := map[string]any{"path": strings.TrimSpace(parts[0]), "lo": a, "hi": b}
		if len(parts) == 3 {
			dim["kind"] = strings.TrimSpace(parts[2])
		}
		dims = append(dims, dim)
	}
	kind := fields.SweepTaking(strings.TrimPrefix(o.Path, "sweep."), false).Name
	return append(set(at, "sweep.type", kind), set(at, o.Path, dims)...), nil
}

// searchLimits reads the limits of a search: metric:stat:op:threshold.
func searchLimits(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	var limits []any
	for _, w := range words {
		limit, err := searchLimit(w)
		if err != nil {
			return nil, err
		}
		limits = append(limits, limit)
	}
	return set(at, o.Path, limits), nil
}

func searchLimit(w string) (map[string]any, error) {
	parts := strings.Split(strings.TrimSpace(w), ":")
	if len(parts) != 4 {
		return nil, diag.New(fmt.Sprintf("expected metric:stat:op:threshold, got %q", source.Short(w)),
			"such as time_to_first_token:p95:lt:250")
	}
	threshold, err := number(parts[3])
	if err != nil {
		return nil, diag.New(fmt.Sprintf("%q is not a number", source.Short(parts[3])), "")
	}
	return map[string]any{"metric_tag": parts[0], "stat": parts[1], "op": parts[2], "threshold": threshold}, nil
}

// searchTiers reads tiers, each LABEL:limit,limit or limit,limit.
func searchTiers(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	var tiers []any
	for i, w := range words {
		label, rest := fmt.Sprintf("tier_%d", i+1), w
		if first, _, _ := strings.Cut(w, ","); strings.Count(first, ":") == 4 {
			label, rest, _ = strings.Cut(w, ":")
		}
		var limits []any
		for part := range strings.SplitSeq(rest, ",") {
			limit, err := searchLimit(part)
			if err != nil {
				return nil, err
			}
			limits = append(limits, limit)
		}
		tiers = append(tiers, map[string]any{"label": strings.TrimSpace(label), "filters": limits})
	}
	return set(at, o.Path, tiers), nil
}

// number is a whole one where it is written so.
func number(s string) (any, error) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(s, 64)
}
