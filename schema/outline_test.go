package schema

import (
	"maps"
	"slices"
	"testing"
)

// One of AIPerf's settings of seeds and warmup means that its rules hold. All of
// them as they are by default are what cue export writes of a file that says none.
func TestWhoAsksForAIPerfsSeeds(t *testing.T) {
	t.Parallel()
	const body = "benchmark: {model: m, endpoint: {url: 'mock:'}, dataset: {type: synthetic}, phases: {type: concurrency, concurrency: 1, requests: 1}}\n"
	for _, c := range []struct {
		multiRun string
		want     []string
	}{
		{"num_runs: 3", nil},
		{"set_consistent_seed: true", []string{"set_consistent_seed"}},
		{"set_consistent_seed: true, vary_seed_per_trial: false", []string{"set_consistent_seed", "vary_seed_per_trial"}},
		{"set_consistent_seed: true, vary_seed_per_trial: false, disable_warmup_after_first: true", nil},
		{"set_consistent_seed: true, vary_seed_per_trial: false, disable_warmup_after_first: false", []string{"disable_warmup_after_first"}},
	} {
		d := mustLoad(t, "x.yaml", body+"multi_run: {"+c.multiRun+"}\n")
		if got := slices.Sorted(maps.Keys(d.Sweep().Ruled)); !slices.Equal(got, c.want) {
			t.Errorf("multi_run: {%s}: %q ruled, want %q", c.multiRun, got, c.want)
		}
	}
}
