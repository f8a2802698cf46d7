package search_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep/search"
)

var searches = flag.Int("searches", 12, "simulated searches of each server")

// server is a simulated one: how large its share of good requests is at a load.
type server struct {
	name     string
	steep    float64 // of the logit of the share over the logarithm of the load
	apart    float64 // standard deviation of runs, on the logit
	requests float64 // of a run
}

// limitShare is the share that is asked for.
const limitShare = 0.95

// probe is a run at a load, at a server whose limit is known.
func (s *server) probe(rng *rand.Rand, load, limit float64) stats.Tally {
	at := math.Log(limitShare/(1-limitShare)) - s.steep*math.Log(load/limit) + s.apart*rng.NormFloat64()
	p, hits := 1/(1+math.Exp(-at)), 0.0
	for range int(s.requests) {
		if rng.Float64() < p {
			hits++
		}
	}
	return stats.Tally{Hits: hits, Of: s.requests}
}

// find carries out a search to its end.
func find(t *testing.T, terms search.Terms, probe func(load float64) search.Run) *search.Answer {
	t.Helper()
	var runs []search.Run
	for {
		step := search.Next(terms, runs)
		if step.Answer != nil {
			return step.Answer
		}
		if !(step.Load >= terms.Low && step.Load <= terms.High) || terms.Whole && step.Load != math.Trunc(step.Load) ||
			step.Why == "" {
			t.Fatalf("probe %d: %+v", len(runs)+1, step)
		}
		if len(runs) >= terms.Probes {
			t.Fatalf("%d probes of %d, and on: %+v", len(runs), terms.Probes, step)
		}
		r := probe(step.Load)
		r.Load = step.Load
		runs = append(runs, r)
	}
}

// The bracket holds the limit in at least 95 % of the searches, also where runs differ by
// more than their requests explain; its two ends were seen twice. It is wider where the
// server is noisier, and no search takes more than its budget.
func TestCoverage(t *testing.T) {
	t.Parallel()
	for _, s := range []server{
		{"alike", 4, 0, 400},
		{"cliff", 60, 0, 400},
		{"runs differ by 0.3", 4, 0.3, 400},
		{"runs differ by 0.6", 4, 0.6, 400},
		{"few requests", 4, 0.3, 100},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(24, 1))
			held, closed := 0, 0
			var widths, costs []float64
			for range *searches {
				limit := math.Exp(math.Log(4) + rng.Float64()*math.Log(64))
				a := find(t, search.Terms{Low: 1, High: 2048, Share: limitShare, Resolution: 0.05, Probes: 40},
					func(load float64) search.Run {
						y := s.probe(rng, load, limit)
						return search.Run{Worst: y, Best: y, Own: search.Holds}
					})
				if (a.Holds == nil || a.Holds.Load <= limit) && (a.Fails == nil || a.Fails.Load >= limit) {
					held++
				}
				costs = append(costs, float64(len(a.Runs)))
				if a.Holds != nil && a.Fails != nil && a.Outcome != search.Contrary {
					closed++
					widths = append(widths, a.Fails.Load/a.Holds.Load-1)
				}
			}
			slices.Sort(widths)
			slices.Sort(costs)
			low := stats.Share([]stats.Tally{{Hits: float64(held), Of: float64(*searches)}}, 0.9)
			t.Logf("%-20s %d of %d hold the limit (at least %.1f %%), %d closed, median width %.0f %%, %.0f runs",
				s.name, held, *searches, 100*low.Low, closed, 100*stats.Quantile(widths, 0.5),
				stats.Quantile(costs, 0.5))
			if low.High < 0.95 {
				t.Errorf("%d of %d brackets hold the limit", held, *searches)
			}
			if closed < *searches*9/10 {
				t.Errorf("%d of %d brackets have two ends", closed, *searches)
			}
		})
	}
}

