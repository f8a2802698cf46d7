package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// flagAction is what a flag does that means more than "set a path": the
// schema names it with do=.
type flagAction func(o Option, at Origin, words []string) ([]Assignment, error)

// action is the row called name, nil for "".
func action(name string) flagAction {
	for _, a := range flagActions {
		if a.name == name && name != "" {
			return a.do
		}
	}
	return nil
}

// usage is a mistake in a flag with a hint.
type usage struct{ message, hint string }

func (u usage) Error() string { return u.message }

func hintOf(err error) string {
	var u usage
	if errors.As(err, &u) {
		return u.hint
	}
	return ""
}

const (
	phasePath   = "benchmark.phases.profiling"
	datasetPath = "benchmark.datasets.main"
)

// flagActions are the flags that need Go, by the name the schema gives them.
var flagActions = []struct {
	name string
	do   flagAction
}{
	{"models", func(o Option, at Origin, words []string) ([]Assignment, error) {
		items := []any{}
		for _, name := range splitWords(words, ",") {
			items = append(items, map[string]any{"name": name})
		}
		if len(items) == 0 {
			return nil, usage{"expected the name of a model", ""}
		}
		return set(at, "benchmark.models.items", items), nil
	}},
	{"header", func(o Option, at Origin, words []string) ([]Assignment, error) {
		headers := map[string]any{}
		for _, w := range words {
			name, value, ok := strings.Cut(w, ":")
			if name = strings.TrimSpace(name); !ok || name == "" {
				return nil, usage{fmt.Sprintf("expected Name:Value, got %q", short(w)), ""}
			}
			headers[name] = strings.TrimSpace(value)
		}
		return set(at, o.Path, headers), nil
	}},
	{"extra", func(o Option, at Origin, words []string) ([]Assignment, error) {
		m, err := pairs(words, ":", true)
		return set(at, o.Path, m), err
	}},
	{"pairs", func(o Option, at Origin, words []string) ([]Assignment, error) {
		m, err := pairs(words, ":", false)
		return set(at, o.Path, m), err
	}},
	{"equals", func(o Option, at Origin, words []string) ([]Assignment, error) {
		m, err := pairs(words, "=", false)
		return set(at, o.Path, m), err
	}},
	{"goodput", func(o Option, at Origin, words []string) ([]Assignment, error) {
		m, err := pairs(splitWords(words, " "), ":", false)
		if err != nil {
			return nil, err
		}
		for k, v := range m {
			m[k] = coerce(fmt.Sprint(v), false)
		}
		return set(at, o.Path, m), nil
	}},
	{"input-file", inputFile},
	{"public-dataset", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		return append(set(at, datasetPath+".type", "public"), Assignment{Path: datasetPath + ".dataset", Value: w, Origin: at}), err
	}},
	{"hf-weka-dataset", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		return append(append(set(at, datasetPath+".type", "public"), set(at, datasetPath+".dataset", "weka_hf")...), Assignment{Path: o.Path, Value: w, Origin: at}), err
	}},
	{"fixed-schedule", func(o Option, at Origin, words []string) ([]Assignment, error) {
		return set(at, phasePath+".type", "fixed_schedule"), nil
	}},
	{"no-fixed-schedule", func(o Option, at Origin, words []string) ([]Assignment, error) {
		return set(at, phasePath+".type", "concurrency"), nil
	}},
	{"fixed-schedule-start-offset", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		return append(set(at, phasePath+".auto_offset", false), Assignment{Path: o.Path, Value: o.value(w), Origin: at}), err
	}},
	{"user-centric-rate", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		return append(set(at, phasePath+".type", "user_centric"), Assignment{Path: phasePath + ".rate", Value: coerce(w, false), Origin: at}), err
	}},
	{"arrival-pattern", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		if fold(w) == "concurrency_burst" {
			w = "concurrency"
		}
		return set(at, o.Path, w), err
	}},
	{"arrival-smoothness", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		return set(at, o.Path, o.value(w)), err
	}},
	{"request-rate-series", rateSeries},
	{"sequence-distribution", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		if err != nil {
			return nil, err
		}
		list, err := sequenceDistribution(w)
		return set(at, o.Path, list), err
	}},
	{"random-seed", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		return append(set(at, "random_seed", o.value(w)), set(at, datasetPath+".random_seed", o.value(w))...), err
	}},
	{"export-level", exportLevel},
	{"gpu-telemetry", gpuTelemetry},
	{"server-metrics", func(o Option, at Origin, words []string) ([]Assignment, error) {
		urls := []any{}
		for _, w := range splitWords(words, ",") {
			if strings.Contains(w, "://") || strings.Contains(w, ":") {
				urls = append(urls, metricsURL(w))
			}
		}
		return append(set(at, "benchmark.server_metrics.enabled", true), set(at, "benchmark.server_metrics.urls", urls)...), nil
	}},
	{"disable", func(o Option, at Origin, words []string) ([]Assignment, error) { return set(at, o.Path, false), nil }},
	{"verbose", func(o Option, at Origin, words []string) ([]Assignment, error) { return verbosity(at, "DEBUG"), nil }},
	{"extra-verbose", func(o Option, at Origin, words []string) ([]Assignment, error) {
		return verbosity(at, "TRACE"), nil
	}},
	{"network-latency-mean", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		return append(set(at, "benchmark.network_latency.enabled", true), Assignment{Path: o.Path, Value: o.value(w), Origin: at}), err
	}},
	{"otel-url", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		if !strings.Contains(w, "://") {
			w = "http://" + w
		}
		if !strings.HasSuffix(w, "/v1/metrics") {
			w = strings.TrimRight(w, "/") + "/v1/metrics"
		}
		return set(at, o.Path, w), err
	}},
	{"stream", func(o Option, at Origin, words []string) ([]Assignment, error) {
		var out []Assignment
		kinds := splitWords(words, ",")
		for _, k := range []string{"metrics", "timing"} {
			out = append(out, set(at, "benchmark.otel.stream_"+k+"_enabled", slices.Contains(kinds, k))...)
		}
		for _, k := range kinds {
			if k != "metrics" && k != "timing" {
				return nil, usage{fmt.Sprintf("%q is not one of metrics, timing", k), didYouMean(k, []string{"metrics", "timing"})}
			}
		}
		return out, nil
	}},
	{"empty-object", func(o Option, at Origin, words []string) ([]Assignment, error) {
		return set(at, o.Path, map[string]any{}), nil
	}},
	{"kilohertz", func(o Option, at Origin, words []string) ([]Assignment, error) {
		w, err := oneWord(words)
		v := o.value(w)
		if hz := numberOf(v); hz >= 1000 {
			v = hz / 1000
		}
		return set(at, o.Path, v), err
	}},
}

