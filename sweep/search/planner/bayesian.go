package planner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"aiperf.dev/aiperf/internal/pcg"
	"aiperf.dev/aiperf/internal/qmc"
)

const (
	candidates = 256 // points that the model is asked about, in a space that is not listed
	listed     = 400 // values of a single dimension up to which each one is asked about
)

// bayesian draws points that are evenly spread, then goes to the point at which a Gaussian
// process over those measured expects the largest improvement. A point is measured once:
// what one more run of it would say, multi_run.num_runs says for all.
func bayesian(t *Terms, seen []Seen) Step {
	if reason := t.converged(seen); reason != "" {
		return Step{Ended: reason}
	}
	open := t.open(seen)
	if len(open) == 0 {
		return Step{Ended: Exhausted}
	}
	usable := 0
	for i := range seen {
		if seen[i].Goals != nil {
			usable++
		}
	}
	if len(seen) < t.Initial || usable < 2 {
		return Step{At: open[0], Why: fmt.Sprintf("point %d of %d that are drawn before there is a model", len(seen)+1,
			max(t.Initial, len(seen)+1))}
	}
	m := t.model(seen)
	best, gain := open[0], math.Inf(-1)
	for _, x := range open {
		if g := m.gain(t.unit(x)); g > gain {
			best, gain = x, g
		}
	}
	if reason := m.ends(open); reason != "" {
		return Step{Ended: reason}
	}
	return Step{At: best, Why: fmt.Sprintf("the model expects %s ± %s there, and %s is the best so far",
		number(m.mean(t.unit(best))), number(m.deviation(t.unit(best))), number(m.incumbent))}
}

// unit is a point in the unit cube.
func (t *Terms) unit(x []float64) []float64 {
	u := make([]float64, len(x))
	for k, d := range t.Space {
		if d.Log && d.Low > 0 {
			u[k] = math.Log(x[k]/d.Low) / math.Log(d.High/d.Low)
		} else {
			u[k] = (x[k] - d.Low) / (d.High - d.Low)
		}
	}
	return u
}

// point is the value of the space at a place of the unit cube.
func (t *Terms) point(u []float64) []float64 {
	x := make([]float64, len(u))
	for k, d := range t.Space {
		if d.Log && d.Low > 0 {
			x[k] = d.Low * math.Pow(d.High/d.Low, u[k])
		} else {
			x[k] = d.Low + u[k]*(d.High-d.Low)
		}
		if d.Whole {
			x[k] = math.Round(x[k])
		}
		x[k] = max(d.Low, min(d.High, x[k]))
	}
	return x
}

// open are points that were not measured: those of a scrambled Sobol sequence in its order,
// then all others of a short dimension, or the neighbours of the best point.
func (t *Terms) open(seen []Seen) (out [][]float64) {
	known := map[string]bool{}
	key := func(x []float64) string { return fmt.Sprintf("%.9g", x) }
	for i := range seen {
		known[key(seen[i].At)] = true
	}
	add := func(x []float64) {
		if k := key(x); !known[k] {
			known[k] = true
			out = append(out, x)
		}
	}
	drawn, err := qmc.Sobol(candidates, len(t.Space), pcg.New(uint64(t.Seed)))
	if err != nil { // more dimensions than a Sobol sequence has
		rng := rand.New(rand.NewPCG(uint64(t.Seed), 1))
		for range candidates {
			u := make([]float64, len(t.Space))
			for k := range u {
				u[k] = rng.Float64()
			}
			drawn = append(drawn, u)
		}
	}
	for _, u := range drawn {
		add(t.point(u))
	}
	if d := t.Space[0]; len(t.Space) == 1 && d.Whole && d.High-d.Low < listed {
		for x := d.Low; x <= d.High; x++ {
			add([]float64{x})
		}
		return out
	}
	for _, i := range Best(t, seen) {
		rng := rand.New(rand.NewPCG(uint64(t.Seed), uint64(len(seen))))
		for n := range candidates / 4 {
			u := t.unit(seen[i].At)
			for k := range u {
				u[k] = max(0, min(1, u[k]+rng.NormFloat64()*math.Pow(2, -float64(2+n%5))))
			}
			add(t.point(u))
		}
	}
	return out
}

