package report

import (
	"math"
	"math/rand/v2"
	"regexp"
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

// legends are the marks of a table of cells, as they stand in its rows and as the screen
// explains them.
var legends = []struct{ mark, row, legend string }{
	{"*", `(?m)^ .* \*( |$)`, `(?m)(^|· )\* no row is better`},
	{"knee", `(?m)^ .* knee( |$)`, `knee: more load adds latency`},
	{"±", `(?m)^ .*\d ± \d`, `± 95 % interval|95 % intervals ·`},
	{"[ ]", `(?m)^ .*\d \[[\d.,]+, [\d.,]+\]`, `\[ \] 95 % interval|95 % intervals ·|± 95 % interval`},
	{"± wide", `(?m)^ .*± wide`, `± wide: too few trials`},
	{"~", `(?m)^ .*[\d\]e]~( |$)`, `(?m)(^|· )~ in doubt`},
	{"!", `(?m)^ .*[\d\]e]!( |$)`, `(?m)(^|· )! invalid`},
}

// A mark stands in a table only with its legend on the same screen, and a legend only with
// its mark, at any width and however far the screen is folded. A cell that misses its limits
// has that mark alone.
func TestMarksHaveTheirLegend(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 12))
	seen := map[string]int{}
	for range 60 {
		r := crowded(t, rng, []string{"coalesced", "late"}, []string{
			"sweep={parameters: {phases.profiling.concurrency: [1, 2, 4]}}",
			"sweep={parameters: {phases.profiling.concurrency: [1, 2, 4, 8, 16, 32], datasets.default.prompts.isl.mean: [64, 256, 1024]}}",
		}[rng.IntN(2)])
		if rng.IntN(2) == 0 {
			r.Doubts = nil
		}
		for i := range r.Results.Cells { // as a plan may find them
			c := &r.Results.Cells[i]
			c.Front = []decide.Mark{decide.OnFront, decide.Dominated, decide.Open}[rng.IntN(3)]
			c.Knee = rng.IntN(4) == 0
			if rng.IntN(3) == 0 {
				c.SLOs = []decide.SLOOutcome{{State: decide.Missed}}
			}
		}
		r.Width, r.Terminal = []int{80, 110, 160}[rng.IntN(3)], rng.IntN(2) == 0
		var b strings.Builder
		if err := r.WriteConsole(&b); err != nil {
			t.Fatal(err)
		}
		for _, l := range legends {
			has := regexp.MustCompile(l.row).MatchString(b.String())
			if has {
				seen[l.mark]++
			}
			if told := regexp.MustCompile(l.legend).MatchString(b.String()); has && !told ||
				told && !has && !strings.Contains(l.legend, "interval") {
				t.Fatalf("%s stands in the table: %v, in its legend: %v\n%s", l.mark, has, told, &b)
			}
		}
		for line := range strings.Lines(b.String()) {
			if at := strings.Index(line, "misses limits"); at > 0 && strings.TrimSpace(line[at:]) != "misses limits" ||
				at > 0 && regexp.MustCompile(` (\*|best|knee|choose)( |$)`).MatchString(line) {
				t.Errorf("a cell that misses its limits has another mark: %q", line)
			}
		}
	}
	for _, mark := range []string{"*", "knee", "±", "[ ]", "~"} { // the others are rare
		if seen[mark] == 0 {
			t.Errorf("%s stood on no screen", mark)
		}
	}
}
