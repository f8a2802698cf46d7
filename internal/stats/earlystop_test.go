package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// mlperf is the rule as MLPerf Inference states it: tolerance 0, confidence 99 %.
func mlperf(q float64) EarlyStop { return EarlyStop{Q: q, Confidence: 0.99} }

// By hand: with none over the limit n is enough when q^n < 0.01, so n > ln 0.01 / ln q; with
// one, q^n + n·q^(n−1)·(1−q) < 0.01. The counts for one are those that MLPerf's tools print.
func TestEarlyStopByHand(t *testing.T) {
	t.Parallel()
	for _, q := range []float64{0.5, 0.75, 0.9, 0.95, 0.97, 0.99, 0.999} {
		e := mlperf(q)
		none := int(math.Floor(math.Log(0.01)/math.Log(q))) + 1
		if got := e.Least(0); got != none {
			t.Errorf("q %g, none over: %d, by hand %d", q, got, none)
		}
		one := 2
		for math.Pow(q, float64(one))+float64(one)*math.Pow(q, float64(one-1))*(1-q) >= 0.01 {
			one++
		}
		if got := e.Least(1); got != one {
			t.Errorf("q %g, one over: %d, by hand %d", q, got, one)
		}
	}
	for q, want := range map[float64]int{
		0.5: 11, 0.75: 24, 0.8: 31, 0.9: 64, 0.95: 130, 0.97: 219, 0.99: 662, 0.999: 6636,
	} {
		if got := mlperf(q).Least(1); got != want {
			t.Errorf("q %g, one over: %d, published %d", q, got, want)
		}
	}
	for _, c := range []struct {
		q    float64
		over int
		want int
	}{{0.99, 0, 459}, {0.9, 0, 44}, {0.99, 2, 838}} {
		if got := mlperf(c.q).Least(c.over); got != c.want {
			t.Errorf("q %g, %d over: %d, want %d", c.q, c.over, got, c.want)
		}
	}
	if got := mlperf(0.99).Most(10_000); got != 77 {
		t.Errorf("of 10,000 at p99 %d may be over, published 77", got)
	}
	for n, want := range map[int]int{1: -1, 458: -1, 459: 0, 661: 0, 662: 1} {
		if got := mlperf(0.99).Most(n); got != want {
			t.Errorf("of %d at p99 %d may be over, want %d", n, got, want)
		}
	}
}

// The sum of the binomial's terms, by the logarithms of its coefficients, is what is compared.
func TestEarlyStopIsTheBinomialTail(t *testing.T) {
	t.Parallel()
	tail := func(n, over int, p float64) (sum float64) {
		for k := 0; k <= over; k++ {
			a, _ := math.Lgamma(float64(n + 1))
			b, _ := math.Lgamma(float64(k + 1))
			c, _ := math.Lgamma(float64(n - k + 1))
			sum += math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
		}
		return sum
	}
	for _, n := range []int{100, 1000, 24_576, 270_336} {
		for _, q := range []float64{0.9, 0.99} {
			e := mlperf(q)
			most := e.Most(n)
			if most < 0 {
				continue
			}
			if p := tail(n, most, 1-q); p >= 0.01 {
				t.Errorf("n %d, q %g: %d over has a tail of %g", n, q, most, p)
			}
			if p := tail(n, most+1, 1-q); p < 0.01 {
				t.Errorf("n %d, q %g: one more than %d over has a tail of %g", n, q, most, p)
			}
			if least := e.Least(most); least > n || e.Met(least-1, most) || !e.Met(least, most) {
				t.Errorf("n %d, q %g: least for %d over is %d", n, q, most, least)
			}
		}
	}
}

func TestEarlyStopAtRate(t *testing.T) {
	t.Parallel()
	e := mlperf(0.99)
	n, ok := e.AtRate(1000, 6)
	if !ok || !e.Met(n, int(math.Ceil(0.006*float64(n)))) {
		t.Errorf("6 of 1,000: %d, %t", n, ok)
	}
	if _, ok := e.AtRate(1000, 10); ok {
		t.Error("a server at the limit never suffices")
	}
}

// Where requests that are over the limit come in clusters, a server at the limit passes more
// often than the level says: docs/rules.md has these figures.
func TestEarlyStopInClusters(t *testing.T) {
	t.Parallel()
	const q, n, runs = 0.99, 3000, 20_000
	rng := rand.New(rand.NewPCG(2711, 7)) //nolint:gosec // a simulation
	most, before := mlperf(q).Most(n), 0
	for _, length := range []float64{1, 3, 10} { // mean of a cluster
		passed := 0
		for range runs {
			over, inside := 0, rng.Float64() >= q
			for range n {
				if inside {
					over++
					inside = rng.Float64() >= 1/length
				} else { // so that the share of those inside is 1 − q
					inside = rng.Float64() < (1-q)/q/length
				}
			}
			if over <= most {
				passed++
			}
		}
		t.Logf("clusters of %g: %d of %d runs passed", length, passed, runs)
		if passed < before {
			t.Errorf("clusters of %g: %d of %d runs passed, fewer than of shorter ones", length, passed, runs)
		}
		before = passed
	}
	if before < 0.05*runs {
		t.Errorf("clusters of 10: %d of %d runs passed: the warning in docs/rules.md is wrong", before, runs)
	}
}

// A server of which exactly the share q keeps the limit passes in at most 1 of 100 runs.
func TestEarlyStopLevel(t *testing.T) {
	t.Parallel()
	const runs = 40_000
	rng := rand.New(rand.NewPCG(2711, 6)) //nolint:gosec // a simulation
	for _, c := range []struct {
		q float64
		n int
	}{{0.9, 64}, {0.9, 1000}, {0.99, 459}, {0.99, 662}, {0.99, 3000}} {
		passed := 0
		most := mlperf(c.q).Most(c.n)
		for range runs {
			over := 0
			for range c.n {
				if rng.Float64() >= c.q {
					if over++; over > most {
						break
					}
				}
			}
			if over <= most {
				passed++
			}
		}
		t.Logf("q %g, n %d: %d of %d runs passed", c.q, c.n, passed, runs)
		// 1 % of them, and four standard deviations of chance
		if float64(passed) > 0.01*runs+4*math.Sqrt(0.01*0.99*runs) {
			t.Errorf("q %g, n %d: %d of %d passed", c.q, c.n, passed, runs)
		}
	}
}
