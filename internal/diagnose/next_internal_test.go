package diagnose

import (
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/metrics"
)

// What a run lacks that was too short is a longer one: neither its requests nor its time end it earlier.
func TestLongerRunsAreNotCutShort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cell Cell
		rate float64
		want string
	}{
		{Cell{requests: 50}, 33.4, "--request-count 340"},
		{Cell{requests: 50, timed: true}, 33.4, "--request-count 340 --benchmark-duration 10"},
		{Cell{timed: true}, 33.4, "--benchmark-duration 10"},
		{Cell{requests: 50}, math.NaN(), "--benchmark-duration 10"},
	} {
		f := &facts{cell: c.cell, values: map[string]float64{"rate": c.rate}}
		if got := argv.Again("", f.again(needsLooks)...); got != c.want {
			t.Errorf("%+v at %g requests/s: %s, want %s", c.cell, c.rate, got, c.want)
		}
	}
}

// What was measured already is not asked for again.
func TestLackingIsNotWhatWasMeasured(t *testing.T) {
	t.Parallel()
	one := &facts{cell: Cell{flag: "concurrency", at: 1}, book: newBook(), values: map[string]float64{"prompt_ms": math.NaN()}}
	four := &facts{cell: Cell{flag: "concurrency", at: 4}, book: one.book, values: map[string]float64{"prompt_ms": math.NaN()}}
	if got := four.lacks("prefill_use"); got != needsOne {
		t.Errorf("no other load: %q", got)
	}
	four.lowest = one
	if got := four.lacks("prefill_use"); got != needsSameHits {
		t.Errorf("beside concurrency 1: %q", got)
	}
	four.values["prompt_ms"] = 12
	if got := four.lacks("prefill_use"); got != needsOneByOne {
		t.Errorf("with the time of a prompt: %q", got)
	}
	if got := one.lacks("prefill_use"); got != needsLoads {
		t.Errorf("at concurrency 1: %q", got)
	}
}

// Every fact has words of its own, which are no name.
func TestFactsHaveWords(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	for _, f := range Facts() {
		text := labels[f.Name]
		if text == "" || strings.Contains(text, "_") || said[text] != "" {
			t.Errorf("%s is called %q, as %q is", f.Name, text, said[text])
		}
		said[text] = f.Name
	}
	if len(said) != len(labels) {
		t.Errorf("%d labels of %d facts", len(labels), len(said))
	}
}

// Requests that a warmup sent last are answered while the measured ones are sent: of a short run they are most of
// what the server finished beyond its own, and no other client's.
func TestAnswersOfAWarmupAreNotForeign(t *testing.T) {
	t.Parallel()
	for finished, foreign := range map[float64]bool{72: false, 136: false, 250: true} {
		f := &facts{trials: []trial{{
			client: map[string]float64{
				metrics.RequestCount + ".avg": 72, metrics.EffectiveConcurrency + ".max": 64,
			},
			server: map[string]float64{looks: 20, server("e2e") + ".count": finished},
		}}}
		if got := f.foreign(); got > 0.2 != foreign {
			t.Errorf("72 requests of 64 users, %g finished: %g of others", finished, got)
		}
	}
}
