package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"aiperf.dev/aiperf/sweep/decide"
)

// layout are signs of sentences and tables, and of arithmetic, which mean on screens what
// they mean everywhere.
const layout = "·…×÷≤≥<>=%+−[]()/µ"

// No screen has a sign that is not a mark, which aiperf help explains, or layout.
func TestSignsOfScreens(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 7))
	known := layout + strings.Join(Marks(), "")
	seen := map[rune]bool{}
	walk := func(screen string) {
		for _, r := range screen {
			if r > unicode.MaxASCII && !unicode.IsLetter(r) && !strings.ContainsRune(known, r) {
				t.Fatalf("%q stands on a screen and is no mark:\n%s", r, screen)
			}
			seen[r] = true
		}
	}
	for range 40 {
		c := drawn(rng)
		c.Rows[rng.IntN(len(c.Rows))].High = math.Inf(1)
		var b strings.Builder
		if err := c.WriteConsole(&b, Screen{All: rng.IntN(2) == 0}); err != nil {
			t.Fatal(err)
		}
		r := crowded(t, rng, []string{"coalesced", "late"}, "sweep={parameters: {phases.profiling.concurrency: [1, 2, 4]}}",
			`gates=["time_to_first_token.p99 < 22", "error_rate == 0"]`)
		if err := r.WriteConsole(&b); err != nil {
			t.Fatal(err)
		}
		walk(b.String())
	}
	for _, mark := range []rune{'✗', '✓', '?', '~', '±', '∞', '='} {
		if !seen[mark] {
			t.Errorf("no screen had %q", mark)
		}
	}
}

// Every outcome of a row and of a gate has a mark of its own, and a mark means one thing.
func TestOneMarkOneMeaning(t *testing.T) {
	t.Parallel()
	meaning := map[string]string{wideMark: "too few trials"}
	say := func(mark, means string) {
		if was := meaning[mark]; was != "" && was != means {
			t.Errorf("%q means %s and %s", mark, was, means)
		}
		meaning[mark] = means
	}
	words := map[string]string{ // a gate that is missed is as bad as a row that is WORSE
		string(decide.Worse): "missed", string(decide.Better): "better", string(decide.Equivalent): "equal",
		string(decide.Unclear): "undecided", string(decide.Missed): "missed",
	}
	for o, mark := range outcomeMarks {
		say(mark, words[string(o)])
	}
	for s, mark := range gateMarks {
		say(mark, words[string(s)])
	}
	if !slices.IsSorted(Marks()) {
		t.Error("the marks are not sorted")
	}
}