func set(at Origin, path string, v any) []Assignment {
	return []Assignment{{Path: path, Value: v, Origin: at}}
}

func oneWord(words []string) (string, error) {
	if len(words) != 1 {
		return "", usage{fmt.Sprintf("takes one value, got %d", len(words)), ""}
	}
	return words[0], nil
}

func splitWords(words []string, sep string) []string {
	var out []string
	for _, w := range words {
		for p := range strings.SplitSeq(w, sep) {
			if p = strings.TrimSpace(p); p != "" {
				out = append(out, p)
			}
		}
	}
	return out
}

// pairs reads key:value words, and JSON objects; with typed, values become
// numbers, booleans, lists and objects where they read so.
func pairs(words []string, sep string, typed bool) (map[string]any, error) {
	m := map[string]any{}
	for _, w := range words {
		if strings.HasPrefix(strings.TrimSpace(w), "{") {
			v, err := jsonValue(w)
			object, ok := v.(map[string]any)
			if err != nil || !ok {
				return nil, usage{fmt.Sprintf("%s is not a JSON object", short(w)), ""}
			}
			for k, x := range object {
				m[k] = x
			}
			continue
		}
		key, value, ok := strings.Cut(w, sep)
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, usage{fmt.Sprintf("expected key%svalue, got %q", sep, short(w)), ""}
		}
		m[key] = strings.TrimSpace(value)
		if typed {
			m[key] = typedValue(strings.TrimSpace(value))
		}
	}
	return m, nil
}

