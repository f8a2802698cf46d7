package planner

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	mostReplicates = 20
	autoReplicates = 3
	resamples      = 400
	cliffSigmas    = 3
)

// smooth doubles until a limit is missed and then goes to the root of a smooth curve: the
// margins, made monotone by pooling neighbours that are not, with a monotone cubic through
// them over the logarithm of the load. Where the newest run is far from what the others
// foretold the curve is a cliff, and the bracket is bisected. A bracket that is narrow is
// measured again where its margins are small or as often as was asked, until the bootstrap
// interval of the margin does not hold zero.
func smooth(t *Terms, seen []Seen) Step {
	const by Reason = "smooth_isotonic_"
	l := newLine(t, seen)
	if step, open := l.bracket(by, 1); open {
		return step
	}
	cliff := l.cliff()
	if l.narrow() {
		reason := by + precisionReached
		if cliff {
			reason = by + "cliff_" + precisionReached
		}
		for _, end := range []*load{l.holds, l.fails} {
			if len(end.margins) < l.wanted(end) {
				return Step{At: []float64{end.at}, Why: fmt.Sprintf("another run of %s, whose margin is %s",
					number(end.at), percent(end.margin))}
			}
		}
		if _, ok := l.root(l.loads); !ok && !cliff {
			reason = by + "pchip_fallback_bisection"
		}
		return Step{Ended: reason}
	}
	if cliff {
		return l.middle("a cliff between %s, which keeps the limits, and %s, which does not: its middle")
	}
	root, ok := l.root(l.loads)
	if !ok {
		return l.middle("no curve goes through the margins: the middle of %s and %s")
	}
	at := l.inside(root)
	return Step{At: []float64{at}, Why: fmt.Sprintf("the margins between %s and %s reach zero at %s",
		number(l.holds.at), number(l.fails.at), number(root))}
}

// wanted is how many runs an end of a narrow bracket gets.
func (l *line) wanted(end *load) int {
	if l.Replicates > 0 {
		return min(l.Replicates, mostReplicates)
	}
	if math.Abs(end.margin) >= l.Precision {
		return 1
	}
	if len(end.margins) < autoReplicates {
		return autoReplicates
	}
	if low, high := resampled(end.margins, l.Seed); low < 0 && high > 0 {
		return mostReplicates
	}
	return len(end.margins)
}

// resampled is the 95 % bootstrap interval of a mean.
func resampled(xs []float64, seed int64) (low, high float64) {
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(len(xs))))
	means := make([]float64, resamples)
	for i := range means {
		for range xs {
			means[i] += xs[rng.IntN(len(xs))] / float64(len(xs))
		}
	}
	slices.Sort(means)
	return means[resamples/40], means[resamples-1-resamples/40]
}

// cliff reports whether the newest end of the bracket is further from what the other loads
// foretell than three times the spread of runs, and than a third of the step between its
// neighbours, which a smooth curve is not. Beyond the other loads nothing is foretold.
func (l *line) cliff() bool {
	newest := l.holds
	if l.fails.last > l.holds.last {
		newest = l.fails
	}
	i := slices.IndexFunc(l.loads, func(p load) bool { return p.at == newest.at })
	if i == 0 || i == len(l.loads)-1 {
		return false
	}
	curve, ok := fit(slices.Delete(slices.Clone(l.loads), i, i+1))
	if !ok {
		return false
	}
	off := math.Abs(newest.margin - curve.at(math.Log(newest.at)))
	return off > cliffSigmas*l.spread() && off > math.Abs(l.loads[i-1].margin-l.loads[i+1].margin)/3
}

// spread is the standard deviation of the margins of one load, pooled; without replicates
// a tenth, as much as percentiles of a few hundred requests differ by.
func (l *line) spread() float64 {
	sum, n := 0.0, 0
	for _, p := range l.loads {
		for _, m := range p.margins {
			sum += (m - p.margin) * (m - p.margin)
		}
		n += len(p.margins) - 1
	}
	if n < 2 {
		return 0.1
	}
	return math.Sqrt(sum / float64(n))
}

