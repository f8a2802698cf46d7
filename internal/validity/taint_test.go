package validity_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/validity"
)

func TestTaintsAreReadBack(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]validity.Taint{
		"":                                     {},
		"coalesced: doubtful":                  {Check: "coalesced", Level: validity.Doubtful},
		"turnaround: invalid":                  {Check: "turnaround", Level: validity.Wrong},
		"turnaround: invalid in 2 of 5 trials": {Check: "turnaround", Level: validity.Wrong, Runs: 2, Of: 5},
	} {
		if got := validity.ParseTaint(text); got != want || got.String() != text {
			t.Errorf("%q is read as %+v and written as %q", text, got, got.String())
		}
	}
	if got := validity.ParseTaint("turnaround"); got != (validity.Taint{
		Check: "turnaround",
		Level: validity.Doubtful,
	}) {
		t.Errorf("a check alone is read as %+v", got)
	}
}

// A statistic takes the worse of what touches it and what touches its metric; a
// metric the worst of its statistics.
func TestTaintsOfAStatistic(t *testing.T) {
	t.Parallel()
	taints := validity.Taints{}
	taints.Add("itl", "tokens", validity.Doubtful)
	taints.Add("itl", "errors", validity.Doubtful) // the first that is as bad stays
	taints.Add("itl.p90", "coalesced", validity.Wrong)
	taints.Add("itl.p90", "errors", validity.Doubtful)
	taints.Add("itl_other", "sink", validity.Wrong)
	for _, c := range []struct {
		got  validity.Taint
		want string
		gone bool
	}{
		{taints.Of("itl", "p50"), "tokens: doubtful", false},
		{taints.Of("itl", "p90"), "coalesced: invalid", true},
		{taints.Metric("itl"), "coalesced: invalid", true},
		{taints.Of("ttft", "p90"), "", false},
		{validity.Taint{Check: "coalesced", Level: validity.Wrong, Runs: 1, Of: 3}, "coalesced: invalid in 1 of 3 trials", false},
	} {
		if c.got.String() != c.want || c.got.Gone() != c.gone {
			t.Errorf("%q, gone %v; want %q, %v", c.got, c.got.Gone(), c.want, c.gone)
		}
	}
}
