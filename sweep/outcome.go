package sweep

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
)

// Outcome is what one run gave.
type Outcome struct {
	Run                         Run
	Summaries                   []metrics.Summary // windows "full" and "steady"
	Verdict                     string            // VALID, DEGRADED, INVALID; "" when not judged
	OK, Failed, Cancelled, Sent int64
	Records                     int64  // lines in the run's journal
	Err                         string // why there is no result; "" for a run that measured
}

// usable tells whether the run has numbers to estimate from.
func (o *Outcome) usable() bool { return o.Err == "" && len(o.Summaries) > 0 }

// Key is a metric and a statistic of it: time_to_first_token, p99. A scalar
// metric has the statistic avg.
type Key struct{ Tag, Stat string }

// String is AIPerf's name for it in aggregate files: time_to_first_token_p99.
func (k Key) String() string { return k.Tag + "_" + k.Stat }

// spoken is the name in an expression.
func (k Key) spoken() string { return k.Tag + "." + k.Stat }

// Estimates are the statistics of a cell, estimated over its trials.
type Estimates map[Key]stats.Estimate

// statistics calls f with every statistic of s that was computed.
func statistics(s *metrics.Stat, f func(stat string, v float64)) {
	say := func(stat string, v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			f(stat, v)
		}
	}
	say("avg", s.Avg)
	if s.Scalar {
		return
	}
	if s.Count > 0 {
		say("count", float64(s.Count))
	}
	for _, x := range [...]struct {
		stat string
		v    float64
	}{
		{"min", s.Min},
		{"max", s.Max},
		{"sum", s.Sum},
		{"std", s.Std},
		{"p1", s.P1},
		{"p5", s.P5},
		{"p10", s.P10},
		{"p25", s.P25},
		{"p50", s.P50},
		{"p75", s.P75},
		{"p90", s.P90},
		{"p95", s.P95},
		{"p99", s.P99},
		{"p999", s.P999},
		{"n_effective", s.NEff},
	} {
		say(x.stat, x.v)
	}
}

// estimate gathers one window of several runs: one value per run and
// statistic, so that the interval of a percentile is that of the mean of the
// runs' percentiles.
func estimate(runs []*Outcome, window string, level float64) Estimates {
	values := map[Key][]float64{}
	for _, o := range runs {
		for i := range o.Summaries {
			if o.Summaries[i].Window != window {
				continue
			}
			for j := range o.Summaries[i].Stats {
				s := &o.Summaries[i].Stats[j]
				statistics(s, func(stat string, v float64) {
					k := Key{s.Tag, stat}
					values[k] = append(values[k], v)
				})
			}
		}
	}
	out := make(Estimates, len(values))
	for k, v := range values {
		out[k] = stats.PositiveInterval(v, level)
	}
	return out
}
