package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// The fast generator: plans whose trials are drawn, and decided by decide.Aggregate as
// any others are. No network and no engine: a plan takes a millisecond, so that a share
// of one in a hundred is counted and not hoped for. The circumstances of each plan are
// drawn, too, so that no limit of decide can be tuned to one of them.

// circumstances are those of one plan.
type circumstances struct {
	cells, trials int
	requests      int     // of a run
	noise         float64 // of a run by itself: an instance whose state lasts as long as a run
	block         float64 // of a trial: arrivals and lengths that all its cells share
	keep          float64 // of the noise from run to run
	drift         float64 // of the latency from the first run to the last
	heavy         bool    // t₃'s tails on the logarithms instead of the normal's
	noisy         int     // the cell that is five times as noisy, −1 for none
	cut           float64 // share of requests that the end of a run cut off
	steep         float64 // how much more than the latency the share of bad requests varies
}

// draw makes the circumstances: run noise of 3 to 10 %, blocks of 2 to 15 %, 2 to 24
// cells, 3 to 12 trials, 100 to 2,000 requests.
func draw(rng *rand.Rand) circumstances {
	one := func(of int) bool { return rng.IntN(of) == 0 }
	c := circumstances{
		cells: 2 + rng.IntN(23), trials: 3 + rng.IntN(10), requests: int(100 * math.Pow(20, rng.Float64())),
		noise: 0.03 + 0.07*rng.Float64(), block: 0.02 + 0.13*rng.Float64(), heavy: one(3), noisy: -1,
		steep: 3 * rng.Float64(),
	}
	if one(4) {
		c.keep = 0.6 * rng.Float64()
	}
	if one(4) {
		c.drift = 0.05 * rng.Float64()
	}
	if one(4) {
		c.noisy = rng.IntN(c.cells)
	}
	if one(3) {
		c.cut = 0.02 * rng.Float64()
	}
	return c
}

// hazard draws one deviation with a standard deviation of 1.
func (c *circumstances) hazard(rng *rand.Rand) float64 {
	if !c.heavy {
		return rng.NormFloat64()
	}
	chi := 0.0
	for range 3 {
		chi += math.Pow(rng.NormFloat64(), 2)
	}
	return rng.NormFloat64() / math.Sqrt(chi/3) / math.Sqrt(3)
}

// system is what a cell really is.
type system struct {
	latency, throughput float64 // relative to 100 ms and 400 tokens/s
	good                float64 // share of requests, over all runs there may be
}

// outcomes draws the runs of a plan in the order of execution: each trial in a random
// order of cells, the next one in its reverse.
func (c *circumstances) outcomes(p *sweep.Plan, of []system, rng *rand.Rand) []decide.Outcome {
	runs := map[[2]int]sweep.Run{}
	for _, r := range p.Runs {
		runs[[2]int{r.Cell.Index, r.Trial}] = r
	}
	out := make([]decide.Outcome, 0, len(p.Runs))
	var order []int
	noise, ran := c.hazard(rng), 0
	for trial := range p.Trials {
		if trial%2 == 0 {
			order = rng.Perm(len(of))
		} else {
			slices.Reverse(order)
		}
		block, hard := c.block*c.hazard(rng), spreadOf(c.steep*c.block, rng)
		for _, cell := range order {
			noise = c.keep*noise + math.Sqrt(1-c.keep*c.keep)*c.hazard(rng)
			spread := c.noise
			if cell == c.noisy {
				spread *= 5
			}
			slow := block + spread*noise + c.drift*float64(ran)/float64(len(p.Runs))
			out = append(out, c.outcome(runs[[2]int{cell, trial}], of[cell], slow, hard, rng))
			ran++
		}
	}
	return out
}

// spreadOf is a factor of mean 1 whose logarithm spreads by s.
func spreadOf(s float64, rng *rand.Rand) float64 { return math.Exp(s*rng.NormFloat64() - s*s/2) }

// failing draws how many of the requests fail a limit that a share p fails, by the gaps
// between them.
func (c *circumstances) failing(rng *rand.Rand, p float64) (k float64) {
	if p >= 1 {
		return float64(c.requests)
	}
	for at := 0.0; p > 0; k++ {
		if at += 1 + math.Floor(math.Log(1-rng.Float64())/math.Log(1-p)); at > float64(c.requests) {
			return k
		}
	}
	return k
}

