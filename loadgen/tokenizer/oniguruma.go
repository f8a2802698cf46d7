package tokenizer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// translated is a pattern of the reference library's engine (Oniguruma, with
// Ruby's syntax) as the matcher here reads it (.NET's syntax). The two spell
// possessive repetition and sets inside sets apart, and mean something else by
// ^, $, \b, \h and \w. What has no counterpart is an error that names it.
func translated(expr string) (string, error) {
	t := &translation{src: expr, atom: -1}
	if err := t.all(); err != nil {
		return "", err
	}
	return string(t.out), nil
}

// translation is a pattern while it is rewritten from left to right.
type translation struct {
	src    string
	at     int
	out    []byte
	atom   int // where in out begins what a repetition would repeat; −1 for nothing
	fold   bool
	groups []openGroup
}

type openGroup struct {
	at   int // in out
	fold bool
}

func (t *translation) all() error {
	for t.at < len(t.src) {
		if err := t.next(); err != nil {
			return err
		}
	}
	return nil
}

func (t *translation) next() error {
	switch c := t.src[t.at]; c {
	case '\\':
		return t.escape()
	case '[':
		t.at++
		set, err := t.set()
		t.put(set.text())
		return err
	case '(':
		return t.group()
	case ')':
		if n := len(t.groups); n > 0 {
			t.atom, t.fold = t.groups[n-1].at, t.groups[n-1].fold
			t.groups = t.groups[:n-1]
		}
		t.out = append(t.out, c)
		t.at++
	case '^', '$': // of any line
		t.put("(?m:" + string(c) + ")")
		t.at++
	case '|':
		t.put("|")
		t.atom = -1
		t.at++
	case '*', '+', '?':
		t.at++
		t.repeat(string(c), true)
	case '{':
		if interval, n := intervalOf(t.src[t.at:]); n > 0 {
			t.at += n
			t.repeat(interval, false)
			return nil
		}
		t.put(`\{`)
		t.at++
	default:
		_, n := utf8.DecodeRuneInString(t.src[t.at:])
		text := t.src[t.at : t.at+n]
		if t.fold && (text == "s" || text == "S" || text == "ſ") {
			text = "[sſ]" // the two are one letter; the matcher knows only S for s
		}
		t.put(text)
		t.at += n
	}
	return nil
}

// put writes what a repetition may follow.
func (t *translation) put(text string) {
	t.atom = len(t.out)
	t.out = append(t.out, text...)
}

// repeat writes a repetition; with a + behind it, it gives nothing back, but
// for an interval, which then is repeated itself.
func (t *translation) repeat(text string, possessive bool) {
	if t.atom < 0 {
		t.out = append(t.out, text...) // the matcher refuses it
		return
	}
	more := strings.HasPrefix(t.src[t.at:], "+")
	before, after := "", ""
	switch {
	case more && possessive:
		before, after = "(?>", ")"
	case more:
		before, after = "(?:", ")+"
	}
	if more {
		t.at++
	}
	t.out = append(t.out, text+after...)
	t.out = append(t.out[:t.atom], before+string(t.out[t.atom:])...)
	if !more && strings.HasPrefix(t.src[t.at:], "?") {
		t.out = append(t.out, '?')
		t.at++
	}
}

// intervalOf reads {n}, {n,}, {n,m} or {,m}, and says how long it is: 0 where
// the brace is a plain one.
func intervalOf(s string) (string, int) {
	end := strings.IndexByte(s, '}')
	if end < 2 {
		return "", 0
	}
	low, high, two := strings.Cut(s[1:end], ",")
	if strings.Trim(low+high, "0123456789") != "" || low+high == "" {
		return "", 0
	}
	if !two {
		return s[:end+1], end + 1
	}
	if low == "" {
		low = "0"
	}
	return "{" + low + "," + high + "}", end + 1
}

