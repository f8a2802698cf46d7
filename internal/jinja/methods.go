package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/diag"
)

// Methods of texts, dicts, lists and numbers. Those that would change a value
// are there to be refused: a template changes nothing.

// method is v.name, nil when there is none.
func method(v any, name string) any {
	var f function
	switch v := v.(type) {
	case string:
		if m := textMethods[name]; m != nil {
			f = func(c *call) (any, error) { return m(v, c) }
		}
	case *Dict:
		if m := dictMethods[name]; m != nil {
			f = func(c *call) (any, error) { return m(v, c) }
		}
	case *list:
		if m := listMethods[name]; m != nil && (v.kind == plainList || v.kind == tupleList) {
			f = func(c *call) (any, error) { return m(v, c) }
		}
	case float64:
		if name == "is_integer" {
			f = func(*call) (any, error) { return v == float64(int64(v)), nil }
		}
	}
	if f == nil {
		return nil
	}
	return function(func(c *call) (any, error) {
		got, err := f(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return got, nil
	})
}

var dictMethods = map[string]func(d *Dict, c *call) (any, error){
	"get": func(d *Dict, c *call) (any, error) {
		if v, ok := d.get(c.arg(0, "key", nil)); ok {
			return v, nil
		}
		return c.arg(1, "default", nil), nil
	},
	"items": func(d *Dict, _ *call) (any, error) {
		return &list{items: d.pairs(), kind: viewList, word: "dict_items"}, nil
	},
	"keys": func(d *Dict, _ *call) (any, error) {
		return &list{items: d.keys, kind: viewList, word: "dict_keys"}, nil
	},
	"values": func(d *Dict, _ *call) (any, error) {
		return &list{items: d.values, kind: viewList, word: "dict_values"}, nil
	},
	"copy":  func(d *Dict, _ *call) (any, error) { return d, nil },
	"clear": refuseDict, "pop": refuseDict, "popitem": refuseDict, "setdefault": refuseDict, "update": refuseDict,
}

var listMethods = map[string]func(l *list, c *call) (any, error){
	"count": func(l *list, c *call) (any, error) {
		n := int64(0)
		for _, it := range l.items {
			if equal(it, c.arg(0, "value", nil)) {
				n++
			}
		}
		return n, nil
	},
	"index": func(l *list, c *call) (any, error) {
		for i, it := range l.items {
			if equal(it, c.arg(0, "value", nil)) {
				return int64(i), nil
			}
		}
		return nil, errors.New("it is not in the list")
	},
	"copy":   func(l *list, _ *call) (any, error) { return l, nil },
	"append": refuseList, "clear": refuseList, "extend": refuseList, "insert": refuseList, "pop": refuseList,
	"remove":  refuseList,
	"reverse": refuseList, "sort": refuseList,
}

var errImmutable = diag.Errorf("a template changes no value").Try("namespace() has members that can be set")

func refuseDict(*Dict, *call) (any, error) { return nil, errImmutable }
func refuseList(*list, *call) (any, error) { return nil, errImmutable }

var textMethods = map[string]func(s string, c *call) (any, error){
	"capitalize": plain(capitalize), "casefold": plain(lower), "lower": plain(lower), "upper": plain(upper),
	"swapcase": plain(swapCase), "title": plain(pythonTitle),
	"isalpha":   every(unicode.IsLetter),
	"isalnum":   every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	"isdigit":   every(unicode.IsDigit),
	"isdecimal": every(unicode.IsDigit),
	"isnumeric": every(unicode.IsNumber),
	"isspace":   every(isSpace),
	"isascii": func(s string, _ *call) (any, error) {
		return strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0, nil
	},
	"islower": func(s string, _ *call) (any, error) { return cased(s, unicode.IsLower, unicode.IsUpper) },
	"isupper": func(s string, _ *call) (any, error) { return cased(s, unicode.IsUpper, unicode.IsLower) },
	"strip":   func(s string, c *call) (any, error) { return stripped(s, c.arg(0, "chars", nil), true, true) },
	"lstrip":  func(s string, c *call) (any, error) { return stripped(s, c.arg(0, "chars", nil), true, false) },
	"rstrip":  func(s string, c *call) (any, error) { return stripped(s, c.arg(0, "chars", nil), false, true) },
	"startswith": func(s string, c *call) (any, error) {
		return anyOf(c.arg(0, "prefix", nil), func(p string) bool { return strings.HasPrefix(s, p) })
	},
	"endswith": func(s string, c *call) (any, error) {
		return anyOf(c.arg(0, "suffix", nil), func(p string) bool { return strings.HasSuffix(s, p) })
	},
	"removeprefix": with(func(s, p string) any { return strings.TrimPrefix(s, p) }),
	"removesuffix": with(func(s, p string) any { return strings.TrimSuffix(s, p) }),
	"find":         with(func(s, p string) any { return characters(s, strings.Index(s, p)) }),
	"rfind":        with(func(s, p string) any { return characters(s, strings.LastIndex(s, p)) }),
	"count":        with(func(s, p string) any { return int64(strings.Count(s, p)) }),
	"partition":    with(func(s, p string) any { return partition(s, p, strings.Index(s, p), false) }),
	"rpartition":   with(func(s, p string) any { return partition(s, p, strings.LastIndex(s, p), true) }),
	"split":        func(s string, c *call) (any, error) { return split(s, c, false) },
	"rsplit":       func(s string, c *call) (any, error) { return split(s, c, true) },
	"splitlines":   splitLines,
	"replace": func(s string, c *call) (any, error) {
		from, err := c.text(0, "old", "")
		if err != nil {
			return nil, err
		}
		to, err := c.text(1, "new", "")
		if err != nil {
			return nil, err
		}
		n, err := c.int(2, "count", -1)
		if err != nil {
			return nil, err
		}
		return replaceAll(s, from, to, n)
	},
	"join": func(s string, c *call) (any, error) {
		items, err := c.state.iterate(c.arg(0, "iterable", nil))
		if err != nil {
			return nil, err
		}
		parts, total := make([]string, len(items)), 0
		for i, it := range items {
			var ok bool
			if parts[i], ok = it.(string); !ok {
				return nil, fmt.Errorf("want texts, not %s", typeName(it))
			}
			if total += len(parts[i]) + len(s); total > maxOutput {
				return nil, errTooLong
			}
		}
		return strings.Join(parts, s), nil
	},
	"format": braces,
	"center": padding('^'), "ljust": padding('<'), "rjust": padding('>'),
	"zfill": func(s string, c *call) (any, error) {
		n, err := c.int(0, "width", 0)
		return padded(s, n, "0", '=', err)
	},
}

func plain(f func(string) string) func(string, *call) (any, error) {
	return func(s string, _ *call) (any, error) { return f(s), nil }
}

func every(is func(rune) bool) func(string, *call) (any, error) {
	return func(s string, _ *call) (any, error) {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0, nil
	}
}

// with makes a method of a function of the text and one more.
func with(f func(s, other string) any) func(string, *call) (any, error) {
	return func(s string, c *call) (any, error) {
		other, err := c.text(0, "sub", "")
		if err != nil {
			return nil, err
		}
		if len(c.args) > 1 {
			return nil, errors.New("a start and an end are not supported")
		}
		return f(s, other), nil
	}
}

// anyOf asks about a text, or each of several.
func anyOf(v any, is func(string) bool) (any, error) {
	l, ok := v.(*list)
	if !ok {
		l = &list{items: []any{v}}
	}
	for _, it := range l.items {
		s, ok := it.(string)
		if !ok {
			return nil, fmt.Errorf("want a text, not %s", typeName(it))
		}
		if is(s) {
			return true, nil
		}
	}
	return false, nil
}

// characters is a place in bytes as one in characters.
func characters(s string, at int) int64 {
	if at < 0 {
		return -1
	}
	return int64(utf8.RuneCountInString(s[:at]))
}

func partition(s, by string, at int, fromEnd bool) any {
	parts := []any{s, "", ""}
	switch {
	case at >= 0:
		parts = []any{s[:at], by, s[at+len(by):]}
	case fromEnd:
		parts = []any{"", "", s}
	}
	return &list{items: parts, kind: tupleList}
}

// stripped is a text without the characters of a set at its ends; nil is white
// space.
func stripped(s string, chars any, left, right bool) (any, error) {
	in := isSpace
	if chars != nil {
		set, ok := chars.(string)
		if !ok {
			return nil, fmt.Errorf("want a text, not %s", typeName(chars))
		}
		in = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, in)
	}
	if right {
		s = strings.TrimRightFunc(s, in)
	}
	return s, nil
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

// pythonTitle begins a word behind everything that is not a letter.
func pythonTitle(s string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		was := inside
		if inside = unicode.IsLetter(r); !inside {
			return r
		}
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, s)
}