// outcome is one run that is slower than usual by exp(slow), in a trial whose load makes
// so many times as many requests fail the limits; a run multiplies them by a factor of
// its own. Both have the mean 1, so that the cell's share is the truth.
func (c *circumstances) outcome(run sweep.Run, of system, slow, hard float64, rng *rand.Rand) decide.Outcome {
	nan := math.NaN()
	latency := 100 * of.latency * math.Exp(slow)
	own := func() float64 { return latency * math.Exp(0.3*c.noise*c.hazard(rng)) }
	tail := own()
	n := float64(c.requests)
	ttft := metrics.Stat{
		Tag: metrics.TimeToFirstToken, Unit: "ms", Count: int64(n), NEff: n, Avg: latency, Min: nan, Max: nan, Sum: nan,
		Std: nan, P1: nan, P5: nan, P10: nan, P25: nan,
		P50: latency, P75: 1.2 * tail, P90: 1.5 * tail, P95: 2 * tail, P99: 3 * tail, P999: nan,
	}
	itl := ttft
	itl.Tag, itl.Avg, itl.P50 = metrics.InterTokenLatency, own(), own()
	scalar := func(tag string, v float64) metrics.Stat {
		return metrics.Stat{Tag: tag, Scalar: true, Avg: v, Min: nan, Max: nan, Sum: nan, Std: nan, NEff: nan}
	}
	cut := math.Round(c.cut * n)
	good := n - c.failing(rng, (1-of.good)*hard*spreadOf(c.steep*c.noise, rng))
	known := math.Round(good * (n - cut) / n) // of those that were answered
	share := scalar(metrics.GoodRequestFraction, known/n)
	if cut > 0 {
		share.Open, share.Plain = cut/n, &metrics.Stat{}
	}
	return decide.Outcome{
		Run: run, Verdict: validity.Valid, OK: int64(n - cut), Cut: int64(cut), Sent: int64(n),
		Summaries: []metrics.Summary{{Window: decide.Full, Stats: []metrics.Stat{
			ttft, itl, scalar(metrics.OutputTokenThroughput,
				400*of.throughput*math.Exp(-slow)*math.Exp(0.3*c.noise*c.hazard(rng))),
			scalar(metrics.ErrorRate, 0), scalar("completed_request_count", n-cut), share,
		}}},
	}
}

// question is what a scenario asks of its plans.
type question struct {
	name, asks string
	most       float64 // the share of plans in which what is counted may happen; 0: it is described
	// plan makes one plan of the circumstances and tells what the cells really are.
	plan func(c *circumstances, rng *rand.Rand) (*sweeptest.Document, []system)
	// count says what the plan's results say that they should not.
	count func(r *decide.Results, of []system) bool
}

// endpointsOf is a plan over k endpoints, of which the first is the baseline where they
// are compared.
func endpointsOf(k, trials int, compared bool) *sweeptest.Document {
	var values []any
	for i := range k {
		name := fmt.Sprintf("e%02d", i)
		values = append(values, map[string]any{"label": name, "url": name})
	}
	d := sweeptest.Grid(trials, sweeptest.Axis("benchmark.endpoint", "endpoint", values...))
	if compared {
		d.Head.Compare = &schema.Compare{Axis: "endpoint"}
	}
	return d
}

// alike are k names of one system.
func alike(c *circumstances, _ *rand.Rand) (*sweeptest.Document, []system) {
	of := make([]system, c.cells)
	for i := range of {
		of[i] = system{1, 1, 0.995}
	}
	return endpointsOf(c.cells, c.trials, false), of
}

// pair is two systems, the second of which takes so much of the first one's time.
func pair(factor float64) func(*circumstances, *rand.Rand) (*sweeptest.Document, []system) {
	return func(c *circumstances, _ *rand.Rand) (*sweeptest.Document, []system) {
		c.cells, c.noisy = 2, -1
		return endpointsOf(2, c.trials, true), []system{{1, 1, 0.995}, {factor, 1 / factor, 0.995}}
	}
}

// ladder is one system under 3 to 8 growing loads: throughput grows by 5 to 60 % a step,
// and the share of requests that meet the limits falls, around the 99 % that are wanted.
func ladder(c *circumstances, rng *rand.Rand) (*sweeptest.Document, []system) {
	c.cells, c.noisy = 3+rng.IntN(6), -1
	var values []any
	of := make([]system, c.cells)
	throughput, bad := 1.0, 0.0002*math.Pow(20, rng.Float64())
	for i := range of {
		values = append(values, int64(i+1))
		of[i] = system{1 + 0.1*float64(i), throughput, 1 - min(bad, 0.9)}
		throughput *= 1.05 + 0.55*rng.Float64()
		bad *= 1 + 2*rng.Float64()
	}
	d := sweeptest.Grid(c.trials, sweeptest.Axis(sweeptest.Concurrency, "concurrency", values...))
	d.SLOs = map[string]float64{metrics.TimeToFirstToken: 300}
	return d, of
}