// Each way in which a search may end, at a server that shows what it can without noise.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	good := func(is bool) search.Run {
		y := stats.Tally{Hits: 200, Of: 200}
		if !is {
			y.Hits = 100
		}
		return search.Run{Worst: y, Best: y, Own: search.Holds, Took: time.Second}
	}
	open := func() search.Run { // 95 % is inside its interval
		y := stats.Tally{Hits: 190, Of: 200}
		return search.Run{Worst: y, Best: y, Own: search.Holds, Took: time.Second}
	}
	n := 0
	for _, c := range []struct {
		name         string
		probe        func(load float64) search.Run
		change       func(*search.Terms)
		want         search.Outcome
		holds, fails float64
		sure         bool
		runs         int
		torn         float64
	}{
		{name: "bracket", probe: func(x float64) search.Run { return good(x <= 37) }, want: search.Bracketed, holds: 37, fails: 38, sure: true, runs: 15},
		{name: "never binds", probe: func(float64) search.Run { return good(true) }, want: search.AtLeast, holds: 512, sure: true, runs: 10},
		{name: "always binds", probe: func(float64) search.Run { return good(false) }, want: search.Fewer, fails: 1, sure: true, runs: 3},
		{name: "carries more again", probe: func(x float64) search.Run { return good(x <= 20 || x > 40) }, want: search.Contrary, holds: 16, fails: 32, runs: 8},
		{name: "carries more again far above", probe: func(x float64) search.Run { return good(x <= 4 || x > 40) }, want: search.Contrary, holds: 4, fails: 5, sure: true, runs: 10},
		{name: "nothing usable far above", probe: func(x float64) search.Run {
			if x > 128 {
				return search.Run{Unfit: "INVALID by client_cpu"}
			}
			return good(x <= 37)
		}, want: search.Bracketed, holds: 37, fails: 38, sure: true, runs: 15},
		{name: "no probe is left to look far above", probe: func(x float64) search.Run { return good(x <= 37) }, change: func(t *search.Terms) { t.Probes = 15 }, want: search.Bracketed, holds: 37, fails: 38, sure: true, runs: 14},
		{name: "nothing usable above", probe: func(x float64) search.Run {
			if x > 64 {
				return search.Run{Unfit: "INVALID by client_cpu"}
			}
			return good(x <= 37)
		}, want: search.Bracketed, holds: 37, fails: 38, sure: true, runs: 14},
		{name: "nothing can be decided", probe: func(float64) search.Run { return open() }, want: search.Wide, runs: 27, sure: true},
		{name: "undecided between", probe: func(x float64) search.Run {
			if x > 20 && x < 60 {
				return open()
			}
			return good(x <= 20)
		}, want: search.Wide, holds: 20, fails: 61, sure: true},
		{name: "probes are spent", probe: func(x float64) search.Run { return good(x <= 37) }, change: func(t *search.Terms) { t.Probes = 7 }, want: search.Spent, holds: 32, fails: 64, runs: 7},
		{name: "time is spent", probe: func(x float64) search.Run { return good(x <= 37) }, change: func(t *search.Terms) { t.Time = 5 * time.Second }, want: search.Spent, holds: 32, runs: 5},
		{name: "server died", probe: func(x float64) search.Run {
			if x > 16 {
				return search.Run{Unfit: "gone", Died: true}
			}
			return good(true)
		}, want: search.ServerLost, holds: 16, runs: 7},
		{name: "client at its end", probe: func(x float64) search.Run {
			if x > 16 {
				return search.Run{Unfit: "INVALID by client_cpu"}
			}
			return good(true)
		}, want: search.ClientLost, holds: 16, runs: 7},
		{name: "figures of a run", probe: func(x float64) search.Run {
			if x > 24 {
				return search.Run{Own: search.Fails}
			}
			return search.Run{Own: search.Holds}
		}, want: search.Bracketed, holds: 24, fails: 25, sure: true},
		{name: "one of three does not keep up", probe: func(x float64) search.Run {
			r := good(x <= 64)
			if x == 64 {
				if n++; n == 2 {
					r.Own = search.Fails
				}
			}
			return r
		}, want: search.Wide, holds: 61, fails: 67, sure: true, torn: 64},
	} {
		terms := search.Terms{Low: 1, High: 512, Whole: true, Share: limitShare, Resolution: 0.05, Probes: 40}
		if c.change != nil {
			c.change(&terms)
		}
		a := find(t, terms, c.probe)
		at := func(l *search.Load) float64 {
			if l == nil {
				return 0
			}
			return l.Load
		}
		for _, l := range a.Loads {
			if l.Torn != (l.Load == c.torn) {
				t.Errorf("%s: %g contradicts itself: %v", c.name, l.Load, l.Torn)
			}
		}
		if a.Outcome != c.want || c.holds > 0 && at(a.Holds) != c.holds || at(a.Fails) != c.fails ||
			a.Sure != c.sure || c.runs > 0 && len(a.Runs) != c.runs {
			t.Errorf("%s: %s, holds %g, fails %g, sure %v, %d runs", c.name, a.Outcome, at(a.Holds), at(a.Fails),
				a.Sure, len(a.Runs))
			for i, r := range a.Runs {
				t.Log(i, search.Next(terms, a.Runs[:i]).Why, r.Load)
			}
		}
	}
}

