package words_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/words"
)

func TestApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, x, y string }{
		{"before", "after", "before", "after"},
		{"out/llama3-70b-h100-tp8-before", "out/llama3-70b-h100-tp8-after", "…before", "…after"},
		{"results/quickstart-20261124T115934Z-with-fp8-and-more", "results/quickstart-20261124T120000Z-with-fp8-and-more", "…20261124T1159…", "…20261124T1200…"},
		{"a-very-long-name-of-something-before-the-end-is-the-same", "a-very-long-name-of-something-after-the-end-is-the-same", "…before-the-en…", "…after-the-end…"},
		{"onelongwordthatdiffersonlyhere1andhasalongtail", "onelongwordthatdiffersonlyhere2andhasalongtail", "…1andhasalongt…", "…2andhasalongt…"},
		{"same", "same", "same (1)", "same (2)"},
		{"results/run-that-has-a-long-name", "results/run-that-has-a-long-name-2", "…name", "…name-2"},
	} {
		if x, y := words.Apart(c.a, c.b, 15); x != c.x || y != c.y {
			t.Errorf("%s and %s: %q, %q, want %q, %q", c.a, c.b, x, y, c.x, c.y)
		}
	}
}

// Any two names differ in any width.
func FuzzApart(f *testing.F) {
	f.Add("a/b", "a/c", 8)
	f.Add("same", "same", 9)
	f.Fuzz(func(t *testing.T, a, b string, most int) {
		a, b = words.Line(a), words.Line(b)
		most = 8 + max(most, -most)%40
		if x, y := words.Apart(a, b, most); x == y && a != b || words.Width(x) > most || words.Width(y) > most {
			t.Errorf("%q and %q in %d: %q, %q", a, b, most, x, y)
		}
	})
}