// levelling is one system under 3 to 8 growing loads, whose throughput grows less and less, and
// whose requests take longer and longer.
func levelling(c *circumstances, rng *rand.Rand) (*sweeptest.Document, []system) {
	c.cells, c.noisy = 3+rng.IntN(6), -1
	var values []any
	of := make([]system, c.cells)
	throughput, latency, step := 1.0, 1.0, 0.2+0.5*rng.Float64()
	for i := range of {
		values = append(values, int64(i+1))
		of[i] = system{latency, throughput, 1}
		throughput *= 1 + step
		latency *= 1.1 + rng.Float64()
		step *= 0.6 * rng.Float64()
	}
	return sweeptest.Grid(c.trials, sweeptest.Axis(sweeptest.Concurrency, "concurrency", values...)), of
}

// enoughIsNot reports whether a load that is called enough has less than another by more than
// a tenth.
func enoughIsNot(r *decide.Results, of []system) bool {
	c := r.Best[0].Choose
	if c == nil || r.Cells[c.Cell.Index].Trials < stats.FewestTrials {
		return false
	}
	return slices.ContainsFunc(of, func(t system) bool { return t.throughput > 1.1*of[c.Cell.Index].throughput })
}

// enoughIsNamed reports whether a load is called enough.
func enoughIsNamed(r *decide.Results, _ []system) bool { return r.Best[0].Choose != nil }

// tempting is two loads of which the slower one keeps the limits by far, and the faster one
// misses them by little: 98.7 % of its requests are good, and 99 % are wanted.
func tempting(c *circumstances, rng *rand.Rand) (*sweeptest.Document, []system) {
	c.cells, c.noisy, c.trials, c.cut = 2, -1, max(c.trials, 5), 0
	d := sweeptest.Grid(c.trials, sweeptest.Axis(sweeptest.Concurrency, "concurrency", int64(1), int64(2)))
	d.SLOs = map[string]float64{metrics.TimeToFirstToken: 300}
	return d, []system{{1, 1, 0.9995}, {1.2, 1.2 + rng.Float64(), 0.987}}
}

// still is one system under 24 names that stays as it is.
func still(c *circumstances, rng *rand.Rand) (*sweeptest.Document, []system) {
	c.cells, c.drift = 24, 0
	return alike(c, rng)
}

// drifted reports whether the plan is said to have drifted.
func drifted(r *decide.Results, _ []system) bool {
	e := verdict.PlanEvidence{}
	for i := range r.Cells {
		medians := r.Cells[i].Full.Values(decide.Key{Tag: metrics.TimeToFirstToken, Stat: "p50"})
		e.Trials = len(medians)
		e.Cells = append(e.Cells, verdict.CellEvidence{
			Label: r.Cells[i].Cell.Short(), OK: len(medians),
			Medians: medians,
		})
	}
	return slices.ContainsFunc(verdict.JudgePlan(&e, nil), func(f verdict.Finding) bool {
		return f.Check == "drift" &&
			f.Verdict > verdict.Valid
	})
}

func anyBest(r *decide.Results, _ []system) bool {
	return slices.ContainsFunc(r.Best, func(b decide.Best) bool { return b.Shown })
}

func anyDominated(r *decide.Results, _ []system) bool {
	return slices.ContainsFunc(r.Cells, func(c decide.CellResult) bool { return c.Front == decide.Dominated })
}

// says counts the headlines of a comparison.
func says(words ...decide.Verdict) func(*decide.Results, []system) bool {
	return func(r *decide.Results, _ []system) bool { return slices.Contains(words, r.Comparisons[0].Outcome()) }
}

// wanted is the share of requests that must be good.
const wanted = 0.99

// bestMisses reports whether the cell that is named best within the limits misses them.
func bestMisses(r *decide.Results, of []system) bool {
	return bestIsNamed(r, of) && of[r.UnderSLO[0].Cell.Cell.Index].good < wanted
}

// bestIsNamed reports whether a best within limits is named, which is not a mistake.
func bestIsNamed(r *decide.Results, _ []system) bool {
	return len(r.UnderSLO) > 0 && r.UnderSLO[0].Shown
}

