package grade

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// letters finds the letter of a choice in an answer: those from A to last.
type letters struct{ last byte }

// hit is a letter that was found. Doubtful says that it may stand there for another
// reason: it begins a longer word, or is the English word "A" or "I".
type hit struct {
	letter   string
	doubtful bool
}

func (l letters) has(c byte) bool { return c >= 'A' && c <= l.last }

// bare is a text that is one letter and nothing else.
func (l letters) bare(s string) bool { return len(s) == 1 && l.has(s[0]) }

// answerIs is the last letter behind "answer is", in parentheses or not.
func (l letters) answerIs(s string) (hit, bool) {
	const phrase = "answer is "
	for end := len(s); ; {
		i := strings.LastIndex(s[:end], phrase)
		if i < 0 {
			return hit{}, false
		}
		at := i + len(phrase)
		if at < len(s) && s[at] == '(' {
			at++
		}
		if at < len(s) && l.has(s[at]) {
			return hit{s[at : at+1], wordAt(s, at+1)}, true
		}
		end = i
	}
}

// answerColon is the last letter behind "answer:" or "Answer:".
func (l letters) answerColon(s string) (hit, bool) {
	const phrase = "nswer:"
	for end := len(s); ; {
		i := strings.LastIndex(s[:end], phrase)
		if i < 0 {
			return hit{}, false
		}
		at := len(s) - len(strings.TrimLeftFunc(s[i+len(phrase):], space))
		if i > 0 && (s[i-1] == 'a' || s[i-1] == 'A') && at < len(s) && l.has(s[at]) {
			return hit{s[at : at+1], wordAt(s, at+1)}, true
		}
		end = i
	}
}

// first is the first letter that stands alone.
func (l letters) first(s string) (hit, bool) {
	for i := range len(s) {
		if l.alone(s, i) {
			return hit{s[i : i+1], isArticle(s, i)}, true
		}
	}
	return hit{}, false
}

// final is the last letter that stands alone.
func (l letters) final(s string) (hit, bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if l.alone(s, i) {
			return hit{s[i : i+1], isArticle(s, i)}, true
		}
	}
	return hit{}, false
}

func (l letters) alone(s string, i int) bool {
	return l.has(s[i]) && !wordBefore(s, i) && !wordAt(s, i+1)
}

// isArticle reports whether the letter at i reads as a word of a sentence: "A cat",
// "I am".
func isArticle(s string, i int) bool {
	if s[i] != 'A' && s[i] != 'I' || i+2 >= len(s) || s[i+1] != ' ' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[i+2:])
	return unicode.IsLower(r)
}

// settle gives a found letter its judgement.
func settle(h hit, found bool, answer, truth string, choices letters) Judgement {
	j := judged(h.letter == truth && truth != "")
	j.Expected, j.Actual = truth, h.letter
	switch {
	case !choices.bare(truth):
		j.doubt(BadTruth)
	case strip(answer) == "":
		j.doubt(Empty)
	case !found || h.doubtful:
		j.doubt(NotParsed)
	}
	return j
}
