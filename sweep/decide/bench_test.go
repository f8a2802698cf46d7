package decide_test

import (
	"testing"

	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

func BenchmarkAggregate1000(b *testing.B) {
	p, err := sweep.Expand(sweeptest.Thousand(5))
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float64, 1000)
	for i := range x {
		x[i] = float64(i + 1)
	}
	outcomes := measure(p, .01, x, x)
	for b.Loop() {
		decide.Aggregate(p, outcomes)
	}
}

// What a decision adds to a plan: estimates, gates, front and best of a few cells,
// and a comparison of two systems at twelve.
func BenchmarkDecision(b *testing.B) {
	d := loads(5)
	d.Head.Gates = []string{"error_rate == 0", "time_to_first_token.p99 < 42"}
	p, err := sweep.Expand(d)
	if err != nil {
		b.Fatal(err)
	}
	outcomes := measure(p, .01, tokens, ttft)
	var before, after []decide.ArmCell
	for i := range 12 {
		one := arm("a", base, flow).Cells[0]
		one.Label = string(rune('a' + i))
		other := arm("b", wobbled(base, 1.1), flow).Cells[0]
		other.Label = one.Label
		before, after = append(before, one), append(after, other)
	}
	for b.Loop() {
		decide.Aggregate(p, outcomes)
		if _, err := decide.Compare(decide.Arm{Name: "a", Cells: before}, decide.Arm{Name: "b", Cells: after},
			decide.Terms{Paired: true}); err != nil {
			b.Fatal(err)
		}
	}
}
