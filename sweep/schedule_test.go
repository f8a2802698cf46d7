package sweep_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

func three(trials int) *document { return grid(trials, axis(concurrency, "concurrency", 1, 2, 4)) }

func TestOrderOfRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cells, trials, want string }{
		{"", "", "1/0 2/0 0/0 0/1 2/1 1/1"}, // there and back
		{"", "independent", "0/0 0/1 1/0 1/1 2/0 2/1"},
		{"alphabetical", "repeated", "0/0 1/0 2/0 0/1 1/1 2/1"},
		{"as_written", "independent", "0/0 0/1 1/0 1/1 2/0 2/1"},
	} {
		if got := order(expand(t, ordered(three(2), c.cells, c.trials))); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.cells, c.trials, got, c.want)
		}
	}
}

func TestAsWrittenKeepsTheAxes(t *testing.T) {
	t.Parallel()
	d := ordered(grid(1, axis(concurrency, "concurrency", 1, 2), axis(isl, "isl", 64)), "as_written", "")
	if got, want := labels(expand(t, d))[0],
		"phases.profiling.concurrency=1, datasets.default.prompts.isl.mean=64"; got != want {
		t.Errorf("label = %q, want %q", got, want)
	}
}

// Every order runs each cell once per trial, and the same seed gives the same order.
func TestShuffledAndInterleaved(t *testing.T) {
	t.Parallel()
	many := make([]any, 20)
	for i := range many {
		many[i] = i + 1
	}
	plan := func(cells string, seed int64) *sweep.Plan {
		d := ordered(grid(4, axis(concurrency, "concurrency", many...)), cells, "repeated")
		d.Head.RandomSeed = &seed
		return expand(t, d)
	}
	for _, cells := range []string{"shuffled", "interleaved"} {
		p := plan(cells, 7)
		position := map[int]int{} // cell → sum of places over a pair of trials
		for trial := range 4 {
			var seen []int
			for i, r := range p.Runs[20*trial : 20*trial+20] {
				if r.Trial != trial {
					t.Fatalf("%s: run %d is of trial %d", cells, 20*trial+i, r.Trial)
				}
				seen = append(seen, r.Cell.Index)
				position[r.Cell.Index] += i
			}
			if slices.IsSorted(seen) {
				t.Errorf("%s: trial %d is in order", cells, trial)
			}
			slices.Sort(seen)
			if len(slices.Compact(seen)) != 20 {
				t.Errorf("%s: trial %d leaves out cells", cells, trial)
			}
		}
		for c, sum := range position {
			if cells == "interleaved" && sum != 2*19 {
				t.Errorf("cell %d is at %d on the whole, want %d: drift would not cancel", c, sum, 2*19)
			}
		}
		if order(p) != order(plan(cells, 7)) || order(p) == order(plan(cells, 8)) {
			t.Errorf("%s: the order does not follow the seed", cells)
		}
		if p.Cells[3].Seed != 10 || p.Cells[3].Point[0].Value != int64(4) {
			t.Errorf("%s: cell 3 = %v with seed %d; the order must not move cells", cells, p.Cells[3].Point,
				p.Cells[3].Seed)
		}
	}
}

