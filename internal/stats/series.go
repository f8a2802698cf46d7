package stats

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// directLags is how many lags are summed before the transform, whose cost is
// that of some hundred lags: a series that is correlated as far as this is
// mostly correlated much further.
const directLags = 64

// EffectiveN is the number of independent values that a correlated series is
// worth: n/τ, with τ from Geyer's initial positive sequence (Statistical
// Science 7, 1992):
//
//	Γ_k = ρ(2k) + ρ(2k+1),  summed while positive,  τ = −1 + 2·ΣΓ_k
//
// τ is at least 1: a series that alternates is not credited with more values
// than it has. Values must be in order of time. A constant series counts full.
func EffectiveN(x []float64) float64 {
	var s Series
	return s.EffectiveN(x)
}

// Worth is how many independent values a correlated series is worth.
type Worth struct {
	N float64 // EffectiveN
	// Surely is the least that it is worth but for one time in a hundred: τ is
	// known from m lags of n values to a relative standard deviation of
	//
	//	√(2(2m+1)/n)                   (Madras and Sokal, J. Stat. Phys. 50, 1988)
	//
	// and what it exceeds 1 by is taken 2.33 of them larger. It says whether a
	// short run of a slow queue only looks uncorrelated.
	Surely float64
}

// surely is the normal quantile of one time in a hundred.
const surely = 2.33

// worth is that of n values with a correlation time of tau, found from m lags.
func worth(n int, tau float64, m int) Worth {
	tau = math.Max(1, tau)
	spread := math.Sqrt(2 * float64(2*m+1) / float64(n))
	return Worth{N: float64(n) / tau, Surely: float64(n) / (1 + (tau-1)*(1+surely*spread))}
}

// Series computes EffectiveN of many series and keeps its scratch, about 40
// bytes a value, between them. The zero value is ready. Not for concurrent use.
type Series struct {
	d     []float64 // x − mean; once transformed, the power spectrum
	total float64   // Σ d²
	near  [lagBlock]float64
	from  int // the first lag of near; −1 for none
	known bool
	z     []complex128 // the transform

	blocks []float64    // means of neighbours of a long series
	above  []float64    // indicators
	turns  []complex128 // e^(−πik/len(z))
}

// EffectiveN is the function EffectiveN.
func (s *Series) EffectiveN(x []float64) float64 { return s.Worth(x).N }

// Worth is what x, in order of time, is worth.
func (s *Series) Worth(x []float64) Worth { return s.by(Mean, x) }

// by is Worth with a mean that is exact for x.
func (s *Series) by(mean func([]float64) float64, x []float64) Worth {
	if len(x) > longSeries {
		return s.inBlocks(mean, x)
	}
	return s.exactly(mean(x), x)
}

// longSeries is from where on a series is averaged in blocks first: what the
// transform of a longer one costs grows with its length, and what is known of
// its correlation does not get better by a percent.
const longSeries = 1 << 15

// inBlocks is Worth by the means of blocks of b neighbours. The variance
// of a long mean is the same whether it is taken over values or over blocks:
//
//	σ²(x)/n_eff(x) = σ²(blocks)/n_eff(blocks)
//
// A block's variance takes in what is correlated within it; what reaches
// further is left to Geyer's sequence of the blocks. The values that fill no
// whole block at the end are left out of the blocks.
func (s *Series) inBlocks(mean func([]float64) float64, x []float64) Worth {
	n := len(x)
	b := (n + longSeries - 1) / longSeries
	s.blocks = room(s.blocks, n/b)
	for i := range s.blocks {
		s.blocks[i] = mean(x[i*b : (i+1)*b])
	}
	s.centre(mean(x), x)
	all := s.total / float64(n)
	middle := Mean(s.blocks)
	of := s.exactly(middle, s.blocks)
	s.centre(middle, s.blocks)
	between := s.total / float64(len(s.blocks))
	if all == 0 || between == 0 {
		return Worth{float64(n), float64(n)}
	}
	return Worth{math.Min(float64(n), all/between*of.N), math.Min(float64(n), all/between*of.Surely)}
}

