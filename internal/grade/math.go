package grade

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/grade/algebra"
)

// mathEquality compares a mathematical answer: the last box, what follows a phrase such
// as "the answer is", or the last number.
var mathEquality = row{"math", pure(func(answer, truth string) Judgement {
	found, how := mathAnswer(ending(answer))
	gold := strip(truth)
	pred, ref, verdict := found, gold, algebra.Unknown
	if len(found) <= maxContent && len(gold) <= maxContent {
		pred, ref = stripped(found), stripped(gold)
		verdict = mathEqual(pred, ref, 0)
	}
	// AIPerf takes "is: $5$" for the answer in "the final answer is: $5$", and knows no \[ \]
	theirs := verdict == algebra.Same && (how == inBox || !display.MatchString(found) || strings.EqualFold(pred, ref))
	if how == byPhrase && len(found) <= maxContent && len(gold) <= maxContent {
		if plain := afterPhrase(found); verdict != algebra.Same && plain != found {
			verdict = mathEqual(stripped(plain), ref, 0)
		}
	}
	j := judged(verdict == algebra.Same)
	if !theirs {
		j.Confidence = 0
	}
	j.Expected, j.Actual, j.Unparsed = gold, found, how != inBox
	fallback := ""
	if j.Unparsed {
		fallback = " (regex fallback)"
	}
	j.Explanation = fmt.Sprintf(
		"extracted '%s' (stripped '%s'); ground_truth '%s' (stripped '%s'); compared via math_equal; match=%s%s",
		found, pred, gold, ref, title(j.Passed()), fallback)
	switch {
	case gold == "":
		j.doubt(BadTruth)
	case strip(answer) == "":
		j.doubt(Empty)
	case verdict == algebra.Same:
	case how == asText:
		j.doubt(NotParsed)
	case verdict == algebra.Unknown:
		j.doubt(CannotCompare)
	}
	return j
})}

// How an answer was found.
const (
	inBox = iota
	byPhrase
	asNumber
	asText
)

var (
	phrase     = regexp.MustCompile(`(?i:final\s+answer|the\s+answer\s+is|answer\s*[:=]|answer\s+is)\s*[:=]?\s*`)
	leadIn     = regexp.MustCompile(`^\s*(?:is\b)?\s*[:=]?\s*`)
	display    = regexp.MustCompile(`\\[\[\]]`)
	boxIndent  = regexp.MustCompile(`\n\s*`)
	mathNumber = regexp.MustCompile(`-?\d+(?:\.\d+)?(?:/\d+)?`)
)

// mathAnswer is the answer in a text, and how it was found.
func mathAnswer(s string) (string, int) {
	if inside, ok := lastBoxed(s); ok {
		inside = boxIndent.ReplaceAllString(inside, "")
		inside = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(inside, ":"), "."), "/")
		return strip(inside), inBox
	}
	if rest, ok := lastPhrase(s); ok {
		if m := lastOf(mathNumber, rest); m != "" && !strings.ContainsAny(rest, `\{}`) {
			return m, byPhrase
		}
		if rest != "" {
			return rest, byPhrase
		}
	}
	if m := lastOf(mathNumber, s); m != "" {
		return m, asNumber
	}
	return strip(s), asText
}

// lastPhrase is what stands behind the last phrase that announces an answer, up to the end of
// its line or a full stop with no digit on either side. A phrase in it announces nothing.
func lastPhrase(s string) (rest string, ok bool) {
	for at := 0; ; {
		m := phrase.FindStringIndex(s[at:])
		if m == nil || at+m[1] == len(s) {
			return rest, ok
		}
		from := at + m[1]
		line := firstLine(s[from:])
		end := len(line)
		for i := 1; i < len(line); i++ {
			if line[i] == '.' && !isDigit(line[i-1]) && (i+1 == len(line) || !isDigit(line[i+1])) {
				end = i
				break
			}
		}
		rest, ok = strip(line[:end]), true
		at = from + end
	}
}

