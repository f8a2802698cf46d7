package chart

import (
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// answers is the share of right answers to questions, below it what became of the others,
// and why the server stopped where that is not always the same.
func answers(d *Data, _ *Cell) ([]draw.Panel, string) {
	if !d.Has(metrics.Accuracy, "avg") {
		return nil, "no questions with known answers were asked (--accuracy-benchmark)"
	}
	a := d.along()
	top := draw.Panel{
		X: a.axis, Y: draw.Axis{Label: "right answers (%)", Zero: true},
		Series: d.series(a, metrics.Accuracy, "avg", "", inPercent),
	}
	r := d.Requests
	counted := func(i int) bool { return r.Answer[i] != "" && r.InWindow[i] }
	plain := func(why string) string { return words.Line(why) }
	others := d.stack(a, "not right (%)", func(i int) (string, bool) {
		return notRight(record.Answer(r.Answer[i]), r.AnswerWhy[i]), counted(i)
	}, plain)
	kinds := map[string]bool{}
	stops := d.stack(a, "finish reason (%)", func(i int) (string, bool) {
		if counted(i) {
			kinds[r.Finish[i]] = true
		}
		return r.Finish[i], counted(i)
	}, plain)
	if delete(kinds, ""); len(kinds) < 2 {
		stops.Series = nil
	}
	return a.above(top, others, stops), ""
}

// notRight is what became of an answer, in a legend; "" of a right one.
func notRight(a record.Answer, why string) string {
	switch {
	case a == record.Right || a == "":
		return ""
	case a == record.NotJudged && why == "":
		return "not judged"
	case a == record.NotJudged:
		return "not judged: " + why
	case why != "":
		return "wrong: " + why
	}
	return "wrong"
}