func TestDirectoriesOfRuns(t *testing.T) {
	t.Parallel()
	one := axis(concurrency, "concurrency", 1, 2)
	dirs := func(d *document) string {
		var out []string
		for _, r := range expand(t, d).Runs {
			out = append(out, r.Dir+" "+r.Label)
		}
		return strings.Join(out, "; ")
	}
	for what, c := range map[string]struct {
		d    *document
		want string
	}{
		"no sweep, 1":    {&document{}, " run_0001"},
		"no sweep, 2":    {&document{Head: grid(2).Head}, "profile_runs/run_0001 run_0001; profile_runs/run_0002 run_0002"},
		"sweep, 1":       {grid(1, one), "concurrency_1 run_0001; concurrency_2 run_0001"},
		"sweep repeated": {grid(2, one), "profile_runs/trial_0001/concurrency_1 run_0001; profile_runs/trial_0001/concurrency_2 run_0001; profile_runs/trial_0002/concurrency_1 run_0002; profile_runs/trial_0002/concurrency_2 run_0002"},
		"sweep independent": {
			ordered(grid(2, one), "", "independent"),
			"concurrency_1/profile_runs/trial_0001 run_0001; concurrency_1/profile_runs/trial_0002 run_0002; concurrency_2/profile_runs/trial_0001 run_0001; concurrency_2/profile_runs/trial_0002 run_0002",
		},
	} {
		if got := dirs(c.d); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", what, got, c.want)
		}
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	seeds := func(d *document) []int64 {
		var out []int64
		for _, r := range expand(t, d).Runs {
			out = append(out, r.Seed)
		}
		return out
	}
	given, vary, same := three(2), three(2), three(2)
	base := int64(100)
	given.Head.RandomSeed, vary.Head.RandomSeed = &base, &base
	vary.Head.MultiRun.VarySeedPerTrial = true
	same.Kind.SameSeed = true
	stream := func(concurrency, trial int) int64 { // as documented: SHA-256 of the base and "<label>:trial:<n>"
		b := binary.BigEndian.AppendUint64(nil, 100)
		b = fmt.Appendf(b, "phases.profiling.concurrency=%d:trial:%d", concurrency, trial)
		sum := sha256.Sum256(b)
		return int64(binary.BigEndian.Uint64(sum[:8]) & math.MaxInt64)
	}
	for what, c := range map[string]struct {
		d    *document
		want []int64
	}{
		"42 for a sweep":      {three(1), []int64{42, 43, 44}},
		"trials share":        {given, []int64{100, 101, 102, 100, 101, 102}},
		"same_seed":           {same, []int64{42, 42, 42, 42, 42, 42}},
		"vary_seed_per_trial": {vary, []int64{stream(1, 0), stream(2, 0), stream(4, 0), stream(1, 1), stream(2, 1), stream(4, 1)}},
		"42 for several runs": {&document{Head: grid(2).Head}, []int64{42, 42}},
	} {
		if got := seeds(c.d); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	loose := &document{Head: grid(3).Head}
	loose.Head.MultiRun.SetConsistentSeed = false
	if got := seeds(loose); got[0] == got[1] || got[1] == got[2] {
		t.Errorf("inconsistent trials share a seed: %v", got)
	}
}

func TestWarmup(t *testing.T) {
	t.Parallel()
	warm := func(d *document) string {
		var out []string
		for _, r := range expand(t, d).Runs {
			out = append(out, fmt.Sprint(r.Warmup))
		}
		return strings.Join(out, " ")
	}
	if got, want := warm(three(2)), "true true true false false false"; got != want {
		t.Errorf("by default: %s, want %s", got, want)
	}
	kept := three(2)
	kept.Head.MultiRun.DisableWarmupAfterFirst = false
	if got, want := warm(kept), "true true true true true true"; got != want {
		t.Errorf("kept: %s, want %s", got, want)
	}
}

func TestHashIsOfTheWork(t *testing.T) {
	t.Parallel()
	hash := func(change func(*document)) string {
		d := three(2)
		change(d)
		return expand(t, d).Hash
	}
	base := hash(func(*document) {})
	for what, change := range map[string]func(*document){
		"the name":       func(d *document) { d.Head.Name = "other" },
		"a gate":         func(d *document) { d.Head.Gates = []string{"error_rate == 0"} },
		"an axis' name":  func(d *document) { d.Kind.Axes[0].Name = "c" },
		"the seed spelt": func(d *document) { s := int64(42); d.Head.RandomSeed = &s },
	} {
		if hash(change) != base {
			t.Errorf("%s changes the hash", what)
		}
	}
	for what, change := range map[string]func(*document){
		"a value":      func(d *document) { d.Kind.Axes[0].Values[0] = int64(3) },
		"the seed":     func(d *document) { s := int64(43); d.Head.RandomSeed = &s },
		"the trials":   func(d *document) { d.Head.MultiRun.NumRuns = 3 },
		"the order":    func(d *document) { d.Kind.IterationOrder = "independent" },
		"the warmup":   func(d *document) { d.Head.MultiRun.DisableWarmupAfterFirst = false },
		"a derivation": func(d *document) { derive(d, requests, "10*concurrency") },
	} {
		if hash(change) == base {
			t.Errorf("%s does not change the hash", what)
		}
	}
	single := func() *sweep.Plan { return expand(t, &document{}) }
	if a, b := single(), single(); a.Hash != b.Hash || a.BaseSeed == b.BaseSeed {
		t.Errorf("single runs without a seed: hashes %.8s and %.8s, seeds %d and %d; want one hash, two seeds", a.Hash,
			b.Hash, a.BaseSeed, b.BaseSeed)
	}
}

// The hash covers what the runs follow from, and not the runs: drawn plans of one hash
// have the same runs with the same bodies, seeds and warmup, in the same order.
func TestHashStandsForTheRuns(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 3))
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	flip := func() bool { return rng.IntN(2) == 0 }
	runs, again := map[string]string{}, 0 // by hash
	for range 3000 {
		d := grid(1 + rng.IntN(3))
		for _, a := range []schema.Axis{axis(concurrency, "concurrency", 1, 2, 4), axis(requests, "requests", 10, 20)} {
			if flip() {
				a.Values = a.Values[:1+rng.IntN(len(a.Values))]
				d.Kind.Axes = append(d.Kind.Axes, a)
			}
		}
		d.Kind.IterationOrder, d.Kind.SameSeed = one("repeated", "independent"), flip()
		d.Kind.Order = one("alphabetical", "as_written", "shuffled")
		if d.Kind.IterationOrder == "repeated" && flip() {
			d.Kind.Order = "interleaved"
		}
		m := &d.Head.MultiRun
		m.Seeds, m.VarySeedPerTrial, m.Sentinel, m.DisableWarmupAfterFirst = one(sweep.Blocks,
			sweep.Fixed, sweep.Independent), flip(), flip(), flip()
		if flip() {
			s := int64(rng.IntN(3))
			d.Head.RandomSeed = &s
		}
		p := expand(t, d)
		if !p.Seeded { // another draw is the same plan
			continue
		}
		var text strings.Builder
		fmt.Fprintln(&text, p.Order, p.Seeds)
		for _, r := range p.Runs {
			fmt.Fprintln(&text, r.Cell.ID, r.Trial, r.Sentinel, r.Seed, r.Text, r.Warmup)
		}
		was, ok := runs[p.Hash]
		if ok && was != text.String() {
			t.Fatalf("%s stands for\n%s\nand\n%s", p.Hash, was, &text)
		}
		if runs[p.Hash] = text.String(); ok {
			again++
		}
	}
	if len(runs) < 200 || again < 200 {
		t.Errorf("%d plans that differ, %d that were drawn before", len(runs), again)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	lock := func(change func(*document)) resultdir.Lock {
		d := three(2)
		change(d)
		return expand(t, d).Lock()
	}
	base := lock(func(*document) {})
	for what, c := range map[string]struct {
		change func(*document)
		want   []string
	}{
		"nothing": {func(*document) {}, nil},
		"trials":  {func(d *document) { d.Head.MultiRun.NumRuns = 3 }, []string{"trials: 2 → 3"}},
		"a cell": {
			func(d *document) { d.Kind.Axes[0].Values[2] = int64(8) },
			[]string{
				"cell phases.profiling.concurrency=4: no longer in the plan",
				"cell phases.profiling.concurrency=8: new in the plan",
			},
		},
		"a setting": {func(d *document) { derive(d, requests, "50+concurrency") }, []string{
			"cell phases.profiling.concurrency=1: benchmark.phases.profiling.requests: 51 is new",
			"cell phases.profiling.concurrency=2: benchmark.phases.profiling.requests: 52 is new",
			"cell phases.profiling.concurrency=4: benchmark.phases.profiling.requests: 54 is new",
		}},
		"a setting of all": {func(d *document) { derive(d, requests, "50") }, []string{"all cells: benchmark.phases.profiling.requests: 50 is new"}},
		"a setting of some": {func(d *document) { derive(d, requests, "concurrency < 3 ? 50 : 60") }, []string{
			"2 cells, first phases.profiling.concurrency=1: benchmark.phases.profiling.requests: 50 is new",
			"cell phases.profiling.concurrency=4: benchmark.phases.profiling.requests: 60 is new",
		}},
		"the seed":   {func(d *document) { s := int64(9); d.Head.RandomSeed = &s }, []string{"base seed: 42 → 9"}},
		"the warmup": {func(d *document) { d.Head.MultiRun.DisableWarmupAfterFirst = false }, []string{"run 4: warmup: false → true"}},
		"the order":  {func(d *document) { d.Kind.IterationOrder = "independent" }, []string{"order of trials: repeated → independent"}},
		"same_seed": {func(d *document) { d.Kind.SameSeed = true }, []string{
			"cell phases.profiling.concurrency=2: seed: 43 → 42", "cell phases.profiling.concurrency=4: seed: 44 → 42",
		}},
	} {
		got := sweep.Diff(base, lock(c.change))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	first, later := expand(t, &document{}), expand(t, &document{})
	later.Adopt(first.Lock())
	if later.BaseSeed != first.BaseSeed || later.Runs[0].Seed != first.Runs[0].Seed ||
		later.Cells[0].Seed != first.Cells[0].Seed {
		t.Errorf("seeds %d, %d, want %d", later.BaseSeed, later.Runs[0].Seed, first.BaseSeed)
	}
	other := expand(t, three(1))
	other.Adopt(first.Lock())
	if other.BaseSeed != 42 {
		t.Error("a plan adopted the seed of another plan")
	}
}