func typedValue(s string) any {
	if strings.HasPrefix(s, "[") || strings.HasPrefix(s, "{") || s == "null" {
		if v, err := jsonValue(s); err == nil {
			return v
		}
	}
	return coerce(s, false)
}

// jsonValue is JSON as plain data, whole numbers whole.
func jsonValue(s string) (any, error) {
	var v any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("more than one value")
	}
	return settleJSON(v), nil
}

func settleJSON(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for k, x := range v {
			v[k] = settleJSON(x)
		}
	case []any:
		for i, x := range v {
			v[i] = settleJSON(x)
		}
	}
	return v
}

// inputFile sets path, type and, unless it is said, the format the first
// record has.
func inputFile(o Option, at Origin, words []string) ([]Assignment, error) {
	w, err := oneWord(words)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(w)
	if err != nil {
		return nil, usage{w + ": " + reason(err), ""}
	}
	out := append(set(at, datasetPath+".type", "file"), Assignment{Path: o.Path, Value: w, Origin: at})
	if format := recordFormat(w, info); format != "" {
		at.Where, at.Source = "default: the first record of "+w, "default"
		out = append(out, Assignment{Path: datasetPath + ".format", Value: format, Origin: at})
	}
	return out, nil
}

// recordFormat guesses the format of a file of records by the members of its
// first one.
func recordFormat(path string, info os.FileInfo) string {
	if info.IsDir() {
		return "random_pool"
	}
	first := firstRecord(path)
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { _, ok := first[k]; return ok })
	}
	switch {
	case first == nil:
		return ""
	case has("turns"):
		return "multi_turn"
	case has("hash_ids", "input_length", "timestamp"):
		return "mooncake_trace"
	case has("text", "texts", "image", "images", "audio", "audios", "prompt"):
		return "single_turn"
	}
	return ""
}

// firstRecord is the first line of a JSONL file, nil when there is none.
func firstRecord(path string) map[string]any {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var first map[string]any
	if json.NewDecoder(&limited{f, 1 << 20}).Decode(&first) != nil {
		return nil
	}
	return first
}

// limited stops reading a file that does not get to the end of its first
// record.
type limited struct {
	f    *os.File
	left int
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the first record is too long")
	}
	n, err := l.f.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}

// rateSeries reads the knots of a piecewise rate from a JSON file.
func rateSeries(o Option, at Origin, words []string) ([]Assignment, error) {
	w, err := oneWord(words)
	if err != nil {
		return nil, err
	}
	text, bad := readFile(w)
	if bad != nil {
		return nil, usage{bad[0].Error(), ""}
	}
	v, err := jsonValue(string(text))
	if err != nil {
		return nil, usage{w + ": not JSON: " + err.Error(), ""}
	}
	if list, ok := v.([]any); ok {
		v = map[string]any{"points": list}
	}
	return set(at, o.Path, v), nil
}

var sequencePair = regexp.MustCompile(`^\(?\s*([\d.]+)(?:\|([\d.]+))?\s*,\s*([\d.]+)(?:\|([\d.]+))?\s*\)?\s*:\s*([\d.]+)$`)

