package jinja

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// percent is Python's text % values.
func percent(layout string, v any) (any, error) {
	args := []any{v}
	named, _ := v.(*Dict)
	if l, ok := v.(*list); ok && l.kind == tupleList {
		args = l.items
	}
	var out strings.Builder
	used := 0
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			out.WriteByte(layout[i])
			continue
		}
		f, n, err := parsePercent(layout[i+1:])
		if err != nil {
			return nil, err
		}
		i += n
		if f.verb == '%' {
			out.WriteByte('%')
			continue
		}
		var arg any
		switch {
		case f.name != "":
			if named == nil {
				return nil, errors.New("%(name) needs a dict")
			}
			var ok bool
			if arg, ok = named.get(f.name); !ok {
				return nil, fmt.Errorf("%%(%s) is not in the dict", f.name)
			}
		case used < len(args):
			arg = args[used]
			used++
		default:
			return nil, errors.New("fewer values than the text has places")
		}
		text, err := f.format(arg)
		if err != nil {
			return nil, err
		}
		out.WriteString(text)
	}
	if used < len(args) && named == nil {
		return nil, errors.New("more values than the text has places")
	}
	return out.String(), nil
}

// field is how one value is to be written.
type field struct {
	name             string
	fill             rune
	align            byte // < > ^ =, 0 for the usual
	plus, zero       bool
	comma            byte
	width, precision int // precision −1 for the usual
	verb             byte
}

const maxWidth = 10_000

// parsePercent reads what stands behind a %, and its length.
func parsePercent(s string) (f field, n int, err error) {
	f = field{precision: -1, fill: ' ', align: '>'}
	whole := s
	if strings.HasPrefix(s, "(") {
		var ok bool
		if f.name, s, ok = strings.Cut(s[1:], ")"); !ok {
			return f, 0, errors.New("a %( without its )")
		}
	}
	for s != "" && strings.IndexByte("-+ #0", s[0]) >= 0 {
		switch s[0] {
		case '-':
			f.align = '<'
		case '+':
			f.plus = true
		case '0':
			f.zero = true
		}
		s = s[1:]
	}
	if s, err = f.sizes(s); err != nil {
		return f, 0, err
	}
	if s == "" || strings.IndexByte("diufFeEgGsrxXoc%", s[0]) < 0 {
		return f, 0, errors.New("a % without a kind of value")
	}
	f.verb = s[0]
	return f, len(whole) - len(s) + 1, nil
}

// sizes reads a width and a precision.
func (f *field) sizes(s string) (string, error) {
	number := func(s string) (int, string) {
		n := len(s) - len(strings.TrimLeft(s, "0123456789"))
		v, _ := strconv.Atoi(s[:n])
		return v, s[n:]
	}
	f.width, s = number(s)
	if s != "" && strings.IndexByte(",_", s[0]) >= 0 {
		f.comma, s = s[0], s[1:]
	}
	if strings.HasPrefix(s, ".") {
		f.precision, s = number(s[1:])
	}
	if f.width > maxWidth || f.precision > maxWidth {
		return s, fmt.Errorf("a width of more than %d", maxWidth)
	}
	return s, nil
}

// format writes a value as the field says.
func (f *field) format(v any) (string, error) {
	text, numeric, err := f.plain(v)
	if err != nil {
		return "", err
	}
	if f.plus && numeric && !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return f.pad(text, numeric), nil
}

// plain is the value without sign and padding.
func (f *field) plain(v any) (text string, numeric bool, err error) {
	switch f.verb {
	case 's':
		text, err = str(v)
	case 'r':
		text = repr(v)
	case 'c':
		if n, ok := number(v).(int64); ok {
			return string(rune(n)), false, nil
		}
		text, err = str(v)
	case 'd', 'i', 'u', 'x', 'X', 'o', 'b':
		x, ok := float(v)
		n, whole := number(v).(int64)
		if !ok || !whole && (math.Abs(x) >= 1<<62 || strings.IndexByte("diu", f.verb) < 0) {
			return "", true, fmt.Errorf("%%%c needs a number, not %s", f.verb, typeName(v))
		}
		if !whole {
			n = int64(x)
		}
		base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'b': 2}[f.verb]
		text = strconv.FormatInt(n, max(base, 2))
		if base == 0 {
			text = grouped(strconv.FormatInt(n, 10), f.comma)
		}
		if f.verb == 'X' {
			text = strings.ToUpper(text)
		}
		return text, true, nil
	default:
		x, ok := float(v)
		if !ok {
			return "", true, fmt.Errorf("%%%c needs a number, not %s", f.verb, typeName(v))
		}
		return grouped(f.decimal(x), f.comma), true, nil
	}
	if f.precision >= 0 && err == nil {
		if r := []rune(text); len(r) > f.precision {
			text = string(r[:f.precision])
		}
	}
	return text, false, err
}

