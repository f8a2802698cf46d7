package stats

import (
	"math"
	"slices"
)

// stretch is a part of a series, kept so that one more result costs little.
type stretch struct {
	points []Point
	from   int
	values []float64 // sorted
	steps  []float64 // between neighbours, without signs, sorted
	errors float64   // sum of the squared standard errors
	room   []float64 // of the level that was asked for last, which the next one overwrites
}

// upTo makes it that from one result to before another.
func (s *stretch) upTo(points []Point, from, to int) {
	if s.from != from || len(s.points) > to-from {
		*s = stretch{from: from, values: s.values[:0], steps: s.steps[:0], room: s.room}
	}
	for i := from + len(s.points); i < to; i++ {
		insert(&s.values, points[i].Value)
		if i > from {
			insert(&s.steps, math.Abs(points[i].Value-points[i-1].Value))
		}
		s.errors += variance(points[i])
	}
	s.points = points[from:to]
}

func insert(sorted *[]float64, v float64) {
	i, _ := slices.BinarySearch(*sorted, v)
	*sorted = slices.Insert(*sorted, i, v)
}

// level is a part of a series in which no change is known, or one.
type level struct {
	y, w   []float64 // results, outliers cut back, and their weights
	sum    []float64 // of w·y, up to each result
	weight []float64 // of w
	spread float64   // standard deviation of the noise of a result of weight 1
	louder float64   // how many times more means of the newest results scatter than that says; 1 where they do not
}

// level weighs results by what is known of their precision: they scatter around their level
// by more than their own errors say, and the rest of the scatter is common to all. It is good
// until the next one of the stretch.
func (s *stretch) level() *level {
	n := len(s.points)
	if need := 4*n + 2; cap(s.room) < need {
		s.room = make([]float64, 2*need)
	}
	room := s.room[:4*n+2]
	l := &level{y: room[:n], w: room[n : 2*n], sum: room[2*n : 3*n+1], weight: room[3*n+1:]}
	l.sum[0], l.weight[0] = 0, 0
	var centre float64
	centre, l.spread = s.robust()
	all := l.spread * l.spread
	common := max(all-s.errors/float64(n), all/4) // errors of few trials are not well known themselves
	for i, p := range s.points {
		l.y[i], l.w[i] = p.Value, 1
		if v := common + variance(p); v > 0 {
			l.w[i] = all / v
			sd := math.Sqrt(max(v, all))
			l.y[i] = min(max(p.Value, centre-outlying*sd), centre+outlying*sd)
		}
	}
	l.add()
	l.louder = l.loudness() * l.likeness()
	return l
}

// loudness is how many times the newest results scatter more than all, by the steps between
// them: of the newest 14, and of more, whose signs are surer. What may be chance is none.
func (l *level) loudness() float64 {
	ratio := 1.0
	for _, of := range []struct {
		newest  int
		atLeast float64
		kept    float64 // of the mean squared step of normal noise without its two largest
	}{{14, 1.6, 0.52}, {28, 1.35, 0.68}, {56, 1.25, 0.795}} {
		if len(l.y)-newcomers < 2*of.newest {
			break
		}
		if r := l.scatter(of.newest) / math.Sqrt(of.kept) / l.spread; r > of.atLeast {
			ratio = max(ratio, r)
		}
	}
	return ratio
}

// newcomers are the newest results, which may be a change: what they scatter is not known yet.
const newcomers = 2

// scatter is the standard deviation of the newest results but the newcomers by the steps between them, the two
// largest left out, which may be one change.
func (l *level) scatter(newest int) float64 {
	sum, first, second := 0.0, 0.0, 0.0
	n := len(l.y) - newcomers
	for i := n - newest; i < n; i++ {
		d := l.y[i] - l.y[i-1]
		d *= d / (1/l.w[i] + 1/l.w[i-1])
		sum += d
		switch {
		case d > first:
			first, second = d, first
		case d > second:
			second = d
		}
	}
	return math.Sqrt((sum - first - second) / float64(newest))
}

// likeness is how many times more the mean of a few results scatters where each resembles the
// one before than where none does: by their correlation, the newest results left out, which may
// be a change. What may be chance is none, and results that alternate promise nothing.
func (l *level) likeness() float64 {
	const (
		surely = 1.6 // in standard errors of the correlation
		few    = 0.8 // of the correlation: the formula is that for means of many results
		most   = 0.8
	)
	n := len(l.y) - recent
	if n < 2*leastLevel {
		return 1
	}
	m, all, next := l.mean(0, n), 0.0, 0.0
	for i := range n {
		d := l.y[i] - m
		all += l.w[i] * d * d
		if i > 0 {
			next += math.Sqrt(l.w[i]*l.w[i-1]) * d * (l.y[i-1] - m)
		}
	}
	r := next/all + 1/float64(n) // estimated around their own mean, it is too small
	if !(r*math.Sqrt(float64(n)) > surely) {
		return 1
	}
	r = few * min(r, most)
	return math.Sqrt((1 + r) / (1 - r))
}

// add adds up what stands before each result.
func (l *level) add() {
	for i, w := range l.w {
		l.sum[i+1], l.weight[i+1] = l.sum[i]+w*l.y[i], l.weight[i]+w
	}
}

func variance(p Point) float64 {
	if p.StdErr > 0 && !math.IsInf(p.StdErr, 1) {
		return p.StdErr * p.StdErr
	}
	return 0
}

// robust are the median and the standard deviation of the noise: by the median of the
// deviations, or of the steps from one result to the next where it is less, since a change
// moves only one of these.
func (s *stretch) robust() (centre, spread float64) {
	const normal = 0.6744897501960817 // the median of |x| for a standard normal x
	centre = Quantile(s.values, 0.5)
	spread = deviation(s.values, centre) / normal
	if len(s.steps) > 1 {
		spread = min(spread, Quantile(s.steps, 0.5)/normal/math.Sqrt2)
	}
	if !(spread > 0) { // most are equal
		spread = Std(s.values)
	}
	return centre, spread
}

// deviation is the median distance of sorted values from their centre: outwards from it, the
// nearer one of both sides next.
func deviation(sorted []float64, centre float64) float64 {
	up, _ := slices.BinarySearch(sorted, centre)
	down, d := up-1, 0.0
	for range len(sorted)/2 + 1 {
		if up == len(sorted) || down >= 0 && centre-sorted[down] <= sorted[up]-centre {
			d, down = centre-sorted[down], down-1
		} else {
			d, up = sorted[up]-centre, up+1
		}
	}
	return d
}
