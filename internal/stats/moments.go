package stats

import "math"

// Sum adds with Neumaier's compensation (ZAMM 54, 1974): the error does not
// grow with the number of values.
func Sum(v []float64) float64 {
	var sum, c float64
	for _, x := range v {
		t := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			c += (sum - t) + x
		} else {
			c += (x - t) + sum
		}
		sum = t
	}
	return sum + c
}

// Mean is Σx/n, NaN of nothing.
func Mean(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return Sum(v) / float64(len(v))
}

// wholeMean is Mean of whole numbers, of which no sum is rounded.
func wholeMean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// Std is the population standard deviation √(Σ(x−mean)²/n), as for the
// requests of one run; NaN of nothing.
func Std(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return math.Sqrt(squares(v) / float64(len(v)))
}

// StdSample is √(Σ(x−mean)²/(n−1)), as for trials; NaN below two values.
func StdSample(v []float64) float64 {
	if len(v) < 2 {
		return math.NaN()
	}
	return math.Sqrt(squares(v) / float64(len(v)-1))
}

// squares is Σ(x−mean)² in two passes, with the correction for the rounding of
// the mean: Σd² − (Σd)²/n (Chan, Golub, LeVeque 1983).
func squares(v []float64) float64 {
	m := Mean(v)
	var d1, d2 float64
	for _, x := range v {
		d := x - m
		d1 += d
		d2 += d * d
	}
	return math.Max(0, d2-d1*d1/float64(len(v)))
}

// MinMax is the smallest and the largest value, NaN of nothing.
func MinMax(v []float64) (lo, hi float64) {
	if len(v) == 0 {
		return math.NaN(), math.NaN()
	}
	lo, hi = v[0], v[0]
	for _, x := range v[1:] {
		lo, hi = math.Min(lo, x), math.Max(hi, x)
	}
	return lo, hi
}
