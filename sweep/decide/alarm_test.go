package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// These are simulations of whole plans, from the values of their trials on:
// thousands of them, so that the share of false alarms is known and not hoped
// for. A trial is a block: what is common to it (blockSpread) moves all cells
// together. ratioSpread is the spread of the log-ratio of two cells.
const (
	blockSpread = 0.08
	ratioSpread = 0.036
)

// world says how the trials of a plan come about.
type world struct {
	cells, trials int
	factor        []float64 // of the latency of each cell; nil: all the same
	noisy         int       // the cell that is ten times as noisy, −1 for none
	drift         float64   // of the latency from the first run of the plan to the last
	keep          float64   // autocorrelation of the noise from run to run
}

// endpoints is a plan over k endpoints.
func endpoints(t testing.TB, k, trials int) *sweep.Plan {
	t.Helper()
	var values []any
	for i := range k {
		name := fmt.Sprintf("e%02d", i)
		values = append(values, map[string]any{"label": name, "url": name})
	}
	p, err := sweep.Expand(grid(trials, axis("benchmark.endpoint", "endpoint", values...)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcomes draws what the runs of a plan give, in the order in which they run:
// each trial in a random order of cells, the next one in its reverse.
func (w world) outcomes(p *sweep.Plan, rng *rand.Rand) []decide.Outcome {
	of := map[[2]int]sweep.Run{}
	for _, r := range p.Runs {
		of[[2]int{r.Cell.Index, r.Trial}] = r
	}
	var out []decide.Outcome
	var order []int
	noise, ran := rng.NormFloat64(), 0
	for trial := range w.trials {
		if trial%2 == 0 {
			order = rng.Perm(w.cells)
		} else {
			for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
				order[i], order[j] = order[j], order[i]
			}
		}
		block := blockSpread * rng.NormFloat64()
		for _, cell := range order {
			noise = w.keep*noise + math.Sqrt(1-w.keep*w.keep)*rng.NormFloat64()
			spread := ratioSpread / math.Sqrt2
			if cell == w.noisy {
				spread *= 10
			}
			latency := 100 * math.Exp(block+spread*noise) * math.Pow(1+w.drift,
				float64(ran)/float64(w.cells*w.trials-1))
			tail := latency * math.Exp(ratioSpread/math.Sqrt2*rng.NormFloat64())
			if w.factor != nil {
				latency, tail = latency*w.factor[cell], tail*w.factor[cell]
			}
			out = append(out, decide.Outcome{
				Run: of[[2]int{cell, trial}], Summaries: run(4e4/latency, tail),
				Verdict: validity.Valid, OK: 1000, Sent: 1000,
			})
			ran++
		}
	}
	return out
}

// shares simulates n plans: how often something is called best, and how often a
// cell is called dominated.
func (w world) shares(t *testing.T, n int) (best, dominated float64) {
	t.Helper()
	p := endpoints(t, w.cells, w.trials)
	rng := seed.Stream(int64(w.cells), fmt.Sprintf("%+v", w))
	for range n {
		r := decide.Aggregate(p, w.outcomes(p, rng))
		for _, b := range r.Best {
			if b.Shown {
				best += 1 / float64(n)
				break
			}
		}
		for i := range r.Cells {
			if r.Cells[i].Front == decide.Dominated {
				dominated += 1 / float64(n)
				break
			}
		}
	}
	return best, dominated
}

// The same system under k names: at most one plan in twenty may name a best cell
// or a dominated one, also where one cell is ten times as noisy, where the
// server drifts by a tenth, and where noise lasts from run to run. 400 plans: the
// standard error at 5 % is 1.1 %, so 7.2 % is two of them above.
func TestSameSystemUnderManyNames(t *testing.T) {
	t.Parallel()
	for _, w := range []world{
		{cells: 2, trials: 5, noisy: -1},
		{cells: 6, trials: 5, noisy: -1},
		{cells: 12, trials: 5, noisy: -1},
		{cells: 2, trials: 3, noisy: 0},
		{cells: 6, trials: 5, noisy: 3},
		{cells: 12, trials: 3, noisy: 3},
		{cells: 2, trials: 6, noisy: -1, drift: .1},
		{cells: 6, trials: 4, noisy: -1, drift: .1},
		{cells: 2, trials: 5, noisy: -1, keep: .6},
		{cells: 4, trials: 6, noisy: -1, keep: .6},
	} {
		best, dominated := w.shares(t, 400)
		t.Logf("%+v: best in %.1f %%, dominated in %.1f %% of plans", w, 100*best, 100*dominated)
		if best > .072 || dominated > .072 {
			t.Errorf("%+v: a best cell in %.1f %% of plans, a dominated one in %.1f %%; want 5 %%", w, 100*best,
				100*dominated)
		}
	}
}

// A slowdown of 10 % is found with five trials, by the ranking and by the front.
func TestTenPercentSlower(t *testing.T) {
	t.Parallel()
	best, dominated := world{cells: 2, trials: 5, noisy: -1, factor: []float64{1, 1.1}}.shares(t, 400)
	if best < .8 || dominated < .6 {
		t.Errorf("10 %% slower: best in %.1f %%, dominated in %.1f %% of plans; want 80 and 60 %%", 100*best,
			100*dominated)
	}
}

// fivePrimaries are two systems whose five primary metrics vary independently.
func fivePrimaries(rng *rand.Rand, trials int, factor float64) (a, b decide.Arm) {
	arms := [2]decide.Arm{{Name: "a"}, {Name: "b"}}
	cells := [2]decide.ArmCell{{Label: "base", Closed: true}, {Label: "base", Closed: true}}
	for trial := range trials {
		block := blockSpread * rng.NormFloat64()
		for side := range 2 {
			level := func() float64 {
				v := math.Exp(block + ratioSpread/math.Sqrt2*rng.NormFloat64())
				if side == 1 {
					v *= factor
				}
				return v
			}
			s := run(400/level(), 40*level())
			for i := range s[0].Stats {
				st := &s[0].Stats[i]
				switch st.Tag {
				case "time_to_first_token":
					st.P99, st.P95 = 60*level(), 55*level()
				case "request_throughput":
					st.Avg = 40 / level()
				}
			}
			cells[side].Runs = append(cells[side].Runs, decide.Outcome{
				Run:       sweep.Run{Trial: trial},
				Summaries: s, Verdict: validity.Valid, OK: 1000,
			})
		}
	}
	for side := range 2 {
		arms[side].Cells = []decide.ArmCell{cells[side]}
	}
	return arms[0], arms[1]
}

// compareFive tells for each primary metric how often it is WORSE, and how often
// any is WORSE or BETTER.
func compareFive(
	t *testing.T, n, trials int, factor float64, paired bool, primary []decide.Key,
) (worse map[decide.Key]float64, any float64) {
	t.Helper()
	rng := seed.Stream(int64(trials), fmt.Sprint("compare", factor, paired, len(primary)))
	worse = map[decide.Key]float64{}
	for range n {
		a, b := fivePrimaries(rng, trials, factor)
		c, err := decide.Compare(a, b, decide.Terms{Paired: paired, Margin: .05, Primary: primary})
		if err != nil {
			t.Fatal(err)
		}
		told := false
		for _, r := range c.Rows {
			if r.Primary && r.Outcome == decide.Worse {
				worse[r.Key] += 1 / float64(n)
			}
			told = told || r.Primary && (r.Outcome == decide.Worse || r.Outcome == decide.Better)
		}
		if told {
			any += 1 / float64(n)
		}
	}
	return worse, any
}

var five = []decide.Key{
	tokenKey, ttft50,
	{Tag: "time_to_first_token", Stat: "p99"},
	{Tag: "time_to_first_token", Stat: "p95"},
	{Tag: "request_throughput", Stat: "avg"},
}

// Compared with itself a system is told apart in at most 5 %, paired or not; a
// slowdown of 10 % is WORSE in 80 % and more at a margin of 5 % with five trials
// and five primary metrics; one of 2 % in at most 2 % per metric, 6 % where it
// is the only one.
func TestCompareBySimulation(t *testing.T) {
	t.Parallel()
	for _, paired := range []bool{true, false} {
		if _, any := compareFive(t, 500, 5, 1, paired, five); any > .07 {
			t.Errorf("the same system, paired %v: told apart in %.1f %%, want 5 %%", paired, 100*any)
		}
	}
	if p := (stats.Design{SD: ratioSpread, Alpha: .05 / 5, Margin: math.Log1p(.05)}).Power(math.Log1p(.1), 5); p < .8 {
		t.Errorf("10 %% slower: a power of %.1f %%, want 80 %%", 100*p)
	}
	worse, _ := compareFive(t, 400, 5, 1.1, true, five)
	for _, k := range five {
		if worse[k] < .76 { // 80 %, less two standard errors
			t.Errorf("10 %% slower: %v is WORSE in %.1f %%, want 80 %%", k, 100*worse[k])
		}
	}
	worse, _ = compareFive(t, 400, 5, 1.02, true, five)
	for _, k := range five {
		if worse[k] > .03 { // 2 %, and two standard errors
			t.Errorf("2 %% slower: %v is WORSE in %.1f %%, want 2 %%", k, 100*worse[k])
		}
	}
	worse, _ = compareFive(t, 400, 5, 1.02, true, five[:1])
	if worse[tokenKey] > .075 {
		t.Errorf("2 %% slower, one primary metric: WORSE in %.1f %%, want 6 %%", 100*worse[tokenKey])
	}
}

// With enough trials the same system is EQUIVALENT at 5 %.
func TestCompareFindsEquivalence(t *testing.T) {
	t.Parallel()
	rng := seed.Stream(1, "equivalence")
	equal := 0
	const n = 200
	for range n {
		a, b := fivePrimaries(rng, 10, 1)
		c, err := decide.Compare(a, b, decide.Terms{Paired: true, Margin: .05, Primary: five})
		if err != nil {
			t.Fatal(err)
		}
		if c.Outcome() == decide.Equivalent {
			equal++
		}
	}
	if equal < n*8/10 {
		t.Errorf("the same system, ten trials: EQUIVALENT in %d of %d", equal, n)
	}
}

// What two identical servers once gave: fixed workloads that differ, measured as
// A and B. In blocks there is no difference to show.
func TestTwoServersOfOneKind(t *testing.T) {
	t.Parallel()
	p := endpoints(t, 2, 5)
	w := world{cells: 2, trials: 5, noisy: -1}
	r := decide.Aggregate(p, w.outcomes(p, seed.Stream(11, "two servers")))
	for _, b := range r.Best {
		if b.Shown {
			t.Errorf("two servers of one kind: %s", sentence(b))
		}
	}
}
