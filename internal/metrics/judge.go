package metrics

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
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
			return nil, diag.Errorf("slos: unknown metric %q", tag).Try(didYouMean(tag))
		case !m.PerRequest():
			return nil, diag.Errorf("slos: %s has no value per request, so no request can be judged by it", tag).Try("use it in gates")
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

// spoken is the metric that people call word, nil for none.
func spoken(word string) *Metric {
	for i := range catalogue {
		if slices.Contains(catalogue[i].Spoken, strings.ToLower(word)) {
			return &catalogue[i]
		}
	}
	return nil
}

// Short tells whether word is a common short form of a tag.
func Short(word string) bool { return spoken(word) != nil }

// Suggest is the tag a user probably meant, "" when none is near. It knows
// the common short forms.
func Suggest(tag string) string {
	if m := spoken(tag); m != nil {
		return m.Tag
	}
	return suggest.Nearest(tag, Tags())
}

func didYouMean(tag string) string {
	if s := Suggest(tag); s != "" {
		return "did you mean " + s + "?"
	}
	return "docs/metrics.md lists them"
}
