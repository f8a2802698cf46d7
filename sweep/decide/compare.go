package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// Arm is one of two systems that are compared.
type Arm struct {
	Name   string // as it was given: a directory, or the value of an axis
	Cells  []ArmCell
	Stamps []string // whose arrival stamps its runs have: kernel, application, in order; none where it is not known
	// Command measured it, as it was typed, secrets masked; "" where that is not known.
	Command string
	Failure string // what its requests failed with, the most frequent first; "" for none, or not known
}

// ArmCell is what one system gave at one point.
type ArmCell struct {
	Label  string    // what is alike in both arms: "concurrency 4"
	Alike  []Fact    // what was asked, which must be alike for the numbers to be comparable
	Closed bool      // a load that waits for answers: its throughput is the server's doing
	Judged string    // the percentile that its planned requests are judged by; "" where they are not known
	Runs   []Outcome // in order of trials
}

// Fact is one property of a workload.
type Fact struct{ Name, Value string }

// Verdict of one comparison.
type Verdict string

// The outcomes are disjoint and exhaustive, whatever the levels.
const (
	Worse      Verdict = "WORSE"
	Better     Verdict = "BETTER"
	Equivalent Verdict = "EQUIVALENT"
	Unclear    Verdict = "UNDECIDED"

	// NotWorse is an outcome of a whole comparison only: harm beyond the margin is
	// ruled out in every row, and not every row is EQUIVALENT.
	NotWorse Verdict = "NOT WORSE"
)

// Terms are how two arms are compared.
type Terms struct {
	Margin float64 // what counts as a difference: 0.05 is 5 %; 0 takes DefaultMargin and TailMargin
	// ShareMargin is what counts as a difference of a share, as a part of the whole: 0.01 is
	// one point. 0 takes DefaultShareMargin.
	ShareMargin float64
	Primary     []Key  // what decides; empty takes the defaults
	Undecided   string // what an open question means for the exit code: "" none, pass, fail
	Paired      bool   // trial k of both arms met the same load
	Invalid     bool   // compare INVALID runs, too: both experiments allow them
	// MustDetect is a change that the comparison must be able to find (0.1 is 10 %): one
	// that could not is UNDECIDED, whatever its rows say. 0 asks for nothing.
	MustDetect float64
	// Candidates is how many are compared with the same baseline: the level holds
	// over all of them together. 0 is one.
	Candidates int
}

// The margins, for what is below p95 and from there on.
const (
	DefaultMargin = 0.05
	TailMargin    = 0.15
)

// The margins of a share, as parts of the whole. A relative margin would be 5 points of
// errors, which nobody calls the same. Where every request of both sides was good there is
// nothing to tell apart: as observed they are equal, as soon as cleanShareMargin is ruled
// out, which 59 requests of each side do; one point would take 300.
const (
	DefaultShareMargin = 0.01
	cleanShareMargin   = 0.05
)

// compareAlpha is the chance that identical systems are told apart anywhere
// among the primary metrics.
const compareAlpha = 0.05

// The levels of a comparison, as screens, help and pages say them: that of the intervals of
// all primary metrics together and of the one-sided bound of harm, and that of the interval
// which must lie within the margin for EQUIVALENT (two one-sided tests).
const (
	CompareLevel = 1 - compareAlpha
	EqualLevel   = 1 - 2*compareAlpha
)

// Comparison is what two arms say against each other.
type Comparison struct {
	Baseline, Candidate string
	Paired              bool
	Trials              int         // the smallest number in any cell
	Each                [2]int      // the same of the baseline and of the candidate
	Compared            int         // primary metrics × cells × candidates: what the level is divided by
	Rows                []Row       // by cell, primary metrics first
	Together            []Row       // each primary metric over all cells; more than one cell only
	Stamps              [2][]string // of the baseline and of the candidate, where they differ
	Load                []Fact      // what both were asked, of a comparison of one cell
	Commands            [2]string   // that measured the baseline and the candidate, "" where they are not known
	Failed              [2]Failures // requests of the baseline and of the candidate
	OnlyBaseline        []string
	OnlyCandidate       []string
	terms               Terms
}