// exactly is Worth of all values, whose mean is m.
func (s *Series) exactly(m float64, x []float64) Worth {
	n := len(x)
	if n < 4 {
		return Worth{float64(n), float64(n)}
	}
	s.centre(m, x)
	if s.total == 0 {
		return Worth{float64(n), float64(n)}
	}
	sum, k := 0.0, 0
	for ; 2*k+1 < n; k++ {
		if 2*k == directLags {
			s.transform()
		}
		g := s.at(2*k) + s.at(2*k+1)
		if !(g > 0) {
			break
		}
		sum += g
	}
	return worth(n, 2*sum-1, 2*k)
}

// centre begins with a new series with mean m. A sum of squares that is only the
// rounding of the mean is 0.
func (s *Series) centre(m float64, x []float64) {
	s.d, s.from, s.known, s.total = room(s.d, len(x)), -1, false, 0
	for i, v := range x {
		s.d[i] = v - m
		s.total += s.d[i] * s.d[i]
	}
	if eps := 1e-15 * math.Abs(m); s.total <= float64(len(x))*eps*eps {
		s.total = 0
	}
}

// at is ρ(k): from the transform when there is one, else summed.
func (s *Series) at(k int) float64 {
	switch {
	case k == 0:
		return 1
	case s.known:
		return s.covariance(k) / s.total
	}
	if from := k - k%lagBlock; from != s.from {
		s.from = from
		laggedBlock(s.d, from, &s.near)
	}
	return s.near[k%lagBlock] / s.total
}

// lagBlock is how many lags one pass over a series adds up: their sums do not
// wait for each other.
const lagBlock = 8

// laggedBlock is Σ d_i·d_{i+k} for the lags from k on.
func laggedBlock(d []float64, k int, out *[lagBlock]float64) {
	whole := max(len(d)-k-lagBlock+1, 0) // products that every lag of the block has
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for i, v := range d[:whole] {
		w := d[i+k : i+k+lagBlock : i+k+lagBlock]
		s0 += w[0] * v
		s1 += w[1] * v
		s2 += w[2] * v
		s3 += w[3] * v
		s4 += w[4] * v
		s5 += w[5] * v
		s6 += w[6] * v
		s7 += w[7] * v
	}
	*out = [lagBlock]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	for lag := range out {
		for i := whole; i+k+lag < len(d); i++ {
			out[lag] += d[i+k+lag] * d[i]
		}
	}
}

// transform makes all autocovariances at once (Wiener–Khinchin): transform of
// the series padded to twice its length N, squared, transformed back. Both
// transforms are of real numbers, so N/2 complex ones hold them:
// z_j = x_{2j} + i·x_{2j+1} gives X_k = E_k + e^(−2πik/N)·O_k, see split.
func (s *Series) transform() {
	half := 1 << bits.Len(uint(2*len(s.d)-1)) / 2
	s.z = room(s.z, half)
	s.turn(half)
	for j := range s.z {
		s.z[j] = complex(value(s.d, 2*j), value(s.d, 2*j+1))
	}
	fft(s.z, s.turns)
	power := room(s.d, half+1) // the values themselves are in z
	for k := range power {
		x := s.split(k)
		power[k] = real(x)*real(x) + imag(x)*imag(x)
	}
	for j := range s.z { // an even sequence: power_{N−k} = power_k; forward and back agree up to 1/N
		if 2*j < half {
			s.z[j] = complex(power[2*j], power[2*j+1])
		} else {
			s.z[j] = complex(power[2*half-2*j], power[2*half-2*j-1])
		}
	}
	fft(s.z, s.turns)
	s.d, s.known = power, true
}

