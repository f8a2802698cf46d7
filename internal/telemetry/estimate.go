package telemetry

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/stats"
)

// observed is a histogram as it was read again and again: cumulative counts by edge,
// the last of which is +Inf, and the sum of values, at each look.
type observed struct {
	edges  []float64
	counts [][]float64 // by look, then by edge
	sums   []float64   // by look
}

// maxSynthetic bounds the values that stand for those of a histogram.
const maxSynthetic = 100_000

// learned is what looks between which all values fell into one bucket say of it.
type learned struct {
	n, sum float64
	means  []float64
}

// mean is the learned mean if it lies inside the bucket, else NaN.
func (l *learned) mean(low, high float64) float64 {
	if m := l.sum / l.n; low < m && m < high {
		return m
	}
	return math.NaN()
}

// deviation is that of the means; NaN of fewer than three, or where they do not differ.
func (l *learned) deviation() float64 {
	if len(l.means) < 3 {
		return math.NaN()
	}
	mean, squares := 0.0, 0.0
	for _, m := range l.means {
		mean += m / float64(len(l.means))
	}
	for _, m := range l.means {
		squares += (m - mean) * (m - mean)
	}
	if squares == 0 {
		return math.NaN()
	}
	return math.Sqrt(squares / float64(len(l.means)-1))
}

// estimate is AIPerf's estimate of quantiles of the values that came between the first
// look and the last (aiperf/server_metrics/histogram_percentiles.py of 0.13, Apache-2.0,
// after arXiv 2504.00001): values are placed into their buckets by what single intervals
// tell of the means there, and shifted so that their sum is right. Nil where the histogram
// tells nothing. How far it is off nobody knows but the edges of the bucket.
func (o *observed) estimate(qs ...float64) []float64 {
	last := len(o.counts) - 1
	if last < 1 || len(o.edges) < 2 {
		return nil
	}
	perBucket, total := make([]float64, len(o.edges)), 0.0
	for i := range o.edges {
		perBucket[i] = o.counts[last][i] - o.counts[0][i]
	}
	total = perBucket[len(perBucket)-1]
	for i := len(perBucket) - 1; i > 0; i-- {
		perBucket[i] -= perBucket[i-1]
	}
	sum := o.sums[last] - o.sums[0]
	switch {
	case total <= 0 || sum < 0:
		return nil
	case sum == 0:
		return make([]float64, len(qs))
	}
	if total > maxSynthetic {
		ratio := maxSynthetic / total
		sum *= ratio
		for i := range perBucket {
			perBucket[i] *= ratio
		}
	}
	know := o.learn()
	finite := len(o.edges) - 1
	beyond := o.beyond(sum, perBucket, know)
	rest := sum
	for _, v := range beyond {
		rest -= v
	}
	values := append(o.place(perBucket[:finite], rest, know), beyond...)
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	out := make([]float64, len(qs))
	for i, q := range qs {
		out[i] = stats.Quantile(values, q)
	}
	return out
}

// learn goes through the intervals between looks.
func (o *observed) learn() []learned {
	know := make([]learned, len(o.edges))
	for k := 1; k < len(o.counts); k++ {
		n := o.counts[k][len(o.edges)-1] - o.counts[k-1][len(o.edges)-1]
		at, below, several := -1, 0.0, false
		for i := range o.edges {
			d := max(0, o.counts[k][i]-o.counts[k-1][i])
			if d > below {
				several = several || at >= 0
				at = i
			}
			below = d
		}
		if n <= 0 || at < 0 || several {
			continue
		}
		sum := o.sums[k] - o.sums[k-1]
		l := &know[at]
		l.n, l.sum, l.means = l.n+n, l.sum+sum, append(l.means, sum/n)
	}
	return know
}

// bounds are the edges of a bucket; the first begins at 0.
func (o *observed) bounds(i int) (low, high float64) {
	if i > 0 {
		low = o.edges[i-1]
	}
	return low, o.edges[i]
}

