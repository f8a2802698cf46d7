package sweep_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// blocks is a grid whose runs draw as nobody said otherwise.
func blocks(trials int) *document {
	d := three(trials)
	d.Head.MultiRun.Seeds, d.Kind.Order, d.Kind.Ruled = "", "", nil
	return d
}

// A trial is a block: one shape for all its cells, another in the next trial,
// and text that no two runs share.
func TestTrialsAreBlocks(t *testing.T) {
	t.Parallel()
	p := expand(t, blocks(4))
	if p.Seeds != sweep.Blocks || p.CellOrder != "interleaved" {
		t.Fatalf("seeds %s, order %s", p.Seeds, p.CellOrder)
	}
	shape, text := map[int]int64{}, map[int64]string{}
	for _, r := range p.Runs {
		if was, ok := shape[r.Trial]; ok && was != r.Seed {
			t.Errorf("trial %d: cells draw from %d and %d", r.Trial, was, r.Seed)
		}
		shape[r.Trial] = r.Seed
		if was, ok := text[r.Text]; ok {
			t.Errorf("runs %s and %s share their text", was, r.ID)
		}
		text[r.Text] = r.ID
		if !r.Warmup || r.Seed < 0 || r.Text < 0 || r.Text == r.Seed {
			t.Errorf("%+v: warmup in every run, seeds of its own", r)
		}
	}
	seen := map[int64]bool{}
	for _, s := range shape {
		seen[s] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d shapes for 4 trials", len(seen))
	}
	if again := expand(t, blocks(4)); again.Hash != p.Hash {
		t.Errorf("the same experiment: hashes %.8s and %.8s", p.Hash, again.Hash)
	}
	if other := blocks(4); func() bool {
		other.Head.MultiRun.Seeds = sweep.Independent
		return expand(t,
			other).Hash == p.Hash
	}() {
		t.Error("other draws, the same hash")
	}
}

// Over each pair of trials every cell has the same mean place: a drift that is
// linear in time falls out.
func TestInterleavedTrialsCancelDrift(t *testing.T) {
	t.Parallel()
	p := expand(t, blocks(6))
	for pair := range 3 {
		sum := map[int]int{}
		for i, r := range p.Runs[6*pair : 6*pair+6] {
			sum[r.Cell.Index] += i
		}
		for cell, s := range sum {
			if s != 5 {
				t.Errorf("pair %d: cell %d has places that sum to %d, want 5 (%s)", pair, cell, s, order(p))
			}
		}
	}
}

func TestWhatDecidesSeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*document)
		want   string
		why    string
	}{
		{"nothing said", func(*document) {}, "blocks", ""},
		{"asked for", func(d *document) { d.Head.MultiRun.Seeds = "independent" }, "independent", "multi_run.seeds"},
		{"AIPerf's", func(d *document) { d.Kind.Ruled = map[string]bool{"set_consistent_seed": true} }, "fixed", "set_consistent_seed is given"},
		{"its sweep's", func(d *document) { d.Kind.Ruled = map[string]bool{"same_seed": true} }, "fixed", "same_seed is given"},
		{"warmup only", func(d *document) { d.Kind.Ruled = map[string]bool{"disable_warmup_after_first": true} }, "blocks", ""},
		{"one run", func(d *document) { *d = document{} }, "fixed", ""},
	} {
		d := blocks(2)
		c.change(d)
		if p := expand(t, d); p.Seeds != c.want || p.SeedsWhy != c.why {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, p.Seeds, p.SeedsWhy, c.want, c.why)
		}
	}
	both := blocks(2)
	both.Head.MultiRun.Seeds, both.Kind.Ruled = "blocks", map[string]bool{"vary_seed_per_trial": true}
	if _, err := sweep.Expand(both); err == nil || !strings.Contains(err.Error(),
		"cannot be combined with vary_seed_per_trial") {
		t.Errorf("both: %v", err)
	}
}

// What a plan cannot tell apart is said before anything is sent.
func TestLayoutInOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		d      *document
		line   string
		turns  string
		doubts []string
	}{
		{"one run", &document{}, "", "seed ", nil},
		{"blocks", blocks(6), "blocks (in a trial all cells get the same lengths and arrival times, the texts are new)", "trial by trial, cells interleaved (shuffled, and backwards in every second trial), seed ", nil},
		{"warmup", warmed(blocks(6)), "the texts are new), warmup in each run", "trial by trial", nil},
		{"three", blocks(3), "blocks", "trial by trial", []string{"3 trials show only large differences", "odd number of trials"}},
		{"one trial", blocks(1), "blocks", "cells interleaved", []string{"one trial"}},
		{"AIPerf's", func() *document { d := blocks(6); d.Kind.Ruled = map[string]bool{"same_seed": true}; return d }(), "fixed (same requests in every trial; same_seed is given)", "trial by trial", []string{"repeats of one workload"}},
		{"cell by cell", ordered(blocks(6), "", "independent"), "blocks", "all trials of a cell in a row, cells in the alphabetical order of their axes, seed ", []string{"drift"}},
	} {
		p := expand(t, c.d)
		line, doubts := p.Layout()
		if !strings.HasPrefix(line, c.line) && !strings.Contains(line, c.line) {
			t.Errorf("%s: %q, want …%q…", c.name, line, c.line)
		}
		if warms := strings.Contains(line, "warmup"); warms != (c.name == "warmup") {
			t.Errorf("%s: %q says a warmup: %v", c.name, line, warms)
		}
		if got := p.Turns(); !strings.HasPrefix(got, c.turns) || !strings.Contains(got, "seed ") {
			t.Errorf("%s: order %q, want %s…", c.name, got, c.turns)
		}
		if len(doubts) != len(c.doubts) {
			t.Errorf("%s: doubts %q, want %q", c.name, doubts, c.doubts)
			continue
		}
		for i, want := range c.doubts {
			if !strings.Contains(doubts[i], want) {
				t.Errorf("%s: doubt %q, want …%s…", c.name, doubts[i], want)
			}
		}
	}
}

// warmed is d with a warmup.
func warmed(d *document) *document {
	d.Phases = append([]schema.Phase{{Name: "warmup", Kind: "warmup", Type: "concurrency", Requests: 1}}, d.Phases...)
	return d
}