// Failures are the requests of one side that failed, of those that were answered.
type Failures struct {
	Requests, Of int64
	With         string // the most frequent failure first; "" where that is not known
}

// Row is one metric of one cell.
type Row struct {
	Cell                     string
	Key                      Key
	Header, Unit             string
	Window                   string
	Primary                  bool
	LargerIsBetter           bool
	Base, Candidate          float64 // points of both arms, NaN where there is none
	Change, Low, High, Level float64 // candidate/baseline − 1 with its interval; NaN where there is none
	EqualLow, EqualHigh      float64 // the interval of Change at EqualLevel; NaN where there is none
	P                        float64 // two-sided, of no difference
	Margin                   float64
	Outcome                  Verdict
	BeyondMargin             bool    // the whole interval is
	Harmless                 bool    // the one-sided 95 % bound of harm is below the margin
	N                        int     // pairs, or trials of the smaller arm
	Detectable               float64 // the smallest difference that so many trials show with a power of 80 %
	MustDetect               float64 // the one that they must be able to show, 0 for any
	Trials                   Trials  // how many would decide an UNDECIDED row: that nothing changed, if nothing did
	AsSeen                   bool    // or that something did, if the change is as large as it looks
	// the values of a percentile in a run, and what they are worth: the smallest of any run; 0 for others
	Count, Effective float64
	Sent             float64 // the most requests that a run sent for them; 0 where that is not known
	Note             string  // why there is no number, "" otherwise
	Undecidable      bool    // an UNDECIDED row that more trials do not decide: Note says why
	Check            string  // the check that puts its figures in doubt, "" for none
	Whatever         bool    // the outcome is the same wherever the figures in doubt may lie

	// Apart says that both sides did not do the same, and are compared all the same.
	Apart bool

	judged string  // the percentile that both arms are judged by
	left   float64 // of a share: what is good of the baseline's whole, see evidence
	clean  bool    // of a share: all of both sides is good
	rise   *rise   // of a share: one side is all good, the other is not
}

// inRuns is the unit of the only row of a cell in which one side has no usable run.
const inRuns = "runs"

// Share reports whether the metric is a share of the whole: Margin, Detectable and
// MustDetect are then parts of the whole, 0.01 is one point. Change and its interval stay
// ratios, see Points.
func (r Row) Share() bool { return isShare(r.Key) }

// NoRuns reports whether a row counts usable runs, since one side has none; its Note says why.
func (r Row) NoRuns() bool { return r.Unit == inRuns }

// Compare compares the cells that both arms have. An error says what makes the
// arms incomparable.
func Compare(baseline, candidate Arm, t Terms) (*Comparison, error) {
	for _, m := range []struct {
		of    string
		share float64
		hint  string
	}{{"margin", t.Margin, "0.05 is 5 %"}, {"margin of shares", t.ShareMargin, "0.01 is 1 point"}} {
		if m.share < 0 || m.share >= 1 || math.IsNaN(m.share) {
			return nil, &diag.Error{
				Message: fmt.Sprintf("a %s of %g: expected more than 0 and less than 1", m.of, m.share), Hint: m.hint,
			}
		}
	}
	if err := t.checkMustDetect(); err != nil {
		return nil, err
	}
	c := &Comparison{
		Baseline: baseline.Name, Candidate: candidate.Name, Paired: t.Paired, terms: t,
		Commands: [2]string{baseline.Command, candidate.Command},
	}
	if a, b := baseline.Stamps, candidate.Stamps; len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) {
		c.Stamps = [2][]string{a, b}
	}
	c.Failed = [2]Failures{baseline.failed(), candidate.failed()}
	pairs, err := c.match(baseline, candidate)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		p.choose(t.Primary)
		c.Compared += len(p.primary)
	}
	c.Compared *= max(1, t.Candidates)
	for _, p := range pairs {
		c.Rows = append(c.Rows, p.rows(c)...)
	}
	c.together(pairs)
	return c, nil
}

