package stats

import (
	"math"
	"sort"
)

// EarlyStop is the rule by which MLPerf Inference ends a run before its full number of
// queries: so few of them are over the limit that a server of which just the share Q keeps
// it would show so few with a probability below 1 − Confidence,
//
//	P(Binomial(n, 1−Q) ≤ over) < 1 − Confidence
//
// It holds for requests that are over the limit independently of each other. Where those
// that are over come in clusters, a server at the limit passes more often than that.
type EarlyStop struct {
	Q          float64 // share that must keep the limit, less the tolerance
	Confidence float64
}

// Met reports whether n requests are enough when so many of them are over the limit.
func (e EarlyStop) Met(n, over int) bool {
	if over >= n || over < 0 {
		return false
	}
	// the tail of the binomial as an incomplete beta function
	return betaInc(float64(n-over), float64(over)+1, e.Q) < 1-e.Confidence
}

// Least is how many requests it takes at least when so many of them are over the limit.
func (e EarlyStop) Least(over int) int {
	lo, hi := over, 2*(over+1) // not enough, and perhaps enough
	for !e.Met(hi, over) {
		lo, hi = hi, 2*hi
	}
	return lo + 1 + sort.Search(hi-lo-1, func(i int) bool { return e.Met(lo+1+i, over) })
}

// Most is how many of n requests may be over the limit; −1 where n is too few for any.
func (e EarlyStop) Most(n int) int {
	return sort.Search(n+1, func(over int) bool { return !e.Met(n, over) }) - 1
}

// AtRate is how many requests it takes if requests go on being over the limit at the rate of
// over in n; false where that rate never suffices.
func (e EarlyStop) AtRate(n, over int) (int, bool) {
	const most = 1 << 30
	rate := float64(over) / float64(n)
	if rate >= 1-e.Q {
		return 0, false
	}
	for m := max(n, 1); m < most; m += max(1, m/64) {
		if e.Met(m, int(math.Ceil(rate*float64(m)))) {
			return m, true
		}
	}
	return 0, false
}
