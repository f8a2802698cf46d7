package words

import "testing"

func TestWidth(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		"": 0, "abc": 3, "Zürich…": 7, "模型 a": 6, "ｱ": 1, "Ａ": 2,
		"e\u0301": 1, "█▁": 2, "🚀": 2, "\u200d": 0,
	} {
		if got := Width(s); got != want {
			t.Errorf("%q is %d columns wide, want %d", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abcd", 4, "abcd"},
		{"abcd", 3, "ab…"},
		{"模型模型", 8, "模型模型"},
		{"模型模型", 7, "模型模…"},
		{"模型模型", 6, "模型…"}, // no half of a character
		{"e\u0301e\u0301e", 2, "e\u0301…"},
		{"abcd", 1, "…"},
		{"abcd", 0, ""},
	} {
		if got := Cut(c.s, c.n); got != c.want || Width(got) > c.n {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
	if got := Pad("模", 4) + "|"; got != "模  |" {
		t.Errorf("Pad: %q", got)
	}
}
