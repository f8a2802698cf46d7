package flags

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// inputFile sets path and type; what the file holds is looked at when the
// experiment is put together.
func inputFile(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	w, err := oneWord(words)
	if err != nil {
		return nil, err
	}
	if w == "-" {
		return nil, diag.New("standard input is not read", "name a file")
	}
	if _, err := os.Stat(w); err != nil {
		return nil, diag.New(w+": "+source.Reason(err), "")
	}
	return append(set(at, fields.DatasetPath+".type", fields.DatasetTypeTaking("path").Name), set(at, o.Path, w)...),
		nil
}

// rateSeries reads the knots of a piecewise rate from a JSON file.
func rateSeries(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	w, err := oneWord(words)
	if err != nil {
		return nil, err
	}
	v, bad := lower.SeriesFile(w)
	if bad != nil {
		return nil, bad
	}
	return set(at, o.Path, v), nil
}

var sequencePair = regexp.MustCompile(`^\(?\s*([\d.]+)(?:\|([\d.]+))?\s*,\s*([\d.]+)(?:\|([\d.]+))?\s*\)?\s*:\s*([\d.]+)$`)

// sequenceDistribution reads "64|8,32|4:60;512,128:40" and the same in
// brackets: isl|stddev, osl|stddev : percent.
func sequenceDistribution(s string) (any, error) {
	t := strings.TrimSpace(s)
	if strings.HasPrefix(t, "{") {
		v, err := source.JsonValue(t)
		if m, ok := v.(map[string]any); ok && err == nil && m["pairs"] != nil {
			return sequencePairs(m["pairs"])
		}
		return nil, diag.New(source.Short(s)+" is not a mixture such as 64,32:50;128,64:50", "")
	}
	if strings.HasPrefix(t, "[") {
		t = strings.ReplaceAll(strings.Trim(t, "[] "), "),", ");")
		t = regexp.MustCompile(`(\d)\s*,\s*\(`).ReplaceAllString(t, "$1;(")
	}
	var out []any
	sum := 0.0
	for part := range strings.SplitSeq(t, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		m := sequencePair.FindStringSubmatch(part)
		if m == nil {
			return nil, diag.New(fmt.Sprintf("%q is not isl,osl:percent", source.Short(part)),
				"such as 64,32:50;128,64:50")
		}
		sum += source.NumberOf(fields.Coerce(m[5], false))
		out = append(out, map[string]any{
			"isl": MeanShape(m[1], m[2]), "osl": MeanShape(m[3], m[4]),
			"probability": fields.Coerce(m[5], false),
		})
	}
	if math.Abs(sum-100) > 0.1 {
		return nil, diag.New(fmt.Sprintf("the shares make %g percent, not 100", sum), "")
	}
	return out, nil
}

// sequencePairs reads the JSON form: {"pairs": [{isl, osl, prob}, …]}.
func sequencePairs(v any) (any, error) {
	list, _ := v.([]any)
	var out []any
	for _, it := range list {
		m, ok := it.(map[string]any)
		if !ok {
			return nil, diag.New("pairs must hold objects with isl, osl and prob", "")
		}
		word := func(k string) string {
			if x, ok := m[k]; ok {
				return fmt.Sprint(x)
			}
			return ""
		}
		out = append(out, map[string]any{
			"isl": MeanShape(word("isl"), word("isl_stddev")), "osl": MeanShape(word("osl"), word("osl_stddev")),
			"probability": fields.Coerce(word("prob"), false),
		})
	}
	return out, nil
}

func MeanShape(mean, stddev string) map[string]any {
	if stddev == "" {
		stddev = "0"
	}
	return map[string]any{"mean": fields.Coerce(mean, false), "stddev": fields.Coerce(stddev, false)}
}

// exportLevel: summary writes no records, raw adds request and response.
func exportLevel(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	w, err := oneWord(words)
	if err != nil {
		return nil, err
	}
	levels := []string{"summary", "records", "raw"}
	switch suggest.Fold(w) {
	case "summary":
		return set(at, "benchmark.artifacts.records", false), nil
	case "records":
		return set(at, "benchmark.artifacts.records", []any{"jsonl"}), nil
	case "raw":
		return set(at, "benchmark.artifacts.raw", true), nil
	}
	return nil, diag.New(fmt.Sprintf("%q is not one of %s", w, strings.Join(levels, ", ")),
		suggest.DidYouMean(w, levels))
}

func verbosity(at source.Origin, level string) []lower.Assignment {
	return append(set(at, "benchmark.logging.level", level), set(at, "benchmark.runtime.ui", "simple")...)
}
