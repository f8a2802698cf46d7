package sweep_test

import (
	"slices"
	"testing"

	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// The cells of one state of the server are neighbours in each trial, so that it
// flips as rarely as it can, and a drift falls out of the comparison all the same.
func TestFlipsAreFew(t *testing.T) {
	t.Parallel()
	p := sweeptest.PlanOf(t, "tokenizer.name=builtin", "multi_run.num_runs=6",
		"sweep.parameters.concurrency=[1, 2, 4, 8, 16]",
		"sweep.parameters.endpoint=[{label: old, flip: {command: [switch, old]}}, {label: new, flip: {command: [switch, new], timeout: 90}}]")
	places := map[*sweep.Cell]int{}
	for trial := range 6 {
		runs := p.Runs[10*trial : 10*trial+10]
		changes := 0
		for i, r := range runs {
			places[r.Cell] += i
			if i > 0 && r.Cell.State() != runs[i-1].Cell.State() {
				changes++
			}
		}
		if changes != 1 {
			t.Errorf("trial %d: the server changes its state %d times, want once", trial, changes)
		}
	}
	for c, sum := range places {
		if sum != 3*9 {
			t.Errorf("cell %s is at %d on the whole, want %d: drift would not cancel", c.Short(), sum, 3*9)
		}
	}
	flips := p.Flips()
	// One before the first run, one in each trial, and one where a pair of trials
	// begins in another state than the pair before it ended in.
	want := 1 + 6
	for _, trial := range []int{2, 4} {
		if p.Runs[10*trial].Cell.State() != p.Runs[10*trial-1].Cell.State() {
			want++
		}
	}
	if len(flips) != want || flips[0].ID != p.Runs[0].ID {
		t.Errorf("%d flips, want %d", len(flips), want)
	}
	if others := sweeptest.PlanOf(t, "tokenizer.name=builtin",
		"sweep.parameters.concurrency=[1, 2]").Flips(); len(others) > 0 {
		t.Errorf("a server that stays as it is flips before %v", others)
	}
}

// Patience is no part of what is measured; the state is.
func TestStateIsPartOfTheCell(t *testing.T) {
	t.Parallel()
	ids := func(timeout, word string) (out []string) {
		for _, c := range sweeptest.PlanOf(t, "tokenizer.name=builtin",
			"sweep.parameters.endpoint=[{label: a, flip: {command: [switch, a], timeout: "+timeout+"}}, {label: b, flip: {command: [switch, "+word+"]}}]").Cells {
			out = append(out, c.ID)
		}
		return out
	}
	if a, b := ids("5", "b"), ids("50", "b"); !slices.Equal(a, b) {
		t.Errorf("another timeout makes another cell: %v, %v", a, b)
	}
	if a, b := ids("5", "b"), ids("5", "c"); a[0] != b[0] || a[1] == b[1] {
		t.Errorf("another state makes no other cell: %v, %v", a, b)
	}
}
