package grade

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	marked     = regexp.MustCompile(`#### (-?[0-9.,]+)`)
	anyNumbers = regexp.MustCompile(`-?[0-9][0-9,]*(?:\.[0-9]+)?`)
)

// unreadable is what AIPerf's gsm8k grader says where there is no number.
const unreadable = "[invalid]"

// lightevalGSM8K compares the number behind "####", or the last one of an answer
// without that mark.
var lightevalGSM8K = row{"lighteval_gsm8k", pure(func(answer, truth string) Judgement {
	gold, pred, how := behindMark(truth), behindMark(answer), ""
	if pred == unreadable {
		if pred = lastNumber(answer); pred == unreadable {
			how = " (no number in response)"
		} else {
			how = " (no #### marker; used last-number fallback)"
		}
	}
	j := judged(gold != unreadable && pred != unreadable && sameNumber(gold, pred))
	j.Unparsed = how != ""
	j.Expected, j.Actual = gold, pred
	j.Explanation = fmt.Sprintf("gsm8k quasi-exact-match: gold '%s' vs pred '%s'; match=%s%s", gold, pred,
		title(j.Passed()), how)
	switch {
	case gold == unreadable:
		j.doubt(BadTruth)
	case strip(answer) == "":
		j.doubt(Empty)
	case pred == unreadable:
		j.doubt(NotParsed)
	}
	return j
})}

func behindMark(s string) string {
	m := marked.FindStringSubmatch(s)
	if m == nil {
		return unreadable
	}
	return strings.ReplaceAll(m[1], ",", "")
}

// lastNumber is the last number of a text. Numbers are found from the left, so that
// "10-3" holds 10 and -3.
func lastNumber(s string) string {
	last := unreadable
	for at := 0; ; {
		m := anyNumbers.FindStringIndex(s[at:])
		if m == nil {
			return strings.ReplaceAll(last, ",", "")
		}
		last = s[at+m[0] : at+m[1]]
		at += m[1]
	}
}

// sameNumber compares as floats within 1e-6, or as texts where one is no number.
func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return a == b
	}
	return math.Abs(x-y) < 1e-6
}