// failed counts the failures of all runs, also of those that are left out.
func (a Arm) failed() Failures {
	f := Failures{With: a.Failure}
	for _, c := range a.Cells {
		for i := range c.Runs {
			n := c.Runs[i].Counts()
			f.Requests, f.Of = f.Requests+n.Failed, f.Of+n.In(record.Answered)
		}
	}
	return f
}

// match finds the cells that both arms have.
func (c *Comparison) match(a, b Arm) ([]*duel, error) {
	var pairs []*duel
	for i := range a.Cells {
		j := slices.IndexFunc(b.Cells, func(x ArmCell) bool { return x.Label == a.Cells[i].Label })
		if j < 0 {
			c.OnlyBaseline = append(c.OnlyBaseline, a.Cells[i].Label)
			continue
		}
		pairs = append(pairs, newDuel(&a.Cells[i], &b.Cells[j], c.terms))
		c.Load = a.Cells[i].Alike
	}
	for i := range b.Cells {
		if !slices.ContainsFunc(a.Cells, func(x ArmCell) bool { return x.Label == b.Cells[i].Label }) {
			c.OnlyCandidate = append(c.OnlyCandidate, b.Cells[i].Label)
		}
	}
	if len(pairs) > 1 {
		c.Load = nil
	}
	if len(pairs) == 0 {
		return nil, &diag.Error{
			Message: fmt.Sprintf("%s and %s have no cell in common: %s against %s", a.Name, b.Name, labels(a),
				labels(b)),
			Hint: "compare results of the same experiment",
		}
	}
	c.Each = [2]int{math.MaxInt, math.MaxInt}
	for _, p := range pairs {
		c.Each = [2]int{min(c.Each[0], len(p.base.runs)), min(c.Each[1], len(p.candidate.runs))}
	}
	c.Trials = min(c.Each[0], c.Each[1])
	return pairs, nil
}

func labels(a Arm) string {
	var names []string
	for _, c := range a.Cells {
		names = append(names, c.Label)
	}
	switch n := len(names); {
	case n == 0:
		return "nothing"
	case n > 3:
		names = append(names[:3:3], fmt.Sprintf("%d more", n-3))
	}
	return strings.Join(names, "; ")
}

// duel is one cell of both arms.
type duel struct {
	label           string
	base, candidate Estimates
	window          string
	paired, closed  bool
	judged          string
	primary, other  []Key
	failed, invalid [2]int // runs that gave nothing, and those that are wrong through this program
}

func newDuel(a, b *ArmCell, t Terms) *duel {
	d := &duel{
		label: a.Label, paired: t.Paired, closed: a.Closed && b.Closed, window: Full,
		judged: sweep.Lower(cmp.Or(a.Judged, sweep.Percentile(0)), cmp.Or(b.Judged, sweep.Percentile(0))),
	}
	arms := [2]CellResult{}
	for side, cell := range [2]*ArmCell{a, b} {
		for i := range cell.Runs {
			o := &cell.Runs[i]
			switch {
			case o.Verdict == validity.Invalid && !t.Invalid:
				d.invalid[side]++
				continue
			case o.Interrupted: // by whoever ran it: that says nothing of the server
				continue
			case !o.measured():
				d.failed[side]++
				continue
			}
			arms[side].runs = append(arms[side].runs, o)
		}
	}
	if t.Paired {
		arms[0].runs, arms[1].runs = inBoth(arms[0].runs, arms[1].runs), inBoth(arms[1].runs, arms[0].runs)
	}
	if arms[0].steady() && arms[1].steady() {
		d.window = Steady
	}
	d.base = Estimates{runs: arms[0].runs, window: d.window, level: 0.95, invalid: t.Invalid}
	d.candidate = d.base.of(arms[1].runs)
	return d
}

