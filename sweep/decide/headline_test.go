package decide_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sweep/decide"
)

// A candidate that is 10 % faster in one metric and the same in the others is not
// EQUIVALENT, and one whose harm is ruled out without being shown equal is NOT WORSE.
func TestOutcomeOfTheWhole(t *testing.T) {
	t.Parallel()
	const w, b, e, u = decide.Worse, decide.Better, decide.Equivalent, decide.Unclear
	row := func(o decide.Verdict, harmless bool) decide.Row {
		return decide.Row{Primary: true, Outcome: o, Harmless: harmless, Detectable: .08}
	}
	for _, c := range []struct {
		what string
		rows []decide.Row
		want decide.Verdict
		exit diag.Code
	}{
		{"no rows", nil, u, diag.Invalid},
		{"all equivalent", []decide.Row{row(e, true), row(e, true)}, e, diag.OK},
		{"one faster", []decide.Row{row(e, true), row(b, true)}, b, diag.OK},
		{"one faster, another open on the harmful side", []decide.Row{row(b, true), row(u, false)}, u, diag.Invalid},
		{"one faster, another open on the good side only", []decide.Row{row(b, true), row(u, true)}, b, diag.OK},
		{"not shown equal, harm ruled out", []decide.Row{row(e, true), row(u, true)}, decide.NotWorse, diag.OK},
		{"one open", []decide.Row{row(e, true), row(u, false)}, u, diag.Invalid},
		{"one worse", []decide.Row{row(b, true), row(w, false), row(e, true)}, w, diag.Missed},
		{"what does not decide is worse", []decide.Row{row(e, true), {Outcome: w}}, e, diag.OK},
	} {
		got := &decide.Comparison{Rows: c.rows}
		if got.Outcome() != c.want || got.Exit() != c.exit {
			t.Errorf("%s: %s, exit %d; want %s, %d", c.what, got.Outcome(), got.Exit(), c.want, c.exit)
		}
	}
}

// Whatever the rows are, the whole says nothing that they do not carry.
func TestOutcomeIsCarriedByItsRows(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(20, 9))
	seen := map[decide.Verdict]int{}
	for range 20_000 {
		c := &decide.Comparison{Rows: randomRows(rng)}
		o := c.Outcome()
		seen[o]++
		if err := carried(c, o); err != "" {
			t.Fatalf("%s: %s of %+v", o, err, c.Rows)
		}
		if ok := o == decide.Better || o == decide.Equivalent || o == decide.NotWorse; (c.Exit() == diag.OK) != ok ||
			(c.Exit() == diag.Missed) != (o == decide.Worse) {
			t.Fatalf("%s ends with %d", o, c.Exit())
		}
	}
	if len(seen) != 5 {
		t.Errorf("not every outcome came up: %v", seen)
	}
}

// randomRows are up to six rows whose fields hang together as Compare's do.
func randomRows(rng *rand.Rand) []decide.Row {
	all := []decide.Verdict{
		decide.Worse, decide.Better, decide.Equivalent, decide.Unclear,
		decide.Unclear, decide.Equivalent, decide.Equivalent,
	}
	var rows []decide.Row
	for range rng.IntN(6) {
		r := decide.Row{
			Outcome: all[rng.IntN(len(all))], Primary: rng.IntN(4) > 0,
			Margin: .05, Detectable: .02 + .1*rng.Float64(),
		}
		r.Harmless = r.Outcome == decide.Better || r.Outcome == decide.Equivalent || r.Outcome == decide.Unclear &&
			rng.IntN(2) == 0
		if rng.IntN(10) == 0 {
			r.MustDetect = .1
		}
		if rng.IntN(20) == 0 {
			r.Detectable = math.NaN()
		}
		rows = append(rows, r)
	}
	return rows
}

// carried says what a whole claims without its rows, "" for nothing.
func carried(c *decide.Comparison, o decide.Verdict) string {
	count := map[decide.Verdict]int{}
	harmless, primary, blind, found := 0, 0, 0, 0
	for _, r := range c.Rows {
		if !r.Primary {
			continue
		}
		if primary++; r.Harmless {
			harmless++
		}
		count[r.Outcome]++
		if r.MustDetect > 0 && r.Detectable > r.MustDetect {
			blind++
		} else if r.Outcome == decide.Worse {
			found++
		}
	}
	switch {
	case o != decide.Unclear && o != decide.Worse && blind > 0:
		return "a row that could not have found what must be found"
	case o == decide.Worse && found == 0:
		return "no row that could find what must be found is WORSE"
	case o == decide.Worse && count[decide.Worse] == 0:
		return "no row is WORSE"
	case o == decide.Better && (count[decide.Better] == 0 || harmless < primary):
		return "no row is BETTER, or harm is open"
	case o == decide.Equivalent && (count[decide.Equivalent] < primary || primary == 0):
		return "not every row is EQUIVALENT"
	case o == decide.NotWorse && (harmless < primary || primary == 0):
		return "harm is open"
	case o != decide.Unclear && o != decide.Worse && count[decide.Worse] > 0:
		return "a row is WORSE"
	}
	return ""
}