// beyond are values above the last finite edge.
func (o *observed) beyond(sum float64, perBucket []float64, know []learned) []float64 {
	finite := len(o.edges) - 1
	n := int(math.Ceil(perBucket[finite]))
	if n <= 0 {
		return nil
	}
	top := o.edges[finite-1]
	for i := range finite {
		if perBucket[i] <= 0 {
			continue
		}
		low, high := o.bounds(i)
		mean := know[i].mean(low, high)
		if math.IsNaN(mean) {
			mean = (low + high) / 2
		}
		sum -= perBucket[i] * mean
	}
	mean := sum / float64(n)
	if mean <= top {
		mean = 1.5 * top
	}
	if n == 1 {
		return []float64{mean}
	}
	out, high := make([]float64, n), 2*mean-top
	for i := range out {
		out[i] = top + (high-top)*float64(i)/float64(n-1)
	}
	return out
}

// place puts values into the finite buckets, with the given sum as far as their edges
// allow.
func (o *observed) place(perBucket []float64, sum float64, know []learned) (values []float64) {
	total, most := 0.0, 0
	for i, n := range perBucket {
		total += n
		if n > perBucket[most] {
			most = i
		}
	}
	if total <= 0 {
		return nil
	}
	type part struct {
		from, to  int
		low, high float64
	}
	var parts []part
	for i, share := range perBucket {
		n := int(share)
		if n <= 0 {
			continue
		}
		low, high := o.bounds(i)
		center := math.NaN()
		if i == most && share/total >= 0.95 && low < sum/total && sum/total < high {
			center = sum / total
		}
		from := len(values)
		values = append(values, spreadOver(n, low, high, center, &know[i])...)
		parts = append(parts, part{from, len(values), low, high})
	}
	made := 0.0
	for _, v := range values {
		made += v
	}
	missing := sum - made
	if made <= 0 || sum <= 0 || math.Abs(missing)/sum < 0.001 {
		return values
	}
	for _, p := range parts {
		own := 0.0
		for _, v := range values[p.from:p.to] {
			own += v
		}
		most := 0.4 * (p.high - p.low)
		shift := min(max(missing*own/made/float64(p.to-p.from), -most), most)
		for i := p.from; i < p.to; i++ {
			values[i] = min(max(values[i]+shift, p.low), p.high)
		}
	}
	return values
}

// spreadOver are n values of one bucket: two heaps where the means hardly vary, half way
// to even ones where they vary little, by their deviation where they vary more, and
// evenly about center, or else the learned mean, where that is not known.
func spreadOver(n int, low, high, center float64, l *learned) []float64 {
	out, middle, width := make([]float64, n), (low+high)/2, high-low
	mean, dev := math.NaN(), math.NaN()
	if l.n > 0 {
		mean, dev = l.mean(low, high), l.deviation()
	}
	fraction := func(i int) float64 { return (float64(i) + 0.5) / float64(n) }
	within := func(v float64) float64 { return min(max(v, low), high) }
	if math.IsNaN(mean) || math.IsNaN(dev) {
		if math.IsNaN(center) {
			center = mean
		}
		if math.IsNaN(center) {
			center = middle
		}
		for i := range out {
			out[i] = within(low + width*fraction(i) + center - middle)
		}
		return out
	}
	by := func(i int) float64 {
		f := fraction(i)
		if f < 0.5 {
			return within(mean - min((mean-low)/dev, 3)*dev*(1-2*f))
		}
		return within(mean + min((high-mean)/dev, 3)*dev*(2*f-1))
	}
	switch cover := 4 * dev / width; {
	case cover < 0.01:
		variance := dev * dev
		heap := within(mean + variance/(mean-low))
		first := int(float64(n) * variance / (variance + (mean-low)*(mean-low)))
		for i := range out {
			if out[i] = heap; i < first {
				out[i] = low
			}
		}
	case cover < 0.2 && math.Abs(mean-middle)/width < 0.3:
		for i := range out {
			out[i] = within(0.5*within(low+width*fraction(i)+mean-middle) + 0.5*by(i))
		}
	default:
		for i := range out {
			out[i] = by(i)
		}
	}
	return out
}
