package jinja

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// filter is what stands behind "|".
type filter func(v any, c *call) (any, error)

// filters are those of Jinja2 that depend on nothing but their value; random,
// pprint, urlize and xmlattr are not among them.
var filters = map[string]filter{
	"abs": absolute, "attr": attribute,
	"batch": batch, "capitalize": textual(capitalize), "center": center, "count": size, "d": orElse, "default": orElse,
	"dictsort": dictSort, "e": textual(escape), "escape": textual(escape), "filesizeformat": fileSize, "first": first,
	"float":       toFloat,
	"forceescape": textual(escape), "format": formatted, "groupby": groupBy, "indent": indent,
	"int": toInt, "items": itemsOf, "join": join,
	"last": last, "length": size, "list": toList, "lower": textual(lower), "map": mapped,
	"max": extreme(1), "min": extreme(-1), "reject": chosen(false, false), "rejectattr": chosen(false, true),
	"replace": replace,
	"reverse": reverse, "round": round, "safe": textual(func(s string) string { return s }),
	"select":     chosen(true, false),
	"selectattr": chosen(true, true), "slice": columns, "sort": sorted,
	"string":    textual(func(s string) string { return s }),
	"striptags": textual(stripTags), "sum": sum, "title": textual(title), "tojson": htmlJSON, "trim": trim,
	"truncate": truncate,
	"unique":   unique, "upper": textual(upper), "urlencode": urlEncode, "wordcount": wordCount, "wordwrap": wordWrap,
}

// textual makes a filter of a function of texts.
func textual(f func(string) string) filter {
	return func(v any, _ *call) (any, error) {
		s, err := str(v)
		return f(s), err
	}
}

// upper and lower change case as Unicode says, which may change lengths: ß is
// SS. The casers of x/text have a state, so each text has its own.
func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n < 2 {
		return upper(s[:n]) + lower(s[n:])
	}
	return string(unicode.ToTitle(r)) + lower(s[n:])
}

// attribute is a method or a member of its own, never an element.
func attribute(v any, c *call) (any, error) {
	name, err := c.text(0, "name", "")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(undefined); ok {
		return nil, u.used()
	}
	if m := method(v, name); m != nil {
		return m, nil
	}
	if o, ok := v.(hasMembers); ok {
		if got, ok := o.member(name); ok {
			return got, nil
		}
	}
	return c.state.undefined("", fmt.Sprintf("%s has no member %s", typeName(v), name)), nil
}

var (
	wordBegin = regexp.MustCompile(`[-\s({\[<]+`)
	htmlTag   = regexp.MustCompile(`(?s)<!--.*?-->|<[^>]*>`)
)

// title is Jinja2's: words begin behind blanks and opening brackets.
func title(s string) string {
	var out strings.Builder
	at := 0
	for _, gap := range append(wordBegin.FindAllStringIndex(s, -1), []int{len(s), len(s)}) {
		_, n := utf8.DecodeRuneInString(s[at:gap[0]])
		out.WriteString(upper(s[at:at+n]) + lower(s[at+n:gap[0]]) + s[gap[0]:gap[1]])
		at = gap[1]
	}
	return out.String()
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(s)
}

func stripTags(s string) string {
	return strings.Join(strings.Fields(htmlTag.ReplaceAllString(s, "")), " ")
}

func absolute(v any, _ *call) (any, error) {
	switch n := number(v).(type) {
	case int64:
		if n < 0 {
			return integers("-", 0, n)
		}
		return n, nil
	case float64:
		return math.Abs(n), nil
	}
	return nil, fmt.Errorf("want a number, not %s", typeName(v))
}

func center(v any, c *call) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	width, err := c.int(0, "width", 80)
	return padded(s, width, " ", '^', err)
}

// orElse is default: another value for what is undefined, or false where asked.
func orElse(v any, c *call) (any, error) {
	without := c.arg(0, "default_value", "")
	if _, ok := v.(undefined); ok {
		return without, nil
	}
	falsy, err := c.bool(1, "boolean", false)
	if err != nil || !falsy {
		return v, err
	}
	if yes, err := truth(v); err != nil || yes {
		return v, err
	}
	return without, nil
}

func size(v any, _ *call) (any, error) {
	n, err := length(v)
	return int64(n), err
}

func toFloat(v any, c *call) (any, error) {
	if f, ok := float(v); ok {
		return f, nil
	}
	if s, ok := v.(string); ok {
		if f, err := strconv.ParseFloat(strings.TrimFunc(s, isSpace), 64); err == nil {
			return f, nil
		}
	}
	if u, ok := v.(undefined); ok {
		return nil, u.used()
	}
	return c.arg(0, "default", 0.0), nil
}