// bestIsNot reports whether another cell holds the limits and is faster by more than what
// counts as equal.
func bestIsNot(r *decide.Results, of []system) bool {
	if !bestIsNamed(r, of) {
		return false
	}
	named := of[r.UnderSLO[0].Cell.Cell.Index]
	return slices.ContainsFunc(of,
		func(t system) bool { return t.good >= wanted && t.throughput > named.throughput*1.01 })
}

// heldMisses reports whether a cell is called HELD that misses the limits.
func heldMisses(r *decide.Results, of []system) bool {
	return slices.ContainsFunc(r.Cells, func(c decide.CellResult) bool {
		return len(c.SLOs) > 0 && c.SLOs[0].State == decide.Held && of[c.Cell.Index].good < wanted
	})
}

var questions = []question{
	{"one system under 2 to 24 names", "one is called best", 0.05, alike, anyBest},
	{"one system under 2 to 24 names", "one is called dominated", 0.05, alike, anyDominated},
	{"one system under two names", "BETTER or WORSE", 0.05, pair(1), says(decide.Better, decide.Worse)},
	{"a candidate 10 % faster", "EQUIVALENT", 0.01, pair(1 / 1.1), says(decide.Equivalent)},
	{"a candidate 10 % faster", "WORSE", 0.01, pair(1 / 1.1), says(decide.Worse)},
	{"a candidate 10 % slower", "EQUIVALENT or NOT WORSE", 0.05, pair(1.1), says(decide.Equivalent, decide.NotWorse)},
	{"a candidate 10 % slower", "BETTER", 0.01, pair(1.1), says(decide.Better)},
	{"a faster load that has 98.7 % of the wanted 99 %", "best within limits misses them", 0.025, tempting, bestMisses},
	{"loads around the limits", "best within limits misses them", 0.025, ladder, bestMisses},
	{"loads around the limits", "another is best within limits", 0.05, ladder, bestIsNot},
	{"loads around the limits", "some cell that misses is HELD", 0.05, ladder, heldMisses},
	{"loads that give less and less", "another gives over 10 % more than the one that is enough", 0.05, levelling, enoughIsNot},
	{"one system under 24 names that stays as it is", "it drifts", 0.02, still, drifted},
	{"one system under two names", "EQUIVALENT or NOT WORSE, which is right", 0, pair(1), says(decide.Equivalent, decide.NotWorse)},
	{"a candidate 10 % faster", "BETTER, which is right", 0, pair(1 / 1.1), says(decide.Better)},
	{"a candidate 10 % slower", "WORSE, which is right", 0, pair(1.1), says(decide.Worse)},
	{"a faster load that has 98.7 % of the wanted 99 %", "a best is named, which is right unless counted above", 0, tempting, bestIsNamed},
	{"loads around the limits", "a best is named, which is right unless counted above", 0, ladder, bestIsNamed},
	{"loads that give less and less", "a load is called enough, which is right unless counted above", 0, levelling, enoughIsNamed},
}

// counted is how many of so many plans of a question, from a number on, say what they
// should not. The plans of a question are always the same ones.
func (q question) counted(t testing.TB, from, plans int) (k int) {
	t.Helper()
	for n := from; n < from+plans; n++ {
		rng := seed.Stream(int64(n), "drawn/"+q.name)
		c := draw(rng)
		d, of := q.plan(&c, rng)
		p := sweeptest.Expand(t, d)
		if r := decide.Aggregate(p, c.outcomes(p, of, rng)); q.count(r, of) {
			k++
		}
	}
	return k
}

// drawnPlans are how many plans of each question the page has, and how many of them
// every test run looks at again.
const (
	drawnPlans = 500
	drawnFew   = 40
)

// tally is what was counted of a question.
type tally struct {
	Plan, Counts string
	Few, All     int // of drawnFew and of drawnPlans
}

const (
	drawnFile = "testdata/drawn.json"
	drawnPage = "../../docs/simulations.md"
	drawnFrom = "<!-- drawn plans: go test ./internal/sim -run TestDrawnPlans -count 1 -times 10 -->\n"
	drawnTo   = "<!-- end of drawn plans -->"
)

