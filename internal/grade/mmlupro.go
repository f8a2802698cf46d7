package grade

import "fmt"

// mmluPro looks for a letter from A to J: alone in the first line, behind "answer
// is", behind "answer:", then the last that stands alone.
var mmluPro = row{"mmlu_pro", pure(func(answer, truth string) Judgement {
	gold := strip(truth)
	l := letters{'J'}
	var h hit
	clean, found := false, false
	if line := strip(firstLine(answer)); l.bare(line) {
		h, clean, found = hit{letter: line}, true, true
	} else if h, clean = l.answerIs(answer); clean {
		found = true
	} else if h, found = l.answerColon(answer); !found {
		h, found = l.final(answer)
	}
	j := settle(h, found, answer, gold, l)
	j.Unparsed = !clean
	fallback := ""
	if j.Unparsed {
		fallback = " (fallback)"
	}
	j.Explanation = fmt.Sprintf("extracted '%s'%s; ground_truth '%s'; match=%s", h.letter, fallback, gold,
		title(j.Passed()))
	return j
})}