// sequenceDistribution reads "64|8,32|4:60;512,128:40" and the same in
// brackets: isl|stddev, osl|stddev : percent.
func sequenceDistribution(s string) (any, error) {
	t := strings.TrimSpace(s)
	if strings.HasPrefix(t, "{") {
		v, err := jsonValue(t)
		if m, ok := v.(map[string]any); ok && err == nil && m["pairs"] != nil {
			return sequencePairs(m["pairs"])
		}
		return nil, usage{short(s) + " is not a mixture such as 64,32:50;128,64:50", ""}
	}
	if strings.HasPrefix(t, "[") {
		t = strings.ReplaceAll(strings.Trim(t, "[] "), "),", ");")
		t = regexp.MustCompile(`(\d)\s*,\s*\(`).ReplaceAllString(t, "$1;(")
	}
	var out []any
	for part := range strings.SplitSeq(t, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		m := sequencePair.FindStringSubmatch(part)
		if m == nil {
			return nil, usage{fmt.Sprintf("%q is not isl,osl:percent", short(part)), "such as 64,32:50;128,64:50"}
		}
		out = append(out, map[string]any{"isl": meanShape(m[1], m[2]), "osl": meanShape(m[3], m[4]), "probability": coerce(m[5], false)})
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
			return nil, usage{"pairs must hold objects with isl, osl and prob", ""}
		}
		word := func(k string) string {
			if x, ok := m[k]; ok {
				return fmt.Sprint(x)
			}
			return ""
		}
		out = append(out, map[string]any{
			"isl": meanShape(word("isl"), word("isl_stddev")), "osl": meanShape(word("osl"), word("osl_stddev")),
			"probability": coerce(word("prob"), false),
		})
	}
	return out, nil
}

func meanShape(mean, stddev string) map[string]any {
	if stddev == "" {
		stddev = "0"
	}
	return map[string]any{"mean": coerce(mean, false), "stddev": coerce(stddev, false)}
}

// exportLevel: summary writes no records, raw adds request and response.
func exportLevel(o Option, at Origin, words []string) ([]Assignment, error) {
	w, err := oneWord(words)
	if err != nil {
		return nil, err
	}
	levels := []string{"summary", "records", "raw"}
	switch fold(w) {
	case "summary":
		return set(at, "benchmark.artifacts.records", false), nil
	case "records":
		return set(at, "benchmark.artifacts.records", []any{"jsonl"}), nil
	case "raw":
		return set(at, "benchmark.artifacts.raw", true), nil
	}
	return nil, usage{fmt.Sprintf("%q is not one of %s", w, strings.Join(levels, ", ")), didYouMean(w, levels)}
}

// gpuTelemetry reads what the peer's flag mixes: dashboard, a collector, a
// file of metrics, addresses.
func gpuTelemetry(o Option, at Origin, words []string) ([]Assignment, error) {
	out := set(at, "benchmark.gpu_telemetry.enabled", true)
	urls := []any{}
	for _, w := range splitWords(words, ",") {
		switch {
		case w == "dashboard":
			out = append(out, set(at, "benchmark.gpu_telemetry.mode", "realtime_dashboard")...)
		case w == "pynvml" || w == "dcgm" || w == "nvml":
			out = append(out, set(at, "benchmark.gpu_telemetry.collector", w)...)
		case strings.HasSuffix(w, ".csv"):
			if _, err := os.Stat(w); err != nil {
				return nil, usage{w + ": " + reason(err), ""}
			}
			out = append(out, set(at, "benchmark.gpu_telemetry.metrics_file", w)...)
		default:
			urls = append(urls, metricsURL(w))
		}
	}
	if len(urls) > 0 {
		out = append(out, set(at, "benchmark.gpu_telemetry.urls", urls)...)
	}
	return out, nil
}

// metricsURL completes the address of a page of metrics.
func metricsURL(s string) string {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	if !strings.HasSuffix(strings.TrimRight(s, "/"), "/metrics") {
		s = strings.TrimRight(s, "/") + "/metrics"
	}
	return s
}

func verbosity(at Origin, level string) []Assignment {
	return append(set(at, "benchmark.logging.level", level), set(at, "benchmark.runtime.ui", "simple")...)
}