// group writes the beginning of a group.
func (t *translation) group() error {
	t.groups = append(t.groups, openGroup{len(t.out), t.fold})
	t.atom = -1
	rest := t.src[t.at+1:]
	if !strings.HasPrefix(rest, "?") {
		t.out = append(t.out, '(')
		t.at++
		return nil
	}
	for _, head := range []string{"?:", "?=", "?!", "?>", "?<=", "?<!"} {
		if strings.HasPrefix(rest, head) {
			t.out = append(t.out, "("+head...)
			t.at += 1 + len(head)
			return nil
		}
	}
	end := strings.IndexAny(rest, ":)")
	if end < 0 || rest[1:end] != "i" && rest[1:end] != "-i" {
		return fmt.Errorf("the group (%.4s: not supported", rest)
	}
	if rest[end] == ')' { // for the rest of the group that this stands in
		t.groups = t.groups[:len(t.groups)-1]
	}
	t.fold = rest[1] == 'i'
	t.out = append(t.out, "("+rest[:end+1]...)
	t.at += 2 + end
	return nil
}

// escape writes what a backslash begins.
func (t *translation) escape() error {
	items, negated, err := t.class()
	if items == wordItems() {
		items += latinNumbers
	}
	switch {
	case err != nil:
		return err
	case items != "" && negated:
		t.put("[^" + items + "]")
		return nil
	case items != "":
		t.put("[" + items + "]")
		return nil
	}
	switch e := t.src[t.at+1]; e {
	case 'b', 'B':
		inside, outside := "(?<=W)(?=W)|(?<!W)(?!W)", "(?<=W)(?!W)|(?<!W)(?=W)"
		if e == 'B' {
			outside = inside
		}
		t.put("(?:" + strings.ReplaceAll(outside, "W", "["+wordItems()+latinNumbers+"]") + ")")
		t.at += 2
		return nil
	case 'R', 'X', 'K', 'g', 'k', 'y', 'Y', 'N', 'O', 'M', 'C', 'c':
		return fmt.Errorf("\\%c: not supported", e)
	}
	text, err := t.character()
	t.put(text)
	return err
}

// character reads an escape of a single character or of a place.
func (t *translation) character() (string, error) {
	rest := t.src[t.at:]
	if hex, ok := strings.CutPrefix(rest, `\x{`); ok {
		digits, _, closed := strings.Cut(hex, "}")
		r, err := strconv.ParseUint(digits, 16, 21)
		if !closed || err != nil || r > unicode.MaxRune {
			return "", fmt.Errorf("%.8s: no character", rest)
		}
		t.at += len(`\x{}`) + len(digits)
		return quoted(rune(r)), nil
	}
	_, n := utf8.DecodeRuneInString(rest[1:])
	t.at += 1 + n
	return rest[:1+n], nil
}

// class reads an escape that stands for many characters and gives what stands
// for it between brackets; "" where there is none.
func (t *translation) class() (items string, negated bool, err error) {
	rest := t.src[t.at:]
	if len(rest) < 2 {
		return "", false, errors.New("it ends in a backslash")
	}
	n := 2
	switch rest[1] {
	case 'w', 'W':
		items = wordItems()
	case 'd', 'D':
		items = `\p{Nd}`
	case 's', 'S':
		items = `\s`
	case 'h', 'H':
		items = "0-9A-Fa-f"
	case 'p', 'P':
		name, _, ok := strings.Cut(strings.TrimPrefix(rest[2:], "{"), "}")
		if !ok || rest[2] != '{' {
			return "", false, fmt.Errorf("%.6s: no property", rest)
		}
		n = len(`\p{}`) + len(name)
		bare, not := strings.CutPrefix(name, "^")
		negated = (rest[1] == 'P') != not
		items = `\p{` + bare + `}` + newcomers(bare)
	default:
		return "", false, nil
	}
	t.at += n
	return items, negated || rest[1] == 'W' || rest[1] == 'D' || rest[1] == 'S' || rest[1] == 'H', nil
}

// set is what stands between brackets.
type set struct {
	negated bool
	items   string
	without string // items taken away again
}

func (s set) text() string {
	not := ""
	if s.negated {
		not = "^"
	}
	if s.without != "" {
		return "[" + not + s.items + "-[" + s.without + "]]"
	}
	return "[" + not + s.items + "]"
}

var (
	errSetOpen   = errors.New("a bracket that is not closed")
	errSetNested = errors.New("this nesting of brackets, and of && in them: not supported")
)

