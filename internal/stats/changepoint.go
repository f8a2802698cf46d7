package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Point is one result of a series: an estimate with its standard error, which is NaN or 0
// where it is not known.
type Point struct{ Value, StdErr float64 }

// Change is where the level of a series moved.
type Change struct {
	At    int // the first result of the new level
	Found int // the result with which it was found
	// It began behind After and not later than at Until, with about 95 % confidence.
	After, Until  int
	From, To      float64 // the level before, and since
	By, Low, High float64 // how much it moved, with its interval
	P             float64 // how likely results without any change look so much like one
	Gradual       bool    // a line describes it better than a step
}

// Watch says how a series is watched: the chance, at each result of a stable series, of
// taking it for one that rose, or fell.
type Watch struct{ Rise, Fall float64 }

// The levels for what is harm, and for what is none. As simulated (docs/simulations.md), a
// stable series of 100 results has one change or fewer by both together.
const (
	ChangeAlpha   = 0.0173
	UrgeLessAlpha = 0.0005
)

const (
	// leastLevel is how many results a level takes before a change of it can be found.
	leastLevel = 6
	// recent is among how many of the newest results a change that is no longer small is sought.
	recent = 6
	// sought is the change that the search for a recent one is made for, in standard deviations
	// of the series: 5 % among noise of 3 % is 1.7.
	sought = 1.3
	// rarer is how much rarer a small change of long ago is seen where there is none.
	rarer = 15
	// outlying is where a result is cut back to, in standard deviations: one alone is no change.
	outlying = 3.5
	// shuffles is in how many orders the results are looked at to know chance.
	shuffles = 1999
	// The levels at which a change that was found must hold, for the first few results and then.
	heldFirst, heldLater = 0.05, 0.005
)

// Changes finds where the level of a series moved. Results are taken one by one, as they
// came: whether a change is found with result n rests on the results up to n alone, and what
// later results do not bear out is left out again. The same series gives the same answer.
//
// With each result, all places are tried behind which the newest ones may lie on another
// level. How much they seem to is held against the same results in other orders: in a series
// without a change every order is as likely, so the chance of a change is that of Watch,
// whatever the distribution (a permutation test, as in E-divisive means, of means weighted by
// the precision of each result).
func Changes(points []Point, w Watch) (found, withdrawn []Change) {
	var since, around stretch // from the last change on, and from the one before it
	for n := 1; n <= len(points); n++ {
		from, at := 0, 0
		if last := len(found) - 1; last >= 0 {
			from, at = bounds(found, last), found[last].At
			around.upTo(points, from, n)
			if l := around.level(); l.held(at - from) {
				at = from + l.likeliest(at-from)
				found[last].At = at
			} else {
				measure(points[:n], found, last)
				withdrawn, found = append(withdrawn, found[last]), found[:last]
				at = from
			}
		}
		since.upTo(points, at, n)
		if c, ok := since.level().newest(w); ok {
			c.At, c.Found = c.At+at, n-1
			found = append(found, c)
		}
	}
	for i := range found {
		measure(points, found, i)
	}
	tell(points, found)
	return found, withdrawn
}

// bounds is where the level before a change begins.
func bounds(found []Change, i int) int {
	if i > 0 {
		return found[i-1].At
	}
	return 0
}

// held reports whether a change at k is borne out by all results on both its sides: the longer
// the new level is, the more is asked.
func (l *level) held(k int) bool {
	t, freedom := l.split(k)
	alpha := heldFirst
	if len(l.y)-k > recent {
		alpha = heldLater
	}
	return 2*tTail(math.Abs(t), freedom) <= alpha
}

// likeliest is where a change that was found at k most likely is: while its level is young,
// more results tell more.
func (l *level) likeliest(k int) int {
	n := len(l.y)
	if n-k > 2*recent {
		return k
	}
	at, least := k, math.Inf(1)
	for i := max(k-recent, 1); i <= min(k+recent, n-2); i++ {
		if _, rest := l.residual(i); rest < least {
			at, least = i, rest
		}
	}
	return at
}

// measure fills in what is known of a change once all results are there.
func measure(points []Point, found []Change, i int) {
	c := &found[i]
	from, to := bounds(found, i), len(points)
	if i+1 < len(found) {
		to = found[i+1].At
	}
	k := c.At - from
	l := sides(points[from:to], k)
	c.From, c.To = l.mean(0, k), l.mean(k, len(l.y))
	c.By = c.To - c.From
	// 95 %, as simulated: the place is estimated from the same results
	half := TQuantile(1-0.025/2, max(1, float64(len(l.y)-2))) * l.error(k)
	c.Low, c.High = c.By-half, c.By+half
	c.After, c.Until = l.place(k)
	c.After, c.Until = c.After+from, c.Until+from
}

// sides are two levels, the second from k on, each with its own outliers cut back.
func sides(points []Point, k int) *level {
	var s stretch
	s.upTo(points, 0, len(points))
	l := s.level()
	for _, side := range [][2]int{{0, k}, {k, len(points)}} {
		var own stretch
		own.upTo(points, side[0], side[1])
		centre := Quantile(own.values, 0.5)
		for i := side[0]; i < side[1]; i++ {
			sd := math.Sqrt(max(variance(points[i]), l.spread*l.spread))
			l.y[i] = min(max(points[i].Value, centre-outlying*sd), centre+outlying*sd)
		}
	}
	l.add()
	return l
}