// Each wrong conclusion is drawn as seldom as it may be. The ordinary test looks at the
// first plans, and the page says what all of them gave; -times 10 counts all again and
// writes both.
func TestDrawnPlans(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("pure functions: nothing runs beside anything")
	}
	var known []tally
	if b, err := os.ReadFile(drawnFile); err == nil {
		if err := json.Unmarshal(b, &known); err != nil {
			t.Fatal(err)
		}
	}
	if *times >= 10 {
		known = nil
		for _, q := range questions {
			known = append(known, tally{q.name, q.asks, q.counted(t, 0, drawnFew), q.counted(t, 0, drawnPlans)})
		}
		b, err := json.MarshalIndent(known, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		keep(t, drawnFile, string(b)+"\n")
	}
	if len(known) != len(questions) {
		t.Fatalf("%s has %d questions, there are %d: go test ./internal/sim -run TestDrawnPlans -times 10", drawnFile,
			len(known), len(questions))
	}
	for i, q := range questions {
		x := known[i]
		if x.Plan != q.name || x.Counts != q.asks {
			t.Errorf("question %d is %q, %q in %s", i, q.name, x.Plan, drawnFile)
		}
		if q.most > 0 && x.All > most(q.most, drawnPlans) {
			t.Errorf("%s: in %d of %d plans %s; want %.1f %%", q.name, x.All, drawnPlans, q.asks, 100*q.most)
		}
		if *times < 10 {
			if got := q.counted(t, 0, drawnFew); got != x.Few {
				t.Errorf("%s: in %d of the first %d plans %s, %d are recorded: go test ./internal/sim -run TestDrawnPlans -times 10, and read what changed",
					q.name, got, drawnFew, q.asks, x.Few)
			}
		}
	}
	onPage(t, known)
}

// fresh is the number of the first plan that TestFreshDrawnPlans draws; below drawnPlans
// are those on which the methods were looked at.
var fresh = flag.Int("fresh", 0,
	"draw this many plans of each question whose seeds no table has, from plan 1,000,000 + -seed on")

// freshFrom moves them on.
var freshFrom = flag.Int("seed", 0, "for -fresh: the number of the first plan, after a million")

// The same with plans that nobody has looked at: go test ./internal/sim -run
// TestFreshDrawnPlans -v -fresh 500 -seed 7.
func TestFreshDrawnPlans(t *testing.T) {
	t.Parallel()
	if *fresh == 0 {
		t.Skip("-fresh says how many")
	}
	for _, q := range questions {
		t.Run(q.name+", "+q.asks, func(t *testing.T) {
			t.Parallel()
			k := q.counted(t, 1_000_000+*freshFrom, *fresh)
			t.Log(pageRow(q.name, q.asks, k, *fresh, q.most))
			if q.most > 0 && k > most(q.most, *fresh) {
				t.Errorf("in %d of %d plans %s; want %.1f %%", k, *fresh, q.asks, 100*q.most)
			}
		})
	}
}

// onPage compares the page's table with what was counted, or writes it.
func onPage(t *testing.T, known []tally) {
	t.Helper()
	b, err := os.ReadFile(drawnPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), drawnFrom)
	table, after, end := strings.Cut(rest, drawnTo)
	if !ok || !end {
		t.Fatalf("%s has no place for the drawn plans", drawnPage)
	}
	want := "| plan | what is said | in | at most | allowed |\n|---|---|---|---|---|\n"
	for i, x := range known {
		want += pageRow(x.Plan, x.Counts, x.All, drawnPlans, questions[i].most) + "\n"
	}
	if *times >= 10 {
		keep(t, drawnPage, before+drawnFrom+want+drawnTo+after)
	} else if table != want {
		t.Errorf("%s does not say what %s has: want\n%s", drawnPage, drawnFile, want)
	}
}

// pageRow is a line of a page's table: k of n plans said it, which most may; 0 for what
// is only described.
func pageRow(plan, said string, k, n int, most float64) string {
	allowed := "–"
	if most > 0 {
		allowed = fmt.Sprintf("%.1f %%", 100*most)
	}
	return fmt.Sprintf("| %s | %s | %d of %d | %.1f %% | %s |", plan, said, k, n, 100*bound(k, n), allowed)
}

// bound is the upper end of the one-sided 95 % interval of Clopper and Pearson for k of n.
func bound(k, n int) float64 {
	return stats.Share([]stats.Tally{{Hits: float64(k), Of: float64(n)}}, 0.9).High
}

func keep(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What a drawn plan costs, of which a share of one in a hundred takes thousands.
func BenchmarkDrawnPlan(b *testing.B) {
	for _, q := range []question{questions[0], questions[2], questions[7]} {
		b.Run(strings.ReplaceAll(q.name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				q.counted(b, 0, 1)
			}
		})
	}
}
