package runner

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// What weakens the results of a run stands in its report.
func TestDoubtsOfTheTransport(t *testing.T) {
	t.Parallel()
	const unchecked, late = "TLS certificate was not checked", "this program's and not the kernel's"
	for _, c := range []struct {
		url      string
		insecure bool
		stamps   string
		want     []string
	}{
		{"https://host", false, "kernel", nil},
		{"https://host", true, "kernel", []string{unchecked}},
		{"http://host", true, "kernel", nil}, // there is nothing to check
		{"https://host", true, "application", []string{unchecked, late}},
		{"http://host", false, "application", []string{late}},
	} {
		got := transportDoubts(&schema.Endpoint{URLs: []string{c.url}, Insecure: c.insecure}, c.stamps)
		ok := len(got) == len(c.want)
		for i := range got {
			ok = ok && strings.Contains(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s, insecure %v, stamps %s: %q, want %q", c.url, c.insecure, c.stamps, got, c.want)
		}
	}
}

// What matters most stands first: the verdict, then how far the value is beyond
// its limit; never the alphabet.
func TestDoubtsAreOrderedByEffect(t *testing.T) {
	t.Parallel()
	limit := 0.02
	found := func(check string, v verdict.Verdict, value float64) verdict.Finding {
		return verdict.Finding{Check: check, Verdict: v, Value: value, Warn: &limit, Fail: &limit}
	}
	res := &Result{
		Outcomes: []decide.Outcome{{Run: sweep.Run{ID: "a"}}, {Run: sweep.Run{ID: "b"}}},
		Reports: map[string]*RunReport{
			"a": {Findings: []verdict.Finding{found("censored", verdict.Degraded, 0.03), found("turnaround", verdict.Degraded, 0.3), found("clean", verdict.Valid, 9)}},
			"b": {Findings: []verdict.Finding{found("turnaround", verdict.Degraded, 0.1), found("sink", verdict.Invalid, 0.021)}},
		},
		PlanFindings: []verdict.Finding{found("drift", verdict.Degraded, 0.06)},
	}
	var order []string
	for _, d := range res.doubts() {
		order = append(order, d.Check)
	}
	if got := strings.Join(order, " "); got != "sink turnaround drift censored" {
		t.Errorf("findings in the order %s", got)
	}
}