// covariance is Σ d_i·d_{i+k}, after transform.
func (s *Series) covariance(k int) float64 { return real(s.split(k)) / float64(2*len(s.z)) }

// split is element k, 0 ≤ k ≤ N/2, of the transform of the N real numbers that
// z holds in pairs, with Z the transform of z:
//
//	E_k = (Z_k + conj Z_{N/2−k}) / 2    O_k = (Z_k − conj Z_{N/2−k}) / 2i
func (s *Series) split(k int) complex128 {
	half := len(s.z)
	a, b := s.z[k&(half-1)], cmplx.Conj(s.z[(half-k)&(half-1)]) // half is a power of two
	e, o := a+b, a-b
	// a division of complex numbers takes ten times as long
	e, o = complex(real(e)/2, imag(e)/2), complex(imag(o)/2, -real(o)/2)
	if k == half {
		return e - o
	}
	return e + s.turns[k]*o
}

// turn fills turns for transforms of half complex numbers.
func (s *Series) turn(half int) {
	if len(s.turns) == half {
		return
	}
	s.turns = room(s.turns, half)
	for k := range s.turns {
		s.turns[k] = cmplx.Rect(1, -math.Pi*float64(k)/float64(half))
	}
}

// value is d_i, 0 beyond its end.
func value(d []float64, i int) float64 {
	if i < len(d) {
		return d[i]
	}
	return 0
}

// room is a slice of length n, in s if it is large enough.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// fft is the radix-2 transform in place; the length is a power of two, and
// turns[k] = e^(−πik/len(c)).
func fft(c, turns []complex128) {
	n := len(c)
	shift := 64 - bits.Len(uint(n-1))
	for i := range c {
		if j := int(bits.Reverse64(uint64(i)) >> shift); n > 1 && j > i {
			c[i], c[j] = c[j], c[i]
		}
	}
	for half := 1; half < n; half *= 2 {
		step := n / half
		for start := 0; start < n; start += 2 * half {
			low, high := c[start:start+half], c[start+half:start+2*half]
			for k := range low {
				a, b := low[k], high[k]*turns[k*step]
				low[k], high[k] = a+b, a-b
			}
		}
	}
}

// Cut is where a series settles.
type Cut struct {
	At      int     // observations to leave out, a multiple of 5
	Share   float64 // At/n
	Settled bool    // the best cut lies in the first half
}

// MSER5 finds the warm-up of a series by the marginal standard error rule on
// means of five (White, Cobb, Spratt, WSC 2000): of m batch means, leave out
// the first d, d ≤ m/2, for which
//
//	Σ_{i>d} (Y_i − mean_d)² / (m−d)²
//
// is least. A minimum at the very end of the range means that the series has
// not settled. Below ten batches nothing is cut.
func MSER5(x []float64) Cut {
	const size, fewest = 5, 10
	m := len(x) / size
	if m < fewest {
		return Cut{Settled: true}
	}
	y := BatchMeans(x, m, size)
	best, least := 0, math.Inf(1)
	var tail moments
	for i := m - 1; i >= 0; i-- {
		tail.add(y[i])
		if z := tail.m2 / (tail.n * tail.n); i <= m/2 && z <= least {
			best, least = i, z
		}
	}
	return Cut{At: best * size, Share: float64(best*size) / float64(len(x)), Settled: best < m/2}
}

// moments takes values one by one (Welford 1962). The zero value is empty.
type moments struct {
	n, mean float64
	m2      float64 // Σ(x−mean)²
}

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / m.n
	m.m2 += d * (x - m.mean)
}

// BatchMeans is the means of the first m runs of size values.
func BatchMeans(x []float64, m, size int) []float64 { return batchMeans(Mean, x, m, size) }

func batchMeans(mean func([]float64) float64, x []float64, m, size int) []float64 {
	y := make([]float64, m)
	for i := range y {
		y[i] = mean(x[i*size : (i+1)*size])
	}
	return y
}
