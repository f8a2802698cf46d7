package page

import (
	"strings"
	"testing"
)

// On paper two charts stand beside each other, and the one that is left is marked.
func TestTheLastChartOnPaper(t *testing.T) {
	t.Parallel()
	of := func(classes ...string) (out []Chart) {
		for _, c := range classes {
			out = append(out, Chart{Class: c})
		}
		return out
	}
	for _, c := range []struct{ classes, want string }{
		{"", ""},
		{"|", "|"},
		{"|whole|", "|whole| alone"},
		{"whole", "whole alone"},
		{"| deep|whole deep|whole", "| deep|whole deep|whole"},
		{"|| deep||whole sheet", "|| deep| alone|whole sheet"},
	} {
		charts := of(strings.Split(c.classes, "|")...)
		if c.classes == "" {
			charts = nil
		}
		alone(charts)
		var got []string
		for _, x := range charts {
			got = append(got, x.Class)
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%q: %q, want %q", c.classes, text, c.want)
		}
	}
}
