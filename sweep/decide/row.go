package decide

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

// proof is the evidence of one metric: log-ratios of pairs, or the logarithms of both arms.
type proof struct {
	d          []float64 // paired
	a, b       []float64 // unpaired
	signs      bool      // a side is 0 or infinite somewhere: there is no ratio
	base, cand []float64 // the values, in trials that have one
	missing    bool
	clean      bool    // of a share: all of both sides is good, in every trial
	least      float64 // the smallest standard error that counts of requests allow
	rise       *rise   // of a share: all of one side is good, in every trial, and of the other it is not

	whole *stats.Difference // of a share: by all requests of both sides, nil where trials are compared
}

// evidence gathers the trials. A share of which less is better is compared by
// what is left of the whole: 1 % errors against 6 % is 99 against 94.
func (d *duel) evidence(k Key) proof { return d.proofOf(k, d.base.Values(k), d.candidate.Values(k)) }

// proofOf is the same of given values of the trials of both arms.
func (d *duel) proofOf(k Key, base, candidate []float64) proof {
	m, ok := metrics.Lookup(k.Tag)
	if !ok {
		m = &metrics.Metric{}
	}
	value := func(v float64) float64 { return v }
	if m.Over == metrics.Share && !m.LargerIsBetter {
		value = func(v float64) float64 { return m.Full() - v }
	}
	var p proof
	p.base, p.cand = each(base, value), each(candidate, value)
	if m.Over == metrics.Share && k.Stat == "avg" {
		p.least = math.Sqrt(shareVariance(d.base, m, p.base) + shareVariance(d.candidate, m, p.cand))
		p.clean = !slices.ContainsFunc(present(slices.Concat(p.base, p.cand)),
			func(v float64) bool { return v != m.Full() })
		base, candidate := bad(d.base, m, p.base), bad(d.candidate, m, p.cand)
		p.rise, p.whole = riseOf(base, candidate), byRequests(base, candidate, p.least)
	}
	if d.paired {
		p.pair(d)
	}
	p.base, p.cand = present(p.base), present(p.cand)
	p.missing = len(p.base) == 0 || len(p.cand) == 0
	if !d.paired {
		p.a, p.b = logsOf(p.base), logsOf(p.cand)
		p.signs = p.a == nil || p.b == nil
	}
	return p
}

// pair takes the log-ratios of the trials that both arms have.
func (p *proof) pair(d *duel) {
	for i, run := range d.base.runs {
		j := slices.IndexFunc(d.candidate.runs, func(o *Outcome) bool { return o.Run.Trial == run.Run.Trial })
		if j < 0 || math.IsNaN(p.base[i]) || math.IsNaN(p.cand[j]) {
			continue
		}
		a, b := p.base[i], p.cand[j]
		switch {
		case a == b:
			p.d = append(p.d, 0)
		case a > 0 && b > 0 && !math.IsInf(a, 1) && !math.IsInf(b, 1):
			p.d = append(p.d, math.Log(b/a))
		default:
			p.signs = true
			p.d = append(p.d, math.Copysign(math.Inf(1), b-a))
		}
	}
}

func each(v []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = f(x)
	}
	return out
}

func present(v []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(v), math.IsNaN)
}

// logsOf is nil where a value has no logarithm.
func logsOf(v []float64) []float64 {
	out := make([]float64, 0, len(v))
	for _, x := range v {
		if !(x > 0) || math.IsInf(x, 1) {
			return nil
		}
		out = append(out, math.Log(x))
	}
	return out
}

// row compares one metric at a level.
func (d *duel) row(k Key, t Terms, level float64, primary bool) Row {
	r := d.open(k, t, level, primary)
	doubt := d.taint(k)
	if doubt.None() {
		return d.settle(r, d.evidence(k))
	}
	r.Check = doubt.Check
	if doubt.Level == validity.Doubtful {
		of := d
		if doubt.Check == validity.Errors { // how many failed is known of the whole run, and not of a part
			of = d.whole()
		}
		all := of.open(k, t, level, primary)
		all.Check = doubt.Check
		if of.whatever(&all) {
			return all
		}
	}
	return r.cannot(doubt.Sentence())
}

// open is a row with the values of both sides, which nothing has judged yet.
func (d *duel) open(k Key, t Terms, level float64, primary bool) Row {
	r := d.describe(k, t)
	r.Primary, r.Level = primary, level
	if e, ok := d.base.Get(k); ok {
		r.Base = e.Mean
	}
	if e, ok := d.candidate.Get(k); ok {
		r.Candidate = e.Mean
	}
	return r
}

