package words

import "strings"

// ASCIITerminal reports whether a terminal says that it shows no UTF-8: the first
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
	'█': '#', '░': '.', '▁': '_', '▂': '.', '▃': '-', '▄': '=', '▅': '+', '▆': '*', '▇': '%', '·': '|', '…': '~',
	'–': '-', '—': '-', 'µ': 'u', '±': '~', '×': 'x',
	'≤': '<', '†': '+', '≥': '>', '↓': 'v', '↑': '^', '∞': '?',
}

// ASCII is s in ASCII, as wide as it was.
func ASCII(s string) string {
	var b strings.Builder
	for _, r := range s {
		p, ok := plainer[r]
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case ok:
			b.WriteRune(p)
		default:
			b.WriteString("??"[:columns(r)])
		}
	}
	return b.String()
}
