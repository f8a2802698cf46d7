package stats

import (
	"math"
	"slices"
)

// Bend is where a line has another slope from some point on.
type Bend struct {
	At            Param   // the place, with the interval of places that fit nearly as well
	Before, After float64 // the slopes
	P             float64 // of a straight line fitting as well by chance
	Slope         Param   // of the straight line
}

// FindBend fits two straight lines that meet to points (x, y), by least squares over all
// places between the second and the last but one of the different x. The interval of the
// place holds those whose sum of squares is at most that of the best one times
// 1 + F(0.95; 1, n−4)/(n−4), and P is by the F test of one line against two (Seber and Wild,
// Nonlinear Regression, 1989, chapter 9), whose level is approximate. false with fewer than
// six points, or five different x.
func FindBend(x, y []float64) (Bend, bool) {
	places := slices.Clone(x)
	slices.Sort(places)
	places = slices.Compact(places)
	n := len(x)
	if n < 6 || len(places) < 5 {
		return Bend{}, false
	}
	straight, slope, _, err := lines(x, y, math.Inf(1))
	half := tCritical(0.95, n-2) * err
	b := Bend{Slope: Param{slope, slope - half, slope + half}, P: 1}
	const steps = 200
	low, high := places[1], places[len(places)-2]
	type fit struct{ at, sse float64 }
	fits := make([]fit, 0, steps+1)
	best := math.Inf(1)
	for i := range steps + 1 {
		at := low + (high-low)*float64(i)/steps
		sse, before, after, _ := lines(x, y, at)
		fits = append(fits, fit{at, sse})
		if sse < best {
			best, b.At.Value, b.Before, b.After = sse, at, before, after
		}
	}
	df := float64(n - 4)
	t := tCritical(0.95, n-4) // its square is the quantile of F with one degree of freedom
	limit := best*(1+t*t/df) + 1e-12
	b.At.Low, b.At.High = high, low
	for _, f := range fits {
		if f.sse <= limit {
			b.At.Low, b.At.High = min(b.At.Low, f.at), max(b.At.High, f.at)
		}
	}
	if best > 0 {
		f := max(0, straight-best) / 2 / (best / df)
		b.P = math.Pow(1+2*f/df, -df/2) // the tail of F with 2 and df degrees of freedom
	} else if straight > 0 {
		b.P = 0
	}
	return b, true
}

// lines fits two lines that meet at a place, one where it is behind all points: the sum of
// squares, the slopes, and the standard error of a single one.
func lines(x, y []float64, at float64) (sse, before, after, err float64) {
	k := 2
	if at < math.Inf(1) {
		k = 3
	}
	row := func(v float64) [3]float64 { return [3]float64{1, v, max(0, v-at)} }
	m, r := make([][]float64, k), make([]float64, k)
	for i := range m {
		m[i] = make([]float64, 2*k)
		m[i][k+i] = 1
	}
	for i := range x {
		z := row(x[i])
		for p := range k {
			r[p] += z[p] * y[i]
			for q := range k {
				m[p][q] += z[p] * z[q]
			}
		}
	}
	if !invert(m) {
		return math.Inf(1), 0, 0, 0
	}
	var beta [3]float64
	for p := range k {
		for q := range k {
			beta[p] += m[p][k+q] * r[q]
		}
	}
	for i := range x {
		z := row(x[i])
		d := y[i] - z[0]*beta[0] - z[1]*beta[1]
		if k == 3 {
			d -= z[2] * beta[2]
		}
		sse += d * d
	}
	return sse, beta[1], beta[1] + beta[2], math.Sqrt(sse / float64(max(1, len(x)-2)) * m[1][k+1])
}
