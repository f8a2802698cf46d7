package flags

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// inputFile sets path, type and, unless it is said, the format the first
// record has.
func inputFile(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	w, err := oneWord(words)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(w)
	if w == "-" {
		return nil, diag.New("standard input is not read", "name a file")
	}
	if err != nil {
		return nil, diag.New(w+": "+source.Reason(err), "")
	}
	out := append(set(at, fields.DatasetPath+".type", "file"), lower.Assignment{Path: o.Path, Value: w, Origin: at})
	if format := recordFormat(w, info); format != "" {
		at.Where, at.Source = "default: the first record of "+w, "default"
		out = append(out, lower.Assignment{Path: fields.DatasetPath + ".format", Value: format, Origin: at})
	}
	return out, nil
}

// recordFormat guesses the format of a file of records by the members of its
// first one.
func recordFormat(path string, info os.FileInfo) string {
	if info.IsDir() {
		return "random_pool"
	}
	first := FirstRecord(path)
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { _, ok := first[k]; return ok })
	}
	switch {
	case first == nil:
		return ""
	case has("turns"):
		return "multi_turn"
	case has("hash_ids", "input_length"):
		return "mooncake_trace"
	case has("text", "texts", "image", "images", "audio", "audios", "prompt"):
		return "single_turn" // with a timestamp too: a schedule of one's own
	case has("timestamp"):
		return "mooncake_trace"
	}
	return ""
}

// FirstRecord is the first line of a JSONL file, nil when there is none.
func FirstRecord(path string) map[string]any {
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
			return nil, diag.New(fmt.Sprintf("%q is not isl,osl:percent", source.Short(part)), "such as 64,32:50;128,64:50")
		}
		sum += source.NumberOf(fields.Coerce(m[5], false))
		out = append(out, map[string]any{"isl": MeanShape(m[1], m[2]), "osl": MeanShape(m[3], m[4]), "probability": fields.Coerce(m[5], false)})
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
	return nil, diag.New(fmt.Sprintf("%q is not one of %s", w, strings.Join(levels, ", ")), suggest.DidYouMean(w, levels))
}

func verbosity(at source.Origin, level string) []lower.Assignment {
	return append(set(at, "benchmark.logging.level", level), set(at, "benchmark.runtime.ui", "simple")...)
}

// CountRecords is the number of lines of a JSONL file that hold something.
func CountRecords(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	var n int64
	lines := bufio.NewReaderSize(f, 1<<16)
	for blank := true; ; {
		chunk, more, err := lines.ReadLine()
		if err != nil {
			return n
		}
		blank = blank && len(bytes.TrimSpace(chunk)) == 0
		if !more {
			if !blank {
				n++
			}
			blank = true
		}
	}
}
