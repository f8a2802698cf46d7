package grade

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// units are the words that math_equal and the extractive match drop behind a number, in
// their order. They were collected from MathQA; some are abbreviations nobody uses.
var units = []string{
	"east", "degree", "mph", "kmph", "ft", "m sqaure", " m east", "sq m", "deg", "mile", "q .", "monkey",
	"prime", "ratio", "profit of rs", "rd", "o", "gm", "p . m", "lb", "tile", "per", "dm", "lt", "gain", "ab",
	"way", "west", "a .", "b .", "c .", "d .", "e .", "f .", "g .", "h .", "t", "a", "h", "no change", "men",
	"soldier", "pie", "bc", "excess", "st", "inches", "noon", "percent", "by", "gal", "kmh", "c", "acre",
	"rise", "a . m", "th", "π r 2", "sq", "mark", "l", "toy", "coin", "sq . m", "gallon", "° f", "profit",
	"minw", "yr", "women", "feet", "am", "pm", "hr", "cu cm", "square", "v â € ™", "are", "rupee", "rounds",
	"cubic", "cc", "mtr", "s", "ohm", "number", "day", "hour", "minute", "min", "second", "man", "woman",
	"sec", "cube", "mt", "sq inch", "mp", "∏ cm ³", "hectare", "more", "unit", "cu . m", "cm 2", "rs .", "rs",
	"kg", "g", "month", "km", "m", "cm", "mm", "apple", "liter", "loss", "yard", "pure", "year", "increase",
	"decrease", "d", "less", "Surface", "litre", "pi sq m", "s .", "metre", "meter", "inch",
}

// onlyExtracted are units that the extractive match drops too.
const onlyExtracted = `feet|sue|digit|pound|meal|edge|student|children ticket|multiple|m square|cent`

// unitNames is a pattern of all units of the extractive match. "a" and "percent" are none
// there. A full stop stands for any character, as in the lists this comes from.
var unitNames = func() string {
	names := []string{onlyExtracted}
	for _, u := range units {
		if u != "a" && u != "percent" {
			names = append(names, u)
		}
	}
	return strings.Join(names, "|")
}()

// unit is a word that is dropped. One with a full stop is a pattern.
type unit struct {
	word    string
	pattern *regexp.Regexp
}

// allUnits are the units and their plurals.
var allUnits = func() (all []unit) {
	for _, s := range []string{"", "s"} {
		for _, u := range units {
			one := unit{word: u + s}
			if strings.Contains(u, ".") {
				one.pattern = regexp.MustCompile(`(^|[^\pL\pN_])` + u + s + `($|[^\pL\pN_])`)
			}
			all = append(all, one)
		}
	}
	return all
}()

// without is a text without the unit, where it stands apart from other words.
func (u unit) without(s string) string {
	switch {
	case u.pattern != nil && strings.Contains(s, u.word[:1]) && strings.Contains(s, " "):
		return u.pattern.ReplaceAllString(s, "$1$2")
	case u.pattern == nil && strings.Contains(s, u.word):
		return withoutWord(s, u.word)
	}
	return s
}

// withoutUnits drops all units, unless nothing is left.
func withoutUnits(s string) string {
	if !strings.ContainsFunc(s, unicode.IsLetter) {
		return s
	}
	for range 2 {
		for _, u := range allUnits {
			if t := u.without(s); t != "" {
				s = t
			}
		}
	}
	return s
}

// withoutWord drops a word where neither side of it belongs to a word. A character that
// bounds one place on its right bounds no other one on its left.
func withoutWord(s, word string) string {
	out, from, free := "", 0, 0
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return out + s[from:]
		}
		i += at
		at = i + 1
		_, before := utf8.DecodeLastRuneInString(s[:i])
		end := i + len(word)
		if i-before < free || wordBefore(s, i) || wordAt(s, end) {
			continue
		}
		_, after := utf8.DecodeRuneInString(s[end:])
		out += s[from:i]
		from, at, free = end, end, end+after
	}
}