func toInt(v any, c *call) (any, error) {
	base, err := c.int(1, "base", 10)
	if err != nil {
		return nil, err
	}
	switch n := number(v).(type) {
	case int64:
		return n, nil
	case float64:
		if math.Abs(n) < 1<<62 {
			return int64(n), nil
		}
	case string:
		s := strings.ReplaceAll(strings.TrimFunc(n, isSpace), "_", "")
		if i, err := strconv.ParseInt(s, base, 64); err == nil {
			return i, nil
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && base == 10 && math.Abs(f) < 1<<62 {
			return int64(f), nil
		}
	case undefined:
		return nil, n.used()
	}
	return c.arg(0, "default", int64(0)), nil
}

func formatted(v any, c *call) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	if c.named != nil {
		if len(c.args) > 0 {
			return nil, errors.New("values with and without names")
		}
		named := c.named
		c.takesAll()
		return percent(s, named)
	}
	return percent(s, &list{items: c.args, kind: tupleList})
}

// indent puts blanks before the lines of a text, but the first.
func indent(v any, c *call) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	by := strings.Repeat(" ", 4)
	switch w := c.arg(0, "width", int64(4)).(type) {
	case string:
		by = w
	case int64:
		if w > maxWidth {
			return nil, fmt.Errorf("a width of more than %d", maxWidth)
		}
		by = strings.Repeat(" ", max(0, int(w)))
	}
	all, err := c.bool(1, "first", false)
	if err != nil {
		return nil, err
	}
	blank, err := c.bool(2, "blank", false)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		if (i > 0 || all) && (blank || lines[i] != "" || i == 0) {
			lines[i] = by + lines[i]
		}
	}
	return strings.Join(lines, "\n"), nil
}

func replace(v any, c *call) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	from, err := str(c.arg(0, "old", ""))
	if err != nil {
		return nil, err
	}
	to, err := str(c.arg(1, "new", ""))
	if err != nil {
		return nil, err
	}
	count := c.arg(2, "count", nil)
	if count == nil {
		count = int64(-1)
	}
	n, ok := number(count).(int64)
	if !ok {
		return nil, fmt.Errorf("count must be a number, not %s", typeName(count))
	}
	return replaceAll(s, from, to, int(n))
}

// replaceAll is strings.Replace, bounded.
func replaceAll(s, from, to string, n int) (any, error) {
	hits := strings.Count(s, from)
	if n >= 0 {
		hits = min(hits, n)
	}
	if hits > 0 && len(to) > (maxOutput-len(s))/hits {
		return nil, errTooLong
	}
	return strings.Replace(s, from, to, n), nil
}

// round rounds half to even, as Python does, or up or down.
func round(v any, c *call) (any, error) {
	x, ok := float(v)
	if !ok {
		return nil, fmt.Errorf("want a number, not %s", typeName(v))
	}
	digits, err := c.int(0, "precision", 0)
	if err != nil {
		return nil, err
	}
	how, err := c.text(1, "method", "common")
	if err != nil {
		return nil, err
	}
	if math.Abs(float64(digits)) > 300 {
		return nil, errors.New("a precision of more than 300")
	}
	scale := math.Pow(10, float64(digits))
	switch how {
	case "common":
		if n, whole := number(v).(int64); whole {
			if digits >= 0 {
				return n, nil
			}
			return int64(math.RoundToEven(x*scale) / scale), nil
		}
		if digits >= 0 {
			return strconv.ParseFloat(strconv.FormatFloat(x, 'f', digits, 64), 64)
		}
		return math.RoundToEven(x*scale) / scale, nil
	case "ceil":
		return math.Ceil(x*scale) / scale, nil
	case "floor":
		return math.Floor(x*scale) / scale, nil
	}
	return nil, errors.New("method must be common, ceil or floor")
}

func trim(v any, c *call) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	return stripped(s, c.arg(0, "chars", nil), true, true)
}

// truncate cuts a text at a word, unless it is only a little too long.
func truncate(v any, c *call) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	length, err := c.int(0, "length", 255)
	if err != nil {
		return nil, err
	}
	kill, err := c.bool(1, "killwords", false)
	if err != nil {
		return nil, err
	}
	end, err := c.text(2, "end", "...")
	if err != nil {
		return nil, err
	}
	leeway := 5
	if c.arg(3, "leeway", nil) != nil {
		if leeway, err = c.int(3, "leeway", 5); err != nil {
			return nil, err
		}
	}
	r := []rune(s)
	keep := length - utf8.RuneCountInString(end)
	if keep < 0 || leeway < 0 {
		return nil, errors.New("length is less than that of the end")
	}
	if len(r) <= length+leeway {
		return s, nil
	}
	short := string(r[:keep])
	if i := strings.LastIndexByte(short, ' '); !kill && i >= 0 {
		short = short[:i]
	}
	return short + end, nil
}

