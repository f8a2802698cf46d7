package jinja

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/diag"
)

// str is a value as Python's str() writes it; undefined is nothing.
func str(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case undefined:
		if v.strict {
			return "", v.used()
		}
		return "", nil
	}
	var b strings.Builder
	err := writeRepr(&b, v, 0)
	return b.String(), err
}

// repr is a value as Python's repr() writes it, for mistakes.
func repr(v any) string {
	var b strings.Builder
	if writeRepr(&b, v, 0) != nil {
		return typeName(v)
	}
	return b.String()
}

func writeRepr(b *strings.Builder, v any, deep int) error {
	if deep > maxNested || b.Len() > maxOutput {
		return errors.New("a value that is too deep or too long to be written")
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(floatText(v))
	case string:
		quote(b, v)
	case undefined:
		b.WriteString("Undefined")
	case *list:
		return writeList(b, v, deep)
	case *namespace:
		b.WriteString("<Namespace ")
		defer b.WriteString(">")
		return writeRepr(b, &v.Dict, deep+1)
	case *Dict:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := writeRepr(b, k, deep+1); err != nil {
				return err
			}
			b.WriteString(": ")
			if err := writeRepr(b, v.values[i], deep+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	default:
		return fmt.Errorf("%s cannot be written as text", typeName(v))
	}
	return nil
}

func writeList(b *strings.Builder, l *list, deep int) error {
	begin, end := "[", "]"
	switch l.kind {
	case tupleList:
		begin, end = "(", ")"
		if len(l.items) == 1 {
			end = ",)"
		}
	case viewList:
		begin, end = l.word+"([", "])"
	case lazyList:
		return diag.Errorf("the result of this filter cannot be written as text").Try("| list makes a list of it")
	case rangeList:
		if n := len(l.items); n > 0 {
			fmt.Fprintf(b, "range(%v, %v)", l.items[0], l.items[n-1].(int64)+1)
			return nil
		}
		begin, end = "range(0, 0", ")"
	}
	b.WriteString(begin)
	for i, it := range l.items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := writeRepr(b, it, deep+1); err != nil {
			return err
		}
	}
	b.WriteString(end)
	return nil
}

// floatText is Python's repr of a float.
func floatText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// quote writes a text in the quotes that Python would choose.
func quote(b *strings.Builder, s string) {
	q := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = '"'
	}
	b.WriteByte(q)
	for _, r := range s {
		switch {
		case r == rune(q) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteByte(q)
}

// jsonStyle is how json.dumps is asked to write.
type jsonStyle struct {
	indent      string // "" for one line
	item, colon string // separators
	sorted      bool
	ascii       bool // other characters are escaped
	html        bool // < > & ' are escaped
	broken      bool // each element on a line of its own
}

// dumps is json.dumps(v).
func (j *jsonStyle) dumps(v any) (string, error) {
	var b strings.Builder
	err := j.write(&b, v, 0)
	return b.String(), err
}

func (j *jsonStyle) write(b *strings.Builder, v any, deep int) error {
	if deep > maxNested || b.Len() > maxOutput {
		return errors.New("a value that is too deep or too long to be written")
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(strings.NewReplacer("inf", "Infinity", "nan", "NaN").Replace(floatText(v)))
	case string:
		j.quote(b, v)
	case *list:
		if v.kind != plainList && v.kind != tupleList {
			return fmt.Errorf("a %s cannot be written as JSON", typeName(v))
		}
		return j.container(b, "[", "]", len(v.items), deep, func(i int) error { return j.write(b, v.items[i], deep+1) })
	case *Dict:
		order := places([3]*int64{}, len(v.keys))
		if j.sorted {
			var err error
			if order, err = sortedPlaces(v.keys); err != nil {
				return err
			}
		}
		return j.container(b, "{", "}", len(v.keys), deep, func(i int) error {
			name, err := jsonKey(v.keys[order[i]])
			if err != nil {
				return err
			}
			j.quote(b, name)
			b.WriteString(j.colon)
			return j.write(b, v.values[order[i]], deep+1)
		})
	case undefined:
		return v.used()
	default:
		return fmt.Errorf("a %s cannot be written as JSON", typeName(v))
	}
	return nil
}

// container writes n elements between begin and end.
func (j *jsonStyle) container(b *strings.Builder, begin, end string, n, deep int, element func(int) error) error {
	b.WriteString(begin)
	line := func(deep int) {
		if j.broken {
			b.WriteString("\n" + strings.Repeat(j.indent, deep))
		}
	}
	for i := range n {
		if i > 0 {
			b.WriteString(j.item)
		}
		line(deep + 1)
		if err := element(i); err != nil {
			return err
		}
	}
	if n > 0 {
		line(deep)
	}
	b.WriteString(end)
	return nil
}

func jsonKey(k any) (string, error) {
	if s, ok := k.(string); ok {
		return s, nil
	}
	var plain jsonStyle
	return plain.dumps(k)
}

func (j *jsonStyle) quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i, r := range s {
		if to := strings.IndexRune("\"\\\n\r\t\b\f", r); to >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`"\nrtbf`[to])
			continue
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			b.WriteRune(utf8.RuneError) // a byte that is no text
		case r < 0x20 || j.html && strings.ContainsRune("<>&'", r), j.ascii && r >= 0x7f && r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		case j.ascii && r >= 0x10000:
			fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// strftime writes a time by the letters of C, in English.
func strftime(t time.Time, layout string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' || i+1 == len(layout) {
			b.WriteByte(layout[i])
			continue
		}
		i++
		bare := layout[i] == '-' && i+1 < len(layout)
		if bare {
			i++
		}
		text, err := timePart(t, layout[i])
		if err != nil {
			return "", err
		}
		if bare {
			if text = strings.TrimLeft(text, "0"); text == "" {
				text = "0"
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// timeLayouts are the letters of strftime in Go's words.
var timeLayouts = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'B': "January",
	'b': "Jan", 'h': "Jan",
	'A': "Monday", 'a': "Mon", 'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06",
	'R': "15:04", 'e': "_2", 'c': "Mon Jan _2 15:04:05 2006",
	'x': "01/02/06", 'X': "15:04:05",
}

func timePart(t time.Time, letter byte) (string, error) {
	if layout, ok := timeLayouts[letter]; ok {
		return t.Format(layout), nil
	}
	switch letter {
	case '%':
		return "%", nil
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), nil
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay()), nil
	case 's':
		return strconv.FormatInt(t.Unix(), 10), nil
	case 'w':
		return strconv.Itoa(int(t.Weekday())), nil
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1), nil
	case 'z', 'Z':
		return "", nil // a time without a zone, as datetime.now() gives it
	}
	return "", fmt.Errorf("strftime: %%%c is not known", letter)
}
