// Package stats is pure functions over numbers: quantiles, moments, intervals,
// tests, series diagnostics and Pareto fronts. In go slices, out come values
// with their doubts attached. Nothing here knows what a request is.
//
// NaN in a result means "cannot be said"; it never means zero.
package stats

import (
	"fmt"
	"math"
)

// Estimate is what trials say about one quantity: mean, spread and, from two
// trials on, an interval. Low and High are NaN when there is none.
type Estimate struct {
	Mean, StdDev float64 // StdDev with n−1
	Low, High    float64
	Min, Max     float64
	Log          bool    // Low and High come from the logarithms
	Level        float64 // 0.95
	N            int
	Warnings     []string
	critical     float64 // see TCritical
}

// Interval estimates the mean of independent values (one per trial) with
// Student's t interval at the given level:
//
//	mean ∓ t(1−(1−level)/2, n−1) · s/√n
//
// Values that are NaN or infinite are left out. With one value there is no
// interval; with two there is one and a warning, for t is then 12.7.
func Interval(values []float64, level float64) Estimate {
	e, _ := describe(values, level)
	if e.N < 2 {
		return e
	}
	half := e.TCritical() * e.StdErr()
	e.Low, e.High = e.Mean-half, e.Mean+half
	return e.warnFew()
}

// LogInterval is Interval for quantities that are positive by nature (rates,
// latencies): the interval is computed on the logarithms and taken back, so it
// stays above 0. It is an interval of the geometric mean, which is close to
// Mean where the spread is small; Mean and StdDev stay arithmetic. With a value
// ≤ 0 there is no logarithm and the plain interval is returned with a warning.
func LogInterval(values []float64, level float64) Estimate {
	e, finite := describe(values, level)
	if e.N < 2 {
		return e
	}
	if e.Min <= 0 {
		e = Interval(values, level)
		e.Warnings = append(e.Warnings, "not all values are positive: interval on the linear scale")
		return e
	}
	logs := make([]float64, len(finite))
	for i, v := range finite {
		logs[i] = math.Log(v)
	}
	m, s := Mean(logs), StdSample(logs)
	half := e.TCritical() * s / math.Sqrt(float64(e.N))
	e.Low, e.High, e.Log = math.Exp(m-half), math.Exp(m+half), true
	return e.warnFew()
}

// PositiveInterval is Interval, except where that would reach to 0 or below
// although every value is positive: then it is LogInterval, and a warning says so.
func PositiveInterval(values []float64, level float64) Estimate {
	e := Interval(values, level)
	if e.N < 2 || e.Low > 0 || e.Min <= 0 {
		return e
	}
	e = LogInterval(values, level)
	e.Warnings = append(e.Warnings, "interval on the log scale")
	return e
}

func describe(values []float64, level float64) (Estimate, []float64) {
	finite := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			finite = append(finite, v)
		}
	}
	nan := math.NaN()
	e := Estimate{Mean: nan, StdDev: nan, Low: nan, High: nan, Min: nan, Max: nan, Level: level, N: len(finite)}
	if e.N == 0 {
		return e, finite
	}
	e.Mean, e.StdDev = Mean(finite), StdSample(finite)
	e.Min, e.Max = MinMax(finite)
	if e.N > 1 {
		e.critical = TQuantile(1-(1-level)/2, float64(e.N-1))
	}
	return e, finite
}

func (e Estimate) warnFew() Estimate {
	if e.N == 2 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("interval from 2 trials (t = %.1f)", e.TCritical()))
	}
	return e
}

// HasInterval tells whether there is one.
func (e Estimate) HasInterval() bool { return !math.IsNaN(e.Low) && !math.IsNaN(e.High) }

// Half is half the width of the interval, NaN without one.
func (e Estimate) Half() float64 { return (e.High - e.Low) / 2 }

// StdErr is s/√n, NaN below two values.
func (e Estimate) StdErr() float64 { return e.StdDev / math.Sqrt(float64(e.N)) }

// CV is s/|mean|, the coefficient of variation; +Inf at mean 0 with spread, NaN below two values.
func (e Estimate) CV() float64 { return e.StdDev / math.Abs(e.Mean) }

// TCritical is t(1−(1−level)/2, n−1), NaN below two values.
func (e Estimate) TCritical() float64 {
	if e.N < 2 {
		return math.NaN()
	}
	return e.critical
}

// Separated tells whether both have intervals that do not touch. Two intervals
// of the same single point are not separated.
func (e Estimate) Separated(o Estimate) bool {
	return e.HasInterval() && o.HasInterval() && (e.High < o.Low || o.High < e.Low)
}
