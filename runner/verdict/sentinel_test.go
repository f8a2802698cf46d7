package verdict

import (
	"math"
	"strings"
	"testing"
)

// Medians known to 1 % differ by more than chance from 1.96·√2 of that on, for three
// pairs somewhat later; what is less than 3 % is not worth a word.
func TestSentinelMoves(t *testing.T) {
	t.Parallel()
	median := func(v, width float64) Median { return Median{v, v / (1 + width), v * (1 + width)} }
	for _, c := range []struct {
		name   string
		runs   []Median
		value  float64
		want   Verdict
		absent bool
	}{
		{"as it was", []Median{median(100, .02), median(101, .02), median(99, .02)}, 0, Valid, false},
		{"slower and slower", []Median{median(100, .02), median(105, .02), median(110, .02)}, .1, Degraded, false},
		{"there and back", []Median{median(100, .02), median(90, .02), median(100, .02)}, 100./90 - 1, Degraded, false},
		{"known badly", []Median{median(100, .2), median(105, .2), median(110, .2)}, 0, Valid, false},
		{"certain and small", []Median{median(100, .001), median(102, .001)}, .02, Valid, false},
		{"one run", []Median{median(100, .02)}, 0, Valid, true},
	} {
		var got *Finding
		for _, f := range JudgePlan(&PlanEvidence{Trials: 5, Sentinel: c.runs}, nil) {
			if f.Check == "sentinel" {
				got = &f
			}
		}
		if c.absent != (got == nil) {
			t.Errorf("%s: finding %+v", c.name, got)
			continue
		}
		if got != nil && (got.Verdict != c.want || math.Abs(got.Value-c.value) > 1e-9 || !strings.Contains(got.Detail,
			"100 ms")) {
			t.Errorf("%s: %s %v (%s), want %s %v", c.name, got.Verdict, got.Value, got.Detail, c.want, c.value)
		}
	}
}

// A plan whose runs were stamped in two ways says so; one kind is no doubt.
func TestMixedStamps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stamps map[string]int
		want   string
	}{
		{map[string]int{"kernel": 10}, ""},
		{map[string]int{"application": 10}, ""},
		{map[string]int{"kernel": 9, "application": 1}, "arrival stamps are this program's in 1 run and the kernel's in 9"},
		{map[string]int{"kernel": 5, "application": 5}, "arrival stamps are this program's in 5 runs and the kernel's in 5"},
	} {
		stamps, trial := map[string][]Spot{}, 0
		for kind, n := range c.stamps {
			for range n {
				stamps[kind] = append(stamps[kind], Spot{Cell: trial / 5, Trial: trial % 5})
				trial++
			}
		}
		said := ""
		for _, f := range JudgePlan(&PlanEvidence{Trials: 5, Stamps: stamps}, nil) {
			if f.Check == "stamps" {
				if said = f.Detail; f.Verdict != Degraded || len(f.Taints) == 0 {
					t.Errorf("%v: %s, touches %v", c.stamps, f.Verdict, f.Taints)
				}
				own, kernel := TaintsAt([]Finding{f}, stamps["application"][0]),
					TaintsAt([]Finding{f}, stamps["kernel"][0])
				if own.Of("time_to_first_token", "p50").Check != "stamps" || len(kernel) > 0 {
					t.Errorf("%v: of a run with stamps of its own it touches %v, of another %v", c.stamps, own, kernel)
				}
			}
		}
		if (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("%v: %q, want %q", c.stamps, said, c.want)
		}
	}
}
