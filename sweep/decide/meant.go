package decide

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
)

// statWords are what other tools and people call statistics.
var statWords = map[string]string{"mean": "avg", "average": "avg", "median": "p50", "minimum": "min", "maximum": "max"}

// meant is the metric, with its statistic, that was probably meant by an unknown name such as
// ttft_p99, p99_ttft or errors; "" where none is near.
func meant(name string, known []string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '.' || r == '-' })
	stat := ""
	for _, i := range []int{len(parts) - 1, 0} { // at its end, or first
		if i < 0 || i >= len(parts) || len(parts) == 1 {
			continue
		}
		word := parts[i]
		if w, ok := statWords[word]; ok {
			word = w
		}
		if slices.Contains(metrics.StatNames(), word) {
			stat, parts = word, slices.Delete(slices.Clone(parts), i, i+1)
			break
		}
	}
	tag := metrics.Suggest(strings.Join(parts, "_"))
	if tag == "" || !slices.Contains(known, tag) {
		tag = schema.Suggest(strings.Join(parts, "_"), known)
	}
	switch _, scalar := alone(tag); {
	case tag == "":
		return ""
	case scalar:
		return tag
	case stat == "":
		stat = usual(tag)
	case !slices.Contains(statsOfTag(tag), stat):
		return tag
	}
	return tag + "." + stat
}
