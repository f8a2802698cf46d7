package stats

import (
	"cmp"
	"math"
	"slices"
)

// RankTest is a test that only asks which values are larger.
type RankTest struct {
	U float64 // pairs in which a is the larger, ties count half
	P float64 // two-sided
}

// exactRanks bounds the samples whose distribution is counted out.
const exactRanks = 20

// MannWhitney asks whether values of a tend to be larger than those of b (Annals
// of Mathematical Statistics 18, 1947). P is exact for samples of up to twenty
// without ties, by counting the arrangements with
//
//	N(u; m, n) = N(u−n; m−1, n) + N(u; m, n−1)
//
// and else the normal approximation with the variance corrected for ties,
// mn/12·(N+1 − Σ(t³−t)/(N(N−1))), and half a step for continuity.
func MannWhitney(a, b []float64) RankTest {
	m, n := len(a), len(b)
	if m == 0 || n == 0 {
		return RankTest{math.NaN(), math.NaN()}
	}
	all := append(append(make([]float64, 0, m+n), a...), b...)
	r := ranks(all)
	u := Sum(r[:m]) - float64(m*(m+1))/2
	ties := tieTerm(r)
	if ties == 0 && m <= exactRanks && n <= exactRanks {
		return RankTest{u, exactU(u, m, n)}
	}
	mn, total := float64(m*n), float64(m+n)
	sd := math.Sqrt(mn / 12 * (total + 1 - ties/(total*(total-1))))
	if sd == 0 {
		return RankTest{u, 1}
	}
	z := (math.Abs(u-mn/2) - 0.5) / sd
	return RankTest{u, min(1, 2*normalCDF(-z))}
}

// ranks gives each value its rank from 1; equal values share the mean of theirs.
func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	out := make([]float64, len(v))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && v[order[j]] == v[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+1+j) / 2
		}
		i = j
	}
	return out
}

// tieTerm is Σ(t³−t) over groups of equal ranks.
func tieTerm(ranks []float64) float64 {
	group := map[float64]float64{}
	for _, r := range ranks {
		group[r]++
	}
	sum := 0.0
	for _, t := range group {
		sum += t*t*t - t
	}
	return sum
}

// exactU is 2·P(U ≥ max(u, mn−u)), at most 1.
func exactU(u float64, m, n int) float64 {
	ways := make([][]float64, m+1) // ways[i][k]: arrangements of i and the current n with U = k
	for i := range ways {
		ways[i] = make([]float64, m*n+1)
		ways[i][0] = 1
	}
	for j := 1; j <= n; j++ {
		for i := 1; i <= m; i++ {
			for k := j; k <= i*j; k++ {
				ways[i][k] += ways[i-1][k-j]
			}
		}
	}
	least := int(math.Ceil(max(u, float64(m*n)-u)))
	all, tail := 0.0, 0.0
	for k, w := range ways[m] {
		all += w
		if k >= least {
			tail += w
		}
	}
	return min(1, 2*tail/all)
}
