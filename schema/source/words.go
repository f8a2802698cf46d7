package source

import "strings"

// Short is s, cut where it stops helping.
func Short(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

func Clip(s string) string {
	if len(s) > 200 {
		return s[:197] + "..."
	}
	return s
}

// IsTemplate reports whether s holds a template.
func IsTemplate(s string) bool { return strings.Contains(s, "{{") || strings.Contains(s, "{%") }
