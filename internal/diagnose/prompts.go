package diagnose

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
)

// This file says how much of an engine's time prompts take, by the utilization law, and when the
// law says nothing.

// alone is the largest mean number in flight at which requests do not meet others.
const alone = 1.5

// prompt is known where the lowest load is one request at a time, and the prefix cache
// helped as much there as here.
func (f *facts) prompt() float64 {
	base := f.lowest
	if base == nil || !(base.client(metrics.EffectiveConcurrency) <= alone) ||
		math.Abs(zero(base.get("hit_rate"))-zero(f.get("hit_rate"))) > hitLimit {
		return math.NaN()
	}
	return max(0, base.get("prefill_ms")-base.get("itl_ms"))
}

// asOne is how much over 1 a share may be measured that cannot be more than 1.
const asOne = 0.05

// An engine that reads prompts one after the other takes longer for longer prompts, and under
// load prompts wait for prompts, or tokens do.
const (
	growsWithISL = 0.5
	slowed       = 1.25
)

// prefillUse is known where nothing that was measured at any load says that the server reads
// several prompts at once, or takes a fixed time for each.
func (f *facts) prefillUse() float64 {
	if f.get("isl_growth") < growsWithISL {
		return math.NaN()
	}
	for g := f.lowest; g != nil; g = g.higher {
		use := g.lawOfPrompts()
		waits := math.Max(zero(g.get("prefill_growth")), zero(g.get("itl_growth")))
		if use > 1+asOne || use >= heavy && waits > 0 && waits < slowed {
			return math.NaN()
		}
	}
	return min(f.lawOfPrompts(), 1)
}

// lawOfPrompts is the part of an engine's time that prompts take if it reads one at a time.
func (f *facts) lawOfPrompts() float64 {
	return f.get("rate") * f.mean(func(t *trial) float64 { return t.share }) * f.get("prompt_ms") / 1e3
}

// islGrowth is of the shortest and the longest prompts.
func (f *facts) islGrowth() float64 {
	if len(f.lengths) < 2 {
		return math.NaN()
	}
	a, b := f.lengths[0], f.lengths[len(f.lengths)-1]
	x, y := a.get("prompt_ms"), b.get("prompt_ms")
	if !(b.cell.ISL > a.cell.ISL) || !(y > 0) {
		return math.NaN()
	}
	return math.Log(y/x) / math.Log(b.cell.ISL/a.cell.ISL) // +Inf where the short ones take no time
}
