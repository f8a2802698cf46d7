package stats

import (
	"math"
	"slices"
)

// Ratio compares B with A over paired trials.
type Ratio struct {
	Value     float64 // geometric mean of b/a; 1.1 is 10 % more
	Low, High float64 // NaN below two pairs
	P         float64 // two-sided, of the ratio being 1; NaN below two pairs
	Level     float64
	N         int
}

// PairedRatio compares two systems measured in pairs (same cell, same trial)
// by the t interval of the log ratios d_i = ln(b_i/a_i):
//
//	exp(mean(d) ∓ t(1−(1−level)/2, n−1) · s_d/√n),  t = mean(d)/(s_d/√n)
//
// Pairs with a value that is not positive and finite are left out.
func PairedRatio(a, b []float64, level float64) Ratio {
	var d []float64
	for i := range min(len(a), len(b)) {
		if l := math.Log(b[i] / a[i]); a[i] > 0 && b[i] > 0 && !math.IsInf(l, 0) && !math.IsNaN(l) {
			d = append(d, l)
		}
	}
	nan := math.NaN()
	r := Ratio{Value: nan, Low: nan, High: nan, P: nan, Level: level, N: len(d)}
	if len(d) == 0 {
		return r
	}
	m := Mean(d)
	r.Value = math.Exp(m)
	if len(d) < 2 {
		return r
	}
	v := float64(len(d) - 1)
	se := StdSample(d) / math.Sqrt(float64(len(d)))
	half := TQuantile(1-(1-level)/2, v) * se
	r.Low, r.High = math.Exp(m-half), math.Exp(m+half)
	switch {
	case se > 0:
		r.P = 2 * tTail(math.Abs(m)/se, v)
	case m == 0:
		r.P = 1
	default:
		r.P = 0
	}
	return r
}

// Judgement of a comparison against a margin.
type Judgement string

// The three answers; there is no fourth.
const (
	Pass         Judgement = "PASS"
	Fail         Judgement = "FAIL"
	Inconclusive Judgement = "INCONCLUSIVE"
)

// Judge answers whether B is at most margin worse than A (0.05: 5 %): PASS when
// the whole interval says so, FAIL when the whole interval says the contrary.
func (r Ratio) Judge(margin float64, dir Direction) Judgement {
	low, high, limit := r.Low, r.High, 1+margin
	if dir == Maximise { // less is worse: b/a must stay above 1−margin
		low, high, limit = -r.High, -r.Low, -(1 - margin)
	}
	switch {
	case high <= limit:
		return Pass
	case low > limit:
		return Fail
	}
	return Inconclusive
}

// Holm adjusts p-values of several comparisons so that the chance of any false
// alarm stays at the level (Holm 1979): in ascending order, p(i)·(m−i+1), made
// non-decreasing and cut at 1. NaN stays NaN and does not count.
func Holm(p []float64) []float64 {
	out := slices.Clone(p)
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if p[a] < p[b] {
			return -1
		} else if p[a] > p[b] {
			return 1
		}
		return a - b
	})
	highest := 0.0
	for k, i := range order {
		highest = max(highest, min(1, p[i]*float64(len(order)-k)))
		out[i] = highest
	}
	return out
}