// decimal writes a float by %f, %e, %g or %%.
func (f *field) decimal(x float64) string {
	p := f.precision
	if p < 0 {
		p = 6
	}
	switch f.verb {
	case 'e', 'E':
		return strconv.FormatFloat(x, f.verb, p, 64)
	case 'g', 'G':
		text := strconv.FormatFloat(x, f.verb, max(p, 1), 64)
		// Go turns to exponents at 21 digits
		if e := math.Floor(math.Log10(math.Abs(x))); x != 0 && e >= -4 && e < float64(max(p, 1)) {
			text = strconv.FormatFloat(x, 'f', max(0, max(p, 1)-1-int(e)), 64)
			if strings.Contains(text, ".") {
				text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
			}
		}
		return text
	case '%':
		return strconv.FormatFloat(x*100, 'f', p, 64) + "%"
	}
	return strconv.FormatFloat(x, 'f', p, 64)
}

// grouped puts a mark between thousands.
func grouped(s string, mark byte) string {
	if mark == 0 {
		return s
	}
	digits := strings.TrimPrefix(s, "-")
	whole, rest, dot := strings.Cut(digits, ".")
	var out strings.Builder
	out.WriteString(s[:len(s)-len(digits)])
	for i := range len(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			out.WriteByte(mark)
		}
		out.WriteByte(whole[i])
	}
	if dot {
		out.WriteString("." + rest)
	}
	return out.String()
}

func (f *field) pad(s string, numeric bool) string {
	missing := f.width - utf8.RuneCountInString(s)
	if missing <= 0 {
		return s
	}
	fill := strings.Repeat(string(f.fill), missing)
	switch align := f.align; {
	case f.zero && numeric && align != '<' || align == '=':
		if f.zero {
			fill = strings.Repeat("0", missing)
		}
		if s[0] == '-' || s[0] == '+' {
			return s[:1] + fill + s[1:]
		}
		return fill + s
	case align == '<':
		return s + fill
	case align == '^':
		left := missing / 2
		return strings.Repeat(string(f.fill), left) + s + strings.Repeat(string(f.fill), missing-left)
	}
	return fill + s
}

// braces is Python's text.format(…).
func braces(layout string, c *call) (any, error) {
	var out strings.Builder
	next := 0
	for i := 0; i < len(layout); i++ {
		ch := layout[i]
		if (ch == '{' || ch == '}') && i+1 < len(layout) && layout[i+1] == ch {
			out.WriteByte(ch)
			i++
			continue
		}
		if ch != '{' {
			if ch == '}' {
				return nil, errors.New("a } without its { in a format")
			}
			out.WriteByte(ch)
			continue
		}
		end := strings.IndexByte(layout[i:], '}')
		if end < 0 {
			return nil, errors.New("a { without its } in a format")
		}
		text, err := replaced(layout[i+1:i+end], c, &next)
		if err != nil {
			return nil, err
		}
		out.WriteString(text)
		i += end
	}
	return out.String(), nil
}

// replaced is what stands for {name!r:spec}; next is the next value without a
// name.
func replaced(text string, c *call, next *int) (string, error) {
	text, spec, _ := strings.Cut(text, ":")
	text, conversion, converted := strings.Cut(text, "!")
	if strings.ContainsAny(text, ".[") {
		return "", errors.New("members in a format are not supported")
	}
	place, err := strconv.Atoi(text)
	var v any = undefined{}
	switch {
	case text == "":
		v, *next = c.arg(*next, "", v), *next+1
	case err == nil:
		v = c.arg(place, "", v)
	default:
		v = c.arg(len(c.args), text, v)
	}
	if _, missing := v.(undefined); missing {
		return "", fmt.Errorf("a format has no value for {%s}", text)
	}
	if converted {
		if conversion == "r" {
			v = repr(v)
		} else if v, err = str(v); err != nil {
			return "", err
		}
	}
	f, err := parseSpec(spec, v)
	if err != nil {
		return "", err
	}
	return f.format(v)
}

// parseSpec reads a format like >10 or .2f for a value.
func parseSpec(spec string, v any) (field, error) {
	f := field{precision: -1, fill: ' ', align: '<', verb: 's'}
	_, numeric := float(v)
	if _, isBool := v.(bool); numeric && !isBool {
		f.align = '>'
	}
	s := spec
	if r, n := utf8.DecodeRuneInString(s); n > 0 && n < len(s) && strings.IndexByte("<>^=", s[n]) >= 0 {
		f.fill, f.align, s = r, s[n], s[n+1:]
	} else if s != "" && strings.IndexByte("<>^=", s[0]) >= 0 {
		f.align, s = s[0], s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		f.plus, s = s[0] == '+', s[1:]
	}
	if strings.HasPrefix(s, "0") {
		f.zero = true
	}
	s, err := f.sizes(s)
	if err != nil {
		return f, err
	}
	switch {
	case len(s) == 1 && strings.Contains("sdxXobeEfFgGc%", s):
		f.verb = s[0]
	case s != "":
		return f, fmt.Errorf("%q is not a format", spec)
	case numeric && f.align == '>':
		if _, whole := number(v).(int64); whole {
			f.verb = 'd'
		} else if f.precision >= 0 {
			f.verb = 'g'
		}
	}
	if f.verb != 's' && f.verb != 'c' && !numeric {
		return f, fmt.Errorf("the format %q needs a number, not %s", spec, typeName(v))
	}
	return f, nil
}