// A load that fails below one that holds was seen once, perhaps by chance: both are seen
// again before it is said.
func TestContrary(t *testing.T) {
	t.Parallel()
	var runs []search.Run
	add := func(load, hits float64) {
		y := stats.Tally{Hits: hits, Of: 200}
		runs = append(runs, search.Run{Load: load, Worst: y, Best: y, Own: search.Holds})
	}
	terms := search.Terms{Low: 1, High: 512, Whole: true, Share: limitShare, Resolution: 0.05, Probes: 40}
	add(8, 200)
	add(32, 200)
	add(16, 100)
	for _, want := range []float64{16, 32} {
		step := search.Next(terms, runs)
		if step.Load != want || step.Why != "16 fails and 32 holds: both once more" {
			t.Errorf("%+v, want %g", step, want)
		}
		add(want, map[float64]float64{16: 100, 32: 200}[want])
	}
	if a := search.Next(terms, runs).Answer; a == nil || a.Outcome != search.Contrary ||
		a.Holds.Load != 8 || a.Fails.Load != 16 || a.Again.Load != 32 {
		t.Errorf("%+v", a)
	}
}

// Runs that are good from first to last show nothing of how runs differ. Where those of other loads do, an end takes
// five of them; and above a load that three runs did not decide, three good ones do not hold: that load had good
// ones, too.
func TestLuck(t *testing.T) {
	t.Parallel()
	terms := search.Terms{Low: 1, High: 64, Whole: true, Share: limitShare, Resolution: 0.05, Probes: 60}
	runs := map[float64][]float64{ // good ones of 200
		1: {200}, 4: {200}, 8: {200, 200, 200, 200, 200, 200}, 9: {190, 120, 180}, 10: {190, 90, 150},
		11: {120, 60, 90, 60, 80}, 16: {120, 60, 40, 80, 90, 100}, 32: {0}, 64: {0},
	}
	seen := map[float64]int{}
	a := find(t, terms, func(load float64) search.Run {
		y := stats.Tally{Hits: runs[load][seen[load]], Of: 200}
		seen[load]++
		return search.Run{Worst: y, Best: y, Own: search.Holds}
	})
	if a.Holds == nil || a.Holds.Load != 8 || a.Holds.Runs != 5 || !a.Sure {
		t.Errorf("holds %+v, sure %v, runs %v", a.Holds, a.Sure, seen)
	}
	var list []search.Run
	for _, load := range []float64{8, 16} {
		for _, hits := range [][]float64{{200, 90, 200}, {200, 200, 200}}[int(load)/8-1] {
			y := stats.Tally{Hits: hits, Of: 200}
			list = append(list, search.Run{Load: load, Worst: y, Best: y, Own: search.Holds})
		}
	}
	if a := search.SoFar(terms, list); a.Loads[1].State != search.Undecided || a.After[5] != search.Undecided {
		t.Errorf("above a load with a bad run of three, three good ones show: %+v, after them %s", a.Loads[1], a.After[5])
	}
	if a := search.SoFar(terms, list[3:]); a.Loads[0].State != search.Holds {
		t.Errorf("three good ones alone show: %+v", a.Loads[0])
	}
}

