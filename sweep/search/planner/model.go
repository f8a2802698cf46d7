package planner

import (
	"math"
	"math/rand/v2"

	"aiperf.dev/aiperf/internal/stats"
)

// model is what the points say of a value to be made large, and of the limits.
type model struct {
	t         *Terms
	value     *process
	margin    *process // of the limit nearest to being missed; nil where it is not weighed
	incumbent float64  // the best value so far, as value has it
	span      float64  // of the values
}

// model fits what was measured. A point without a result counts as a tenth of the span
// below the worst. Of several goals one value is made with weights that are drawn for each
// point anew (augmented Chebyshev, as in ParEGO), so that the search wanders along the front.
func (t *Terms) model(seen []Seen) *model {
	m := &model{t: t}
	xs, ys, margins := make([][]float64, len(seen)), make([]float64, len(seen)), make([]float64, len(seen))
	lo, hi := math.Inf(1), math.Inf(-1)
	weights := t.weights(len(seen))
	for i := range seen {
		xs[i] = t.unit(seen[i].At)
		margins[i] = max(-1, min(1, seen[i].margin()))
		for _, s := range seen[i].Soft {
			if !math.IsNaN(s) {
				margins[i] = min(margins[i], max(-1, s))
			}
		}
		if seen[i].Goals == nil {
			continue
		}
		ys[i] = t.sign(0) * seen[i].Goals[0]
		if len(t.Goals) > 1 {
			ys[i] = scalar(weights, t.scaled(seen, i))
		}
		lo, hi = min(lo, ys[i]), max(hi, ys[i])
	}
	m.span = max(hi-lo, 1e-9*math.Abs(hi), 1e-12)
	m.incumbent = math.Inf(-1)
	for i := range seen {
		switch {
		case seen[i].Goals == nil:
			ys[i] = lo - m.span/10
		case margins[i] < 0 && !t.Expected: // AIPerf's penalty: by how much the limits are missed
			ys[i] -= m.span * (0.1 - margins[i])
		}
		if seen[i].Goals != nil && (margins[i] >= 0 || !t.Expected) {
			m.incumbent = max(m.incumbent, ys[i])
		}
	}
	if math.IsInf(m.incumbent, -1) {
		m.incumbent = lo
	}
	m.value = newProcess(xs, ys)
	if t.Expected {
		m.margin = newProcess(xs, margins)
	}
	return m
}

