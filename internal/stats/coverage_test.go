package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// Intervals must hold the truth as often as they say. The seeds are fixed, so
// these tests are the same every time; the number of repetitions makes the
// standard error of a share of 95 % about 0.35 %.
const repetitions = 4000

// covered is the share of repetitions whose interval holds the truth, and the
// shares of those that miss it on either side.
func covered(n int, interval func() (low, high float64), truth float64) (in, below, above float64) {
	for range n {
		switch low, high := interval(); {
		case low > truth:
			above++
		case high < truth:
			below++
		default:
			in++
		}
	}
	return in / float64(n), below / float64(n), above / float64(n)
}

// Geometric means: of log-normal trials, of normal ones with a spread of 5 %, and
// of trials whose logarithms have t₃'s tails, with 3 to 5 trials.
func TestLevelCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		draw  func(r *rand.Rand) float64
		truth float64
	}{
		{"log-normal", func(r *rand.Rand) float64 { return 100 * math.Exp(0.1*r.NormFloat64()) }, 100},
		{"normal", func(r *rand.Rand) float64 { return 100 * (1 + 0.05*r.NormFloat64()) }, 100 * (1 - 0.05*0.05/2)},
		{"t3 on logs", func(r *rand.Rand) float64 { return 100 * math.Exp(0.05*student3(r)) }, 100},
	} {
		for n := stats.FewestTrials; n <= 5; n++ {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			in, below, above := covered(repetitions, func() (float64, float64) {
				v := make([]float64, n)
				for i := range v {
					v[i] = c.draw(rng)
				}
				e := stats.Level(v, .95, 0)
				return e.Low, e.High
			}, c.truth)
			t.Logf("%s, %d trials: %.1f %% covered", c.name, n, 100*in)
			if in < .93 || in > .985 || math.Abs(below-above) > .02 {
				t.Errorf("%s, %d trials: %.1f %% covered, %.1f %% below, %.1f %% above; want 93 to 98 %%, even on both sides",
					c.name, n, 100*in, 100*below, 100*above)
			}
		}
	}
}

// student3 draws from Student's t with three degrees of freedom.
func student3(r *rand.Rand) float64 {
	chi := 0.0
	for range 3 {
		x := r.NormFloat64()
		chi += x * x
	}
	return r.NormFloat64() / math.Sqrt(chi/3)
}

// Shares and counts whose trials vary more than chance by the design effect: a
// beta-binomial and a gamma-Poisson.
func TestShareAndCountCover(t *testing.T) {
	t.Parallel()
	for _, effect := range []float64{1, 3, 10} {
		for _, n := range []int{2, 3, 5} {
			for _, share := range []float64{.02, .3} {
				rng := rand.New(rand.NewPCG(uint64(n), uint64(10*effect)))
				const of = 400
				in, _, _ := covered(repetitions/2, func() (float64, float64) {
					trials := make([]stats.Tally, n)
					for i := range trials {
						trials[i] = stats.Tally{Hits: betaBinomial(rng, of, share, effect), Of: of}
					}
					e := stats.Share(trials, .95)
					return e.Low, e.High
				}, share)
				t.Logf("share %g, design effect %g, %d trials: %.1f %% covered", share, effect, n, 100*in)
				if in < .93 {
					t.Errorf("share %g, design effect %g, %d trials: %.1f %% covered, want 93 %%", share, effect, n,
						100*in)
				}
			}
			rng := rand.New(rand.NewPCG(uint64(n), uint64(100*effect)))
			const mean = 12
			in, _, _ := covered(repetitions/2, func() (float64, float64) {
				counts := make([]float64, n)
				for i := range counts {
					counts[i] = gammaPoisson(rng, mean, effect)
				}
				e := stats.Count(counts, .95)
				return e.Low, e.High
			}, mean)
			t.Logf("count, design effect %g, %d trials: %.1f %% covered", effect, n, 100*in)
			if in < .93 {
				t.Errorf("count, design effect %g, %d trials: %.1f %% covered, want 93 %%", effect, n, 100*in)
			}
		}
	}
}

// betaBinomial has the mean n·p and the variance n·p·(1−p)·effect.
func betaBinomial(r *rand.Rand, n int, p, effect float64) float64 {
	if effect > 1 {
		rho := (effect - 1) / float64(n-1)
		a, b := p*(1/rho-1), (1-p)*(1/rho-1)
		x, y := gamma(r, a), gamma(r, b)
		p = x / (x + y)
	}
	hits := 0.0
	for range n {
		if r.Float64() < p {
			hits++
		}
	}
	return hits
}

// gammaPoisson has the mean m and the variance m·effect.
func gammaPoisson(r *rand.Rand, m, effect float64) float64 {
	if effect > 1 {
		m = gamma(r, m/(effect-1)) * (effect - 1)
	}
	k, p := 0.0, r.Float64()
	for limit := math.Exp(-m); p > limit; k++ {
		p *= r.Float64()
	}
	return k
}

