package grade

import "fmt"

// multipleChoice looks for a letter from A to D: alone in the first line, behind
// "answer is", behind "answer:", then any that stands alone.
var multipleChoice = row{"multiple_choice", pure(func(answer, truth string) Judgement {
	gold := strip(truth)
	h, clean, found := chosen(answer)
	j := settle(h, found, answer, gold, letters{'D'})
	j.Unparsed = !clean
	fallback := ""
	if j.Unparsed {
		fallback = " (regex fallback)"
	}
	j.Explanation = fmt.Sprintf("first-line-of-response extracted to '%s'%s; ground_truth stripped to '%s'; match=%s",
		h.letter, fallback, gold, title(j.Passed()))
	return j
})}

// chosen is the letter of an answer, whether it stood where it was asked for, and
// whether there was one. Without one it is the first line, as AIPerf has it.
func chosen(answer string) (h hit, clean, found bool) {
	l := letters{'D'}
	line := strip(firstLine(answer))
	if l.bare(line) {
		return hit{letter: line}, true, true
	}
	if h, ok := l.answerIs(answer); ok {
		return h, true, true
	}
	for _, look := range []func() (hit, bool){
		func() (hit, bool) { return l.answerColon(answer) },
		func() (hit, bool) { return l.first(line) },
		func() (hit, bool) { return l.final(answer) },
	} {
		if h, ok := look(); ok {
			return h, false, true
		}
	}
	return hit{letter: line}, false, false
}
