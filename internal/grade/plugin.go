package grade

import (
	"fmt"
	"strings"
)

// Plugin is the grader that asks a program of the user's.
const Plugin = "plugin"

// NoProgram is why nothing is judged where the experiment names no program.
const NoProgram = "no plug-in: accuracy.plugin names one"

// byProgram asks a program.
var byProgram = row{Plugin, func(o Options) Grader {
	return function(func(answer, truth string) Judgement {
		if o.Ask == nil {
			return Judgement{Reason: NoProgram, Expected: truth}
		}
		return asked(o.Ask, answer, truth)
	})
}}

// verdict is what a program says of an answer.
type verdict struct {
	Outcome  string `json:"outcome"` // right, wrong, not_judged
	Reason   string `json:"reason"`
	Actual   string `json:"actual"` // what it took from the answer
	Unparsed bool   `json:"unparsed"`
}

// asked is what a program says. One that fails judges nothing, and says why.
func asked(ask func(question map[string]any, answer any) error, answer, truth string) Judgement {
	var v verdict
	err := ask(map[string]any{"grade": map[string]string{"answer": answer, "truth": truth}}, &v)
	j := Judgement{Expected: truth, Actual: v.Actual, Unparsed: v.Unparsed, Reason: v.Reason}
	switch {
	case err != nil:
		j.Reason = err.Error()
	case v.Outcome == "right":
		j.Outcome, j.Confidence = Right, 1
	case v.Outcome == "wrong":
		j.Outcome = Wrong
	case strings.ReplaceAll(v.Outcome, " ", "_") != "not_judged":
		j.Reason = fmt.Sprintf("the plug-in said %.40q, which is not right, wrong or not_judged", v.Outcome)
	case j.Reason == "":
		j.Reason = "the plug-in judged nothing"
	}
	j.Explanation = fmt.Sprintf("plug-in: %s", j.Outcome)
	return j
}
