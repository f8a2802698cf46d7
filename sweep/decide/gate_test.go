package decide_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep/decide"
)

// A gate on a number in doubt, of which nothing bounds the doubt, is missed where every trial and
// the interval miss it by more than a factor of three, and only there; of an invalid number never.
func TestGatesMissedByFar(t *testing.T) {
	t.Parallel()
	const number = "time_to_first_token.p99"
	for _, c := range []struct {
		name   string
		gate   string
		trials []float64 // ms
		level  validity.Level
		want   decide.State
	}{
		{"far", number + " < 150", []float64{1330}, validity.Doubtful, decide.Missed},
		{"far in two trials", number + " < 150", []float64{1330, 2400}, validity.Doubtful, decide.Missed},
		{"far in five", number + " < 150", []float64{1330, 1350, 1340, 1400, 1310}, validity.Doubtful, decide.Missed},
		{"one of them near", number + " < 150", []float64{1330, 160}, validity.Doubtful, decide.Undecided},
		{"an interval down to the limit", number + " < 150", []float64{600, 2600, 20000}, validity.Doubtful, decide.Undecided},
		{"near", number + " < 150", []float64{440}, validity.Doubtful, decide.Undecided},
		{"invalid", number + " < 150", []float64{1330}, validity.Wrong, decide.Undecided},
		{"kept by far", number + " < 150", []float64{10}, validity.Doubtful, decide.Undecided},
		{"too small by far", number + " > 150", []float64{10}, validity.Doubtful, decide.Missed},
	} {
		d := grid(len(c.trials), axis(concurrency, "concurrency", 1))
		d.Head.Gates = []string{c.gate}
		outcomes := measure(expand(t, d), 0, tokens, ttft)
		for i := range outcomes {
			o := &outcomes[i]
			o.Summaries = run(100, c.trials[i])
			o.Taints = validity.Taints{"time_to_first_token": {Check: "errors", Level: c.level}}
		}
		o := decide.Aggregate(expand(t, d), outcomes).Cells[0].Gates[0]
		if o.State != c.want || o.State == decide.Missed && o.Held ||
			o.State == decide.Missed && !strings.HasSuffix(o.Note, "missed even if it were 3 times better") {
			t.Errorf("%s: %+v, want %s", c.name, o, c.want)
		}
	}
}

// A share of good requests in doubt is judged where all that it may be lies on one side of the limit: some
// first tokens were read late, so that their requests may have been good, or not.
func TestGatesOnAShareInDoubt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		share, limit string
		ranges       validity.Ranges
		want         decide.State
	}{
		{"0.77", "0.99", validity.Ranges{"good_request_fraction.avg": {Less: 0.1, More: 0.1}}, decide.Missed},
		{"0.77", "0.5", validity.Ranges{"good_request_fraction.avg": {Less: 0.1, More: 0.1}}, decide.Held},
		{"0.77", "0.8", validity.Ranges{"good_request_fraction.avg": {Less: 0.1, More: 0.1}}, decide.Undecided},
		{"0.77", "0.99", nil, decide.Undecided}, // by how much it is off is not known
	} {
		d := grid(1, axis(concurrency, "concurrency", 1))
		d.Head.Gates = []string{"good_request_fraction >= " + c.limit}
		outcomes := measure(expand(t, d), 0, tokens, ttft)
		o := &outcomes[0]
		share, _ := strconv.ParseFloat(c.share, 64)
		o.Summaries = run(100, 40)
		o.Summaries[0].Stats = append(o.Summaries[0].Stats, metrics.Stat{
			Tag: "good_request_fraction", Unit: "ratio", Scalar: true, Avg: share, Count: 1000,
		})
		o.Taints, o.Ranges = validity.Taints{"good_request_fraction": {Check: "coalesced", Level: validity.Doubtful}}, c.ranges
		if got := decide.Aggregate(expand(t, d), outcomes).Cells[0].Gates[0]; got.State != c.want ||
			got.State != decide.Undecided && got.Held != (c.want == decide.Held) {
			t.Errorf("%s against %s: %+v, want %s", c.share, c.limit, got, c.want)
		}
	}
}

// A gate whose number no run has is neither missed nor passed, whatever the policy.
func TestGateWithoutANumber(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"", decide.AsPassed, decide.AsMissed} {
		d := loads(3)
		d.Head.Gates, d.Head.GatesUndecided = []string{"error_rate == 0", "time_to_first_token.p99 < 1"}, policy
		p := expand(t, d)
		outcomes := measure(p, 0, tokens, ttft)
		for i := range outcomes {
			o := &outcomes[i]
			o.Summaries[0].Stats = slices.DeleteFunc(slices.Clone(o.Summaries[0].Stats),
				func(s metrics.Stat) bool { return s.Tag == "time_to_first_token" })
		}
		r := decide.Aggregate(p, outcomes)
		if g := r.Cells[0].Gates[1]; g.State != decide.Undecided || g.Held || !g.Unmeasured || !g.Undecidable {
			t.Errorf("policy %q: %+v", policy, g)
		}
		if r.GatesMissed != len(r.Cells) || r.GatesHeld != len(r.Cells) {
			t.Errorf("policy %q: %d passed, %d missed, of %d cells", policy, r.GatesHeld, r.GatesMissed, len(r.Cells))
		}
	}
}
