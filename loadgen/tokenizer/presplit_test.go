package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// What is written out by hand cuts as the expression does that it stands for.
// Characters are those that Go's tables know: its expressions know no others. The
// long s is left out, which they fold and the expressions' own library does not.
func TestSplittersEqualTheirExpressions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	stock := []rune("aZéßʰªあ゠・ヿ漢龥龦字の 1٣Ⅷ²…—!\"#'/_~€©\u0301\u3099\u200b\u00a0\u0085\t\r\n  \u0000𝒳😀ǅ")
	words := []string{
		"don't", "I'LL", " over", "1234567", "漢字かな", "…?\n\n", "  \n x", "#tag", " €5", "\u0301a",
		"\n\n\n", "’s",
	}
	rng := rand.New(rand.NewPCG(4, 2))
	texts := []string{""}
	for range 4000 {
		var s strings.Builder
		for range 1 + rng.IntN(12) {
			if rng.IntN(3) == 0 {
				s.WriteString(words[rng.IntN(len(words))])
			} else {
				s.WriteRune(stock[rng.IntN(len(stock))])
			}
		}
		texts = append(texts, s.String())
	}
	cut := func(s splitter, text string) (out []string) {
		s(text, true, func(piece string) { out = append(out, piece) })
		return out
	}
	check := func(expr string, by splitter) {
		m, err := newMatcher("test", expr, &trouble{})
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for _, text := range texts {
			var want []string
			spread(m.pieces(text), "Isolated", false, func(piece string) { want = append(want, piece) })
			if got := cut(by, text); !slices.Equal(got, want) && wrong < 3 {
				wrong++
				t.Errorf("%.30s… on %q: %q, want %q", expr, text, got, want)
			}
		}
	}
	for expr, end := range byHand {
		check(expr, walking(end))
	}
	for expr, end := range byHandInPlaces {
		check(expr, isolating(end))
	}
}

// BenchmarkDeepSeek splits prose, code, numbers and Chinese by DeepSeek's
// expressions, in MB/s.
func BenchmarkDeepSeek(b *testing.B) {
	text := strings.Repeat("The quiet river carried 17,204 boats; for i := 0; i < n; i++ { sum += x[i] }\n漢字とかな混じり文。",
		500)
	for b.Loop() {
		for _, end := range byHandInPlaces {
			isolating(end)(text, true, func(string) {})
		}
	}
	b.SetBytes(int64(len(text)))
}