// gamma draws by Marsaglia and Tsang (ACM TOMS 26, 2000).
func gamma(r *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(r, shape+1) * math.Pow(r.Float64(), 1/shape)
	}
	d := shape - 1./3
	for c := 1 / math.Sqrt(9*d); ; {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// Percentiles within one run, of independent values, of an autocorrelated series
// and of queues at 70 % load. Two things are asked: an interval misses the truth in
// at most 5 % of all runs, and 10 % of the intervals where most runs have one. The
// first is what guards the p90 of a short run: it has an interval only where the
// run looks less correlated than it is.
func TestPercentileIntervalsCover(t *testing.T) {
	t.Parallel()
	const runs = 300
	for i, c := range []struct {
		name string
		draw func(r *rand.Rand, x []float64)
	}{
		{"iid", func(r *rand.Rand, x []float64) {
			for i := range x {
				x[i] = math.Exp(0.3 * r.NormFloat64())
			}
		}},
		{"AR 0.5", func(r *rand.Rand, x []float64) {
			z := r.NormFloat64()
			for i := range x {
				z = 0.5*z + math.Sqrt(0.75)*r.NormFloat64()
				x[i] = math.Exp(0.3 * z)
			}
		}},
		{"queue at 70 %", func(r *rand.Rand, x []float64) { queue(r, x, r.ExpFloat64) }},
		{"queue at 70 %, cv 0.5", func(r *rand.Rand, x []float64) {
			v := math.Log(1.25)
			queue(r, x, func() float64 { return math.Exp(math.Sqrt(v)*r.NormFloat64() - v/2) })
		}},
	} {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		long := make([]float64, 500_000)
		c.draw(rng, long)
		slices.Sort(long)
		for _, n := range []int{400, 2000} {
			x, sorted := make([]float64, n), make([]float64, n)
			held, given := map[float64]int{}, map[float64]int{}
			var s stats.Series
			for range runs {
				c.draw(rng, x)
				copy(sorted, x)
				stats.Sort(sorted)
				worth := s.Worth(x)
				for _, q := range []float64{.5, .9, .99} {
					nEff, ok := s.Tail(x, q, stats.Quantile(sorted, q), worth)
					low, high, possible := stats.QuantileInterval(sorted, q, nEff, .95)
					if !ok || !possible {
						continue
					}
					given[q]++
					if truth := stats.Quantile(long, q); low <= truth && truth <= high {
						held[q]++
					}
				}
			}
			for q, g := range given {
				t.Logf("%s, %d values, p%g: %d of %d intervals hold the truth, %d runs", c.name, n, 100*q, held[q], g,
					runs)
				if g-held[q] > runs/20 || g > runs/2 && float64(held[q]) < .9*float64(g) {
					t.Errorf("%s, %d values, p%g: %d of %d intervals hold the truth, in %d runs", c.name, n, 100*q,
						held[q], g, runs)
				}
			}
			if c.name == "iid" && (given[.5] < runs || given[.9] < runs*95/100 || n == 2000 &&
				given[.99] < runs*95/100) {
				t.Errorf("independent values have intervals in %v of %d runs", given, runs)
			}
		}
	}
}

// queue fills x with the sojourn times of a queue at 70 % load whose service takes
// 1 on average, once its start is forgotten.
func queue(r *rand.Rand, x []float64, service func() float64) {
	wait := 0.0
	for i := -500; i < len(x); i++ {
		took := service()
		if i >= 0 {
			x[i] = wait + took
		}
		wait = max(0, wait+took-r.ExpFloat64()/0.7)
	}
}

// What a design effect within trials takes away from a share is what the same number of
// independent requests would be too many; neighbours that are alike show it, independent
// ones do not.
func TestDesignEffect(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(24, 2))
	mean := func(stay float64) (sum float64) {
		const series = 200
		for range series {
			good := make([]bool, 400)
			for i := range good {
				good[i] = rng.Float64() < 0.8
				if i > 0 && rng.Float64() < stay {
					good[i] = good[i-1]
				}
			}
			sum += stats.DesignEffect(good) / series
		}
		return sum
	}
	// (1+0.8)/(1−0.8) = 9, less what reaches over batches of 40
	if alone, alike := mean(0), mean(0.8); alone > 1.3 || alike < 5 || alike > 10 {
		t.Errorf("independent %.2f, want 1 to 1.3; correlated by 0.8 %.2f, want 5 to 10", alone, alike)
	}
	for _, x := range [][]bool{nil, make([]bool, 19), make([]bool, 400)} {
		if d := stats.DesignEffect(x); d != 1 {
			t.Errorf("%d of one kind: %g", len(x), d)
		}
	}
	wide, of := stats.Share([]stats.Tally{{Hits: 360, Of: 400, Effect: 4}}, 0.95),
		stats.Share([]stats.Tally{{Hits: 90, Of: 100}}, 0.95)
	if wide.Low != of.Low || wide.High != of.High {
		t.Errorf("360 of 400 with an effect of 4: %v to %v, 90 of 100: %v to %v", wide.Low, wide.High, of.Low, of.High)
	}
}