// settle judges a row by its evidence.
func (d *duel) settle(r Row, p proof) Row {
	k, level := r.Key, r.Level
	switch {
	case r.byQuestion(d, level):
		return r
	case p.missing:
		if len(p.base) == 0 && len(p.cand) == 0 {
			return r.cannot("missing on both sides")
		}
		return r.cannot("missing on one side")
	case p.still():
		return r.cannot(d.still(k) + " on both sides in every trial")
	case p.signs:
		r.bySign(p, turned(k))
		return r
	}
	if a, b := d.base.count(k.Tag), d.candidate.count(k.Tag); unequal(k, a, b) {
		return r.cannot(fmt.Sprintf("of %.0f requests against %.0f: a percentile of few is lower", a, b))
	}
	if _, tail := quantileOf(k.Stat); tail {
		r.Count, r.Effective = min(d.base.Least(k.Tag), d.candidate.Least(k.Tag)),
			min(d.base.Effective(k.Tag), d.candidate.Effective(k.Tag))
		r.Sent = max(d.base.sent(), d.candidate.sent())
	}
	diff := stats.OneSample(p.d)
	if !d.paired {
		diff = stats.Welch(p.a, p.b)
	}
	if p.whole != nil {
		diff = *p.whole
	}
	r.N, r.clean = diff.N, p.clean
	r.rise = p.rise
	r.judge(atLeast(diff, p.least), level)
	r.bound()
	return r
}

// bound keeps the interval of a change of a share within what can be: no more than all of
// the requests are good.
func (r *Row) bound() {
	m, ok := metrics.Lookup(r.Key.Tag)
	if !ok || m.Over != metrics.Share || r.Key.Stat != "avg" || math.IsNaN(r.High) {
		return
	}
	base := r.Base
	if !m.LargerIsBetter { // what is left of the whole is compared
		base = m.Full() - base
	}
	if base > 0 {
		most := max(m.Full()/base-1, r.Change)
		r.High, r.EqualHigh = min(r.High, most), min(r.EqualHigh, most)
	}
}

// cannot says why no number of trials decides the row.
func (r Row) cannot(why string) Row {
	r.Note, r.Undecidable = why, true
	return r
}

// still reports whether both sides are 0, or without an end, in every trial: there is no
// ratio, and no change to judge.
func (p proof) still() bool {
	for _, end := range []float64{0, math.Inf(1)} {
		other := func(v float64) bool { return v != end }
		if !slices.ContainsFunc(p.base, other) && !slices.ContainsFunc(p.cand, other) {
			return true
		}
	}
	return false
}

// still is the one value that every trial has.
func (d *duel) still(k Key) string {
	v := present(d.base.Values(k))[0]
	if m, ok := metrics.Lookup(k.Tag); ok && m.Over == metrics.Share && k.Stat == "avg" {
		return digits(100*v/m.Full()) + " %"
	}
	return digits(v)
}

// Gain reports whether the row is shown to be better, by however little.
func (r Row) Gain() bool {
	if turned(r.Key) > 0 {
		return r.Low > 0
	}
	return r.High < 0
}

// taint is the worse of what findings do to a number on either side.
func (d *duel) taint(k Key) validity.Taint {
	a, b := d.base.Taint(k), d.candidate.Taint(k)
	if b.Level.Worse(a.Level) {
		return b
	}
	return a
}

// atLeast is the difference with a standard error of at least that.
func atLeast(d stats.Difference, least float64) stats.Difference {
	if d.SE < least {
		d.SE = least
		d.SD = least * math.Sqrt(float64(d.N))
	}
	return d
}

// turned is +1 where a larger value of what is compared is better: always for a
// share, see evidence.
func turned(k Key) float64 {
	if d, ok := better(k.Tag); ok && d == stats.Maximise {
		return 1
	}
	m, ok := metrics.Lookup(k.Tag)
	if ok && (m.LargerIsBetter || m.Over == metrics.Share) {
		return 1
	}
	return -1
}

// bySign judges where ratios do not exist: a goodput that fell to 0, a
// percentile that became infinite. Only what holds in every trial is said.
func (r *Row) bySign(p proof, good float64) {
	r.N, r.Note = min(len(p.base), len(p.cand)), "a side is 0 or has no end, so that only the direction counts"
	lowBase, highBase := stats.MinMax(p.base)
	lowCand, highCand := stats.MinMax(p.cand)
	switch {
	case lowCand > highBase && good > 0, highCand < lowBase && good < 0:
		r.Outcome, r.Harmless = Better, true
	case lowCand > highBase, highCand < lowBase:
		r.Outcome = Worse
	default:
		r.Undecidable = true
	}
}

// left is what is good of the baseline's whole, as a part of it: 0.97 where 3 % are errors.
// Only a share has it.
func (d *duel) left(k Key) float64 {
	m, ok := metrics.Lookup(k.Tag)
	if e, has := d.base.Get(k); ok && has && isShare(k) {
		if m.LargerIsBetter {
			return e.Mean / m.Full()
		}
		return 1 - e.Mean/m.Full()
	}
	return math.NaN()
}

// edges are the margin on the harmful side and on the other, as ln(candidate/baseline)
// without its sign. A share's margin is so many points of the whole, and what is compared
// is what is good of it: 1 point of 97 % is ln(96/97) and ln(98/97).
func (r *Row) edges(margin float64) (harm, gain float64) {
	if !(r.left > 0) {
		return math.Log1p(margin), math.Log1p(margin)
	}
	part := min(margin/r.left, 1-1e-6) // no more than all of it can be lost
	return -math.Log1p(-part), math.Log1p(part)
}

