package decide

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// Score is how a question with a known answer was answered in a run, which may ask it
// several times.
type Score struct {
	Right, Judged int
	Unjudged      map[string]int // why, of those that are neither right nor wrong; nil for none
	Wrongs        map[string]int // why, of wrong ones of which more is known; nil for none
}

// Scores are those of a run, by question.
type Scores map[string]*Score

// Add takes a record in; what asks nothing, and what got no answer, is left out.
func (s *Scores) Add(r *record.Record) {
	if r.Item != "" && !r.Warmup && r.InWindow {
		s.Count(r.Item, string(r.Answer), r.AnswerWhy)
	}
}

// Count counts an answer to a question, "" for none; why is of one that is not right.
func (s *Scores) Count(item, answer, why string) {
	if answer == "" {
		return
	}
	if *s == nil {
		*s = Scores{}
	}
	q := (*s)[item]
	if q == nil {
		q = &Score{}
		(*s)[item] = q
	}
	count := func(to *map[string]int) {
		if *to == nil {
			*to = map[string]int{}
		}
		(*to)[why]++
	}
	switch {
	case answer == string(record.NotJudged):
		count(&q.Unjudged)
		return
	case answer == string(record.Right):
		q.Right++
	case why != "":
		count(&q.Wrongs)
	}
	q.Judged++
}

// Unjudged is why answers of the runs could not be judged, and how often.
func Unjudged(runs []*Outcome) map[string]int {
	out := map[string]int{}
	for _, o := range runs {
		for _, q := range o.Answers {
			for why, n := range q.Unjudged {
				out[why] += n
			}
		}
	}
	return out
}

// Runs are the outcomes whose numbers are used, by trial.
func (c *CellResult) Runs() []*Outcome { return c.runs }

// pooled are the scores of all runs together, by question.
func pooled(runs []*Outcome) map[string]stats.Tally {
	out := map[string]stats.Tally{}
	for _, o := range runs {
		for item, q := range o.Answers {
			if q.Judged > 0 {
				t := out[item]
				out[item] = stats.Tally{Hits: t.Hits + float64(q.Right), Of: t.Of + float64(q.Judged)}
			}
		}
	}
	return out
}

// itemEffect is the design effect on the share of right answers, since the questions are
// the sample and each may be asked several times.
func itemEffect(runs []*Outcome) float64 {
	return stats.ClusterEffect(slices.Collect(maps.Values(pooled(runs))))
}

// AnswersChange is how right the answers of one cell are beside those of another, to the
// questions that both were asked.
type AnswersChange struct {
	Base, Cell *CellResult
	Questions  int            // that both answered
	Change     stats.Estimate // of the share of right answers
	Fewer      int            // questions that Cell answers right less often
	More       int            // and more often
	Cut        int            // of Fewer, those of which an answer was cut off at the token limit
}

// Differs reports whether more than chance is behind the change.
func (c *AnswersChange) Differs() bool { return c.Change.Low > 0 || c.Change.High < 0 }

// ChangeOfAnswers pairs the answers of two cells by question.
func ChangeOfAnswers(base, cell *CellResult, level float64) (*AnswersChange, bool) {
	p := pairByQuestion(base.runs, cell.runs)
	if len(p.diffs) < 2 {
		return nil, false
	}
	return &AnswersChange{
		Base: base, Cell: cell, Questions: len(p.diffs), Change: p.change(level),
		Fewer: p.fewer, More: p.more, Cut: p.cut,
	}, true
}

// byQuestion is answers of two sides, paired by question: all answers to a question on one
// side are one share.
type byQuestion struct {
	diffs            []float64 // of the shares
	base             float64   // mean share of the first side
	fewer, more, cut int       // see AnswersChange
	whole            bool      // each question is answered right always or never, on both sides
}

func pairByQuestion(base, other []*Outcome) byQuestion {
	a, b := pooled(base), pooled(other)
	p := byQuestion{whole: true}
	for _, item := range slices.Sorted(maps.Keys(a)) {
		x, y := a[item], b[item]
		if y.Of == 0 {
			continue
		}
		was, is := x.Hits/x.Of, y.Hits/y.Of
		p.whole = p.whole && was == math.Trunc(was) && is == math.Trunc(is)
		p.diffs, p.base = append(p.diffs, is-was), p.base+was
		switch {
		case is < was:
			p.fewer++
			if wasCut(other, item) {
				p.cut++
			}
		case is > was:
			p.more++
		}
	}
	p.base /= float64(len(p.diffs))
	return p
}

// change is that of the share of right answers: by McNemar's exact test where each question
// is right always or never, as where it is asked once; else the mean over questions of the
// differences of their shares, with its t interval.
func (p *byQuestion) change(level float64) stats.Estimate {
	if p.whole {
		return stats.Flips(float64(p.more), float64(p.fewer), float64(len(p.diffs)), level)
	}
	e := stats.Signed(p.diffs, level)
	e.Low, e.High = max(-1, e.Low), min(1, e.High)
	return e
}