// mean is that of the results from one to before another.
func (l *level) mean(from, to int) float64 {
	return (l.sum[to] - l.sum[from]) / (l.weight[to] - l.weight[from])
}

// worth is how much the results before and from k on say of the difference of their means, as
// a number of results that are compared with a known level.
func (l *level) worth(k int) float64 {
	before := l.weight[k]
	after := l.weight[len(l.y)] - before
	return before * after / (before + after)
}

// residual is the weighted sum of squares around the level, and around two with a step at k.
func (l *level) residual(k int) (one, two float64) {
	m := l.mean(0, len(l.y))
	for i, y := range l.y {
		one += l.w[i] * (y - m) * (y - m)
	}
	d := l.mean(k, len(l.y)) - l.mean(0, k)
	return one, max(0, one-d*d*l.worth(k))
}

// error is the standard error of the difference of the means before and from k on.
func (l *level) error(k int) float64 {
	_, rest := l.residual(k)
	return math.Sqrt(rest / max(1, float64(len(l.y)-2)) / l.worth(k))
}

// split is Student's t of that difference.
func (l *level) split(k int) (t, freedom float64) {
	d, err := l.mean(k, len(l.y))-l.mean(0, k), l.error(k)
	freedom = max(1, float64(len(l.y)-2))
	if d == 0 {
		return 0, freedom
	}
	return d / err, freedom // infinite where both sides do not scatter
}

// place is where the change at k may have been: everywhere that a step explains the results
// nearly as well.
func (l *level) place(k int) (after, until int) {
	const worse = 4 // of twice the logarithm of the likelihood
	_, best := l.residual(k)
	n := len(l.y)
	likely := func(at int) bool {
		_, rest := l.residual(at)
		return float64(n)*math.Log(max(rest, 1e-300)/max(best, 1e-300)) <= worse
	}
	after, until = k-1, k
	for i := 1; i < k; i++ {
		if likely(i) {
			after = i - 1
			break
		}
	}
	for i := n - 1; i > k; i-- {
		if likely(i) {
			until = i
			break
		}
	}
	return after, until
}

// tell marks the changes of a series that are none of steps: a line that bends once explains
// the results as well as all steps the same way that follow each other.
func tell(points []Point, found []Change) {
	for i := 0; i < len(found); {
		j := i + 1
		for j < len(found) && found[j].By*found[i].By > 0 {
			j++
		}
		from, to := bounds(found, i), len(points)
		if j < len(found) {
			to = found[j].At
		}
		var s stretch
		s.upTo(points, from, to)
		steps := []int{0}
		for _, c := range found[i:j] {
			steps = append(steps, c.At-from)
		}
		if at, ok := s.level().gradual(steps); ok {
			for k := i; k < j; k++ {
				found[k].Gradual = true
			}
			found[i].After = from + at
		}
		i = j
	}
}

// gradual reports whether a line that bends once explains the results better than levels that
// begin with some of them, for its fewer parameters (the criterion of Schwarz); and from which
// result on it moves.
func (l *level) gradual(steps []int) (at int, ok bool) {
	n := len(l.y)
	if n <= 2*leastLevel {
		return 0, false
	}
	stairs := 0.0
	for i, from := range steps {
		to := n
		if i+1 < len(steps) {
			to = steps[i+1]
		}
		m := l.mean(from, to)
		for j := from; j < to; j++ {
			stairs += l.w[j] * (l.y[j] - m) * (l.y[j] - m)
		}
	}
	const (
		places  = 16 // of the bend that are tried
		clearly = 6  // of twice the logarithm of the likelihood: a step is not called a slope
	)
	best := math.Inf(1)
	for i := range places {
		bend := steps[1] * i / places
		if rest := l.bent(bend); rest < best {
			best, at = rest, bend
		}
	}
	size := float64(n)
	parameters := 2*float64(len(steps)-1) - 2 // a size and a place for each step; for the line a slope and a place
	return at, size*math.Log(best)+clearly < size*math.Log(stairs)+parameters*math.Log(size)
}

// bent is what is left of the results around a line that is level up to one of them and then
// has a slope: the weighted sum of squares.
func (l *level) bent(at int) float64 {
	n := len(l.y)
	x := func(i int) float64 { return float64(max(0, i-at)) }
	total, mx, my := l.weight[n], 0.0, l.sum[n]/l.weight[n]
	for i := range l.y {
		mx += l.w[i] * x(i) / total
	}
	sxx, sxy, syy := 0.0, 0.0, 0.0
	for i, y := range l.y {
		dx, dy := x(i)-mx, y-my
		sxx, sxy, syy = sxx+l.w[i]*dx*dx, sxy+l.w[i]*dx*dy, syy+l.w[i]*dy*dy
	}
	return syy - sxy*sxy/sxx
}

