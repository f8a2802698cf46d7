package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// bootstrap is the interval between the (1−level)/2 and (1+level)/2 quantiles
// of a statistic over resamples (Efron 1979, the percentile interval). Draw
// fills the sample with one resample; it is reused, so stat must not keep it.
// Deterministic for a given source.
func bootstrap(n, repeats int, level float64, draw func(sample []float64) []float64, stat func([]float64) float64) (low, high float64) {
	if n == 0 || repeats < 1 || !validLevel(level) {
		return math.NaN(), math.NaN()
	}
	values := make([]float64, 0, repeats)
	sample := make([]float64, 0, n)
	for range repeats {
		sample = draw(sample[:0])
		if v := stat(sample); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return Quantile(values, (1-level)/2), Quantile(values, (1+level)/2)
}

// BlockBootstrap is the percentile interval of a statistic of a correlated
// series: circular blocks of a fixed length are drawn, so that what is correlated
// stays together (Politis and Romano 1992). A length of 0 is n^(1/3), the rate
// of the best length for means (Hall, Horowitz, Jing, Biometrika 82, 1995).
func BlockBootstrap(x []float64, length, repeats int, level float64, rng *rand.Rand, stat func([]float64) float64) (low, high float64) {
	n := len(x)
	if length <= 0 {
		length = int(math.Ceil(math.Cbrt(float64(n))))
	}
	return bootstrap(n, repeats, level, func(sample []float64) []float64 {
		for len(sample) < n {
			from := rng.IntN(n)
			for k := 0; k < length && len(sample) < n; k++ {
				sample = append(sample, x[(from+k)%n])
			}
		}
		return sample
	}, stat)
}

// HierarchicalBootstrap is the percentile interval of a statistic of all values
// of several trials: trials are drawn with replacement, and within each its
// values (Davison and Hinkley 1997, section 3.8), so that the spread between
// trials is in the interval. With few trials it is too narrow, as every
// bootstrap over few groups: two to four trials want Level or Share.
func HierarchicalBootstrap(trials [][]float64, repeats int, level float64, rng *rand.Rand, stat func([]float64) float64) (low, high float64) {
	n := 0
	for _, t := range trials {
		n += len(t)
	}
	return bootstrap(n, repeats, level, func(sample []float64) []float64 {
		for range trials {
			t := trials[rng.IntN(len(trials))]
			for range t {
				sample = append(sample, t[rng.IntN(len(t))])
			}
		}
		return sample
	}, stat)
}