// p is the two-sided chance of the change where there is none.
func (p *byQuestion) p() float64 {
	if p.whole {
		return stats.McNemar(float64(p.more), float64(p.fewer))
	}
	return stats.OneSample(p.diffs).P()
}

// byQuestion fills in a row about the share of right answers, where both sides were asked
// the same questions: these are the sample, however often they are asked. false where
// nothing can be paired.
func (r *Row) byQuestion(d *duel, level float64) bool {
	if r.Key != (Key{metrics.Accuracy, "avg"}) {
		return false
	}
	p := pairByQuestion(d.base.runs, d.candidate.runs)
	if len(p.diffs) < 2 || !(p.base > 0) {
		return false
	}
	at, equal := p.change(level), p.change(EqualLevel)
	r.N, r.P, r.left = len(p.diffs), p.p(), p.base
	r.clean = p.base == 1 && p.fewer == 0
	r.Change, r.Low, r.High = at.Mean/p.base, at.Low/p.base, at.High/p.base
	r.EqualLow, r.EqualHigh = equal.Low/p.base, equal.High/p.base
	same := r.Margin // of what is equal
	if r.clean {
		same = max(same, cleanShareMargin)
	}
	r.Harmless = equal.Low > -same
	r.BeyondMargin = at.Low > r.Margin || at.High < -r.Margin
	design := stats.Design{SD: stats.StdSample(p.diffs), Alpha: 1 - level, Margin: r.Margin}
	r.Detectable = design.Detectable(0.8, r.N)
	switch {
	case at.High < 0 && -at.Mean > r.Margin:
		r.Outcome = Worse
	case at.Low > 0 && at.Mean > r.Margin:
		r.Outcome = Better
	case r.Harmless && equal.High < same:
		r.Outcome = Equivalent
	}
	r.Note = fmt.Sprintf("of %s, %d are answered right less often and %d more often",
		words.Count(r.N, "question"), p.fewer, p.more)
	r.bound()
	return true
}

func wasCut(runs []*Outcome, item string) bool {
	return slices.ContainsFunc(runs, func(o *Outcome) bool {
		q := o.Answers[item]
		return q != nil && q.Wrongs[record.AtTokenLimit]+q.Unjudged[record.AtTokenLimit] > 0
	})
}

// AnswersOverLoad compares the answers of each cell with those of the cell of the least
// load that differs from it in nothing but load. All intervals together hold at the
// level of the results.
func (r *Results) AnswersOverLoad() (out []*AnswersChange) {
	var asked []*CellResult
	base := map[string]*CellResult{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if _, ok := c.Full.Get(Key{metrics.Accuracy, "avg"}); !ok || c.Trials == 0 {
			continue
		}
		asked = append(asked, c)
		key := besidesLoad(c.Cell)
		if b := base[key]; b == nil || loadValue(c.Cell) < loadValue(b.Cell) {
			base[key] = c
		}
	}
	var pairs [][2]*CellResult
	for _, c := range asked {
		if b := base[besidesLoad(c.Cell)]; b != c {
			pairs = append(pairs, [2]*CellResult{b, c})
		}
	}
	level := 1 - (1-r.Level)/math.Max(1, float64(len(pairs)))
	for _, p := range pairs {
		if change, ok := ChangeOfAnswers(p[0], p[1], level); ok {
			out = append(out, change)
		}
	}
	return out
}

// swapAlpha is the chance that answers are called swapped in any cell of a plan in which
// none are.
const swapAlpha = 0.01

// Swapped are the cells that give answers to the wrong questions, with what shows it: wrong
// answers are right for questions that were under way at the same time, more often than for
// others of the same tasks. All runs ask in the same order, so that what is chance in one may
// come again in the next: each run is judged for itself.
func (r *Results) Swapped() iter.Seq2[*CellResult, grade.Swaps] {
	return func(yield func(*CellResult, grade.Swaps) bool) {
		for i := range r.Cells {
			c := &r.Cells[i]
			var all grade.Swaps
			least := 1.0
			for _, o := range c.runs {
				all.Wrong += o.Swaps.Wrong
				all.Questions += o.Swaps.Questions
				all.Beside += o.Swaps.Beside
				all.Chance += o.Swaps.Chance
				least = min(least, o.Swaps.Above())
			}
			if n := len(r.Cells) * len(c.runs); n == 0 || least > swapAlpha/float64(n) {
				continue
			}
			if !yield(c, all) {
				return
			}
		}
	}
}

// loadValue is the value of the axis that makes a cell's load; 0 where none does.
func loadValue(c *sweep.Cell) float64 {
	for _, v := range c.Point {
		if sweep.AxisNamed(v.Axis).Load {
			if n, err := strconv.ParseFloat(v.Label, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// besidesLoad is what a cell is, but for its load.
func besidesLoad(c *sweep.Cell) (key string) {
	for _, v := range c.Point {
		if !sweep.AxisNamed(v.Axis).Load {
			key += v.Axis + "=" + v.Label + "\x00"
		}
	}
	return key
}
