package words

import "strings"

// ASCIITerminal tells whether a terminal says that it shows no UTF-8: the first
// of the variables of the locale that is set names another code. Where none is
// set nothing is said, and terminals of today show it.
func ASCIITerminal(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}

// plainer are the signs of our own screens in ASCII, one for one, so that what
// stands below each other still does.
var plainer = map[rune]rune{
	'█': '#', '░': '.', '▁': '_', '▂': '.', '▃': '-', '▄': '=', '▅': '+', '▆': '*', '▇': '%', '·': '|', '…': '~', '–': '-', '—': '-', 'µ': 'u', '±': '~', '×': 'x',
	'≤': '<', '≥': '>', '↓': 'v', '↑': '^', '∞': '?',
}

// ASCII is s in ASCII, of the same length in characters.
func ASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 {
			return r
		}
		if p, ok := plainer[r]; ok {
			return p
		}
		return '?'
	}, s)
}
