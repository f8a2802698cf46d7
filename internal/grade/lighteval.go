package grade

import (
	"fmt"

	"aiperf.dev/aiperf/internal/grade/algebra"
)

// extractive is the match of lighteval over two texts, of which each is searched in its
// own way.
func extractive(class, answer, truth string, gold, pred finder) Judgement {
	gold.text, pred.text = truth, answer
	g, p := gold.find(), pred.find()
	verdict := compare(g, p)
	j := judged(verdict == algebra.Same)
	j.Expected, j.Actual = truth, answer
	j.Explanation = explained(class, j)
	switch {
	case g.value == nil && g.text == "":
		j.doubt(BadTruth)
	case strip(answer) == "":
		j.doubt(Empty)
	case verdict == algebra.Same:
	case p.value == nil && p.text == "":
		j.doubt(NotParsed)
	case verdict == algebra.Unknown:
		j.doubt(CannotCompare)
	}
	return j
}

func explained(class string, j Judgement) string {
	return fmt.Sprintf("lighteval Lighteval%sGrader: score=%.1f (threshold 0.5)", class, j.Confidence)
}

// compare takes the values, or the texts, for the same.
func compare(truth, answer extracted) algebra.Verdict {
	if truth.text != "" && strip(truth.text) == strip(answer.text) {
		return algebra.Same
	}
	if truth.value == nil || answer.value == nil {
		return algebra.Unknown
	}
	return algebra.Rule{Places: 5}.Compare(truth.value, answer.value)
}
