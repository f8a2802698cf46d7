package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"aiperf.dev/aiperf/schema"
)

// draw gives one value of a distribution.
type draw func(*rand.Rand) float64

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// Normal distributions are cut off below these, by drawing again: a count would
// round to 0, and a recording of less than 10 ms is none.
const (
	leastCount   = 0.5
	leastSeconds = 0.01
)

// drawer turns a shape into its distribution. Min and max clamp what is drawn.
func drawer(s *schema.Shape, least float64) (draw, error) {
	d, err := kindOf(s, least)
	if err != nil {
		return nil, err
	}
	low, high := math.Inf(-1), math.Inf(1)
	if s.Min != nil {
		low = *s.Min
	}
	if s.Max != nil {
		high = *s.Max
	}
	if low > high {
		return nil, fmt.Errorf("min %g is above max %g", low, high)
	}
	return func(r *rand.Rand) float64 { return min(max(d(r), low), high) }, nil
}

// kindOf names the distribution by the fields that are set, in the order of
// precedence that the schema documents.
func kindOf(s *schema.Shape, least float64) (draw, error) {
	switch {
	case len(s.Peaks) > 0:
		return multimodal(s.Peaks, least)
	case len(s.Points) > 0:
		return empirical(s.Points)
	case s.P50 != nil || s.P99 != nil:
		return percentile(s)
	case s.Median != nil:
		return lognormal(s)
	case s.StdDev != nil && *s.StdDev > 0:
		return normal(s, least)
	case s.Value != nil:
		return fixed(*s.Value), nil
	case s.Mean != nil:
		return fixed(*s.Mean), nil
	}
	return nil, fmt.Errorf("no value, mean, median, p50, points or peaks")
}

func fixed(v float64) draw { return func(*rand.Rand) float64 { return v } }

// normal is cut off at least by drawing again. A mean so far below that hardly
// any draw passes is refused.
func normal(s *schema.Shape, least float64) (draw, error) {
	if s.Mean == nil {
		return nil, fmt.Errorf("stddev without mean")
	}
	mean, sd := *s.Mean, *s.StdDev
	if mean+3*sd < 2*least {
		return nil, fmt.Errorf("mean %g, stddev %g: nearly all values are below %g", mean, sd, 2*least)
	}
	return func(r *rand.Rand) float64 {
		for {
			if x := mean + sd*r.NormFloat64(); x >= least {
				return x
			}
		}
	}, nil
}

// lognormal has mu = ln(median) and sigma = sqrt(2·ln(mean/median)).
func lognormal(s *schema.Shape) (draw, error) {
	if s.Mean == nil || *s.Median <= 0 || *s.Mean < *s.Median {
		return nil, fmt.Errorf("a log-normal shape needs mean ≥ median > 0")
	}
	return logNormal(math.Log(*s.Median), math.Sqrt(2*math.Log(*s.Mean / *s.Median))), nil
}

// percentile is the log-normal distribution with that median and 99th
// percentile: mu = ln(p50), sigma = ln(p99/p50)/z99.
func percentile(s *schema.Shape) (draw, error) {
	if s.P50 == nil || s.P99 == nil || *s.P50 <= 0 || *s.P99 <= *s.P50 {
		return nil, fmt.Errorf("a percentile shape needs p99 > p50 > 0")
	}
	if s.Mean != nil {
		return nil, fmt.Errorf("mean next to p50 and p99: not supported yet")
	}
	return logNormal(math.Log(*s.P50), math.Log(*s.P99 / *s.P50)/z99), nil
}

func logNormal(mu, sigma float64) draw {
	return func(r *rand.Rand) float64 { return math.Exp(mu + sigma*r.NormFloat64()) }
}

// multimodal draws from one of the peaks, by their relative weights.
func multimodal(peaks []schema.Shape, least float64) (draw, error) {
	draws := make([]draw, len(peaks))
	weights := make([]*float64, len(peaks))
	for i := range peaks {
		d, err := drawer(&peaks[i], least)
		if err != nil {
			return nil, fmt.Errorf("peaks[%d]: %w", i, err)
		}
		draws[i], weights[i] = d, peaks[i].Weight
	}
	pick, err := weighted(weights)
	if err != nil {
		return nil, err
	}
	return func(r *rand.Rand) float64 { return draws[pick(r)](r) }, nil
}

// empirical draws one of the points, by their relative weights.
func empirical(points []schema.Point) (draw, error) {
	weights := make([]*float64, len(points))
	for i := range points {
		weights[i] = points[i].Weight
	}
	pick, err := weighted(weights)
	if err != nil {
		return nil, err
	}
	return func(r *rand.Rand) float64 { return points[pick(r)].Value }, nil
}

// weighted draws an index in proportion to its weight; no weight means 1.
func weighted(weights []*float64) (func(*rand.Rand) int, error) {
	upTo := make([]float64, len(weights))
	total := 0.0
	for i, w := range weights {
		one := 1.0
		if w == nil {
			w = &one
		}
		if !(*w >= 0) || math.IsInf(*w, 0) {
			return nil, fmt.Errorf("weight %g: not a finite number from 0", *w)
		}
		total += *w
		upTo[i] = total
	}
	if total == 0 {
		return nil, fmt.Errorf("all weights are 0")
	}
	return func(r *rand.Rand) int {
		x := r.Float64() * total
		for i, u := range upTo {
			if x < u {
				return i
			}
		}
		return len(upTo) - 1
	}, nil
}
