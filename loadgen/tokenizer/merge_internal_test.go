package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// alphabets make pieces in which much, little or nothing can be merged.
var alphabets = []string{
	"a", "ab", "-", " ", "etaoinshrdlu", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"häßé漢字😀", "=-=-_", "\n\t ",
}

func longWord(r *rand.Rand, n int) string {
	runes := []rune(alphabets[r.IntN(len(alphabets))])
	var b strings.Builder
	for b.Len() < n {
		run := string(runes[r.IntN(len(runes))])
		b.WriteString(strings.Repeat(run, 1+r.IntN(1+r.IntN(40))))
	}
	return b.String()
}

func idsOf(symbols []symbol) (ids []int32) {
	for _, s := range symbols {
		ids = append(ids, s.id)
	}
	return ids
}

// A piece that is merged window by window has the tokens that it has as a
// whole, however small the windows are.
func TestWindowsEqualTheWhole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	for _, name := range Names() {
		if name == "builtin" {
			continue
		}
		ranks := encodingNamed(name).open().(*bytePair).ranks
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 300 {
			piece := longWord(r, 200+r.IntN(3000))
			size := []int{2, 8, 16, 64, 300, 1000}[n%6]
			var whole, m merger
			ranks.merge(&whole, piece)
			var got []int32
			eachWindow(&m, size, piece, func(part string) { ranks.merge(&m, part) },
				func(s []symbol) { got = append(got, idsOf(s)...) })
			if want := idsOf(whole.symbols); !slices.Equal(got, want) {
				t.Fatalf("%s, windows of %d bytes: %d tokens, as a whole %d: %.100q", name, size, len(got), len(want),
					piece)
			}
		}
	}
}

// The same for vocabularies of pairs: by characters with bytes for the unknown
// ones, and with unknown tokens, alone and fused.
func TestWindowsOfPairsEqualTheWhole(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 200 {
		m := &pairModel{
			vocabulary: vocabulary{ids: map[string]int32{}}, merges: map[uint64]mergeResult{},
			unknown: absent,
		}
		add := func(text string) int32 {
			id, ok := m.ids[text]
			if !ok {
				id = int32(len(m.ids))
				m.ids[text] = id
			}
			return id
		}
		words := []string{"a", "b", "c", "ä", "漢"}
		for _, w := range words {
			add(w)
		}
		if n%2 == 0 {
			m.unknown, m.fuseUnknown = add("<unk>"), n%4 == 0
		}
		for rank := range 60 { // random unions of what there is
			left, right := words[r.IntN(len(words))], words[r.IntN(len(words))]
			if key := pairKey(add(left), add(right)); len(left+right) < 24 && m.merges[key] == (mergeResult{}) {
				m.merges[key] = mergeResult{int32(rank), add(left + right)}
				words = append(words, left+right)
			}
		}
		var text strings.Builder
		letters := []string{"a", "b", "c", "ä", "漢", "x", "é"}
		for text.Len() < 2000 {
			text.WriteString(letters[r.IntN(len(letters)-n%3)])
		}
		piece := text.String()
		var whole, w merger
		m.merge(&whole, piece)
		var got []int32
		eachWindow(&w, 8+r.IntN(200), piece, func(part string) { m.merge(&w, part) },
			func(s []symbol) { got = append(got, idsOf(s)...) })
		if want := idsOf(whole.symbols); !slices.Equal(got, want) {
			t.Fatalf("case %d: %d tokens, as a whole %d", n, len(got), len(want))
		}
	}
}

// BenchmarkLongWord is a text of one word: what it costs must not depend on its
// length.
func BenchmarkLongWord(b *testing.B) {
	tok := encodingNamed(Default).open()
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name, alphabet string
		n              int
	}{
		{"letters/64KiB", "abcdefghijklmnopqrstuvwxyz", 64 << 10},
		{"letters/4MiB", "abcdefghijklmnopqrstuvwxyz", 4 << 20},
		{"dashes/4MiB", "-", 4 << 20},
	} {
		text := make([]byte, c.n)
		for i := range text {
			text[i] = c.alphabet[r.IntN(len(c.alphabet))]
		}
		word := string(text)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(c.n))
			for b.Loop() {
				tok.Count(word)
			}
		})
	}
}
