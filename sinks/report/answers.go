package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// answersOfOne is the line of a run about questions with known answers.
func (r *Report) answersOfOne(s *sheet) {
	for i := range r.Results.Cells {
		if text := answersOf(&r.Results.Cells[i]); text != "" {
			s.wrapped(words.Pad("Answers", labelColumn), text)
		}
	}
	if text := r.SwappedAnswers(); text != "" {
		s.wrapped(words.Pad("", labelColumn), text)
	}
}

// answersOf says how many of a cell's answers are right: "67.2 % right of 600 [63.1, 70.7];
// 12 more were not judged: 9 cut off at the token limit, 3 empty".
func answersOf(c *decide.CellResult) string {
	answered, ok := sumOver(c, metrics.AnswerCount)
	if !ok || answered == 0 {
		return ""
	}
	judged, _ := sumOver(c, metrics.JudgedAnswerCount)
	text := "none of " + words.Count(int64(answered), "answer") + " could be judged"
	if share, ok := c.Full.Get(decide.Key{Tag: metrics.Accuracy, Stat: "avg"}); ok && judged > 0 {
		text = fmt.Sprintf("%s right of %s", words.Percent(share.Mean), words.Whole(int64(judged)))
		if share.HasInterval() {
			text += fmt.Sprintf(" [%s, %s] (%.0f %% interval)", points(share.Low), points(share.High), 100*share.Level)
		}
		if judged < answered {
			text += fmt.Sprintf("; %s more could not be judged", words.Whole(int64(answered-judged)))
		}
	}
	if why := reasons(decide.Unjudged(c.Runs())); why != "" {
		text += ": " + why
	}
	return text + rangeOf(c)
}

// muchUnjudged is a share of answers that were not judged which is too large to leave open
// what they would have been.
const muchUnjudged = 0.05

// rangeOf says what the share of right answers is at least and at most where much could not
// be judged: if all of that were wrong, or right.
func rangeOf(c *decide.CellResult) string {
	var right, judged, unjudged int
	for _, o := range c.Runs() {
		for _, q := range o.Answers {
			right, judged = right+q.Right, judged+q.Judged
			for _, n := range q.Unjudged {
				unjudged += n
			}
		}
	}
	all := float64(judged + unjudged)
	if judged == 0 || float64(unjudged) < muchUnjudged*all {
		return ""
	}
	return fmt.Sprintf("; of all answers, %s to %s are right", words.Percent(float64(right)/all),
		words.Percent(float64(right+unjudged)/all))
}

// sumOver adds a count up over the runs of a cell.
func sumOver(c *decide.CellResult, tag string) (sum float64, ok bool) {
	for _, o := range c.Runs() {
		if n, has := o.Figure(decide.Key{Tag: tag, Stat: "avg"}); has && !math.IsNaN(n) {
			sum, ok = sum+n, true
		}
	}
	return sum, ok
}

// points is a share in percent without the sign.
func points(share float64) string { return words.Number(100 * share) }

// reasons are what was counted, the most frequent first: "9 cut off at the token limit, 3 empty".
func reasons(of map[string]int) string {
	list := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), strings.Compare(a, b))
	})
	for i, why := range list {
		list[i] = words.Whole(int64(of[why])) + " " + cmp.Or(why, "for no reason that is known")
	}
	return strings.Join(list, ", ")
}