func ExampleNext() {
	carries := func(load float64) search.Run { // all are good up to 37 users, half of them above
		y := stats.Tally{Hits: 200, Of: 200}
		if load > 37 {
			y.Hits = 100
		}
		return search.Run{Load: load, Worst: y, Best: y, Own: search.Holds}
	}
	var runs []search.Run
	for {
		step := search.Next(search.Terms{Low: 1, High: 512, Whole: true, Share: 0.98, Resolution: 0.05, Probes: 40},
			runs)
		if a := step.Answer; a != nil {
			fmt.Println(a.Outcome, a.Holds.Load, a.Fails.Load, a.Sure)
			return
		}
		fmt.Println(step.Load, step.Why)
		runs = append(runs, carries(step.Load))
	}
	// Output:
	// 1 the lower end of the range
	// 4 no load up to 1 fails
	// 8 no load up to 4 fails
	// 16 no load up to 8 fails
	// 32 no load up to 16 fails
	// 64 no load up to 32 fails
	// 128 64 fails: does more load fail, too?
	// 45 halfway between 32 and 64
	// 38 halfway between 32 and 45
	// 35 halfway between 32 and 38
	// 36 halfway between 35 and 38
	// 37 halfway between 36 and 38
	// 38 a second run, coming from below
	// 37 a second run, coming from above
	// 512 38 fails: does far more load fail, too?
	// bracket 37 38 true
}

// Before its first probe a search says what it takes: as many probes as it then makes, and
// the counts of bad requests at which the interval of the share reaches its target.
func TestLook(t *testing.T) {
	t.Parallel()
	terms := search.Terms{Low: 1, High: 64, Whole: true, Share: limitShare, Resolution: 0.05, Probes: 40}
	o := search.Look(terms, 200)
	for limit := 1.0; limit < 64; limit++ {
		a := find(t, terms, func(load float64) search.Run {
			if load > limit {
				return search.Run{Own: search.Fails}
			}
			return search.Run{Own: search.Holds}
		})
		if n := len(a.Runs); n < o.Fewest || n > o.Usual {
			t.Errorf("limit %g: %d probes, foreseen %d to %d", limit, n, o.Fewest, o.Usual)
		}
	}
	knee := terms
	knee.Find = search.Knee
	bent := search.Look(knee, 0)
	for slots := 2.0; slots < 32; slots++ {
		a := find(t, knee, func(load float64) search.Run {
			rate := min(load, slots)
			return search.Run{Own: search.Holds, Rate: rate, Latency: load / rate}
		})
		if n := len(a.Runs); n < bent.Fewest || n > bent.Usual+1 {
			t.Errorf("a knee at %g: %d probes, foreseen %d to %d", slots, n, bent.Fewest, bent.Usual)
		}
	}
	for _, d := range o.Runs {
		for bad, want := range map[int64]search.State{
			d.Holds: search.Holds, d.Holds + 1: search.Undecided,
			d.Fails - 1: search.Undecided, d.Fails: search.Fails,
		} {
			y := stats.Tally{Hits: float64(d.Requests - bad), Of: float64(d.Requests)}
			a := search.SoFar(terms, []search.Run{{Load: 1, Worst: y, Best: y, Own: search.Holds}})
			if a.Loads[0].State != want || a.After[0] != want {
				t.Errorf("%d bad of %d: %s, want %s", bad, d.Requests, a.Loads[0].State, want)
			}
		}
	}
	if few := search.Look(terms, 10).Runs[0]; few.Holds != -1 {
		t.Errorf("10 requests, %d bad, hold at %g", few.Holds, limitShare)
	}
	if n := search.Look(terms, 0); n.Halved != 1 || n.Runs != nil {
		t.Errorf("%+v", n)
	}
	terms.Whole = false
	if n := search.Look(terms, 0).Halved; n != 1 {
		t.Errorf("half a bracket takes %d more probes", n)
	}
}
