package grade

import "fmt"

// exactMatch compares texts without white space around them, byte by byte.
var exactMatch = row{"exact_match", pure(func(answer, truth string) Judgement {
	pred, gold := strip(answer), strip(truth)
	j := judged(pred == gold && pred != "")
	j.Unparsed = pred == "" && gold != ""
	j.Expected, j.Actual = gold, pred
	j.Explanation = fmt.Sprintf("strict equality: stripped pred '%s' vs gold '%s'; match=%s", pred, gold,
		title(j.Passed()))
	switch {
	case pred == "":
		j.doubt(Empty)
	case gold == "":
		j.doubt(BadTruth)
	}
	if j.Unparsed {
		j.Explanation += " (empty response)"
	}
	return j
})}
