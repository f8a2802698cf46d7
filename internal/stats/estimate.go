// Package stats is pure functions over numbers: quantiles, intervals, tests,
// Pareto fronts. In go slices, out come values with their doubts attached.
package stats

// Estimate is what trials say about one quantity: mean, spread and, from two
// trials on, an interval. Low and High are NaN when there is none.
type Estimate struct {
	Mean, StdDev float64 // StdDev with n−1
	Low, High    float64
	Min, Max     float64
	Level        float64 // 0.95
	N            int
	Warnings     []string
}
