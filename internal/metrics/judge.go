package metrics

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/suggest"
)

// limit is one SLO: a metric and the value it must keep.
type limit struct {
	tag    string
	metric *Metric // nil for an unknown tag, which no request can meet
	value  float64
}

type judge []limit

// Judge makes the judge of a set of SLOs, tag → limit in display units. The
// judge returns the first missed tag in alphabetical order, "" when all held.
// A metric that is better when larger must be ≥ its limit, others ≤. A request
// that failed, or has no value, misses.
func Judge(slos map[string]float64) (func(*record.Record) string, error) {
	for _, tag := range slices.Sorted(maps.Keys(slos)) {
		m, ok := Lookup(tag)
		switch {
		case !ok:
			return nil, fmt.Errorf("slos: unknown metric %q%s", tag, didYouMean(tag))
		case !m.PerRequest():
			return nil, fmt.Errorf("slos: %s has no value per request, so no request can be judged by it; hint: use it in gates", tag)
		case math.IsNaN(slos[tag]) || math.IsInf(slos[tag], 0):
			return nil, fmt.Errorf("slos: %s: limit %v is not a number", tag, slos[tag])
		}
	}
	return newJudge(slos).missed, nil
}

func newJudge(slos map[string]float64) judge {
	var j judge
	for _, tag := range slices.Sorted(maps.Keys(slos)) {
		m, _ := Lookup(tag)
		j = append(j, limit{tag, m, slos[tag]})
	}
	return j
}

func (j judge) missed(r *record.Record) string {
	for _, l := range j {
		if r.Failed() || !l.holds(r) {
			return l.tag
		}
	}
	return ""
}

// holds is false for NaN.
func (l limit) holds(r *record.Record) bool {
	if l.metric == nil || !l.metric.PerRequest() {
		return false
	}
	v := l.metric.Record(r)
	if l.metric.LargerIsBetter {
		return v >= l.value
	}
	return v <= l.value
}

// short are the common short forms.
var short = map[string]string{
	"ttft": "time_to_first_token", "ttst": "time_to_second_token", "ttfo": "time_to_first_output_token",
	"itl": "inter_token_latency", "tpot": "inter_token_latency", "icl": "inter_chunk_latency",
	"e2e": "request_latency", "e2el": "request_latency", "latency": "request_latency",
	"osl": "output_sequence_length", "isl": "input_sequence_length",
	"tps": "output_token_throughput", "rps": "request_throughput", "throughput": "request_throughput",
}

// Short tells whether word is a common short form of a tag.
func Short(word string) bool { return short[strings.ToLower(word)] != "" }

// Suggest is the tag a user probably meant, "" when none is near. It knows
// the common short forms.
func Suggest(tag string) string {
	if t, ok := short[strings.ToLower(tag)]; ok {
		return t
	}
	return suggest.Nearest(tag, Tags())
}

func didYouMean(tag string) string {
	if s := Suggest(tag); s != "" {
		return fmt.Sprintf("; did you mean %q?", s)
	}
	return "; hint: docs/metrics.md lists them"
}