// A comparison that could not have found the change that it must is UNDECIDED with exit
// code 4, whatever its rows and the policy say; the same one without that demand is not.
func TestMustDetect(t *testing.T) {
	t.Parallel()
	noisy := arm("b", []float64{40.1, 47, 34, 40, 41}, wobbled(flow, 1))
	flowing := make([]float64, len(flow)) // noisy throughput
	for i, v := range flow {
		flowing[i] = v * []float64{1, .8, 1.25, .9, 1.1}[i]
	}
	for _, c := range []struct {
		what      string
		candidate decide.Arm
		must      float64
		want      decide.Verdict
		exit      diag.Code
	}{
		{"exact, 10 %", arm("b", wobbled(base, 1), wobbled(flow, 1)), .1, decide.Equivalent, diag.OK},
		{"noisy, nothing asked", noisy, 0, decide.Unclear, diag.OK},
		{"noisy, 10 %", noisy, .1, decide.Unclear, diag.Invalid},
		{"one metric slower, the other too noisy, 10 %", arm("b", times(base, 2), flowing), .1, decide.Worse, diag.Missed},
		{"three trials, faster, 10 %", arm("b", []float64{30, 28, 33}, wobbled(flow[:3], 1)), .1, decide.Unclear, diag.Invalid},
	} {
		got, err := decide.Compare(arm("a", base, flow), c.candidate,
			decide.Terms{Paired: true, Undecided: decide.AsPassed, MustDetect: c.must})
		if err != nil || got.Outcome() != c.want || got.Exit() != c.exit {
			t.Errorf("%s: %v, %s, exit %d; want %s, %d", c.what, err, got.Outcome(), got.Exit(), c.want, c.exit)
		}
	}
	_, err := decide.Compare(arm("a", base, flow), noisy, decide.Terms{MustDetect: .05})
	if err == nil || !strings.Contains(err.Error(), "a change of 5 % must be detected, and the margin is 5 %") {
		t.Errorf("a change that no margin calls WORSE: %v", err)
	}
}

// Two trials have no interval, and decide nothing.
func TestTwoTrialsDecideNothing(t *testing.T) {
	t.Parallel()
	got, err := decide.Compare(arm("a", base[:2], flow[:2]), arm("b", times(base[:2], 2), times(flow[:2], .5)),
		decide.Terms{Paired: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got.Rows {
		if r.Outcome != decide.Unclear || !math.IsNaN(r.Low) || r.Note != "2 trials: no interval, which takes 3" {
			t.Errorf("%v: %s [%v, %v] %s", r.Key, r.Outcome, r.Low, r.High, r.Note)
		}
	}
	r := decide.Aggregate(expand(t, loads(2)), measure(expand(t, loads(2)), .01, tokens, ttft))
	for _, b := range r.Best {
		if b.Shown {
			t.Errorf("best of two trials: %s", sentence(b))
		}
	}
	for i := range r.Cells {
		if e, _ := r.Cells[i].Get("output_token_throughput", "avg"); e.HasInterval() ||
			r.Cells[i].Front == decide.Dominated || r.Cells[i].Knee {
			t.Errorf("%s: %+v, %s", r.Cells[i].Cell.Short(), e, r.Cells[i].Front)
		}
	}
}

// Two directories whose stamps are not of one kind say so; the same kind is no remark,
// and one that does not say is not guessed.
func TestStampsOfBothArms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b []string
		want bool
	}{
		{[]string{"kernel"}, []string{"application"}, true},
		{[]string{"kernel"}, []string{"application", "kernel"}, true},
		{[]string{"kernel"}, []string{"kernel"}, false},
		{[]string{"kernel"}, nil, false},
	} {
		x, y := arm("a", base, flow), arm("b", wobbled(base, 1), wobbled(flow, 1))
		x.Stamps, y.Stamps = c.a, c.b
		got, err := decide.Compare(x, y, decide.Terms{Paired: true})
		if err != nil || (len(got.Stamps[0]) > 0) != c.want {
			t.Errorf("%v against %v: %v, %v", c.a, c.b, got.Stamps, err)
		}
	}
}