// root is where a fit of the margins crosses zero.
func (l *line) root(loads []load) (float64, bool) {
	curve, ok := fit(loads)
	if !ok {
		return 0, false
	}
	lo, hi := curve.x[0], curve.x[len(curve.x)-1]
	if curve.at(lo) <= 0 || curve.at(hi) > 0 {
		return 0, false
	}
	for range 60 {
		if mid := (lo + hi) / 2; curve.at(mid) > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Exp((lo + hi) / 2), true
}

// describe says what kind the boundary is, and where it lies if runs were repeated.
func (l *line) describe(b *Boundary) {
	if l.holds == nil || l.fails == nil {
		return
	}
	b.Kind = "smooth"
	if l.cliff() {
		b.Kind = "cliff"
	}
	worst := l.seen[l.fails.last].Margins
	for k, m := range worst {
		if b.Binding < 0 || m < worst[b.Binding] || math.IsNaN(m) {
			b.Binding = k
		}
	}
	if len(l.holds.margins) > 1 && len(l.fails.margins) > 1 && b.Kind == "smooth" {
		b.Low, b.High = l.interval()
	}
}

// interval is the 95 % bootstrap interval of the boundary: the runs of each load are drawn
// again, and the bracket is its bound.
func (l *line) interval() (low, high float64) {
	rng := rand.New(rand.NewPCG(uint64(l.Seed), uint64(len(l.seen))))
	var roots []float64
	for range resamples {
		drawn := slices.Clone(l.loads)
		for i := range drawn {
			p := &drawn[i]
			p.margin = 0
			for range p.margins {
				p.margin += p.margins[rng.IntN(len(p.margins))] / float64(len(p.margins))
			}
		}
		if x, ok := l.root(drawn); ok {
			roots = append(roots, x)
		}
	}
	if len(roots) == 0 {
		return l.holds.at, l.fails.at
	}
	slices.Sort(roots)
	return roots[len(roots)/40], roots[len(roots)-1-len(roots)/40]
}

func percent(x float64) string { return number(math.Round(1000*x)/10) + " %" }

// curve is a monotone cubic through points.
type curve struct{ x, y, slope []float64 }

// fit makes the margins of loads fall (pool adjacent violators, weighed by runs) and lays
// a curve through them.
func fit(loads []load) (curve, bool) {
	loads = slices.DeleteFunc(slices.Clone(loads), func(p load) bool { return math.IsNaN(p.margin) })
	if len(loads) < 2 {
		return curve{}, false
	}
	type pool struct {
		y, weight float64
		n         int
	}
	var pools []pool
	for _, p := range loads {
		pools = append(pools, pool{p.margin, float64(len(p.margins)), 1})
		for k := len(pools) - 1; k > 0 && pools[k].y > pools[k-1].y; k-- {
			a, b := pools[k-1], pools[k]
			w := a.weight + b.weight
			pools = append(pools[:k-1], pool{(a.y*a.weight + b.y*b.weight) / w, w, a.n + b.n})
		}
	}
	var c curve
	i := 0
	for _, p := range pools {
		for range p.n {
			c.x, c.y = append(c.x, math.Log(loads[i].at)), append(c.y, p.y)
			i++
		}
	}
	c.tangents()
	return c, true
}

// tangents are those of Fritsch and Butland (1984): the weighed harmonic mean of the slopes
// beside a point, and zero where they differ in sign; so the curve is as monotone as its
// points.
func (c *curve) tangents() {
	n := len(c.x)
	c.slope = make([]float64, n)
	step := func(k int) float64 { return c.x[k+1] - c.x[k] }
	rise := func(k int) float64 { return (c.y[k+1] - c.y[k]) / step(k) }
	if n == 2 {
		c.slope[0], c.slope[1] = rise(0), rise(0)
		return
	}
	for k := 1; k < n-1; k++ {
		if a, b := rise(k-1), rise(k); a*b > 0 {
			w, v := 2*step(k)+step(k-1), step(k)+2*step(k-1)
			c.slope[k] = (w + v) / (w/a + v/b)
		}
	}
	c.slope[0], c.slope[n-1] = edge(step(0), step(1), rise(0), rise(1)),
		edge(step(n-2), step(n-3), rise(n-2), rise(n-3))
}

// edge is the tangent at an end: of the parabola through three points, as far as it keeps
// the curve monotone.
func edge(h, next, a, b float64) float64 {
	d := ((2*h+next)*a - h*b) / (h + next)
	switch {
	case d*a <= 0:
		return 0
	case a*b <= 0 && math.Abs(d) > 3*math.Abs(a):
		return 3 * a
	}
	return d
}

// at is the curve at x; beyond its ends it goes on as a straight line.
func (c *curve) at(x float64) float64 {
	last := len(c.x) - 1
	switch {
	case x <= c.x[0]:
		return c.y[0] + c.slope[0]*(x-c.x[0])
	case x >= c.x[last]:
		return c.y[last] + c.slope[last]*(x-c.x[last])
	}
	k, found := slices.BinarySearchFunc(c.x, x, cmp.Compare[float64])
	if found {
		return c.y[k]
	}
	k--
	h := c.x[k+1] - c.x[k]
	t := (x - c.x[k]) / h
	u := 1 - t
	return u*u*(1+2*t)*c.y[k] + u*u*t*h*c.slope[k] + t*t*(3-2*t)*c.y[k+1] - t*t*u*h*c.slope[k+1]
}
