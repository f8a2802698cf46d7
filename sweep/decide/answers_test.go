package decide_test

import (
	"fmt"
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

var accuracyKey = decide.Key{Tag: metrics.Accuracy, Stat: "avg"}

// examined has one cell in which each trial asks questions, each so often. right says
// whether a question is answered right in a trial.
func examined(name string, trials, questions, times int, right func(trial, question int) bool) decide.Arm {
	cell := decide.ArmCell{Label: "concurrency 4", Closed: true}
	for trial := range trials {
		o := decide.Outcome{
			Run: sweep.Run{Trial: trial}, Verdict: validity.Valid, OK: int64(questions * times),
			Answers: decide.Scores{},
		}
		hits := 0.0
		for q := range questions {
			score := &decide.Score{Judged: times}
			if right(trial, q) {
				score.Right = times
				hits += float64(times)
			}
			o.Answers[fmt.Sprint("q", q)] = score
		}
		n := float64(questions * times)
		o.Summaries = append(run(400, 40), metrics.Summary{})[:1]
		for tag, v := range map[string]float64{
			metrics.Accuracy: hits / n, metrics.JudgedAnswerCount: n, metrics.AnswerCount: n,
		} {
			o.Summaries[0].Stats = append(o.Summaries[0].Stats, metrics.Stat{
				Tag: tag, Unit: "ratio", Avg: v, Scalar: true,
			})
		}
		cell.Runs = append(cell.Runs, o)
	}
	return decide.Arm{Name: name, Cells: []decide.ArmCell{cell}}
}

// Questions are the sample, not answers: what is asked ten times is no better known than
// what is asked once.
func TestCompareAnswersByQuestion(t *testing.T) {
	t.Parallel()
	all := func(int, int) bool { return true }
	without := func(n int) func(int, int) bool {
		return func(_, q int) bool { return q >= n }
	}
	for _, c := range []struct {
		what                     string
		trials, questions, times int
		lost                     int
		p                        float64 // McNemar's: 2·½ⁿ for n that all turned wrong; 0: not looked at
		want                     decide.Verdict
	}{
		{"4 of 20 turned wrong, asked once", 1, 20, 1, 4, 0.125, decide.Unclear},
		{"the same, asked ten times in each of three trials", 3, 20, 10, 4, 0, decide.Unclear},
		{"9 of 20 turned wrong, asked once", 1, 20, 1, 9, 2. / 512, decide.Worse},
		{"60 of 200 turned wrong, in each of three trials", 3, 200, 1, 60, 0, decide.Worse},
		{"none of 200", 3, 200, 1, 0, 1, decide.Equivalent},
	} {
		a := examined("a", c.trials, c.questions, c.times, all)
		b := examined("b", c.trials, c.questions, c.times, without(c.lost))
		for _, paired := range []bool{false, true} {
			cmp, err := decide.Compare(a, b, decide.Terms{Paired: paired, Primary: []decide.Key{accuracyKey}})
			if err != nil {
				t.Fatal(err)
			}
			r := find(t, cmp, accuracyKey)
			lost := float64(c.lost) / float64(c.questions)
			if r.Outcome != c.want || r.N != c.questions || math.Abs(r.Change+lost) > 1e-9 ||
				c.p > 0 && math.Abs(r.P-c.p) > 1e-9 || c.p == 0 && !(r.P > 0) {
				t.Errorf("%s, paired %t: %s of %d, change %.3f [%.3f, %.3f], p %.4g; want %s, p %.4g",
					c.what, paired, r.Outcome, r.N, r.Change, r.Low, r.High, r.P, c.want, c.p)
			}
			if shown := r.High < 0; shown != (c.want == decide.Worse) {
				t.Errorf("%s: the interval [%.3f, %.3f] contradicts %s", c.what, r.Low, r.High, r.Outcome)
			}
		}
	}
}
