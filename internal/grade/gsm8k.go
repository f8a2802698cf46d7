package grade

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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

// behindMark is the first number behind "#### ".
func behindMark(s string) string {
	const mark = "#### "
	for {
		_, rest, ok := strings.Cut(s, mark)
		if !ok {
			return unreadable
		}
		n := len(rest) - len(strings.TrimLeft(strings.TrimPrefix(rest, "-"), "0123456789.,"))
		if strings.Trim(rest[:n], "-") != "" {
			return strings.ReplaceAll(rest[:n], ",", "")
		}
		s = rest
	}
}

// lastNumber is the last number of a text. Numbers are found from the left, so that
// "10-3" holds 10 and -3.
func lastNumber(s string) string {
	last := unreadable
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			continue
		}
		from := i
		if i > 0 && s[i-1] == '-' {
			from--
		}
		for i < len(s) && (isDigit(s[i]) || s[i] == ',') {
			i++
		}
		if i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
			for i++; i < len(s) && isDigit(s[i]); i++ {
			}
		}
		last = s[from:i]
		i--
	}
	return strings.ReplaceAll(last, ",", "")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// sameNumber compares as floats within 1e-6, or as texts where one is no number.
func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return a == b
	}
	return math.Abs(x-y) < 1e-6
}
