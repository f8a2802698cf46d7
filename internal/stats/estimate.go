// Package stats is pure functions over numbers: quantiles, moments, intervals,
// tests, series diagnostics and Pareto fronts. In go slices, out come values
// with their doubts attached. Nothing here knows what a request is.
//
// NaN in a result means "cannot be said"; it never means zero. +Inf is a value:
// a percentile that falls among requests that never ended.
//
// Every formula names its source. testdata/reference.json holds values by SciPy
// and statsmodels that the tests compare with, reference.py makes it.
package stats

import (
	"fmt"
	"math"
)

// FewestTrials is how many an interval over trials takes. Two have none: Student's t
// is then 12.7, and an interval of a factor of ten says that nothing is known.
const FewestTrials = 3

// Estimate is what trials say about one quantity: a point, the spread and, from
// FewestTrials that differ on, an interval. Low and High are NaN when there is none.
type Estimate struct {
	Mean      float64 // the point: geometric for a level, pooled for a share, else arithmetic
	StdDev    float64 // of the trials' values, with n−1
	Low, High float64
	Min, Max  float64
	Level     float64 // 0.95
	N         int     // trials
	Method    string  // of the interval: t, log_t, korn_graubard, garwood, bounds; "" without one
	Warnings  []string
	critical  float64 // see TCritical
}

// Interval estimates the mean of independent values (one per trial) with
// Student's t interval at the given level:
//
//	mean ∓ t(1−(1−level)/2, n−1) · s/√n
//
// Values that are NaN or infinite are left out. It is AIPerf's: with one value there
// is no interval, with two there is one and a warning, for t is then 12.7. Level and
// Signed, which decisions use, have none then.
func Interval(values []float64, level float64) Estimate {
	e, _ := describe(values, level)
	if e.N < 2 {
		return e
	}
	half := e.TCritical() * e.StdErr()
	e.Low, e.High, e.Method = e.Mean-half, e.Mean+half, "t"
	return e.warnFew()
}

// Signed is Interval for a quantity that may have either sign. An infinite
// value makes the mean infinite and takes the interval away; trials that all
// gave the same have no interval either, for a width of 0 would claim that
// nothing is left to know.
func Signed(values []float64, level float64) Estimate {
	e := Interval(values, level)
	if endless(values) {
		return e.infinite(values)
	}
	return e.unlessFew().unlessConstant()
}

// Level estimates a quantity that is positive by nature (a latency, a
// throughput, a rate): the geometric mean, with the t interval of the logarithms
// taken back,
//
//	exp(m ∓ t(1−(1−level)/2, n−1) · s/√n),  m, s of ln x
//
// which never reaches below 0 and has the same relative width on both sides. It
// is never narrower than one resolution of the stamps, in the unit of the
// values, 0 where there is none. A value of 0 has no logarithm: then the point
// is the arithmetic mean and the lower end is cut at 0. +Inf in one trial makes
// the point +Inf.
func Level(values []float64, level, resolution float64) Estimate {
	e, finite := describe(values, level)
	switch {
	case endless(values):
		return e.infinite(values)
	case e.N == 0:
		return e
	case e.Min <= 0:
		e = Interval(values, level)
		if e.Min >= 0 {
			e.Low = math.Max(0, e.Low) // NaN stays
		}
		return e.unlessFew().unlessConstant()
	}
	logs := make([]float64, len(finite))
	for i, v := range finite {
		logs[i] = math.Log(v)
	}
	m := Mean(logs)
	e.Mean = min(max(math.Exp(m), e.Min), e.Max)
	if e.N < FewestTrials {
		return e
	}
	half := e.TCritical() * StdSample(logs) / math.Sqrt(float64(e.N))
	e.Low, e.High, e.Method = math.Exp(m-half), math.Exp(m+half), "log_t"
	if short := (resolution - (e.High - e.Low)) / 2; short > 0 {
		e.Low, e.High = math.Max(0, e.Low-short), e.High+short
	}
	return e.unlessConstant()
}

// Spanning widens the interval to those of the least and of the most that the
// values may be. Trials that all gave the same value then have one, too: that of
// what is not known of them. Fewer than FewestTrials have none.
func (e Estimate) Spanning(least, most Estimate) Estimate {
	if e.N < FewestTrials && !e.HasInterval() || math.IsInf(e.Mean, 1) {
		return e
	}
	if !e.HasInterval() {
		e.Low, e.High, e.Method = e.Mean, e.Mean, "bounds"
	}
	for _, end := range []Estimate{least, most} {
		low, high := end.Low, end.High
		if !end.HasInterval() {
			low, high = end.Mean, end.Mean
		}
		e.Low, e.High = min(e.Low, low), max(e.High, high)
	}
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
		e.critical = tCritical(level, e.N-1)
	}
	return e, finite
}

// endless reports whether a value is infinite.
func endless(values []float64) bool {
	for _, v := range values {
		if math.IsInf(v, 0) {
			return true
		}
	}
	return false
}

// infinite is the estimate with the infinite values counted.
func (e Estimate) infinite(values []float64) Estimate {
	nan := math.NaN()
	e.N, e.Mean, e.Max, e.StdDev, e.Low, e.High = 0, math.Inf(1), math.Inf(1), nan, nan, nan
	for _, v := range values {
		if !math.IsNaN(v) {
			e.N++
		}
	}
	if math.IsNaN(e.Min) {
		e.Min = math.Inf(1)
	}
	return e
}

func (e Estimate) unlessConstant() Estimate {
	if e.N > 1 && e.Low == e.High {
		e.Low, e.High, e.Method = math.NaN(), math.NaN(), ""
		e.Warnings = append(e.Warnings, "every trial gave the same value")
	}
	return e
}

// unlessFew takes the interval away from fewer than FewestTrials.
func (e Estimate) unlessFew() Estimate {
	if e.N < FewestTrials {
		e.Low, e.High, e.Method, e.Warnings = math.NaN(), math.NaN(), "", nil
	}
	return e
}

func (e Estimate) warnFew() Estimate {
	if e.N == 2 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("interval from 2 trials (t = %.1f)", e.TCritical()))
	}
	return e
}

// HasInterval reports whether there is one.
func (e Estimate) HasInterval() bool { return !math.IsNaN(e.Low) && !math.IsNaN(e.High) }

// Half is half the width of the interval, NaN without one.
func (e Estimate) Half() float64 { return (e.High - e.Low) / 2 }

// StdErr is s/√n, NaN below two values.
func (e Estimate) StdErr() float64 { return e.StdDev / math.Sqrt(float64(e.N)) }

// CV is s/|mean|, the coefficient of variation; +Inf at mean 0 with spread, NaN below two values.
func (e Estimate) CV() float64 { return e.StdDev / math.Abs(e.Mean) }

// TCritical is t(1−(1−level)/2, n−1), NaN below two values.
func (e Estimate) TCritical() float64 {
	if e.N < 2 || e.critical == 0 {
		return math.NaN()
	}
	return e.critical
}
