package grade

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/grade/algebra"
)

// The extractive match of lighteval: an answer is looked for where it should stand,
// then where it may stand. All places of one priority are tried from the end of the
// text; the first that can be read is taken.

// span is a place where an answer may stand.
type span struct {
	from, to int
	latex    []string // contents of environments that are one answer, the first one at least
	percents []bool
	boxed    bool   // the content runs to the last brace of the text
	number   string // of an expression as people type: a number with its decimals,
	formula  string // or digits and operators
	percent  bool
}

// maxLook bounds the part of a text, at its end, that is looked at; maxAnchors the
// phrases that lead to an answer.
const (
	maxLook    = 64 << 10
	maxAnchors = 100
	maxContent = 4 << 10
)

// ending is the last part of a long text.
func ending(s string) string {
	if len(s) <= maxLook {
		return s
	}
	s = s[len(s)-maxLook:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

// finder looks for answers of some forms in a text.
type finder struct {
	text       string
	latex      bool
	expression bool
	boxAt      int // priority of boxes
}

// extracted is what was found: the first place that could be read, and the first text,
// which may not have been.
type extracted struct {
	value *algebra.Expr
	text  string
}

// find looks for an answer, from the best priority to the worst.
func (f finder) find() extracted {
	var e extracted
	f.text = ending(f.text)
	for _, priority := range []int{0, 50, 55, 100, 200, 300} {
		spans := f.at(priority)
		slices.SortStableFunc(spans, func(a, b span) int {
			return cmp.Or(cmp.Compare(b.to, a.to), cmp.Compare(a.from, b.from))
		})
		for i, s := range spans {
			if i == maxAnchors {
				break
			}
			value, text := s.read()
			e.text = cmp.Or(e.text, text)
			if value != nil {
				e.value = value
				return e
			}
		}
	}
	return e
}

// at are the places of a priority.
func (f finder) at(priority int) (spans []span) {
	if f.latex {
		spans = f.latexAt(priority)
		if priority == f.boxAt {
			spans = append(append(spans, f.boxes()...), f.lastBox()...)
		}
	}
	if f.expression {
		spans = append(spans, f.expressionsAt(priority)...)
	}
	return spans
}

var (
	finalIs     = regexp.MustCompile(`(?i:final answer is):?\s*`)
	finalIsThen = regexp.MustCompile(`(?i:final answer is):?`)
	finalThenIs = regexp.MustCompile(`(?is:final answer.{0,100}?)\s+is:?`)
	hope        = regexp.MustCompile(`^\.?\s?I hope`)
	answerColon = regexp.MustCompile(`(?i:answer)\s?:`)
	answerWord  = regexp.MustCompile(`(?i:answer)`)
)

// anchors are the last places that a phrase matches: where it begins and ends.
func anchors(re *regexp.Regexp, s string) [][]int {
	if !strings.Contains(s, "nswer") && !strings.Contains(s, "NSWER") {
		return nil // all of them hold the word
	}
	all := re.FindAllStringIndex(s, -1)
	return all[max(0, len(all)-maxAnchors):]
}

// behind gives the places that start reads behind a phrase, at most n characters on.
func (f finder) behind(phrase *regexp.Regexp, n int, line bool, start func(i int) (span, bool)) (spans []span) {
	for _, a := range anchors(phrase, f.text) {
		if s, ok := f.within(a[1], n, line, start); ok {
			s.from = a[0]
			spans = append(spans, s)
		}
	}
	return spans
}

// within is the first place that start reads from i on, at most n characters behind it,
// of the same line maybe.
func (f finder) within(i, n int, line bool, start func(i int) (span, bool)) (span, bool) {
	for range n + 1 {
		if s, ok := start(i); ok {
			return s, true
		}
		if i >= len(f.text) || line && f.text[i] == '\n' {
			break
		}
		_, width := utf8.DecodeRuneInString(f.text[i:])
		i += width
	}
	return span{}, false
}

func (f finder) latexAt(priority int) (spans []span) {
	start := func(i int) (span, bool) { return f.environments(i, false) }
	switch priority {
	case 0:
		return slices.DeleteFunc(f.behind(finalIs, 0, false, start), func(s span) bool { return !f.hopes(s) })
	case 50:
		return f.behind(finalThenIs, 0, false, func(i int) (span, bool) {
			return start(len(f.text) - len(strings.TrimLeftFunc(f.text[i:], space)))
		})
	case 100:
		return f.behind(answerColon, 50, false, start)
	case 200:
		return f.behind(answerWord, 50, false, start)
	case 300:
		return f.everywhere(false)
	}
	return nil
}

// hopes reports whether "I hope" stands behind a place.
func (f finder) hopes(s span) bool { return hope.MatchString(f.text[s.to:]) }

// everywhere are all environments of the text.
func (f finder) everywhere(boxed bool) (spans []span) {
	for i := 0; i < len(f.text); i++ {
		switch f.text[i] {
		case '$', '\\', '-', ' ', '\n', '\t':
			if s, ok := f.environments(i, boxed); ok {
				spans = append(spans, s)
				i = s.to - 1
			}
		}
	}
	return spans
}

func (f finder) boxes() []span {
	if !strings.Contains(f.text, box+"{") {
		return nil
	}
	return f.everywhere(true)
}

// lastBox runs from the first box to the last brace: where a box ends cannot be told
// before it is read.
func (f finder) lastBox() []span {
	from, to := strings.Index(f.text, box+"{"), strings.LastIndex(f.text, "}")
	if from < 0 || to <= from+len(box+"{") {
		return nil
	}
	return []span{{from: from, to: to + 1, latex: []string{f.text[from : to+1]}, percents: []bool{false}, boxed: true}}
}

var (
	percentSign = regexp.MustCompile(`^\s*(?:\\?%|[Pp]ercentage|[Pp]ercent|[Pp]ct)`)
	connected   = regexp.MustCompile(`^\s*(?:and|or|,)\s*`)
	plainFrac   = regexp.MustCompile(`^-?\\frac\{-?\d+(?:[.,]\d+)?\}\{-?\d+(?:[.,]\d+)?\}`)
)

// environments reads up to six environments that begin at i, with "and", "or" or a comma
// between them.
func (f finder) environments(i int, boxed bool) (span, bool) {
	s := span{from: i, to: i}
	for n := range 6 {
		at := s.to
		if n > 0 {
			m := connected.FindString(f.text[at:min(len(f.text), at+100)])
			if m == "" {
				break
			}
			at += len(m)
		}
		content, end, ok := f.environment(at, boxed)
		if !ok {
			break
		}
		s.to = end
		percent := percentSign.FindString(f.text[end:min(len(f.text), end+100)])
		s.to += len(percent)
		s.latex, s.percents = append(s.latex, content), append(s.percents, percent != "")
	}
	return s, len(s.latex) > 0
}

// environment is the content of the environment at i, and where it ends.
func (f finder) environment(i int, boxed bool) (content string, end int, ok bool) {
	s := f.text
	before := byte(0)
	if i > 0 {
		before = s[i-1]
	}
	within := func(open, closed, not string) bool {
		if !strings.HasPrefix(s[i:], open) {
			return false
		}
		from := i + len(open)
		n := strings.Index(s[from:min(len(s), from+maxContent)], closed)
		if n < 1 || strings.ContainsAny(s[from:from+n], not) {
			return false
		}
		content, end = s[from:from+n], from+n+len(closed)
		return !boxed || hasBox(content)
	}
	switch {
	case i >= len(s):
	case s[i] == '$' && before != '\\':
		if within("$$", "$$", "") && !strings.HasSuffix(content, `\`) {
			return content, end, true
		}
		return f.inline(i, before, boxed)
	case s[i] == '\\' && before != '\\':
		ok = within(`\[`, `\]`, "") || within(`\(`, `\)`, "\n")
		if ok && !strings.HasSuffix(content, `\`) {
			return content, end, true
		}
	case space(rune(s[i])) && i+1 < len(s) && s[i+1] == '[':
		i++
		if within("[", "]", "\n[") && end < len(s) && space(rune(s[end])) {
			return content, end + 1, true
		}
		i--
	}
	if m := plainFrac.FindString(s[min(i, len(s)):min(len(s), i+100)]); m != "" && !boxed {
		return m, i + len(m), true
	}
	return "", 0, false
}

// inline is what stands between two single dollars of one line.
func (f finder) inline(i int, before byte, boxed bool) (string, int, bool) {
	if before >= '0' && before <= '9' {
		return "", 0, false
	}
	rest := f.text[i+1 : min(len(f.text), i+1+maxContent)]
	for j := 0; j < len(rest) && rest[j] != '\n'; j++ {
		if rest[j] != '$' || j > 0 && rest[j-1] == '\\' {
			continue
		}
		if j == 0 || boxed && !hasBox(rest[:j]) {
			return "", 0, false
		}
		return rest[:j], i + 1 + j + 1, true
	}
	return "", 0, false
}

// hasBox reports whether a content holds a box that is not empty.
func hasBox(s string) bool {
	_, behind, ok := strings.Cut(s, box+"{")
	return ok && strings.LastIndexByte(behind, '}') > 0
}

var (
	numberBody  = regexp.MustCompile(`^[$€£¥₹₽₪₩₫฿]?(?:(-?\d{1,3}(?:[ ,]\d{3})+)(\.\d+)?|(-?\d+)([.,]\d+)|(\.\d+)|(-?\d+))(\s*(?:%|[Pp]ercent|\s*[Pp]ercentage|\s*[Pp]ct))?`)
	formulaBody = regexp.MustCompile(`^(-?\(?-?\d[\d.\s+\-*×/^()÷]*[+\-*×/^()÷][\d.\s+\-*×/^()÷]+\)?)(?:\*\*)?(?:[.,]|\s?:|\s|\)|\$|$)`)
	notEquals   = regexp.MustCompile(`^\s*=`)
)

// maxFormula bounds a formula in bytes.
const maxFormula = 400

// expressionAt reads a formula or a number whose mark, a space or "=", stands at i.
func (f finder) expressionAt(i int, formulas, numbers bool) (span, bool) {
	at := i
	if i > 0 || i < len(f.text) && (space(rune(f.text[i])) || f.text[i] == '=') {
		if i >= len(f.text) || !space(rune(f.text[i])) && f.text[i] != '=' {
			return span{}, false
		}
		at++
	}
	if strings.HasPrefix(f.text[at:], "**") {
		at += 2
	}
	rest := f.text[at:min(len(f.text), at+maxFormula)]
	if formulas && hasOperator(rest) {
		if m := formulaBody.FindStringSubmatchIndex(rest); m != nil {
			return span{from: i, to: at + m[1], formula: rest[:m[3]]}, true
		}
	}
	if m := numberBody.FindStringSubmatch(rest); m != nil && numbers {
		return span{
			from: i, to: at + len(m[0]), percent: m[7] != "",
			number: wholePart(m[1]+m[3]+m[6]) + strings.ReplaceAll(m[2]+m[4]+m[5], ",", "."),
		}, true
	}
	return span{}, false
}

// hasOperator reports whether an operator stands among the digits that a text begins
// with: what else could begin a formula is not tried.
func hasOperator(s string) bool {
	for i, r := range s {
		if strings.ContainsRune("+*×/^)÷", r) || i > 0 && strings.ContainsRune("-(", r) {
			return true
		}
		if (r < '0' || r > '9') && r != '.' && r != '-' && r != '(' && !space(r) {
			return false
		}
	}
	return false
}

// wholePart is an integer without separators and leading zeros.
func wholePart(s string) string {
	if strings.ContainsAny(s, ", ") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, ",", ""), " ", "")
	}
	return cmp.Or(strings.TrimLeft(s, "0"), "0")
}

func (f finder) expressionsAt(priority int) (spans []span) {
	start := func(i int) (span, bool) { return f.expressionAt(i, true, true) }
	free := func(i int) (span, bool) {
		s, ok := start(i)
		return s, ok && !notEquals.MatchString(f.text[s.to:])
	}
	switch priority {
	case 0:
		return slices.DeleteFunc(f.behind(finalIsThen, 0, true, start),
			func(s span) bool { return !f.hopes(s) })
	case 50:
		return f.behind(finalThenIs, 0, true, start)
	case 100:
		return f.answers(answerColon, free)
	case 200:
		return f.answers(answerWord, free)
	case 300:
		return append(f.scan(true), f.scan(false)...)
	}
	return nil
}

// answers reads behind the last "=" of a hundred characters, else within fifty.
func (f finder) answers(phrase *regexp.Regexp, start func(i int) (span, bool)) (spans []span) {
	for _, a := range anchors(phrase, f.text) {
		if s, ok := f.afterEquals(a[1], start); ok {
			s.from = a[0]
			spans = append(spans, s)
			continue
		}
		if s, ok := f.within(a[1], 50, true, start); ok {
			s.from = a[0]
			spans = append(spans, s)
		}
	}
	return spans
}

func (f finder) afterEquals(from int, start func(i int) (span, bool)) (span, bool) {
	line, _, _ := strings.Cut(f.text[from:min(len(f.text), from+101)], "\n")
	for end := len(line); ; {
		i := strings.LastIndexByte(line[:end], '=')
		if i < 0 {
			return span{}, false
		}
		at := from + i + 1
		last := len(f.text) - len(strings.TrimLeftFunc(f.text[at:], space))
		if last > at { // the space before a number belongs to it
			if s, ok := start(last - 1); ok {
				return s, true
			}
		} else if s, ok := start(at); ok {
			return s, true
		}
		end = i
	}
}

// scan finds all formulas, or all numbers, from the left.
func (f finder) scan(formulas bool) (spans []span) {
	for i := 0; i < len(f.text); i++ {
		if c := f.text[i]; i > 0 && c != '=' && !space(rune(c)) {
			continue
		}
		if s, ok := f.expressionAt(i, formulas, !formulas); ok {
			spans = append(spans, s)
			i = max(i, s.to-1)
		}
	}
	return spans
}

// unpythonic are formulas that Python does not read: signs that it has not, factors side
// by side, a number with two points.
var unpythonic = regexp.MustCompile(`[×÷]|[\d).]\s+[\d(]|\d\(|\)[\d(]|\.\d+\.`)

// read gives what stands at a place, and its text.
func (s span) read() (*algebra.Expr, string) {
	switch {
	case s.number != "":
		text := s.number
		if s.percent {
			text += "%"
		}
		value, _ := algebra.Parse(text)
		return value, s.number
	case s.formula != "":
		if unpythonic.MatchString(s.formula) {
			return nil, s.formula
		}
		value, _ := algebra.Parse(s.formula)
		return value, s.formula
	}
	return s.readLatex()
}

func (s span) readLatex() (*algebra.Expr, string) {
	values := make([]*algebra.Expr, len(s.latex))
	texts := make([]string, len(s.latex))
	whole := true
	for i, content := range s.latex {
		texts[i] = normal(content, s.boxed)
		v, err := algebra.Parse(texts[i])
		if whole = whole && err == nil; err != nil {
			continue
		}
		if values[i] = v; s.percents[i] {
			values[i] = algebra.Percent(v)
		}
	}
	if whole && len(values) > 1 {
		return algebra.List(values...), strings.Join(texts, " and ")
	}
	return values[0], texts[0]
}
