package sweep_test

import (
	"testing"

	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// The sentinel's runs stand around the trials, have one workload and fresh text,
// and leave the trials as they are without them.
func TestSentinel(t *testing.T) {
	t.Parallel()
	for trials, want := range map[string][3]int{"1": {0, 3, 6}, "2": {0, 5, 10}, "5": {0, 13, 22}} {
		words := []string{
			"tokenizer.name=builtin", "sweep.parameters.concurrency=[1, 2, 4, 8]",
			"multi_run.num_runs=" + trials,
		}
		plain := sweeptest.PlanOf(t, words...)
		p := sweeptest.PlanOf(t, append(words, "multi_run.sentinel=true")...)
		var at []int
		var sentinels, others []sweep.Run
		for i, r := range p.Runs {
			if r.Sentinel > 0 {
				at, sentinels = append(at, i), append(sentinels, r)
			} else {
				others = append(others, r)
			}
		}
		if len(at) != sweep.Sentinels || [3]int(at) != want {
			t.Fatalf("%s trials: the sentinel runs at %v, want %v", trials, at, want)
		}
		dirs, ids := map[string]bool{}, map[string]bool{}
		for i, r := range sentinels {
			if r.Seed != sentinels[0].Seed || i > 0 && r.Text == sentinels[0].Text || r.Cell != p.Cells[0] ||
				r.Trial < p.Trials {
				t.Errorf("%s trials: run %d of the sentinel is %+v", trials, i+1, r)
			}
			dirs[r.Dir], ids[r.ID] = true, true
		}
		for i, r := range others {
			if was := plain.Runs[i]; r.ID != was.ID || r.Seed != was.Seed || r.Text != was.Text ||
				r.Dir != was.Dir || dirs[r.Dir] || ids[r.ID] {
				t.Errorf("%s trials: run %d is %s with a sentinel, %s without", trials, i, r.ID, was.ID)
			}
		}
		if p.Hash == plain.Hash {
			t.Errorf("%s trials: a plan with a sentinel has the hash of one without", trials)
		}
	}
}
