package metrics

import "math"

// quantile is numpy's linear method (type 7) over sorted values:
// x[⌊h⌋] + (h − ⌊h⌋)·(x[⌊h⌋+1] − x[⌊h⌋]) with h = q·(n − 1).
func quantile(sorted []float64, q float64) float64 {
	h := q * float64(len(sorted)-1)
	low := int(math.Floor(h))
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (h-float64(low))*(sorted[low+1]-sorted[low])
}

// maxLags bounds the work of effective; a series still correlated after so
// many requests has hardly any effective samples, and says so.
const maxLags = 1000

// effective is the effective sample size of values in order of sending, by
// Geyer's initial positive sequence: n / τ with τ = −1 + 2·Σ Γ(k)/γ(0), where
// Γ(k) = γ(2k) + γ(2k+1) are summed while positive. Never above n.
func effective(values []float64) float64 {
	n := len(values)
	mean := sum(values) / float64(n)
	variance := covariance(values, mean, 0)
	if n < 4 || variance <= 1e-18*mean*mean {
		return float64(n)
	}
	total := 0.0
	for lag := 0; lag+1 < min(n, maxLags); lag += 2 {
		pair := covariance(values, mean, lag) + covariance(values, mean, lag+1)
		if pair <= 0 {
			break
		}
		total += pair
	}
	tau := max(1, 2*total/variance-1)
	return float64(n) / tau
}

// covariance is γ(lag) = Σ (x[i] − mean)(x[i+lag] − mean) / n.
func covariance(values []float64, mean float64, lag int) float64 {
	s := 0.0
	for i := lag; i < len(values); i++ {
		s += (values[i] - mean) * (values[i-lag] - mean)
	}
	return s / float64(len(values))
}
