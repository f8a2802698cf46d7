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
// judge returns the first missed tag in alphabetical order, "" when all held: by
// the clock of the request's load mode, and from sending. In an open loop and in a
// replay that clock begins when the request was due, since a queue in front of the
// server is the user's wait, too; in a closed loop when it was sent.
// A metric that is better when larger must be ≥ its limit, others ≤. A request
// that failed, was never sent, or has no value, misses. One that was cut off has
// missed a limit of time when it is that old, and else nobody knows. A limit of answers
// is about questions with known answers alone.
func Judge(slos map[string]float64) (func(*record.Record) (clock, sent string), error) {
	for _, tag := range slices.Sorted(maps.Keys(slos)) {
		m, ok := Lookup(tag)
		switch {
		case !ok:
			return nil, diag.Errorf("slos: unknown metric %q", tag).Try(didYouMean(tag))
		case !m.PerRequest():
			return nil, diag.Errorf("slos: %s has no value per request, so no request can be judged by it",
				tag).Try("use it in gates")
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

// of is missed, or what the record says itself where there is no SLO to judge it
// afresh; judged tells whether it has any.
func (j judge) of(r *record.Record) (judged bool, clock, sent string) {
	if len(j) == 0 {
		return r.SLOSet, r.SLOFailed, r.SLOFailedSent
	}
	clock, sent = j.missed(r)
	return true, clock, sent
}

// missed are the first limits that r missed: by the clock of its load mode, and
// from sending.
func (j judge) missed(r *record.Record) (clock, sent string) {
	sent = j.first(r, false)
	if !r.Open {
		return sent, sent
	}
	return j.first(r, true), sent
}

// first is the first limit that r missed, from when it was due or from sending.
func (j judge) first(r *record.Record, due bool) string {
	for _, l := range j {
		switch part := r.Part(); {
		case r.Item == "" && l.metric != nil && l.metric.Needs&Answers != 0: // it asks nothing
		case part == record.InCut && !l.outlasted(r, due):
		case part == record.InOK && l.holds(r, due):
		default:
			return l.tag
		}
	}
	return ""
}

// of is the value of r that the limit is about, from when it was due or from sending.
func (l limit) of(r *record.Record, due bool) float64 {
	if due && l.metric.Due != nil {
		return l.metric.Due(r)
	}
	return l.metric.Record(r)
}

// holds is false for NaN.
func (l limit) holds(r *record.Record, due bool) bool {
	if l.metric == nil || !l.metric.PerRequest() {
		return false
	}
	v := l.of(r, due)
	if l.metric.LargerIsBetter {
		return v >= l.value
	}
	return v <= l.value
}

// outlasted tells whether r, which was cut off, had missed the limit already. The
// first token of some had come by then.
func (l limit) outlasted(r *record.Record, due bool) bool {
	if l.metric == nil || l.metric.Unit != "ms" || l.metric.Due == nil {
		return false
	}
	if v := l.of(r, due); l.tag != RequestLatency && !math.IsNaN(v) {
		return v > l.value
	}
	begun := r.Sent
	if due {
		begun = r.Intended
	}
	return spanMS(begun, r.End) >= l.value
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
	return "aiperf explain metric lists them"
}
