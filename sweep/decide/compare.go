package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
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

// level is that of the intervals of all rows, also of those that decide nothing: a reader
// compares them with each other.
func (c *Comparison) level() float64 { return 1 - compareAlpha/float64(max(1, c.Compared)) }

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
