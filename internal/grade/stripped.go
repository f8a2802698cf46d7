package grade

import (
	"regexp"
	"strings"
)

// stripped brings an answer to the form that math_equal compares: the rewrites of
// Hendrycks' strip_string, as ToRA has them, in their order.
func stripped(s string) string {
	s = strings.TrimRight(strings.ReplaceAll(strip(s), "\n", ""), ".")
	s = strings.ReplaceAll(s, `\!`, "")
	s = arrayBegin.ReplaceAllString(s, `\begin{pmatrix}`)
	s = oneSpelling.Replace(s)
	if t := strip(trailingText.ReplaceAllString(s, "")); t != "" {
		s = t
	}
	s = withoutUnits(s)
	s = withoutSigns.Replace(s)
	s = textCommand.ReplaceAllString(s, "$1")
	for _, lead := range []string{"x", "y", "z"} {
		s = strings.ReplaceAll(s, lead+"=", "")
	}
	for _, by := range []string{`\in`, `\to`} {
		for _, lead := range []string{"x", "y", "z"} {
			s = strings.ReplaceAll(s, lead+by, "")
		}
	}
	s = strings.ReplaceAll(s, `\emptyset`, "{}")
	s = strings.ReplaceAll(s, `(-\infty,\infty)`, `\mathbb{R}`)
	s = withoutPercent.Replace(s)
	s = months.ReplaceAllString(s, "")
	s = strings.ReplaceAll(strings.ReplaceAll(s, " .", " 0."), "{.", "{0.")
	s = strings.ReplaceAll(s, "infinity", `\infty`)
	if !strings.Contains(s, `\infty`) {
		s = strings.ReplaceAll(s, "inf", `\infty`)
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "and", ""), `\mathbf`, "")
	s = mboxCommand.ReplaceAllString(s, "")
	if strings.Contains(s, "j") && !strings.Contains(s, "i") {
		s = strings.ReplaceAll(s, "j", "i")
	}
	s = zeros.ReplaceAllString(s, "$1$2")
	if s = strings.TrimLeftFunc(s, space); strings.HasPrefix(s, ".") {
		s = "0" + s
	}
	if left, right, ok := strings.Cut(s, "="); ok && !strings.Contains(right, "=") && len(left) <= 2 {
		s = right
	}
	s = rootOfWord.ReplaceAllString(s, `\sqrt{$1}`)
	return slashedRoots(fractions(strings.ReplaceAll(s, " ", "")))
}

var (
	arrayBegin   = regexp.MustCompile(`\\begin\{array\}\{[^}]*\}`)
	trailingText = regexp.MustCompile(`\\text\{.*?\}$`)
	textCommand  = regexp.MustCompile(`\\text\{(.*?)\}`)
	mboxCommand  = regexp.MustCompile(`\\mbox\{.*?\}`)
	zeros        = regexp.MustCompile(`(\d+)\.0*([^\d]|$)`)
	rootOfWord   = regexp.MustCompile(`\\sqrt(\w+)`)
	months       = regexp.MustCompile(`\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b`)
	oneSpelling  = strings.NewReplacer(`\end{array}`, `\end{pmatrix}`, "bmatrix", "pmatrix", "tfrac", "frac", "dfrac", "frac",
		`\neq`, `\ne`, `\leq`, `\le`, `\geq`, `\ge`, `\left`, "", `\right`, "", `\{`, "{", `\}`, "}")
	withoutPercent = strings.NewReplacer(`\%`, "", "%", "")
	withoutSigns   = strings.NewReplacer(`^{\circ}`, "", `^\circ`, "", `\$`, "", "$", "", `\(`, "", `\)`, "")
	rootFraction   = regexp.MustCompile(`^([^/]*)/([^/]*)$`)
)

// slashedRoots writes a/b of whole numbers, or of roots, as \frac{a}{b}.
func slashedRoots(s string) string {
	m := rootFraction.FindStringSubmatch(s)
	if m == nil {
		return s
	}
	for _, part := range m[1:] {
		if !strings.Contains(part, "sqrt") && !wholeNumber.MatchString(part) {
			return s
		}
	}
	return `\frac{` + m[1] + "}{" + m[2] + "}"
}

var wholeNumber = regexp.MustCompile(`^(?:0|-?[1-9]\d*)$`)