// AnswersOverLoad says whether answers are as right at each load as at the least one: the
// largest fall that is more than chance, else the largest rise, else that none is known.
// "" where no questions were asked at several loads.
func (r *Report) AnswersOverLoad() string {
	all := r.Results.AnswersOverLoad()
	if len(all) == 0 {
		return ""
	}
	worst := slices.MinFunc(all, func(a, b *decide.AnswersChange) int {
		return cmp.Compare(severity(a), severity(b))
	})
	base, cell := worst.Base.Cell.Short(), worst.Cell.Cell.Short()
	if !worst.Differs() {
		return fmt.Sprintf("accuracy at %s is not known to differ from that at %s: %s points [%s, %s] over %s%s",
			cell, base, inPoints(worst.Change.Mean), inPoints(worst.Change.Low),
			inPoints(worst.Change.High),
			words.Count(int64(worst.Questions), "question"), nowhereElse(len(all)))
	}
	way, by, low, high := "lower", -worst.Change.Mean, -worst.Change.High, -worst.Change.Low
	if worst.Change.Mean > 0 {
		way, by, low, high = "higher", worst.Change.Mean, worst.Change.Low, worst.Change.High
	}
	text := fmt.Sprintf("accuracy at %s is %s points %s than at %s [%s, %s]: of %s, %s answered right less often and %s more often",
		cell, points(by), way, base, points(low), points(high), words.Count(int64(worst.Questions), "question"),
		wasOrWere(worst.Fewer), orNone(worst.More))
	if worst.Cut > 0 {
		text += fmt.Sprintf("; of these, %s cut off at the token limit", wasOrWere(worst.Cut))
	}
	return text
}

// SwappedAnswers says where the server gives answers to the wrong questions: "at concurrency
// 16, 36 wrong answers hold the right ones to 13 other questions asked at the same time (chance
// explains 0.2): answers go to the wrong requests". "" where nothing shows it.
func (r *Report) SwappedAnswers() string {
	var where []string
	for c, s := range r.Results.Swapped() {
		chance := fmt.Sprintf("%.1f", s.Chance)
		if s.Chance < 0.05 {
			chance = "fewer than 0.1"
		}
		text := fmt.Sprintf("%s the right ones to %s asked at the same time (chance explains %s)",
			words.CountOf(s.Wrong, "wrong answer holds", "wrong answers hold"), words.Count(int64(s.Beside), "other question"), chance)
		if len(r.Results.Cells) > 1 {
			text = "at " + c.Cell.Short() + ", " + text
		}
		where = append(where, text)
	}
	if len(where) == 0 {
		return ""
	}
	return some(where, 2) + ": answers go to the wrong requests"
}

// answersSentences are what is said of the answers to questions over all cells; alarming
// is that they are wrong because of the load, which is said before anything else: a load
// whose answers are wrong is not the best.
func (r *Report) answersSentences() (said []string, alarming bool) {
	all := r.Results.AnswersOverLoad()
	falls := func(c *decide.AnswersChange) bool { return c.Differs() && c.Change.Mean < 0 }
	swapped := r.SwappedAnswers()
	said = slices.DeleteFunc([]string{r.AnswersOverLoad(), swapped}, func(s string) bool { return s == "" })
	return said, swapped != "" || slices.ContainsFunc(all, falls)
}

// wasOrWere is a count with its verb.
func wasOrWere(n int) string {
	if n == 0 {
		return "none was"
	}
	if n == 1 {
		return "1 was"
	}
	return words.Whole(int64(n)) + " were"
}

// orNone is a count, or that there is none.
func orNone(n int) string {
	if n == 0 {
		return "none"
	}
	return words.Whole(int64(n))
}

// nowhereElse says that what was said of one pair of several holds of all.
func nowhereElse(pairs int) string {
	if pairs < 2 {
		return ""
	}
	return ", nor at any other load"
}

// severity orders changes: falls that are more than chance by their size, then rises,
// then what may be chance.
func severity(c *decide.AnswersChange) float64 {
	switch {
	case c.Change.High < 0:
		return c.Change.Mean - 2
	case c.Change.Low > 0:
		return -1 - c.Change.Mean/2
	}
	return c.Change.Mean / 2
}

// inPoints is a difference of shares in points, with its sign: "−3.1".
func inPoints(d float64) string {
	text := points(math.Abs(d))
	switch {
	case d > 0:
		return "+" + text
	case d < 0:
		return "−" + text
	}
	return text
}
