package grade

import (
	"regexp"
	"strings"
)

// normal brings LaTeX to the form that texts are compared in, as the extractive match of
// lighteval does (its package latex2sympy2_extended): boxes are opened, units, dollars
// and spaces are dropped, commands have one spelling. Only the last box counts, and those
// close to it, where several may be those of different steps.
func normal(s string, lastOnly bool) string {
	s = unboxed(s, lastOnly)
	for _, r := range spellings {
		if strings.Contains(s, r.holds) {
			s = r.from.ReplaceAllString(s, r.to)
		}
	}
	s = oneLine.Replace(withoutQuotes(s))
	if strings.Contains(s, `\text`) || strings.Contains(s, `\mbox`) {
		if t := strip(unitText.ReplaceAllString(s, "")); t != "" {
			s = t
		}
	}
	for range 2 {
		if t := withoutUnit(s); t != "" {
			s = t
		}
	}
	if strings.HasPrefix(s, ".") {
		s = "0" + s
	}
	if s == "0.5" {
		s = `\frac{1}{2}`
	}
	return strip(slashed(fractions(roots(s))))
}

// spellings are rewritten where a text holds what they need, in this order.
var (
	spellings = []struct {
		holds string
		from  *regexp.Regexp
		to    string
	}{
		{"left", regexp.MustCompile(`\\m?left(\\[{}|]|[{}|\[\]()])`), "$1"},
		{"right", regexp.MustCompile(`\\m?right(\\[{}|]|[{}|\[\]()])`), "$1"},
		{"th}", regexp.MustCompile(`\\mathrm\{th\}`), ""},
		{`\!`, regexp.MustCompile(`\\!\s*`), ""},
		{"}", regexp.MustCompile(`\\text\s*\{\s*\}`), ""},
		{"$", regexp.MustCompile(`\\?\$`), ""},
		{"displ", regexp.MustCompile(`\\displaystyle`), ""},
		{`\math`, regexp.MustCompile(`\\math(?:rm|it|bf)`), `\text`},
		{`\text`, regexp.MustCompile(`\\text(?:normal|bf|it|rm)`), `\text`},
		{"frac", regexp.MustCompile(`\\[dtc]frac`), `\frac`},
		{".", regexp.MustCompile(`\s\.`), " 0."},
		{"{.", regexp.MustCompile(`\{\.`), "{0."},
		{"~=", regexp.MustCompile(`~=`), `\approx`},
		{",", regexp.MustCompile(`\s*\{\s*,\s*\}`), ","},
		{`\text`, regexp.MustCompile(`,?\s*\\text\{\s*(?:and|or)\s*\}`), ","},
		{"and", regexp.MustCompile(`,?\s*\band\b`), ","},
		{"or", regexp.MustCompile(`,?\s*\bor\b`), ","},
		{"ldots", regexp.MustCompile(`,?\\ldots`), " "},
		{"p", regexp.MustCompile(`\s*\b(?:percentage|percent|pct)\b`), `\%`},
		{`\text`, regexp.MustCompile(`\\text\{(?:percentage|percent|pct)\}`), "%"},
		{"infinity", regexp.MustCompile(`\binfinity\b`), `\infty`},
	}
	unitText = regexp.MustCompile(`\\(?:text|mbox)\{[^}]*\}(?:\^\d|\{\^\d\})?$`)
	unitWord = regexp.MustCompile(`([\d}\s])\s*(?:` + unitNames + `)(?:s|es)?\s*$`)
	oneLine  = strings.NewReplacer("\n", " ", "\t", " ")
)

// withoutUnit drops the unit at the end of a text, which ends with a letter or a full stop
// then.
func withoutUnit(s string) string {
	end := strings.TrimRightFunc(s, space)
	if end == "" || isDigit(end[len(end)-1]) || strings.ContainsRune("})]", rune(end[len(end)-1])) {
		return s
	}
	return unitWord.ReplaceAllString(s, "$1")
}

// withoutQuotes drops quotation marks, but for accents.
func withoutQuotes(s string) string {
	if !strings.ContainsAny(s, `'"`) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if (s[i] != '\'' && s[i] != '"') || i > 0 && s[i-1] == '\\' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// unboxed is what stands in the boxes of a text, with commas between; the text without
// boxes. Boxes are looked for from the end; with lastOnly one that is far from the next
// ends the search.
func unboxed(s string, lastOnly bool) string {
	var found []string
	end, next := len(s), -1
	for {
		i := max(strings.LastIndex(s[:end], box), strings.LastIndex(s[:end], `\fbox`))
		if i < 0 {
			break
		}
		at := i + len(`\fbox`)
		if strings.HasPrefix(s[i:], box) {
			at = i + len(box)
		}
		inside, behind, ok := braced(s[:end], at)
		if !ok {
			if len(found) == 0 {
				return strings.TrimLeftFunc(s[at:], space)
			}
			break
		}
		inside = strip(inside)
		if lastOnly && next >= 0 && !together(s[behind:max(behind, next)], inside, found[len(found)-1]) {
			break
		}
		if len(found) == 0 || found[len(found)-1] != inside {
			found = append(found, inside)
		}
		end, next = i, i
	}
	if len(found) == 0 {
		return s
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return strings.Join(found, ",")
}

var between = regexp.MustCompile(`\b(?:and|or)\b|,|;`)

// together reports whether two boxes, with a text between them, are one answer.
func together(text, one, other string) bool {
	return len(text) < 10 || one != other && len(text) < 70 && between.MatchString(text)
}

// fractions gives \frac its braces: \frac12 is \frac{1}{2}.
func fractions(s string) string {
	parts := strings.Split(s, `\frac`)
	out := parts[0]
	for _, p := range parts[1:] {
		p = strings.TrimLeftFunc(p, space)
		r := []rune(p)
		switch {
		case strings.HasPrefix(p, "{"):
			out += `\frac` + p
		case len(r) < 2:
			return s
		case r[1] == '{':
			out += `\frac{` + string(r[0]) + "}" + string(r[1:])
		default:
			out += `\frac{` + string(r[0]) + "}{" + string(r[1]) + "}" + string(r[2:])
		}
	}
	return out
}

var bareRoot = regexp.MustCompile(`\\sqrt\s*([^{\[\s])`)

// roots gives \sqrt its braces.
func roots(s string) string { return bareRoot.ReplaceAllString(s, `\sqrt{$1}`) }

var wholeFraction = regexp.MustCompile(`^(0|-?[1-9]\d*)/(0|-?[1-9]\d*)$`)

// slashed writes a/b of whole numbers as \frac{a}{b}.
func slashed(s string) string { return wholeFraction.ReplaceAllString(s, `\frac{$1}{$2}`) }