// inBoth are the runs whose trial others has, too: the points of both arms are then
// those of the pairs, and do not contradict the change. All of them where no trial is
// common.
func inBoth(runs, others []*Outcome) []*Outcome {
	lone := func(o *Outcome) bool {
		return !slices.ContainsFunc(others, func(x *Outcome) bool { return x.Run.Trial == o.Run.Trial })
	}
	if common := slices.DeleteFunc(slices.Clone(runs), lone); len(common) > 0 {
		return common
	}
	return runs
}

// choose decides which metrics are compared, and which of them decide.
func (d *duel) choose(primary []Key) {
	d.primary = primary
	if len(primary) == 0 {
		d.primary = d.defaults()
	}
	for _, k := range explored {
		if d.base.measured(k) && !slices.Contains(d.primary, k) {
			d.other = append(d.other, k)
		}
	}
}

// defaults are the primary metrics: throughput where the load waits for the server, the
// first token at the median and at the percentile that the plan fixes, the gap between
// tokens, the share of good requests, and that of right answers where questions are asked;
// of an endpoint that does not stream the whole request instead of tokens. Throughput of an
// open loop is its offered rate.
func (d *duel) defaults() []Key {
	var out []Key
	take := func(keys ...Key) bool {
		for _, k := range keys {
			if d.base.measured(k) {
				out = append(out, k)
				return true
			}
		}
		return false
	}
	if d.closed {
		take(Key{metrics.OutputTokenThroughput, "avg"}, Key{metrics.RequestThroughput, "avg"})
	}
	first := metrics.TimeToFirstToken
	if !take(Key{first, "p50"}) {
		first = metrics.RequestLatency
		take(Key{first, "p50"})
	}
	if d.judged != "p50" {
		take(Key{first, d.judged})
	}
	take(Key{metrics.InterTokenLatency, "p50"})
	if !take(Key{metrics.GoodRequestFraction, "avg"}) {
		take(Key{metrics.ErrorRate, "avg"})
	}
	take(Key{metrics.Accuracy, "avg"})
	return out
}

// explored is what is shown beside: unadjusted, and never the reason of a failure.
var explored = []Key{
	{metrics.OutputTokenThroughput, "avg"},
	{metrics.RequestThroughput, "avg"},
	{metrics.RequestLatency, "p50"},
	{metrics.RequestLatency, "p99"},
	{metrics.TimeToFirstToken, "p99"},
	{metrics.InterTokenLatency, "p99"},
	{metrics.OutputTokenThroughputPerUser, "p50"},
	{metrics.OutputSequenceLength, "avg"},
	{metrics.ErrorRate, "avg"},
}

func (d *duel) rows(c *Comparison) []Row {
	var out []Row
	if len(d.base.runs) == 0 || len(d.candidate.runs) == 0 {
		return []Row{d.nothing(c.terms)}
	}
	for _, k := range d.primary {
		out = append(out, d.row(k, c.terms, c.level(), true))
	}
	for _, k := range d.other {
		out = append(out, d.row(k, c.terms, c.level(), false))
	}
	return out
}

// level is that of the intervals of all rows, also of those that decide nothing: a reader
// compares them with each other.
func (c *Comparison) level() float64 { return 1 - compareAlpha/float64(max(1, c.Compared)) }

// nothing is the row of a cell in which one side has no usable run. A candidate whose
// runs all failed is WORSE; one whose runs are INVALID was not measured.
func (d *duel) nothing(t Terms) Row {
	nan := math.NaN()
	r := Row{
		Cell: d.label, Primary: true, Key: Key{metrics.RequestThroughput, "avg"}, Header: "Usable runs", Unit: inRuns,
		Base: float64(len(d.base.runs)), Candidate: float64(len(d.candidate.runs)), Change: nan, Low: nan, High: nan,
		EqualLow: nan, EqualHigh: nan, P: nan, Margin: marginOf(Key{}, t), Outcome: Unclear, Detectable: nan,
	}
	switch {
	case len(d.base.runs) > 0:
		r.Note = d.unusable("candidate", 1)
		if d.failed[1] > 0 && d.invalid[1] == 0 {
			r.Outcome = Worse
		}
	case len(d.candidate.runs) > 0:
		r.Note = d.unusable("baseline", 0)
	default:
		r.Note = "neither side has a usable run"
	}
	r.Undecidable = r.Outcome == Unclear
	return r
}

