// Package words writes what people read: numbers, counts with their nouns,
// spans of time, and text of others made harmless. Screens, reports, findings
// and messages use it, so that a number looks the same wherever it stands.
// Numbers in AIPerf's files have rules of their own and are not written here.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number is v with three significant digits and no exponent: 0.0456, 38.1,
// 1,230. What is no number is a dash.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // 0.9999 has the digits of 1.00
	switch a := math.Abs(rounded); {
	case a == 0:
		return "0"
	case a >= 100:
		return Grouped(rounded)
	default:
		digits := max(2-int(math.Floor(math.Log10(a))), 0)
		return strconv.FormatFloat(v, 'f', min(digits, 6), 64)
	}
}

// Grouped writes a number with commas: whole from 100 up, else as Number.
func Grouped(v float64) string {
	if math.Abs(v) < 100 && v != math.Trunc(v) {
		return Number(v)
	}
	s := commas(strconv.FormatFloat(math.Abs(v), 'f', 0, 64))
	if v < 0 {
		s = "-" + s
	}
	return s
}

// Whole is an integer with commas.
func Whole[N ~int | ~int64](n N) string {
	if n < 0 {
		return "-" + commas(strconv.FormatUint(-uint64(n), 10))
	}
	return commas(strconv.FormatInt(int64(n), 10))
}

// Digits is a whole number that is written already, with commas: of any length.
func Digits(s string) string {
	if rest, minus := strings.CutPrefix(s, "-"); minus {
		return "-" + commas(rest)
	}
	return commas(s)
}

func commas(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Decimals is v with a fixed number of decimals and commas in the whole part.
func Decimals(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, rest, cut := strings.Cut(s, ".")
	if strings.Trim(whole, "0123456789") != "" { // NaN, Inf
		return sign + s
	}
	if cut {
		return sign + commas(whole) + "." + rest
	}
	return sign + commas(whole)
}

// At is v rounded to a decimal place: 1,230 at place 1, 12.3 at place -1.
func At(v float64, place int) string {
	switch {
	case v == 0:
		return "0"
	case place > 0:
		p := math.Pow10(place)
		return Grouped(math.Round(v/p) * p)
	}
	return Decimals(v, min(-place, 6))
}

// Short is 3.1 k for 3,104 and 1.2 M for 1,234,567: for a line that is drawn
// again and again.
func Short(v float64) string {
	switch {
	case v >= 999_500:
		return fmt.Sprintf("%.3g M", v/1e6)
	case v >= 1000:
		return fmt.Sprintf("%.2g k", v/1e3)
	}
	return Number(v)
}

// Count is a count with its noun: 1 run, 1,234 requests.
func Count[N ~int | ~int64](n N, noun string) string {
	if n != 1 {
		noun = plural(noun)
	}
	return Whole(n) + " " + noun
}

// CountOf is a count with words that are not only a noun: 1 row is, 2 rows are.
func CountOf[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		many = one
	}
	return Whole(n) + " " + many
}

func plural(noun string) string {
	switch body, y := strings.CutSuffix(noun, "y"); {
	case y && body != "" && !strings.ContainsAny(body[len(body)-1:], "aeiou"):
		return body + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"),
		strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}

// Amount is a value with its unit; milliseconds in the unit a person would use.
func Amount(v float64, unit string) string {
	a := math.Abs(v)
	switch {
	case math.IsInf(v, 1):
		return "∞"
	case unit == "":
		return Number(v)
	case unit == "ms" && a >= 10_000:
		v, unit = v/1e3, "s"
	case unit == "ms" && a > 0 && a < 0.1:
		v, unit = v*1e3, "µs"
	}
	return Number(v) + " " + unit
}

// Millis is a span given in milliseconds.
func Millis(v float64) string { return Amount(v, "ms") }

// Percent is a share of one: 0.967 is 96.7 %.
func Percent(share float64) string {
	if a := math.Abs(100 * share); a > 0 && a < 0.001 {
		return "less than 0.001 %"
	}
	return Number(100*share) + " %"
}

// Span is a span of time as people say it: 48.2 s, 14m02s, 2h05m.
func Span(d time.Duration) string {
	switch s := d.Round(time.Second); {
	case d < time.Minute && s < time.Minute:
		return Amount(d.Seconds(), "s")
	case s < time.Hour:
		return fmt.Sprintf("%dm%02ds", s/time.Minute, s%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%dh%02dm", s/time.Hour, s%time.Hour/time.Minute)
	}
}

// And joins names as people do: a, b and c.
func And(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Once leaves out what a name begins with where the one before it begins so too: "concurrency
// 8", "16" and "32". A name with a comma is left as it is.
func Once(names []string) (out []string) {
	last := ""
	for _, n := range names {
		name, value, ok := strings.Cut(n, " ")
		if ok && name == last && !strings.Contains(value, ",") {
			n = value
		}
		out, last = append(out, n), name
	}
	return out
}
