package preview

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// answerVariance is that of one answer to a question around the question's own share of
// right ones, where about 80 % are right and some questions are harder than others.
const answerVariance = 0.1

// powerAt80 is the change, in standard errors, that a test at the 5 % level finds four times
// in five.
const powerAt80 = 1.96 + 0.84

// questionsText says what questions with known answers among a run's requests can show:
// "about 200 a run (5 % of 4,000 requests); a fall in accuracy of 5.1 points or more between
// two cells is found four times in five". "" where none are asked, or nobody knows how many.
func questionsText(p *sweep.Plan) string {
	asked, of := math.Inf(1), int64(0)
	for _, c := range p.Cells {
		b := &c.Resolved.Benchmark
		n := sweep.Planned(b.Phases)
		if b.Accuracy == nil || n == 0 {
			return ""
		}
		share := 1.0
		if b.Accuracy.Mixed() {
			share = b.Accuracy.Asked()
		}
		if share*float64(n) < asked {
			asked, of = share*float64(n), n
		}
	}
	text := words.Whole(of) + " a run"
	if asked < float64(of) {
		text = fmt.Sprintf("about %s a run (%s of %s)", words.Whole(int64(math.Round(asked))),
			words.Percent(asked/float64(of)), words.Count(of, "request"))
	}
	if len(p.Cells) == 1 {
		return text
	}
	fall := powerAt80 * math.Sqrt(2*answerVariance/(asked*float64(p.Trials)))
	if fall >= 0.5 {
		return text + ": too few to compare the accuracy of two cells"
	}
	return fmt.Sprintf("%s; a fall in accuracy of %s points or more between two cells is found four times in five", text,
		words.Number(100*fall))
}