// unusable says why a side has no usable run.
func (d *duel) unusable(side string, i int) string {
	all := d.failed[i] + d.invalid[i]
	switch {
	case all == 0:
		return "the " + side + " was not measured"
	case d.invalid[i] == 0 && all == 1:
		return "the only " + side + " run gave no result"
	case d.invalid[i] == 0:
		return fmt.Sprintf("none of %s gave a result", words.Count(all, side+" run"))
	}
	return fmt.Sprintf("none of %s gave a usable result; INVALID: %d", words.Count(all, side+" run"), d.invalid[i])
}

// marginOf is the margin for a metric.
func marginOf(k Key, t Terms) float64 {
	switch {
	case isShare(k):
		return cmp.Or(t.ShareMargin, DefaultShareMargin)
	case t.Margin > 0:
		return t.Margin
	case k.Stat == "p95" || k.Stat == "p99" || k.Stat == "p999" || k.Stat == "max":
		return TailMargin
	}
	return DefaultMargin
}

// isShare reports whether a metric is a share of the whole, such as the error rate.
func isShare(k Key) bool {
	m, ok := metrics.Lookup(k.Tag)
	return ok && m.Over == metrics.Share && k.Stat == "avg"
}

// mustDetect is the change that must be found in a metric: as the margin, three times
// as much from p95 on, unless the experiment says its own margin. Of a share it is so many
// points: a tenth is ten of them.
func (t Terms) mustDetect(k Key) float64 {
	if isShare(k) {
		return t.MustDetect
	}
	return t.MustDetect * marginOf(k, t) / marginOf(Key{}, t)
}

// checkMustDetect refuses a change that no number of trials would call WORSE.
func (t Terms) checkMustDetect() *diag.Error {
	if t.MustDetect == 0 {
		return nil
	}
	if margin := max(marginOf(Key{}, t), t.ShareMargin); !(t.MustDetect > margin && t.MustDetect < 1) {
		return &diag.Error{
			Message: fmt.Sprintf("a change of %s must be detected, and the margin is %s: no change within the margin is ever WORSE",
				percent(t.MustDetect), percent(margin)),
			Hint: fmt.Sprintf("a margin of half of it: %g", t.MustDetect/2),
		}
	}
	return nil
}

func percent(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }

// together compares each primary metric over all cells: the log-ratios of one
// trial are averaged over the cells first, so that a trial stays one block.
func (c *Comparison) together(pairs []*duel) {
	if len(pairs) < 2 || !c.Paired {
		return
	}
	for _, k := range pairs[0].primary {
		if k.Tag == metrics.Accuracy { // questions are the sample, and not trials
			continue
		}
		var sums []float64
		whole, clean, left, least := true, true, 0.0, 0.0
		for _, p := range pairs {
			e := p.evidence(k)
			whole = whole && !e.signs && len(e.d) > 0 && slices.Contains(p.primary, k) &&
				(sums == nil || len(sums) == len(e.d))
			if !whole {
				break
			}
			if sums == nil {
				sums = make([]float64, len(e.d))
			}
			least += squared(e.least / float64(len(pairs)))
			clean, left = clean && e.clean, left+p.left(k)/float64(len(pairs))
			for i, v := range e.d {
				sums[i] += v / float64(len(pairs))
			}
		}
		if whole {
			r := pairs[0].describe(k, c.terms)
			r.Cell, r.Level, r.N, r.Base, r.Candidate = "all cells", c.level(), len(sums), math.NaN(), math.NaN()
			r.clean, r.left = clean, left
			r.judge(atLeast(stats.OneSample(sums), math.Sqrt(least)), c.level())
			c.Together = append(c.Together, r)
		}
	}
}

func squared(x float64) float64 { return x * x }

