package grade

import (
	"regexp"
	"slices"
)

// lightevalGPQA looks for a letter from A to D where an answer stands: behind "answer", at
// the beginning of the text, or of a line.
var lightevalGPQA = row{"lighteval_gpqa", pure(func(answer, truth string) Judgement {
	gold, found := strip(truth), letterOf(ending(answer))
	if !(letters{'D'}).bare(gold) {
		return Judgement{
			Reason: BadTruth, Unparsed: true, Expected: truth, Actual: answer,
			Explanation: "lighteval LightevalGPQAGrader: score=None (threshold 0.5) (raised exception)",
		}
	}
	j := judged(found == gold)
	j.Expected, j.Actual = truth, answer
	j.Explanation = explained("GPQA", j)
	switch {
	case strip(answer) == "":
		j.doubt(Empty)
	case found == "":
		j.doubt(NotParsed)
	}
	return j
})}

// letterPatterns are where a letter is looked for, the best place first. Those of one
// place are tried from the end of the text.
var letterPatterns = func() []*regexp.Regexp {
	const (
		letter = `(?:([A-D])|\(([A-D])\))`
		suffix = `(?:\*\*)?(?:[.,]|\s?:| |\n?\z)`
		alone  = `(?:\A| )(?:\*\*)?` + letter + suffix
	)
	var out []*regexp.Regexp
	for _, p := range []string{
		`(?i:final answer is):?\s*` + letter + `\.?\s?I hope`,
		`(?i:final answer.{0,100}?)\s+is:?\s*` + letter,
		`(?i:answer)\s?:.{0,50}?` + alone,
		`(?i:answer).{0,50}?` + alone,
		`\A(?:\*\*)?` + letter + suffix,
		`\n(?:\*\*)?` + letter + suffix,
	} {
		out = append(out, regexp.MustCompile(p))
	}
	return out
}()

// letterOf is the letter of an answer, "" for none.
func letterOf(s string) string {
	for _, re := range letterPatterns {
		all := re.FindAllStringSubmatch(s, -1)
		if len(all) > 0 {
			m := all[len(all)-1]
			return slices.Max(m[1:3]) // one of both is empty
		}
	}
	return ""
}
