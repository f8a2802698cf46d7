package mockserver

import (
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/seed"
)

// spread draws a factor with mean 1; width is its standard deviation, or half
// the width of a uniform one.
func spread(shape Shape, width float64, rng *rand.Rand) float64 {
	switch {
	case width == 0:
		return 1
	case shape == Exponential:
		return rng.ExpFloat64()
	case shape == Uniform:
		return max(0, 1+width*(2*rng.Float64()-1))
	}
	return logNormal(width, rng.NormFloat64())
}

// vary draws a factor with mean 1 and coefficient of variation cv.
func vary(shape Shape, cv float64, rng *rand.Rand) float64 {
	if shape == Uniform {
		cv *= math.Sqrt(3) // a uniform width of 2h has variance h²/3
	}
	return spread(shape, cv, rng)
}

// logNormal is the log-normal factor with mean 1 and coefficient of variation
// cv that belongs to the standard normal value z.
func logNormal(cv, z float64) float64 {
	s := math.Log1p(cv * cv)
	return math.Exp(math.Sqrt(s)*z - s/2)
}

// levels gives every request its ordinal and a factor on all of its times: an
// AR(1) process, z(n) = ar·z(n−1) + √(1−ar²)·e(n) with e(n) drawn from the seed
// and n alone. Without ar the factors have the shape of all other times.
type levels struct {
	mu   sync.Mutex
	next int64
	z    float64
}

func (l *levels) draw(c *Config) (n int64, level float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = l.next
	l.next++
	if c.Spread == 0 {
		return n, 1
	}
	rng := seed.Stream(int64(c.Seed), "mock/level/"+strconv.FormatInt(n, 10))
	if c.Memory == 0 {
		return n, vary(c.Shape, c.Spread, rng)
	}
	e := rng.NormFloat64()
	if n == 0 {
		l.z = e
	} else {
		l.z = c.Memory*l.z + math.Sqrt(1-c.Memory*c.Memory)*e
	}
	return n, logNormal(c.Spread, l.z)
}

// count is how many requests have come.
func (l *levels) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// least is the smallest factor a falling drift comes to.
const least = 0.01

// pace is the factor on times that begin at a moment: the slowdown and the
// drift, both counted from the first request, what /slowdown was told, an overload, and a limit on power.
func (s *scheduler) pace(at int64) float64 {
	c := &s.server.cfg
	since := at - s.first
	f := max(least, 1+c.Drift*float64(since)/float64(time.Second))
	if since >= int64(c.SlowFrom) {
		f *= c.Slowdown
	}
	if told := s.server.factor.Load(); told != 0 {
		f *= math.Float64frombits(told)
	}
	if s.overloaded {
		f *= c.Overload.Factor
	}
	return f * s.server.figures.slower()
}

// took is how long a scripted time really takes from a moment on.
func (s *scheduler) took(x *exchange, d time.Duration, cv float64, at int64) int64 {
	c := &s.server.cfg
	return int64(float64(d) * spread(c.Shape, c.Jitter, x.rng) * vary(c.Shape, cv, x.rng) * x.level * s.pace(at))
}

// length is how many tokens an answer of no fixed length gets.
func (c *Config) length(rng *rand.Rand) int {
	if c.OSLSpread == 0 {
		return c.OSL
	}
	return max(1, int(math.Round(float64(c.OSL)*logNormal(c.OSLSpread, rng.NormFloat64()))))
}

// bucket lets in rate requests a second, and as many at once after a pause: the
// generic cell rate algorithm with a burst of one second's worth, at least 1.
type bucket struct{ full int64 } // when it would be empty of requests again

// admit reports whether a request at a moment is let in, and else how long it is
// until one would be.
func (b *bucket) admit(rate float64, at int64) (ok bool, wait time.Duration) {
	gap, burst := int64(1e9/rate), int64(1e9*max(1, 1/rate))
	full := max(b.full, at)
	if over := full + gap - at - burst; over > 0 {
		return false, time.Duration(over)
	}
	b.full = full + gap
	return true, 0
}
