package decide

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// The ways in which trials may be found to be enough, as AIPerf has them.
const (
	ByWidth        = "ci_width"
	BySpread       = "cv"
	ByDistribution = "distribution"
)

// convergence is the rule by which the trials of a cell end early.
type convergence struct {
	schema.Convergence
	key       Key
	threshold float64
	level     float64
	invalid   bool // INVALID runs count
}

// Stop says that the trials of a cell are enough.
type Stop struct {
	After  int    // usable trials when the rule held first
	Marked bool   // the experiment set its own minimum: the interval is of trials that ended because it was narrow
	Why    string // "request_latency.avg: interval 4.2 % of the mean, below 10 %, after 5 trials"
}

// convergenceOf is the plan's rule, nil where every trial is run.
func convergenceOf(p *sweep.Plan) *convergence {
	said := p.MultiRun.Convergence
	if said == nil {
		return nil
	}
	c := &convergence{
		Convergence: *said, key: Key{said.Metric, said.Stat}, threshold: 0.05,
		level: levelOf(p), invalid: p.Experiment.AllowInvalid,
	}
	if c.Mode == ByWidth {
		c.threshold = 0.1
	}
	if said.Threshold != nil {
		c.threshold = *said.Threshold
	}
	return c
}

// SampleTag is the metric whose values each run must bring along, "" where no
// rule of the plan asks for them.
func SampleTag(p *sweep.Plan) string {
	if c := p.MultiRun.Convergence; c != nil && c.Mode == ByDistribution {
		return c.Metric
	}
	if a := p.Adaptive; a != nil && a.Pooling == "pooled" {
		return a.Objectives[0].Metric
	}
	return ""
}

// Enough reports whether the trials of a cell that were run are enough, and why. An
// interval that is looked at until it is narrow is too narrow: without a minimum
// of the experiment's own (AIPerf's rule), sweep.Afterwards fresh trials mend that.
// runs are the cell's outcomes, in order of trials; a run that failed, or is
// INVALID, or whose number is, is no trial here: another one takes its place.
func Enough(p *sweep.Plan, runs []*Outcome) (Stop, bool) {
	c := convergenceOf(p)
	if c == nil {
		return Stop{}, false
	}
	usable := c.usable(runs)
	first, more := c.MinRuns, 0
	if first == 0 {
		first, more = sweep.FirstLook, sweep.Afterwards
	}
	for n := first; n+more <= len(usable); n++ {
		if what, ok := c.holds(usable[:n]); ok {
			why := fmt.Sprintf("%s: %s, after %s", c.key.Spoken(), what, words.Count(n, "trial"))
			if more > 0 {
				why += fmt.Sprintf("; %d more taken", more)
			}
			return Stop{After: n, Marked: more == 0, Why: why}, true
		}
	}
	return Stop{}, false
}

// trial is what one usable run says about the metric.
type trial struct {
	value  float64
	sample []float64 // sorted
}

func (c *convergence) usable(runs []*Outcome) (out []trial) {
	for _, o := range runs {
		if !o.measured() || o.Verdict == validity.Invalid && !c.invalid {
			continue
		}
		t := trial{sample: o.Sample}
		e := Estimates{runs: []*Outcome{o}, window: Full, invalid: c.invalid}
		if e.leftOut(o, c.key) {
			continue
		}
		t.value = e.Values(c.key)[0]
		if c.Mode == ByDistribution && len(t.sample) > 1 || c.Mode != ByDistribution && !math.IsNaN(t.value) {
			out = append(out, t)
		}
	}
	return out
}

