package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// baseLabel is that of a cell whose files do not tell it apart.
const baseLabel = "base"

// set notes what was asked; nothing where the file does not say.
func (r *Run) set(name, value string) {
	if value != "" {
		r.Settings = append(r.Settings, Setting{name, value})
	}
}

// Setting is what was asked; "" where the file does not say.
func (r *Run) Setting(name string) string {
	for _, s := range r.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// load notes the load as vLLM and SGLang say it: how many at once, and a rate, of requests per second, that is
// "inf" for none. The cell is called after it.
func (r *Run) load(concurrency, rate, burstiness any) {
	c, perSecond := number64(concurrency), number64(rate)
	if math.IsInf(asFloat(rate), 1) {
		perSecond = ""
	}
	var label []string
	if c != "" {
		label = append(label, "concurrency_"+c)
	}
	r.set("phases.0.concurrency", c)
	if perSecond != "" {
		r.Closed = false
		label = append(label, "request_rate_"+perSecond)
		r.set("phases.0.rate", perSecond)
		switch b := number64(burstiness); b {
		case "":
		case "1":
			r.set("phases.0.type", "poisson")
		default:
			r.set("phases.0.type", "gamma")
			r.set("phases.0.smoothness", b)
		}
	} else if c == "" {
		r.Closed = false
		label = append(label, "all_at_once")
	}
	r.Label = cmp.Or(strings.Join(label, "__"), baseLabel)
}

// failsWithout says that a run without a success counts for nothing.
func (r *Run) failsWithout() {
	if r.OK == 0 {
		r.Err = "no request succeeded"
	}
}

// chatOrCompletions is the endpoint type of a path.
func chatOrCompletions(path string) string {
	switch {
	case strings.Contains(path, "chat"):
		return "chat"
	case strings.Contains(path, "completions"):
		return "completions"
	}
	return ""
}

func secondsSince1970(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }

// number64 is a number as settings are written: 4, 0.5; "" for none.
func number64(v any) string {
	f := asFloat(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// asFloat is a number, or one in words; NaN for anything else.
func asFloat(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case json.Number:
		if f, err := x.Float64(); err == nil {
			return f
		}
	case string:
		if f, err := strconv.ParseFloat(x, 64); err == nil {
			return f
		}
	}
	return math.NaN()
}

// whole is a count, 0 for none.
func whole(v any) int64 {
	if f := asFloat(v); f > 0 && f < math.MaxInt64 {
		return int64(f)
	}
	return 0
}

// Whole is a count as settings write it, 0 for none.
func Whole(s string) int64 { return whole(s) }

// words are a string, "" for anything else.
func words(v any) string {
	s, _ := v.(string)
	return s
}

// at is the i-th number, NaN where there is none.
func at(list []float64, i int) float64 {
	if i < len(list) {
		return list[i]
	}
	return math.NaN()
}

// perToken is the time for each token after the first; NaN below two.
func perToken(ms, tokens float64) float64 {
	if !(tokens > 1) {
		return math.NaN()
	}
	return ms / (tokens - 1)
}

// lastLine is what a traceback ends with.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// idOf is a short name of what a text says.
func idOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