// search is one way to look for a change: behind which results, and whether it is made for a
// change of about a size.
type search struct {
	lags  []int
	sized bool
	least float64 // evidence of less is chance in every series
}

// searches are that for a change among the newest results, and that for a small one long ago.
func searches(n int) []search {
	var near, far []int
	for k := 2; k <= min(recent, n-leastLevel); k++ {
		near = append(near, k)
	}
	for k := recent + 2; k <= n/2; k += k / 3 {
		far = append(far, k)
	}
	return []search{{near, true, 15}, {far, false, 3}}
}

// newest looks for a change with which the newest results fit.
func (l *level) newest(w Watch) (Change, bool) {
	n := len(l.y)
	if l.spread == 0 {
		return Change{}, false
	}
	for _, s := range searches(n) {
		for _, way := range []struct{ sign, alpha float64 }{{1, w.Rise}, {-1, w.Fall}} {
			if !s.sized {
				way.alpha /= rarer
			}
			if p, k := l.chance(s, way.sign, way.alpha); p <= way.alpha {
				return Change{At: n - k, P: p}, true
			}
		}
	}
	return Change{}, false
}

// chance is how likely results in any other order show such a change, or 1 where that is
// more than alpha; and behind how many of the newest results it most likely is.
func (l *level) chance(s search, sign, alpha float64) (p float64, lag int) {
	if len(s.lags) == 0 {
		return 1, 0
	}
	n := len(l.y)
	total, weight := l.sum[n], l.weight[n]
	told, lag := evidence(l.y, l.w, total, weight, l.spread*l.louder, sign, s, 0)
	if told <= s.least {
		return 1, lag
	}
	y, w := slices.Clone(l.y), slices.Clone(l.w)
	r := rand.New(rand.NewPCG(uint64(n), 0x5eed))
	as, most := 1, max(1, alpha*(shuffles+1))
	for range shuffles {
		for i := n - 1; i >= n-s.lags[len(s.lags)-1]; i-- {
			j := r.IntN(i + 1)
			y[i], y[j], w[i], w[j] = y[j], y[i], w[j], w[i]
		}
		if t, _ := evidence(y, w, total, weight, l.spread, sign, s, told*(1-1e-9)); t >= told*(1-1e-9) {
			if as++; float64(as) > most {
				return 1, lag
			}
		}
	}
	if p := float64(as) / (shuffles + 1); as > 1 || p <= alpha {
		return p, lag
	}
	// rarer than so many orders can show: by Student's t, for every place that was tried
	t, freedom := l.split(n - lag)
	return math.Min(1, 2*float64(len(s.lags))*tTail(math.Abs(t)/l.louder, freedom)), lag
}

// evidence is how much more likely the results are with a change behind one of the newest
// than without any, for errors that are normal; and behind which one. What is surely less than
// atLeast may be told as 0: most orders of the results are, and their exponentials cost most.
func evidence(y, w []float64, total, weight, spread, sign float64, s search, atLeast float64) (told float64, lag int) {
	n := len(y)
	after, of, next, best := 0.0, 0.0, 1, math.Inf(-1)
	var each [recent + 1]float64 // of the sized search, by lag: logarithms
	priors := 0.0
	for _, k := range s.lags {
		for ; next <= k; next++ {
			after, of = after+w[n-next]*y[n-next], of+w[n-next]
		}
		d := sign * (after/of - (total-after)/(weight-of)) / spread
		worth := of * (weight - of) / weight
		var l float64
		switch {
		case s.sized:
			l = worth * (d*sought - sought*sought/2)
			each[k], priors = l, priors+prior(k)
		case d > 0:
			l = worth * d * d / 2
			told = max(told, l)
		}
		if l > best {
			best, lag = l, k
		}
	}
	if !s.sized || atLeast > 0 && best < math.Log(atLeast/priors)-1e-6 {
		return told, lag
	}
	for _, k := range s.lags {
		told += prior(k) * math.Exp(min(each[k], 600))
	}
	return told, lag
}

// prior is how much a change behind the newest k results counts beside others: most where it was made for, four
// results. With fewer there is little to see, and with more it was seen before.
func prior(k int) float64 {
	switch k {
	case 3:
		return 2
	case 4:
		return 4
	}
	return 1
}

// LeastSeries is how many results a series takes before a change in it can be found at all, at
// the level alpha: with fewer, too many of their orders are as good as the one that came.
func LeastSeries(alpha float64) int {
	n := leastLevel + 2
	for ; n < 1000; n++ {
		orders := 1.0 // in which the newest are apart
		for k := range min(recent, n-leastLevel) {
			orders = orders * float64(n-k) / float64(k+1)
		}
		if 1/orders <= alpha {
			break
		}
	}
	return n
}

// NewestApart is how far the newest result is from the level of those before it, in standard
// deviations of the noise; 0 where that is not known.
func NewestApart(points []Point) float64 {
	n := len(points) - 1
	if n < leastLevel {
		return 0
	}
	var s stretch
	s.upTo(points, 0, n)
	l := s.level()
	if !(l.spread > 0) {
		return 0
	}
	return (points[n].Value - l.mean(0, n)) / l.spread
}
