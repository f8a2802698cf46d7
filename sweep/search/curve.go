package search

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/stats"
)

// Curve is what all usable probes of a search show together, over the load.
type Curve struct {
	Points []Point // ascending by load
	// Likely is the most likely limit: where the isotonic share crosses the share that is
	// asked for, over the logarithm of the load. NaN where it does not, and between loads that
	// are far apart: the share falls late and steeply, which no straight line tells.
	Likely float64
	Law    *stats.Scaling // nil where it does not fit
	NoLaw  string         // why, "" where it does
}

// Point is one load of a curve. What is not known is NaN.
type Point struct {
	Load    float64
	Share   float64 // of good requests, by isotonic regression: it never rises with the load
	Rate    float64 // requests per second, mean of the runs
	Latency float64 // in ms, mean of the requests of all runs
	Law     float64 // Rate by the Universal Scalability Law
}

// mostResidual is how far the throughput at any load may lie from the law, relatively, for it to fit.
const mostResidual = 0.1

// curve goes through all usable runs.
func (s *state) curve() Curve {
	c := Curve{Likely: math.NaN()}
	loads := slices.Clone(s.loads)
	if s.Find == Min {
		slices.Reverse(loads)
	}
	var shares, weights []float64
	for i := range loads {
		l := &loads[i]
		p := Point{Load: s.face(l.Load), Share: math.NaN(), Law: math.NaN()}
		p.Rate, p.Latency = s.pace(l.Load)
		c.Points = append(c.Points, p)
		shares, weights = append(shares, l.Share), append(weights, l.Of)
	}
	if s.Find != Knee && len(loads) > 0 && !slices.ContainsFunc(shares, math.IsNaN) {
		c.isotonic(s.Terms, shares, weights)
	}
	s.scale(&c)
	return c
}

// pace is the mean rate of the usable runs at a place, and the mean latency of their requests, so that
// rate × latency is how many are in flight on average; NaN where no run has them.
func (s *state) pace(place float64) (rate, latency float64) {
	var sum, flight, timed, n float64
	for i := range s.runs {
		r := &s.runs[i]
		if r.Unfit != "" || r.Load != place || r.Rate <= 0 {
			continue
		}
		sum, n = sum+r.Rate, n+1
		if r.Latency > 0 {
			flight, timed = flight+r.Rate*r.Latency, timed+r.Rate
		}
	}
	return sum / n, flight / timed
}

// isotonic fills in the shares, which fall with the load, or rise where the smallest load
// is looked for, and the most likely limit.
func (c *Curve) isotonic(t Terms, shares, weights []float64) {
	turned := func(v []float64) []float64 {
		v = slices.Clone(v)
		if t.Find == Min {
			slices.Reverse(v)
		}
		return v
	}
	fitted := turned(stats.Falling(turned(shares), turned(weights)))
	for i, v := range fitted {
		c.Points[i].Share = v
	}
	for i := 1; i < len(fitted); i++ {
		a, b := fitted[i-1], fitted[i]
		if (a >= t.Share) != (b >= t.Share) {
			at := (a - t.Share) / (a - b)
			x, y := math.Log(c.Points[i-1].Load), math.Log(c.Points[i].Load)
			if math.Abs(y-x) > math.Log(mostApart) {
				return
			}
			c.Likely = math.Exp(x + at*(y-x))
			return
		}
	}
}

// mostApart is how many times a load may be the one beside it for the limit to be placed between them.
const mostApart = 1.3

// scale fits the Universal Scalability Law to the runs, or says why it does not fit.
func (s *state) scale(c *Curve) {
	if !s.Whole {
		c.NoLaw = "it is about users, and here the rate is varied"
		return
	}
	var n, x []float64
	known := map[float64]bool{}
	for i := range s.runs {
		if r := &s.runs[i]; r.Unfit == "" && r.Rate > 0 {
			n, x = append(n, s.face(r.Load)), append(x, r.Rate)
			known[r.Load] = true
		}
	}
	law, ok := stats.Scale(n, x)
	worst, at := 0.0, 0.0
	for i := 0; ok && i < len(c.Points); i++ {
		p := c.Points[i]
		if off := math.Abs(p.Rate/law.At(p.Load) - 1); off > worst {
			worst, at = off, p.Load
		}
	}
	switch {
	case !ok && len(known) < 5:
		c.NoLaw = fmt.Sprintf("it takes 5 loads with a request rate, and %d had one", len(known))
	case !ok:
		c.NoLaw = "the throughput does not grow from one user to the next as it says"
	case worst > mostResidual:
		c.NoLaw = fmt.Sprintf("at %g users the throughput lies %.0f %% from it; at most %.0f %% would do", at, 100*worst,
			100*mostResidual)
	case law.Sigma.High > 1:
		c.NoLaw = fmt.Sprintf("contention could be anything from %.3g to %.3g %%", 100*law.Sigma.Low, 100*law.Sigma.High)
	default:
		c.Law = law
		for i := range c.Points {
			c.Points[i].Law = law.At(c.Points[i].Load)
		}
	}
}
