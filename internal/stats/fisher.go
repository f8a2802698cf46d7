package stats

import (
	"math"
	"sort"
)

// FisherExact is how likely two shares differ at least as much as k1 of n1 and k2 of n2 where
// both have one chance: Fisher's exact test, two-sided, which sums the hypergeometric chances of
// all tables with the same totals that are no likelier than the one that was seen. It is 1 for
// counts that are none of a whole.
func FisherExact(k1, n1, k2, n2 int64) float64 {
	if k1 < 0 || k2 < 0 || k1 > n1 || k2 > n2 || n1 == 0 || n2 == 0 {
		return 1
	}
	const alike = 1e-7 // of chances that rounding alone tells apart
	all := k1 + k2
	low, high := max(0, all-n2), min(n1, all)
	chance := func(i int64) float64 { // logarithm, of i hits among the n1
		return logChoose(n1, i) + logChoose(n2, all-i) - logChoose(n1+n2, all)
	}
	seen := chance(k1) + alike
	likeliest := min(max(low, int64(float64(n1+1)*float64(all+1)/float64(n1+n2+2))), high)
	below := low + int64(sort.Search(int(likeliest-low+1), func(i int) bool { return chance(low+int64(i)) > seen }))
	above := likeliest + 1 + int64(sort.Search(int(high-likeliest), func(i int) bool {
		return chance(likeliest+1+int64(i)) <= seen
	}))
	sum := 0.0
	add := func(i int64) (counts bool) { // the chances fall from here on
		p := math.Exp(chance(i))
		sum += p
		return p > 1e-17*sum
	}
	for i := below - 1; i >= low && add(i); i-- {
	}
	for i := above; i <= high && add(i); i++ {
	}
	return min(1, sum)
}

// logChoose is the logarithm of the number of ways to choose k of n.
func logChoose(n, k int64) float64 {
	a, _ := math.Lgamma(float64(n) + 1)
	b, _ := math.Lgamma(float64(k) + 1)
	c, _ := math.Lgamma(float64(n-k) + 1)
	return a - b - c
}
