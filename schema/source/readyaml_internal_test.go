package source

import (
	"strings"
	"testing"
)

// The YAML library says its mistakes in text alone: the line and the depth are read
// out of it.
func TestWordsOfYAML(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, place, message, hint string }{
		{"a: 1\nb:\n  - c\n d\n  e: f\n", "e.yaml:4:2", "indented by 1, which fits no line above", "indent it by 0 or by 2"},
		{strings.Repeat("[", 10001), "e.yaml", "exceeded max depth", "an experiment nests at most 64 levels"},
	} {
		_, bad := ReadYAML("e.yaml", []byte(c.text))
		if len(bad) != 1 || bad[0].Place != c.place || !strings.Contains(bad[0].Message, c.message) ||
			strings.Contains(bad[0].Message, "yaml:") || bad[0].Hint != c.hint {
			t.Errorf("%.20q: %+v, want %s: …%s… (hint %q)", c.text, bad, c.place, c.message, c.hint)
		}
	}
}
