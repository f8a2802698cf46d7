package stats

import "math"

// batches is the number of batch means that check a correlation which is too
// long for Geyer's sequence to end inside the series.
const batches = 10

// highTail is from where on the values beyond a percentile have a correlation of
// their own: requests that are slow together are fewer than they seem, also where
// the rest are independent.
const highTail = 0.9

// Tail is the number of independent values that the interval of quantile q with
// the value at may count on, for a series in order of time whose Worth is known;
// false where they are not surely enough for an interval. It is the least of what
// the values are surely worth, of the same of the indicator x > at, and of ten
// batch means of it with t₉ (Schmeiser, Operations Research 30, 1982):
//
//	n = q(1−q)·(z/t₉)² / (s_b²/10),  s_b of the batch means of the indicator
//
// The last makes an interval wider and takes none away: half of the time ten
// batches of independent values say less than these are worth.
func (s *Series) Tail(x []float64, q, at float64, values Worth) (n float64, ok bool) {
	floor := float64(Floor(q))
	if n = values.Surely; n < floor {
		return n, false
	}
	if q < highTail {
		return n, true
	}
	s.above = room(s.above, len(x))
	for i, v := range x {
		s.above[i] = indicator(v > at)
	}
	if n = min(n, s.by(wholeMean, s.above).Surely); n < floor {
		return n, false
	}
	if size := len(x) / batches; size >= batches {
		if sb := StdSample(batchMeans(wholeMean, s.above, batches, size)); sb > 0 {
			ratio := NormalQuantile(0.975) / tCritical(0.95, batches-1)
			n = max(floor, min(n, q*(1-q)*ratio*ratio*batches/(sb*sb)))
		}
	}
	return n, true
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
