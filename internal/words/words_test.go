package words_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/words"
)

func TestAmounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0.9999, "ms", "1.00 ms"},
		{99.96, "ms", "100 ms"},
		{9.996, "", "10.0"},
		{0.0174, "ms", "17.4 µs"},
		{0, "ms", "0 ms"},
		{1234.5, "ms", "1,230 ms"},
		{12_345, "ms", "12.3 s"},
		{12_345, "", "12,300"},
		{math.NaN(), "", "–"},
		{math.Inf(1), "ms", "∞"},
	} {
		if got := words.Amount(c.v, c.unit); got != c.want {
			t.Errorf("Amount(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"1 run": words.Count(1, "run"), "0 runs": words.Count(0, "run"), "1,234 requests": words.Count(int64(1234), "request"),
		"2 retries": words.Count(2, "retry"), "2 replays": words.Count(2, "replay"), "3 addresses": words.Count(3, "address"),
		"-1,001": words.Whole(-1001), "-9,223,372,036,854,775,808": words.Whole(math.MinInt64), "999": words.Whole(999),
		"1,234.50": words.Decimals(1234.5, 2), "-1,000": words.Decimals(-1000, 0), "NaN": words.Decimals(math.NaN(), 2),
		"3.1 k": words.Short(3104), "1.23 M": words.Short(1.234e6), "412": words.Short(412.4),
		"96.7 %": words.Percent(0.967), "less than 0.001 %": words.Percent(1e-7), "0 %": words.Percent(0), "1,230 %": words.Percent(12.34),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		48200 * time.Millisecond: "48.2 s", 59900 * time.Millisecond: "1m00s", 842 * time.Second: "14m02s",
		2*time.Hour + 5*time.Minute: "2h05m", 0: "0 s",
	} {
		if got := words.Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
}

// What a server says must not move the cursor, colour the screen, set its
// title or turn its words around.
func TestCleanTakesOutWhatActs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain é 漢字 🙂":                       "plain é 漢字 🙂",
		"a\n\x1b[31mb\tc\x1b[0m":             "a\nb\tc",
		"\x1b]0;owned\atitle":                "title",
		"\x1b]8;;http://x\x1b\\link":         "link",
		"up\x1b[2A\x1b[Jdown":                "updown",
		"\u009b31mred":                       "red",
		"\x1b(Bset":                          "set",
		"bell\a del\x7f back\b nul\x00":      "bell del back nul",
		"one\rtwo\r\nthree\u2028four":        "one\ntwo\nthree\nfour",
		"abc\u202etxt.exe\u2066x\u2069":      "abctxt.exex",
		"zero\u200bwidth\ufeff":              "zerowidth",
		"not \xff UTF-8":                     "not \ufffd UTF-8",
		"ends \x1b":                          "ends ",
		"ends \x1b[":                         "ends ",
		"\x1b]0;never ended, but words stay": "0;never ended, but words stay",
	} {
		if got := words.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := words.Clip("a\n\x1b[31mb\tc", 100), "a b c"; got != want {
		t.Errorf("Clip = %q, want %q", got, want)
	}
	if got := words.Clip(strings.Repeat("x", 300), 10); got != "xxxxxxxxx…" {
		t.Errorf("Clip = %q", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1b[1;31mb", "\x1b]0;x\a", "\xc2\x9b31m", "\x1bP\x1b\\", "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := words.Clean(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\a\b\r\u009b\u202e\x7f\x00") {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if again := words.Clean(got); again != got {
			t.Errorf("Clean twice: %q, then %q", got, again)
		}
		if strings.Contains(words.Line(s), "\n") {
			t.Errorf("Line(%q) has a line end", s)
		}
	})
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"one  two", "one two"},
		{"one two three four", "one two|  three|  four"},
		{"a-word-that-is-longer is whole", "a-word-that-is-longer|  is whole"},
	} {
		if got := strings.Join(words.Fold(c.text, 10, "  "), "|"); got != c.want {
			t.Errorf("Fold(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"candidate-1", 7, "can…e-1"},
		{"ünïcödé", 4, "ün…é"},
		{"abcdef", 0, "a…f"},
		{"", 3, ""},
		{"模型模型模型", 7, "模型…型"},
		{"模型x", 4, "模…x"},
	} {
		if got := words.Middle(c.text, c.most); got != c.want {
			t.Errorf("Middle(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