// afterPhrase is an answer without the words that lead to it, and without what follows its
// sentence.
func afterPhrase(s string) string {
	s = s[len(leadIn.FindString(s)):]
	for i := range len(s) {
		if s[i] == '.' && (i+1 == len(s) || !isDigit(s[i+1])) {
			s = s[:i]
			break
		}
	}
	s = strip(display.ReplaceAllString(s, ""))
	if m := lastOf(mathNumber, s); m != "" && !strings.ContainsAny(s, `\{}`) {
		return m
	}
	return s
}

func lastOf(re *regexp.Regexp, s string) string {
	all := re.FindAllString(s, -1)
	if all == nil {
		return ""
	}
	return all[len(all)-1]
}

var (
	loneChoice   = regexp.MustCompile(`\b[A-E]\b`)
	choicePrefix = regexp.MustCompile(`^(?:\([A-E]\)|\*\*[A-E]\*\*|[A-E][.):])\s*(.+)$`)
)

var withoutBrackets = strings.NewReplacer("{", "", "}", "", "(", "", ")", "")

// mathEqual compares two answers in their stripped form; the first rule that applies
// decides.
func mathEqual(pred, ref string, depth int) algebra.Verdict {
	if strings.EqualFold(strip(pred), strip(ref)) && ref != "" {
		return algebra.Same
	}
	if pred == "" || ref == "" {
		return algebra.Different
	}
	if len(ref) == 1 && ref[0] >= 'A' && ref[0] <= 'E' && lastOf(loneChoice, strings.ToUpper(pred)) == ref {
		return algebra.Same
	}
	if m := choicePrefix.FindStringSubmatch(pred); m != nil && depth < 5 {
		if v := mathEqual(m[1], ref, depth+1); v == algebra.Same {
			return v
		}
	}
	if sameLists(pred, ref, depth) {
		return algebra.Same
	}
	x, okX := plainNumber(pred)
	y, okY := plainNumber(ref)
	if okX && okY {
		for _, scale := range []float64{0.01, 1, 100} {
			if math.Abs(x-y*scale) <= 1e-4 {
				return algebra.Same
			}
		}
		return algebra.Different
	}
	if strings.EqualFold(withoutBrackets.Replace(pred), withoutBrackets.Replace(ref)) {
		return algebra.Same
	}
	v := symbolic(pred, ref)
	if v == algebra.Different && depth < 5 && (sameButWord(pred, ref, depth) || sameButWord(ref, pred, depth)) {
		return algebra.Unknown
	}
	return v
}

// trailingWord is a word behind a number, which may be a unit that nobody listed.
var trailingWord = regexp.MustCompile(`^(.*[\d})])([A-Za-z]{2,})$`)

func sameButWord(long, short string, depth int) bool {
	m := trailingWord.FindStringSubmatch(long)
	return m != nil && mathEqual(m[1], short, depth+5) == algebra.Same
}

func symbolic(pred, ref string) algebra.Verdict {
	a, errA := algebra.Parse(ref)
	b, errB := algebra.Parse(pred)
	if errA != nil || errB != nil {
		return algebra.Unknown
	}
	return algebra.Rule{Close: 1e-4}.Compare(a, b)
}

// sameLists compares the elements of two lists with commas, sorted.
func sameLists(pred, ref string, depth int) bool {
	if !strings.Contains(pred, ",") || !strings.Contains(ref, ",") || depth >= 5 {
		return false
	}
	a, b := strings.Split(pred, ","), strings.Split(ref, ",")
	if len(a) != len(b) || len(a) > maxAnchors {
		return false
	}
	slices.Sort(a)
	slices.Sort(b)
	for i := range a {
		if mathEqual(a[i], b[i], depth+5) != algebra.Same {
			return false
		}
	}
	return true
}

// plainNumber is a number with commas between thousands, and a percent sign.
func plainNumber(s string) (float64, bool) {
	s = strings.ReplaceAll(strip(s), ",", "")
	scale := 1.0
	if t, ok := strings.CutSuffix(s, "%"); ok {
		s, scale = strings.TrimSuffix(t, `\`), 100
	}
	if !decimalText.MatchString(s) {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v / scale, err == nil
}

var decimalText = regexp.MustCompile(`^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$`)