func urlEncode(v any, _ *call) (any, error) {
	part := func(v any, slash string) (string, error) {
		s, err := str(v)
		return strings.NewReplacer("+", "%20", "%2F", slash, "%7E", "~").Replace(url.QueryEscape(s)), err
	}
	if isText(v) {
		return part(v, "/")
	}
	d, ok := v.(*Dict)
	if !ok {
		return part(v, "/")
	}
	var all []string
	for i, k := range d.keys {
		name, err := part(k, "%2F")
		if err != nil {
			return nil, err
		}
		value, err := part(d.values[i], "%2F")
		if err != nil {
			return nil, err
		}
		all = append(all, name+"="+value)
	}
	return strings.ReplaceAll(strings.Join(all, "&"), "%20", "+"), nil
}

func wordCount(v any, _ *call) (any, error) {
	s, err := str(v)
	words := strings.FieldsFunc(s, func(r rune) bool {
		return r != '_' &&
			!unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	return int64(len(words)), err
}

// wordWrap breaks lines between words; words longer than a line are cut.
func wordWrap(v any, c *call) (any, error) {
	s, err := str(v)
	if err != nil {
		return nil, err
	}
	width, err := c.int(0, "width", 79)
	if err != nil {
		return nil, err
	}
	if width < 1 {
		return nil, errors.New("width must be above 0")
	}
	var out []string
	for paragraph := range strings.SplitSeq(s, "\n") {
		var line []rune
		for _, word := range strings.Fields(paragraph) {
			w := []rune(word)
			if len(line) > 0 && len(line)+1+len(w) > width {
				out, line = append(out, string(line)), nil
			}
			if len(line) > 0 {
				line = append(line, ' ')
			}
			for line = append(line, w...); len(line) > width; line = line[width:] {
				out = append(out, string(line[:width]))
			}
		}
		out = append(out, string(line))
	}
	return strings.Join(out, "\n"), nil
}

func fileSize(v any, c *call) (any, error) {
	bytes, err := toFloat(v, c)
	if err != nil {
		return nil, err
	}
	n, _ := float(bytes)
	binary, err := c.bool(0, "binary", false)
	if err != nil {
		return nil, err
	}
	base, units := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if binary {
		base, units = 1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	switch {
	case n == 1:
		return "1 Byte", nil
	case n < base:
		return fmt.Sprintf("%d Bytes", int64(n)), nil
	}
	i := 0
	for n /= base; n >= base && i+1 < len(units); i++ {
		n /= base
	}
	return fmt.Sprintf("%.1f %s", n, units[i]), nil
}

// htmlJSON is Jinja2's own tojson: sorted, and safe inside HTML.
func htmlJSON(v any, c *call) (any, error) {
	style := &jsonStyle{item: ", ", colon: ": ", sorted: true, ascii: true, html: true}
	if err := style.setIndent(c.arg(0, "indent", nil)); err != nil {
		return nil, err
	}
	return style.dumps(v)
}

// chatJSON is transformers' tojson: json.dumps that escapes nothing.
func chatJSON(v any, c *call) (any, error) {
	style := &jsonStyle{item: ", ", colon: ": "}
	var err error
	if style.ascii, err = c.bool(0, "ensure_ascii", false); err != nil {
		return nil, err
	}
	if err := style.setIndent(c.arg(1, "indent", nil)); err != nil {
		return nil, err
	}
	if l, ok := c.arg(2, "separators", nil).(*list); ok && len(l.items) == 2 {
		style.item, style.colon = fmt.Sprint(l.items[0]), fmt.Sprint(l.items[1])
	}
	if style.sorted, err = c.bool(3, "sort_keys", false); err != nil {
		return nil, err
	}
	return style.dumps(v)
}

// setIndent is json.dumps' indent, which breaks lines.
func (j *jsonStyle) setIndent(v any) error {
	switch v := number(v).(type) {
	case nil:
		return nil
	case int64:
		if v > maxWidth {
			return fmt.Errorf("an indent of more than %d", maxWidth)
		}
		j.indent = strings.Repeat(" ", max(0, int(v)))
	case string:
		j.indent = v
	default:
		return fmt.Errorf("indent must be a number, not %s", typeName(v))
	}
	j.broken, j.item = true, ","
	return nil
}
