package stats

import "math"

// batches is the number of batch means that check a correlation which is too
// long for Geyer's sequence to end inside the series.
const batches = 10

// TailN is what a series is worth for one of its percentiles: the effective
// number of values by the values themselves and by the indicator x > quantile.
// Requests that are slow together are fewer than they seem, also where the rest
// are independent.
type TailN struct {
	Floor    float64 // for "is the percentile supported": min of Geyer's two
	Interval float64 // for its interval: also no more than ten batch means say
}

// Tail is the TailN of quantile q with the value at, of a series in order of
// time whose EffectiveN is known. Ten batch means with t₉ (Schmeiser, Operations
// Research 30, 1982) bound what the interval may claim:
//
//	n = q(1−q)·(z/t₉)² / (s_b²/10),  s_b of the batch means of the indicator
//
// Below a hundred values there are no batches.
func (s *Series) Tail(x []float64, q, at, valuesN float64) TailN {
	above := make([]float64, len(x))
	for i, v := range x {
		above[i] = indicator(v > at)
	}
	floor := min(valuesN, s.EffectiveN(above))
	t := TailN{floor, floor}
	if size := len(x) / batches; size >= batches {
		sb := StdSample(BatchMeans(above, batches, size))
		ratio := NormalQuantile(0.975) / tCritical(0.95, batches-1)
		if sb > 0 {
			t.Interval = min(floor, q*(1-q)*ratio*ratio*batches/(sb*sb))
		}
	}
	t.Interval = max(1, t.Interval)
	return t
}

// HalfShift is h = ln(median of the second half / median of the first): how far
// a series moved over its length, on the scale of ratios. NaN below four values
// or where a median is not positive.
func HalfShift(x []float64) float64 {
	if len(x) < 4 {
		return math.NaN()
	}
	median := func(v []float64) float64 {
		v = append([]float64(nil), v...)
		Sort(v)
		return Quantile(v, 0.5)
	}
	a, b := median(x[:len(x)/2]), median(x[(len(x)+1)/2:])
	if !(a > 0) || !(b > 0) {
		return math.NaN()
	}
	return math.Log(b / a)
}