// converged is the reason for which what was measured ends the search, "" for none.
func (t *Terms) converged(seen []Seen) Reason {
	if len(seen) < t.Initial {
		return ""
	}
	gains := t.progress(seen)
	if n := len(gains); n > t.Patience && t.Patience > 0 && gains[n-1] == gains[n-1-t.Patience] {
		return NoImprovement
	}
	if t.Window >= 2 && len(seen) >= t.Window && flat(t.recent(seen, gains), t.Flat) {
		return Plateau
	}
	return ""
}

// progress is the best so far after each point: of one goal its value, of several the part
// of the box between the worst and the best values that the front covers.
func (t *Terms) progress(seen []Seen) []float64 {
	out := make([]float64, len(seen))
	for i := range seen {
		at := Best(t, seen[:i+1])
		switch {
		case len(at) == 0:
			out[i] = math.Inf(-1)
		case len(t.Goals) == 1:
			out[i] = t.sign(0) * seen[at[0]].Goals[0]
			if !seen[at[0]].Feasible { // any feasible one is better
				out[i] -= math.MaxFloat64 / 2
			}
		default:
			out[i] = t.covered(seen, at)
		}
	}
	return out
}

// recent are the newest values that a plateau is looked for in.
func (t *Terms) recent(seen []Seen, gains []float64) []float64 {
	n := len(seen) - t.Window
	if len(t.Goals) > 1 {
		return gains[n:]
	}
	var out []float64
	for i := range seen[n:] {
		if s := &seen[n+i]; s.Goals != nil {
			out = append(out, s.Goals[0])
		}
	}
	return out
}

// flat reports whether the coefficient of variation is below a threshold.
func flat(xs []float64, below float64) bool {
	if len(xs) < 2 {
		return false
	}
	mean, sum := 0.0, 0.0
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sum += (x - mean) * (x - mean)
	}
	return mean != 0 && math.Sqrt(sum/float64(len(xs)-1))/math.Abs(mean) < below
}

// sign turns goal k into one of which more is better.
func (t *Terms) sign(k int) float64 {
	if t.Goals[k].Maximize {
		return 1
	}
	return -1
}

// scaled are the goals of a point between 0, the worst that was seen or said, and 1, the
// best that was seen.
func (t *Terms) scaled(seen []Seen, i int) []float64 {
	out := make([]float64, len(t.Goals))
	for k := range t.Goals {
		lo, hi := math.Inf(1), math.Inf(-1)
		for j := range seen {
			if g := seen[j].Goals; g != nil {
				lo, hi = min(lo, t.sign(k)*g[k]), max(hi, t.sign(k)*g[k])
			}
		}
		if w := t.Goals[k].Worst; w != nil {
			lo = t.sign(k) * *w
		}
		if hi > lo {
			out[k] = max(0, (t.sign(k)*seen[i].Goals[k]-lo)/(hi-lo))
		}
	}
	return out
}

// covered is the share of the unit box that the points of a front dominate, by a fixed set
// of evenly spread points.
func (t *Terms) covered(seen []Seen, front []int) float64 {
	probes, err := qmc.Sobol(candidates, len(t.Goals), nil)
	if err != nil {
		return float64(len(front))
	}
	n := 0
	for _, p := range probes {
		if slices.ContainsFunc(front, func(i int) bool {
			s := t.scaled(seen, i)
			return every(s, p)
		}) {
			n++
		}
	}
	return float64(n) / float64(len(probes))
}

// every reports whether no value of s is below its value of p.
func every(s, p []float64) bool {
	for k := range p {
		if s[k] < p[k] {
			return false
		}
	}
	return true
}