// Points is the change of a share with its interval, in parts of the whole, as the metric
// counts it: +0.03 of errors is three points more. The interval is the one that decided;
// false where the row is not of a share.
func (r Row) Points() (point, low, high float64, ok bool) {
	m, known := metrics.Lookup(r.Key.Tag)
	left := r.left
	if !(left > 0) && known { // a row that was read back
		if left = r.Base / m.Full(); !m.LargerIsBetter {
			left = 1 - left
		}
	}
	if !r.Share() || !known || math.IsNaN(left) {
		return 0, 0, 0, false
	}
	low, high, _ = r.Shown()
	if m.LargerIsBetter {
		return left * r.Change, left * low, left * high, true
	}
	return -left * r.Change, -left * high, -left * low, true // fewer errors: more is good
}

// Clean reports whether all requests of both sides were good, in every trial.
func (r Row) Clean() bool {
	m, ok := metrics.Lookup(r.Key.Tag)
	if !ok || !r.Share() {
		return false
	}
	all := 0.0
	if m.LargerIsBetter {
		all = m.Full()
	}
	return r.clean || r.Base == all && r.Candidate == all
}

// judge fills in the interval and the outcome:
//
//	WORSE, BETTER  the interval excludes 0 and the point is beyond the margin
//	EQUIVALENT     else, when the interval at EqualLevel lies within ± the margin (TOST)
//	UNDECIDED      else
//
// all on ln(candidate/baseline), with the margin on both sides. Bonferroni's interval and
// not Holm's: what is printed must not contradict the outcome.
func (r *Row) judge(diff stats.Difference, level float64) {
	harmEdge, gainEdge := r.edges(r.Margin)
	r.Change = math.Expm1(diff.Mean)
	switch {
	case diff.N == 0:
		*r = r.cannot("no trial in common")
		return
	case diff.N < stats.FewestTrials || math.IsNaN(diff.SE):
		r.Note = fmt.Sprintf("%s: no interval, which takes %d", words.Count(diff.N, "trial"), stats.FewestTrials)
		return
	}
	low, high := diff.Interval(level)
	r.Low, r.High, r.P = math.Expm1(low), math.Expm1(high), diff.P()
	from, to := diff.Interval(EqualLevel)
	r.EqualLow, r.EqualHigh = math.Expm1(from), math.Expm1(to)
	if r.rise != nil {
		r.rise.narrow(r, level)
		low, high = math.Log1p(r.Low), math.Log1p(r.High)
	}
	good := turned(r.Key)
	harm := diff
	harm.Mean *= -good
	mostHarm, mostGain := harmEdge, gainEdge // of what is equal
	if r.clean {
		mostHarm, mostGain = r.edges(max(r.Margin, cleanShareMargin))
	}
	r.Harmless = harm.PBelow(mostHarm) < compareAlpha
	design := stats.Design{SD: diff.SD, Alpha: 1 - level, Margin: harmEdge}
	if r.Primary {
		r.Detectable = math.Expm1(design.Detectable(0.8, diff.N))
		if r.left > 0 {
			r.Detectable = -r.left * math.Expm1(-math.Log1p(r.Detectable))
		}
	}
	shown, within := low > 0 || high < 0, harm.Equivalent(-mostGain, mostHarm) < compareAlpha
	switch {
	case shown && harm.Mean > harmEdge:
		r.Outcome = Worse
	case shown && -harm.Mean > gainEdge:
		r.Outcome = Better
	case within:
		r.Outcome = Equivalent
	case r.Primary:
		r.open(diff, min(mostHarm, mostGain), level)
	}
	harmLow, harmHigh := min(-good*low, -good*high), max(-good*low, -good*high)
	r.BeyondMargin = harmLow > harmEdge || harmHigh < -gainEdge
}

// open says how many trials would decide an UNDECIDED row: of a change that looks larger than
// the margin those that show one of that size, else those that show that nothing changed.
func (r *Row) open(diff stats.Difference, equal, level float64) {
	if r.rise != nil && r.rise.sign*diff.Mean > equal { // counted, and not by their spread
		if n, ok := r.rise.Trials(1 - level); ok {
			n = even(max(n, leastRough))
			r.Trials, r.AsSeen = Trials{Least: n, Most: n, Rough: true}, true
			return
		}
	}
	if beyond := math.Abs(diff.Mean) > equal; beyond {
		r.Trials = trialsAbout(diff.SD, diff.DF, diff.N, func(sd float64) (int, bool) {
			return stats.Design{SD: sd, Alpha: 1 - level}.Trials(diff.Mean, 0.8)
		})
		r.AsSeen = r.Trials.Known()
	}
	if !r.AsSeen {
		r.Trials = trialsAbout(diff.SD, diff.DF, diff.N, func(sd float64) (int, bool) {
			return stats.Design{SD: sd, Alpha: 1 - EqualLevel}.EquivalenceTrials(equal, 0.8)
		})
	}
}
