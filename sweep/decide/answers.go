package decide

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
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
	if r.Item == "" || r.Answer == "" || r.Warmup || !r.InWindow {
		return
	}
	if *s == nil {
		*s = Scores{}
	}
	q := (*s)[r.Item]
	if q == nil {
		q = &Score{}
		(*s)[r.Item] = q
	}
	count := func(to *map[string]int) {
		if *to == nil {
			*to = map[string]int{}
		}
		(*to)[r.AnswerWhy]++
	}
	switch {
	case r.Answer == record.NotJudged:
		count(&q.Unjudged)
		return
	case r.Answer == record.Right:
		q.Right++
	case r.AnswerWhy != "":
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

// ChangeOfAnswers pairs the answers of two cells by question. Where each question was
// asked once on both sides it is McNemar's exact test; else the mean over questions of the
// differences of their shares, with its t interval.
func ChangeOfAnswers(base, cell *CellResult, level float64) (*AnswersChange, bool) {
	a, b := pooled(base.runs), pooled(cell.runs)
	out := &AnswersChange{Base: base, Cell: cell}
	var diffs []float64
	once := true
	for _, item := range slices.Sorted(maps.Keys(a)) {
		x, y := a[item], b[item]
		if y.Of == 0 {
			continue
		}
		once = once && x.Of == 1 && y.Of == 1
		d := y.Hits/y.Of - x.Hits/x.Of
		diffs = append(diffs, d)
		switch {
		case d < 0:
			out.Fewer++
			if wasCut(cell.runs, item) {
				out.Cut++
			}
		case d > 0:
			out.More++
		}
	}
	if out.Questions = len(diffs); out.Questions < 2 {
		return nil, false
	}
	if once {
		out.Change = stats.Flips(float64(out.More), float64(out.Fewer), float64(out.Questions), level)
	} else {
		out.Change = stats.Signed(diffs, level)
		out.Change.Low, out.Change.High = max(-1, out.Change.Low), min(1, out.Change.High)
	}
	return out, true
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

// Swapped are the cells that give answers to the wrong questions, with what shows it: their
// wrong answers are right for questions that were under way at the same time, more often than
// for others of the same tasks (a sign test of the answers that are right for one of both).
func (r *Results) Swapped() iter.Seq2[*CellResult, grade.Swaps] {
	return func(yield func(*CellResult, grade.Swaps) bool) {
		for i := range r.Cells {
			c := &r.Cells[i]
			var all grade.Swaps
			for _, o := range c.runs {
				all.Wrong += o.Swaps.Wrong
				all.Beside += o.Swaps.Beside
				all.Apart += o.Swaps.Apart
			}
			n := float64(all.Beside + all.Apart)
			level := 1 - swapAlpha/float64(len(r.Cells))
			if n == 0 || !(stats.Flips(float64(all.Beside), float64(all.Apart), n, level).Low > 0) {
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