// Shown is the interval of the change that decided the outcome, and its level: where a
// change beyond the margin is ruled out, that of the one-sided tests, which is narrower.
func (r Row) Shown() (low, high, level float64) {
	if r.Bounded() {
		return r.EqualLow, r.EqualHigh, EqualLevel
	}
	return r.Low, r.High, r.Level
}

// Bounded reports whether a row is decided by what is ruled out, and not by an interval
// without 0: it is equal, or not worse.
func (r Row) Bounded() bool {
	return (r.Outcome == Equivalent || r.Outcome == Unclear && r.Harmless && !r.Gain()) && !math.IsNaN(r.EqualLow)
}

// describe is a row with what is known of its metric.
func (d *duel) describe(k Key, t Terms) Row {
	nan := math.NaN()
	r := Row{
		Cell: d.label, Key: k, Header: k.Tag, Window: d.window, Base: nan, Candidate: nan, Change: nan, Low: nan,
		High: nan, EqualLow: nan, EqualHigh: nan,
		P: nan, Margin: marginOf(k, t), Outcome: Unclear, Detectable: nan, MustDetect: t.mustDetect(k),
		judged: d.judged, left: d.left(k),
	}
	if m, ok := metrics.Lookup(k.Tag); ok {
		r.Header, r.Unit, r.LargerIsBetter = m.Header, m.Unit, m.LargerIsBetter
	}
	return r
}

// Outcome is that of the comparison as a whole, a function of the outcomes of its
// primary rows and of nothing else:
//
//	WORSE       as soon as one is, of those that could show what must be detected
//	BETTER      one is, and in none is harm beyond the margin left open
//	EQUIVALENT  every one is
//	NOT WORSE   harm beyond the margin is ruled out in every one
//	UNDECIDED   else, and where one could not have shown what must be detected
func (c *Comparison) Outcome() Verdict {
	rows := c.Primary()
	all := func(is func(Row) bool) bool {
		return len(rows) > 0 && !slices.ContainsFunc(rows, func(r Row) bool { return !is(r) })
	}
	some := func(v Verdict) bool {
		return slices.ContainsFunc(rows, func(r Row) bool { return r.Outcome == v })
	}
	harmless := all(func(r Row) bool { return r.Harmless })
	switch {
	case slices.ContainsFunc(rows, func(r Row) bool { return r.Outcome == Worse && !r.Blind() }):
		return Worse // what another metric could not have shown does not hide it
	case len(c.Blind()) > 0:
		return Unclear
	case harmless && some(Better):
		return Better
	case all(func(r Row) bool { return r.Outcome == Equivalent }):
		return Equivalent
	case harmless:
		return NotWorse
	}
	return Unclear
}

// Primary are the rows that decide.
func (c *Comparison) Primary() []Row {
	return slices.DeleteFunc(slices.Clone(c.Rows), func(r Row) bool { return !r.Primary })
}

// Blind are the primary rows that could not have shown the change that must be
// detected; none where nothing must be.
func (c *Comparison) Blind() []Row {
	return slices.DeleteFunc(c.Primary(), func(r Row) bool { return !r.Blind() })
}

// Blind reports whether the row could not have shown what it must be able to. What
// every trial shows by its sign alone needs no interval.
func (r Row) Blind() bool {
	if r.MustDetect == 0 || math.IsNaN(r.Detectable) && r.Outcome != Unclear {
		return false
	}
	return !(r.Detectable <= r.MustDetect)
}

// Exit is the exit code: missed when the comparison is WORSE, success when it is BETTER,
// EQUIVALENT or NOT WORSE (which needs no adjustment: all rows must be), else
// inconclusive or what the terms say. A comparison that could not have found what it
// must, and is not WORSE in what it could find, is inconclusive whatever they say.
func (c *Comparison) Exit() diag.Code {
	switch o := c.Outcome(); {
	case o == Worse:
		return diag.Missed
	case o != Unclear:
		return diag.OK
	case len(c.Blind()) > 0:
		return diag.Invalid
	case c.terms.Undecided == AsPassed:
		return diag.OK
	case c.terms.Undecided == AsMissed:
		return diag.Missed
	}
	return diag.Invalid
}
