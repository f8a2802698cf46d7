package grade

import "strings"

// box is the command that marks a final answer.
const box = `\boxed`

// lastBoxed is what stands in the last \boxed{…} whose braces are closed.
func lastBoxed(s string) (string, bool) {
	for end := len(s); ; {
		i := strings.LastIndex(s[:end], box)
		if i < 0 {
			return "", false
		}
		if inside, _, ok := braced(s, i+len(box)); ok {
			return inside, true
		}
		end = i
	}
}

// braced is what stands in the braces that open at i, behind white space, and the place
// behind them.
func braced(s string, i int) (inside string, end int, ok bool) {
	rest := strings.TrimLeftFunc(s[i:], space)
	open := len(s) - len(rest)
	if !strings.HasPrefix(rest, "{") {
		return "", 0, false
	}
	depth := 0
	for j := open; j < len(s); j++ {
		switch s[j] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return s[open+1 : j], j + 1, true
			}
		}
	}
	return "", 0, false
}