// set reads up to the closing bracket.
func (t *translation) set() (s set, err error) {
	if strings.HasPrefix(t.src[t.at:], "^") {
		s.negated = true
		t.at++
	}
	for first := true; t.at < len(t.src); first = false {
		rest := t.src[t.at:]
		switch {
		case rest[0] == ']' && !first:
			t.at++
			return s, nil
		case strings.HasPrefix(rest, "[:"):
			items, n := posix(rest)
			if n == 0 {
				return s, fmt.Errorf("%.10s: not supported", rest)
			}
			s.items += items
			t.at += n
		case rest[0] == '[':
			t.at++
			inner, err := t.set()
			if err != nil {
				return s, err
			}
			if inner.negated || inner.without != "" {
				return s, errSetNested
			}
			s.items += inner.items
		case strings.HasPrefix(rest, "&&"):
			t.at += 2
			return s, t.intersect(&s)
		case rest[0] == '\\':
			items, negated, err := t.class()
			if err == nil && items == "" {
				items, err = t.character()
			}
			if err != nil {
				return s, err
			}
			if negated {
				if items, err = complement(items); err != nil {
					return s, err
				}
			}
			s.items += items
		case rest[0] == ']' || strings.HasPrefix(rest, "-["):
			s.items += `\` + rest[:1]
			t.at++
		default:
			_, n := utf8.DecodeRuneInString(rest)
			s.items += rest[:n]
			t.at += n
		}
	}
	return s, errSetOpen
}

// intersect reads what stands behind && up to the closing bracket: one set that
// says what is not meant.
func (t *translation) intersect(s *set) error {
	if s.negated || !strings.HasPrefix(t.src[t.at:], "[^") {
		return errSetNested
	}
	t.at++
	not, err := t.set()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(t.src[t.at:], "]") || not.without != "" {
		return errSetNested
	}
	t.at++
	s.without = not.items
	return nil
}

// posix are the named classes whose meaning is the same in both engines.
func posix(s string) (items string, n int) {
	for name, items := range map[string]string{"[:space:]": `\s`, "[:digit:]": `\p{Nd}`, "[:word:]": wordItems()} {
		if strings.HasPrefix(s, name) {
			return items, len(name)
		}
	}
	return "", 0
}

// complement is a negated class inside brackets.
func complement(items string) (string, error) {
	switch {
	case items == `\s`, items == `\p{Nd}`, strings.HasPrefix(items, `\p{`) && strings.HasSuffix(items, "}"):
		return strings.NewReplacer(`\s`, `\S`, `\p{`, `\P{`).Replace(items), nil
	}
	return "", errSetNested
}

// newcomers are the characters of a general category that the reference knows
// and the matcher does not.
func newcomers(category string) string {
	tables := map[string][]*unicode.RangeTable{
		"L": {moreL}, "Lu": {moreLu}, "Ll": {moreLl}, "M": {moreM}, "N": {moreN}, "P": {moreP}, "S": {moreS},
	}
	var out strings.Builder
	for _, table := range tables[category] {
		eachRange(table, func(low, high rune) { out.WriteString(quoted(low) + "-" + quoted(high)) })
	}
	return out.String()
}

// latinNumbers are in \w, too, but not where it stands between brackets.
const latinNumbers = "²³¹¼½¾"

// wordItems is \w between brackets: the large classes in it, and the rest of
// the set one by one.
var wordItems = sync.OnceValue(func() string {
	classes := []*unicode.RangeTable{unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc}
	var out strings.Builder
	out.WriteString(`\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}`)
	eachRange(wordSet, func(low, high rune) {
		for r := low; r <= high; r++ {
			if unicode.In(r, classes...) {
				continue
			}
			from := r
			for r < high && !unicode.In(r+1, classes...) {
				r++
			}
			out.WriteString(quoted(from) + "-" + quoted(r))
		}
	})
	return out.String()
})

func eachRange(table *unicode.RangeTable, do func(low, high rune)) {
	for _, r := range table.R16 {
		do(rune(r.Lo), rune(r.Hi))
	}
	for _, r := range table.R32 {
		do(rune(r.Lo), rune(r.Hi))
	}
}

// quoted is r where it means itself, between brackets too.
func quoted(r rune) string {
	if r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsControl(r) {
		return `\` + string(r)
	}
	return string(r)
}