// weights are those of the goals before point n.
func (t *Terms) weights(n int) []float64 {
	rng := rand.New(rand.NewPCG(uint64(t.Seed), uint64(n)))
	w, sum := make([]float64, len(t.Goals)), 0.0
	for k := range w {
		w[k] = rng.ExpFloat64()
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return w
}

// scalar is min w·s + 0.05 Σ w·s.
func scalar(w, s []float64) float64 {
	least, sum := math.Inf(1), 0.0
	for k := range w {
		least, sum = min(least, w[k]*s[k]), sum+w[k]*s[k]
	}
	return least + 0.05*sum
}

// gain is the expected improvement on the best value, times the probability that the
// limits are kept where that is weighed.
func (m *model) gain(u []float64) float64 {
	mean, sd := m.value.at(u)
	g := improvement(mean-m.incumbent, sd)
	if m.margin != nil {
		mean, sd := m.margin.at(u)
		g *= normal(mean / sd)
	}
	return g
}

func (m *model) mean(u []float64) float64 {
	mean, _ := m.value.at(u)
	return mean
}

func (m *model) deviation(u []float64) float64 {
	_, sd := m.value.at(u)
	return sd
}

// ends is the reason for which the model ends the search, where that was asked for: what
// may still be won is less than so small a part of what was seen. regret bounds it by two
// standard deviations (Makarova 2022), emmr by its expectation.
func (m *model) ends(open [][]float64) Reason {
	if m.t.Terminator != "regret" && m.t.Terminator != "emmr" {
		return ""
	}
	bound, expected := math.Inf(-1), 0.0
	for _, x := range open {
		mean, sd := m.value.at(m.t.unit(x))
		bound, expected = max(bound, mean+2*sd-m.incumbent), max(expected, m.gain(m.t.unit(x)))
	}
	switch {
	case m.t.Terminator == "regret" && bound < m.t.Flat*m.span:
		return Regret
	case m.t.Terminator == "emmr" && expected < m.t.Flat*m.span:
		return EMMR
	}
	return ""
}

// improvement is E[max(0, X)] of a normal X.
func improvement(mean, sd float64) float64 {
	if sd <= 0 {
		return max(0, mean)
	}
	z := mean / sd
	return mean*normal(z) + sd*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
}

func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// process is a Gaussian process with a Matérn 5/2 kernel over the unit cube.
type process struct {
	xs           [][]float64
	scales       []float64 // length scale of each dimension
	noise        float64   // variance of the noise, as a part of that of the signal
	mean, signal float64   // of the values; signal is a standard deviation
	alpha        []float64
	factor       stats.Cholesky
}

// newProcess chooses length scales and noise by the marginal likelihood: first one scale
// for all dimensions, then each by itself.
func newProcess(xs [][]float64, ys []float64) *process {
	best, most := (*process)(nil), math.Inf(-1)
	try := func(scales []float64, noise float64) {
		if p, likelihood := fitted(xs, ys, scales, noise); p != nil && likelihood > most {
			best, most = p, likelihood
		}
	}
	lengths := []float64{0.1, 0.2, 0.4, 0.8, 1.6}
	for _, scale := range lengths {
		for _, noise := range []float64{1e-4, 1e-3, 1e-2, 1e-1, 1} {
			scales := make([]float64, len(xs[0]))
			for k := range scales {
				scales[k] = scale
			}
			try(scales, noise)
		}
	}
	for k := range len(xs[0]) {
		if len(xs[0]) == 1 {
			break
		}
		for _, scale := range append(lengths, 4) {
			scales := append([]float64(nil), best.scales...)
			scales[k] = scale
			try(scales, best.noise)
		}
	}
	return best
}

// fitted is the process with these settings and its logarithmic likelihood; nil where the
// numbers do not allow one.
func fitted(xs [][]float64, ys []float64, scales []float64, noise float64) (*process, float64) {
	n := len(xs)
	p := &process{xs: xs, scales: scales, noise: noise}
	for _, y := range ys {
		p.mean += y / float64(n)
	}
	k, y := make([][]float64, n), make([]float64, n)
	for i := range n {
		y[i] = ys[i] - p.mean
		k[i] = make([]float64, i+1)
		for j := range k[i] {
			k[i][j] = p.kernel(xs[i], xs[j])
		}
		k[i][i] += noise + 1e-8
	}
	var ok bool
	if p.factor, ok = stats.NewCholesky(k); !ok {
		return nil, 0
	}
	p.alpha = p.factor.Solve(y)
	p.signal = math.Sqrt(max(stats.Dot(y, p.alpha)/float64(n), 1e-24))
	return p, -float64(n)*math.Log(p.signal) - p.factor.LogDet()/2
}

func (p *process) kernel(a, b []float64) float64 {
	r := 0.0
	for k := range a {
		d := (a[k] - b[k]) / p.scales[k]
		r += d * d
	}
	r = math.Sqrt(5 * r)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// at is the mean and the standard deviation of what is behind the noise.
func (p *process) at(u []float64) (mean, sd float64) {
	k := make([]float64, len(p.xs))
	for i := range k {
		k[i] = p.kernel(u, p.xs[i])
	}
	unexplained := 1 - stats.Dot(k, p.factor.Solve(k))
	return p.mean + stats.Dot(k, p.alpha), p.signal * math.Sqrt(max(unexplained, 1e-12))
}
