package algebra

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	end kind = iota
	digits
	letter  // one letter
	command // \name
	text    // \text{…}
	sign    // anything else, one character or <=, >=, !=
)

// token is a piece of a text.
type token struct {
	kind  kind
	text  string
	value *big.Rat // of digits
	point bool     // written with a decimal point
	stop  bool     // a full stop stands behind it
}

// skipped are commands without a meaning of their own.
var skipped = map[string]bool{
	"left": true, "right": true, "big": true, "Big": true, "bigl": true, "bigr": true, "Bigl": true, "Bigr": true,
	"displaystyle": true, "limits": true, "quad": true, "qquad": true, "mathbf": true, "mathrm": true, "bf": true,
	"rm": true, "boldsymbol": true, "bm": true, "middle": true, "textstyle": true, "operatorname": true,
}

// texts are commands whose argument is a text.
var texts = map[string]bool{
	"text": true, "textbf": true, "textit": true, "textrm": true, "mbox": true, "textnormal": true,
}

// renamed are other spellings of a command or sign.
var renamed = map[string]string{
	"dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom", "leq": "le", "geq": "ge",
	"neq": "ne", "leqslant": "le", "geqslant": "ge", "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]",
	"colon": ":", "vert": "|", "lvert": "|", "rvert": "|", "mid": "|",
	"times": "*", "cdot": "*", "ast": "*", "div": "÷", "lt": "<", "gt": ">",
}

// unicodeSigns are signs that LaTeX has commands for.
var unicodeSigns = strings.NewReplacer("×", "*", "·", "*", "−", "-", "–", "-", "π", `\pi `, "∞", `\infty `, "√", `\sqrt `,
	"≤", `\le `, "≥", `\ge `, "≠", `\ne `, "∪", `\cup `, "∩", `\cap `, "∈", `\in `, "±", `\pm `, "°", `^\circ `,
	"**", "^", "²", "^2 ", "³", "^3 ", "θ", `\theta `, "½", `\frac{1}{2}`)

// scan takes a text apart.
func scan(s string) ([]token, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || r == '*' }) {
		s = unicodeSigns.Replace(s)
	}
	var out []token
	for i := 0; i < len(s); {
		t, n, err := next(s[i:])
		if err != nil {
			return nil, err
		}
		if i += n; t.kind != end {
			out = append(out, t)
		}
	}
	return out, nil
}

// next is the token at the beginning of s, and its length; kind end for nothing.
func next(s string) (token, int, error) {
	c := s[0]
	switch {
	case c >= '0' && c <= '9', c == '.' && len(s) > 1 && isDigit(s[1]):
		return scanNumber(s)
	case c == '\\':
		return scanCommand(s)
	case c == '<' || c == '>' || c == '!' || c == '=':
		if len(s) > 1 && s[1] == '=' {
			return token{kind: sign, text: s[:2]}, 2, nil
		}
		return token{kind: sign, text: s[:1]}, 1, nil
	case c == '$' || c == '~':
		return token{}, 1, nil
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError:
		return token{}, 0, errSyntax
	case unicode.IsSpace(r):
		return token{}, n, nil
	case unicode.IsLetter(r):
		return token{kind: letter, text: s[:n]}, n, nil
	}
	return token{kind: sign, text: s[:n]}, n, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// scanNumber reads digits with commas between thousands, and a decimal point.
func scanNumber(s string) (token, int, error) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i > 0 && i <= 3 {
		for n := thousand(s[i:]); n > 0; n = thousand(s[i:]) {
			i += n
		}
	}
	t := token{kind: digits}
	if i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
		t.point = true
		for i++; i < len(s) && isDigit(s[i]); i++ {
		}
	} else if i < len(s) && s[i] == '.' {
		t.stop = true
		i++
	}
	text := strings.TrimSuffix(s[:i], ".")
	if strings.Contains(text, ",") {
		text = separators.Replace(text)
	}
	if len(text) > maxDigits {
		return t, 0, errTooLong
	}
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return t, 0, errSyntax
	}
	t.value, t.text = v, text
	return t, i, nil
}

var separators = strings.NewReplacer(",", "", "{", "", "}", "", `\`, "", "!", "")

// thousand is the length of a separator and three digits, 0 for none.
func thousand(s string) int {
	for _, comma := range []string{",", `,\!`, "{,}"} {
		rest, ok := strings.CutPrefix(s, comma)
		if ok && len(rest) >= 3 && isDigit(rest[0]) && isDigit(rest[1]) && isDigit(rest[2]) &&
			(len(rest) == 3 || !isDigit(rest[3])) {
			return len(comma) + 3
		}
	}
	return 0
}

func scanCommand(s string) (token, int, error) {
	i := 1
	for i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z') {
		i++
	}
	if i == 1 { // a sign behind the backslash
		if len(s) == 1 {
			return token{}, 1, nil
		}
		switch s[1] {
		case '{', '}', '%', '|':
			return token{kind: sign, text: s[:2]}, 2, nil
		case '\\':
			return token{kind: sign, text: `\\`}, 2, nil
		}
		_, n := utf8.DecodeRuneInString(s[1:])
		return token{}, 1 + n, nil // spaces, \$
	}
	name := known(s[1:i])
	if name == "" {
		return token{}, 0, errSyntax
	}
	i = 1 + len(name)
	if to := renamed[name]; to == "{" || to == "}" {
		return token{kind: sign, text: `\` + to}, i, nil
	} else if to != "" && !isLetter(to[0]) {
		return token{kind: sign, text: to}, i, nil
	} else if to != "" {
		name = to
	}
	switch {
	case skipped[name]:
		return token{}, i, nil
	case texts[name]:
		return scanText(s, i)
	}
	return token{kind: command, text: name}, i, nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// known is the longest beginning of a name that is a command: where spaces were dropped,
// \pi r has become \pir. "" for none.
func known(name string) string {
	for n := len(name); n > 1; n-- {
		short := name[:n]
		if skipped[short] || texts[short] || renamed[short] != "" || signOf[short] != "" || commands[short] {
			return short
		}
	}
	return ""
}

// scanText reads the argument of \text, which ends at the next brace.
func scanText(s string, i int) (token, int, error) {
	rest := strings.TrimLeft(s[i:], " ")
	open := i + len(s[i:]) - len(rest)
	if !strings.HasPrefix(rest, "{") {
		return token{}, i, nil
	}
	inside, _, ok := strings.Cut(rest[1:], "}")
	if !ok {
		return token{}, 0, errSyntax
	}
	t := token{kind: text, text: strings.ToLower(strings.TrimSpace(inside))}
	n := open + 1 + len(inside) + 1
	if t.text == "" {
		return token{}, n, nil
	}
	if t.text == "and" || t.text == "or" {
		return token{kind: sign, text: ","}, n, nil
	}
	return t, n, nil
}