// split cuts a text at a separator, or at white space, so often at most.
func split(s string, c *call, fromEnd bool) (any, error) {
	most, err := c.int(1, "maxsplit", -1)
	if err != nil {
		return nil, err
	}
	if most < 0 {
		most = len(s)
	}
	var found []string
	switch by := c.arg(0, "sep", nil).(type) {
	case nil:
		found = blankSplit(s, most, fromEnd)
	case string:
		if by == "" {
			return nil, errors.New("an empty separator")
		}
		found = strings.Split(s, by)
		if extra := len(found) - 1 - most; extra > 0 && fromEnd {
			found = append([]string{strings.Join(found[:extra+1], by)}, found[extra+1:]...)
		} else if extra > 0 {
			found = append(found[:most:most], strings.Join(found[most:], by))
		}
	default:
		return nil, fmt.Errorf("want a text, not %s", typeName(by))
	}
	return texts(found), c.state.step(len(found))
}

// blankSplit cuts at runs of white space.
func blankSplit(s string, most int, fromEnd bool) (found []string) {
	if fromEnd {
		for s = strings.TrimRightFunc(s, isSpace); s != ""; s = strings.TrimRightFunc(s, isSpace) {
			i := strings.LastIndexFunc(s, isSpace)
			if i < 0 || len(found) == most {
				found = append([]string{s}, found...)
				break
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			found = append([]string{s[i+n:]}, found...)
			s = s[:i]
		}
		return found
	}
	for s = strings.TrimLeftFunc(s, isSpace); s != ""; s = strings.TrimLeftFunc(s, isSpace) {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 || len(found) == most {
			return append(found, s)
		}
		found, s = append(found, s[:i]), s[i:]
	}
	return found
}

func texts(all []string) *list {
	l := &list{items: make([]any, len(all))}
	for i, s := range all {
		l.items[i] = s
	}
	return l
}

func splitLines(s string, c *call) (any, error) {
	keep, err := c.bool(0, "keepends", false)
	if err != nil {
		return nil, err
	}
	var found []string
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			found = append(found, s)
			break
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		end := i
		if keep {
			end += n
		}
		found, s = append(found, s[:end]), s[i+n:]
	}
	return texts(found), nil
}

func padding(align byte) func(string, *call) (any, error) {
	return func(s string, c *call) (any, error) {
		width, err := c.int(0, "width", 0)
		if err != nil {
			return nil, err
		}
		fill, err := c.text(1, "fillchar", " ")
		return padded(s, width, fill, align, err)
	}
}

// padded fills a text up to a width.
func padded(s string, width int, fill string, align byte, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	r, n := utf8.DecodeRuneInString(fill)
	if n != len(fill) || n == 0 || width > maxWidth {
		return nil, fmt.Errorf("want one character to fill with, and a width of at most %d", maxWidth)
	}
	f := field{fill: r, align: align, width: width}
	return f.pad(s, false), nil
}