// holds judges the trials so far:
//
//	ci_width      2·t·s/√n / |mean| < threshold
//	cv            s / |mean| < threshold
//	distribution  P of Kolmogorov and Smirnov, the newest trial's requests against
//	              those of all earlier ones > threshold
//
// A mean of 0 is relative to nothing, and ∞ is known to no width: they never hold.
func (c *convergence) holds(trials []trial) (what string, ok bool) {
	if c.Mode == ByDistribution {
		var earlier []float64
		for _, t := range trials[:len(trials)-1] {
			earlier = append(earlier, t.sample...)
		}
		slices.Sort(earlier)
		p := stats.KS2(earlier, trials[len(trials)-1].sample).P
		return fmt.Sprintf("the newest trial is distributed as the earlier ones (P = %s, above %g)", digits(p),
			c.threshold), p > c.threshold
	}
	values := make([]float64, len(trials))
	for i, t := range trials {
		if values[i] = t.value; math.IsInf(t.value, 0) {
			return "", false
		}
	}
	e := stats.Interval(values, c.level)
	size, name := e.StdDev, "trials vary by"
	if c.Mode == ByWidth {
		size, name = e.High-e.Low, "interval"
	}
	share := size / math.Abs(e.Mean)
	return fmt.Sprintf("%s %s of the mean, below %g %%", name, digits(100*share)+" %", 100*c.threshold),
		share < c.threshold
}

// checkConvergence says before anything is sent what is wrong with the rule.
func checkConvergence(p *sweep.Plan, tags []string) *schema.Error {
	c := p.MultiRun.Convergence
	if c == nil {
		return nil
	}
	at := "multi_run.convergence.metric"
	k, bad := parseStat(c.Metric, c.Stat, tags)
	if bad != nil {
		return &schema.Error{Path: at, Message: bad.Message, Hint: bad.Hint}
	}
	if m, ok := metrics.Lookup(k.Tag); ok && c.Mode == ByDistribution && !m.PerRequest() {
		return &schema.Error{
			Path:    at,
			Message: k.Tag + " is a figure of the whole run: its trials have no distribution",
			Hint:    "mode ci_width or cv, or a metric of single requests such as request_latency",
		}
	}
	if c.MinRuns > p.Trials && p.Trials > 1 {
		return &schema.Error{
			Path:    "multi_run.convergence.min_runs",
			Message: fmt.Sprintf("%d trials before the first judgement, and num_runs has %d", c.MinRuns, p.Trials),
			Hint:    "raise num_runs: it is the most that are run",
		}
	}
	return nil
}

// Endless says why the rule that ends a cell's trials can never hold, nil if it
// can: no cell measures its metric, so that all trials are run.
func Endless(p *sweep.Plan) *schema.Error {
	c := p.MultiRun.Convergence
	if c == nil {
		return nil
	}
	if what, hint := lacking(p, c.Metric); what != "" {
		return &schema.Error{Path: "multi_run.convergence.metric", Message: what, Hint: hint}
	}
	return nil
}

// parseStat reads a metric and a statistic that are said apart; avg is what a
// scalar has, too.
func parseStat(tag, stat string, tags []string) (Key, *schema.Error) {
	spoken := tag + "." + stat
	if m, ok := metrics.Lookup(tag); ok && !m.Distribution() && stat == "avg" {
		spoken = tag
	}
	k, bad := ParseKey(spoken, tags)
	if bad != nil {
		return k, &schema.Error{Message: bad.Message, Hint: bad.Hint}
	}
	return k, nil
}

// StoppedEarly says which cells ended before their last trial, "" if none did.
func (r *Results) StoppedEarly() string {
	var first *CellResult
	n := 0
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Stopped != nil {
			if n++; first == nil {
				first = c
			}
		}
	}
	if first == nil {
		return ""
	}
	text := fmt.Sprintf("stopped when narrow: %s with %s", first.Cell.Short(), words.Count(first.Trials, "trial"))
	if n > 1 {
		text += fmt.Sprintf(", and %d more", n-1)
	}
	text += " (" + first.Stopped.Why + ")"
	if first.Stopped.Marked {
		text += "; the intervals of trials that end when they are narrow are somewhat too narrow"
	}
	return text
}
