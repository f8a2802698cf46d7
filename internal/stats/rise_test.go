package stats_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/stats"
)

func tallies(of float64, hits ...float64) (out []stats.Tally) {
	for _, h := range hits {
		out = append(out, stats.Tally{Hits: h, Of: of})
	}
	return out
}

// The chances are those of the negative binomial distribution over a fine grid of shares, computed elsewhere.
func TestRiseFromNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		none, some []stats.Tally
		p          float64 // one-sided
	}{
		{tallies(96, 0, 0, 0, 0, 0), tallies(96, 8, 8, 8, 8, 8), 4.5819624e-06},
		{tallies(96, 0, 0, 0, 0, 0), tallies(96, 20, 0, 15, 5, 0), 0.00085827568},
		{tallies(96, 0, 0, 0, 0, 0), tallies(96, 3, 3, 3, 0, 0), 0.02250635214},
		{tallies(50, 0, 0, 0, 0), tallies(200, 5, 5, 5, 5, 5, 5, 0), 0.03033589},
		{tallies(60, 0, 0, 0, 0, 0, 0), tallies(60, 2, 3, 4, 0, 2, 4), 0.00194191671},
		{tallies(120, 0, 0, 0), tallies(120, 7, 8, 7), 0.00076701251},
		{tallies(120, 0, 0, 0), tallies(120, 4, 6, 12), 0.00180389090},
		{tallies(120, 0, 0, 0), tallies(120, 1, 1, 1), 1. / 64}, // of any distribution: (q(1−q))³
		{tallies(120, 0, 0, 0, 0), tallies(120, 1, 1, 1, 1), 1. / 256},
	} {
		r, ok := stats.RiseFromNone(c.none, c.some)
		if !ok || math.Abs(r.P()/2/c.p-1) > 1e-4 {
			t.Errorf("%v, %v: %t, p %.8f; want %.8f", c.none, c.some, ok, r.P()/2, c.p)
		}
		if _, back := stats.RiseFromNone(c.some, c.none); back {
			t.Errorf("%v, %v: a rise", c.some, c.none)
		}
		// the lower end is where the chance is the level
		if low := r.Low(2 * c.p); !(low > 0) {
			t.Errorf("%v: no rise at a level of twice its chance: %g", c.some, low)
		}
		if low := r.Low(c.p / 2); low != 0 {
			t.Errorf("%v: a rise of %g at a level of half its chance", c.some, low)
		}
	}
	r, _ := stats.RiseFromNone(tallies(96, 0, 0, 0, 0, 0), tallies(96, 20, 0, 15, 5, 0))
	if low := r.Low(0.004093583719); math.Abs(low-0.02) > 1e-5 { // the chance of a rise of 2 points, as above
		t.Errorf("lower end %.6f, want 0.02", low)
	}
	for _, some := range [][]float64{{20, 20, 0, 0, 0}, {40, 0, 0, 0, 0}, {1, 1, 1, 0, 0, 0}, {9, 9}, {}} {
		if _, ok := stats.RiseFromNone(tallies(96, 0, 0, 0, 0, 0), tallies(96, some...)); ok {
			t.Errorf("%v: too few trials have hits", some)
		}
	}
}

// Failures that come together count once: three trials with a burst each show no more than three
// trials with a failure each.
func TestRiseCountsABurstOnce(t *testing.T) {
	t.Parallel()
	bursts := tallies(120, 12, 12, 12)
	for i := range bursts {
		bursts[i].Effect = 12
	}
	r, ok := stats.RiseFromNone(tallies(120, 0, 0, 0), bursts)
	if one := 1. / 32; !ok || math.Abs(r.P()/one-1) > 1e-4 {
		t.Errorf("a burst in each of three trials: %t, p %.6f; want %.6f", ok, r.P(), one)
	}
	if n, ok := r.Trials(0.01); !ok || n != 4 {
		t.Errorf("%d trials would show it, %t; want 4", n, ok)
	}
	hit := make([]bool, 120)
	for _, i := range []int{5, 25, 40, 61, 80, 99, 113} {
		hit[i] = true
	}
	if apart := stats.Together(hit); apart > 1.5 {
		t.Errorf("seven failures apart: %.2f come together", apart)
	}
	clear(hit)
	for i := range 40 {
		hit[50+i] = true
	}
	if row := stats.Together(hit); row != 40 {
		t.Errorf("a row of 40: %.2f come together", row)
	}
}

// risePlans is how many plans TestRiseErrsAsOftenAsItSays draws of each kind.
var risePlans = flag.Int("rise-plans", 300, "draw so many plans of each kind")

// Two servers that fail alike are told apart in at most 1 % of the plans at a level of 1 %, whatever the number of
// trials: where requests fail each by itself, with a chance that differs from trial to trial, or in bursts. The shares
// are about those at which one side has none most often while the other has many.
func TestRiseErrsAsOftenAsItSays(t *testing.T) {
	t.Parallel()
	const of = 120
	chance := map[string]func(*rand.Rand, float64) float64{
		"alike":      func(_ *rand.Rand, p float64) float64 { return p },
		"gamma":      func(rng *rand.Rand, p float64) float64 { z := rng.NormFloat64(); return p * z * z },
		"log-normal": func(rng *rand.Rand, p float64) float64 { return p * math.Exp(1.5*rng.NormFloat64()-1.125) },
	}
	for kind, burst := range map[string]int{
		"alike": 1, "gamma": 1, "log-normal": 1, "bursts of 3": 3, "bursts of 10": 10, "bursts of 40": 40,
	} {
		for _, trials := range []int{3, 4, 5, 8} {
			rng := seed.Stream(int64(trials), "stats/rise/"+kind)
			worst := 0
			for _, mean := range []float64{0.7, 1.5, 3, 6, 12} { // failures or bursts in a trial
				side := func() (out []stats.Tally) {
					for range trials {
						p := mean / of
						if draw := chance[kind]; draw != nil {
							p = min(1, draw(rng, p))
						}
						hit, hits := make([]bool, of), 0.0
						for i := range hit {
							if rng.Float64() < p {
								for j := i; j < min(of, i+burst); j++ {
									hit[j] = true
								}
							}
						}
						for _, h := range hit {
							if h {
								hits++
							}
						}
						out = append(out, stats.Tally{Hits: hits, Of: of, Effect: stats.Together(hit)})
					}
					return out
				}
				shown := 0
				for range *risePlans {
					a, b := side(), side()
					r, ok := stats.RiseFromNone(a, b)
					if !ok {
						r, ok = stats.RiseFromNone(b, a)
					}
					if ok && r.P() < 0.01 {
						shown++
					}
				}
				worst = max(worst, shown)
			}
			t.Logf("%s, %d trials: told apart in at most %d of %d", kind, trials, worst, *risePlans)
			if n := float64(*risePlans); float64(worst) > 0.01*n+3*math.Sqrt(0.01*n) {
				t.Errorf("%s, %d trials: told apart in %d of %d plans, at a level of 1 %%", kind, trials, worst, *risePlans)
			}
		}
	}
}
