package synth

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// Corpus is text in pieces whose token counts are known, so that a text of
// exactly n tokens is put together without encoding it.
//
// Pieces either begin with a space or follow a line end, and words begin with
// a space. Tokenizers that never merge across such a border count a text as
// the sum of its pieces: additive says whether this one does, found by trying.
// Where it does not, every text is counted and repaired.
type Corpus struct {
	tok      tokenizer.Tokenizer
	pieces   []piece
	byTokens [][]string // pieces of i tokens
	longest  int        // tokens of the longest piece
	openers  []string   // words of one token with and without a leading space, as they begin a text
	fillers  []string   // " word" of one token
	ordered  bool       // pieces follow each other as in the file they came from
	lines    bool       // pieces begin on a line of their own
	additive bool
}

type piece struct {
	text   string
	tokens int
}

// pieceCount is large enough that repetition inside a prompt is rare and small
// enough to be encoded in a few milliseconds.
const pieceCount = 1200

// NewCorpus is the text called name: sonnet (prose), coding, random (words out
// of the whole vocabulary), or what file holds. It is the same for every seed.
func NewCorpus(name, file string, tok tokenizer.Tokenizer) (*Corpus, error) {
	c := &Corpus{tok: tok}
	c.addWords()
	r := seed.Stream(0, "dataset.corpus")
	switch {
	case file != "":
		if err := c.addFile(file); err != nil {
			return nil, err
		}
	case name == "coding":
		c.lines = true
		for range pieceCount {
			c.add(makeCode(r))
		}
	case name == "random":
		c.addVocabulary()
	default:
		for range pieceCount {
			c.add(makeSentence(r))
		}
	}
	c.additive = c.tryAdditive()
	return c, nil
}

// Additive reports whether texts have their length by construction.
func (c *Corpus) Additive() bool { return c.additive }

// addWords finds the words that are one token each.
func (c *Corpus) addWords() {
	for _, list := range [][]string{nouns, verbs, adjectives, counts} {
		for _, w := range list {
			if c.tok.Count(" "+w) != 1 {
				continue
			}
			c.fillers = append(c.fillers, " "+w)
			if c.tok.Count(w) == 1 {
				c.openers = append(c.openers, w)
			}
		}
	}
	if len(c.openers) < enough {
		c.addWordsBehind("the")
	}
	if len(c.openers) < enough { // a vocabulary without English: counted and repaired anyway
		c.openers, c.fillers = nouns, prefixed(nouns)
	}
}

// enough is how many words texts are made of, at least.
const enough = 16

// addWordsBehind finds the words that are one token at the beginning of a text
// and one more behind another word. Tokenizers that put a space before each
// text count " word" alone as two, and find their words only so.
func (c *Corpus) addWordsBehind(first string) {
	c.openers, c.fillers = nil, nil
	alone := c.tok.Count(first)
	for _, list := range [][]string{nouns, verbs, adjectives, counts} {
		for _, w := range list {
			if c.tok.Count(w) == 1 && c.tok.Count(first+" "+w) == alone+1 {
				c.openers, c.fillers = append(c.openers, w), append(c.fillers, " "+w)
			}
		}
	}
}

// scanned is how many ids of a vocabulary are looked at for words.
const scanned = 64 << 10

// addVocabulary makes every word of the vocabulary that is one token a filler,
// so that texts are random tokens that still count as themselves.
func (c *Corpus) addVocabulary() {
	var found []string
	for id := range scanned {
		text := c.tok.Decode([]int{id})
		if len(text) < 3 || text[0] != ' ' || strings.IndexFunc(text[1:], notLatin) >= 0 || c.tok.Count(text) != 1 {
			continue
		}
		found = append(found, text)
	}
	if len(found) > len(c.fillers) {
		c.fillers = found
	}
}

func notLatin(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }

// maxCorpus bounds the file that prompts are cut from, in bytes.
const maxCorpus = 64 << 20

// addFile takes the words of a text file in their order, eight at a time.
func (c *Corpus) addFile(name string) error {
	st, err := os.Stat(name)
	if err == nil && st.Size() > maxCorpus {
		err = fmt.Errorf("%s: larger than %d MiB", name, maxCorpus>>20)
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !utf8.Valid(text) {
		return fmt.Errorf("%s: not text in UTF-8", name)
	}
	list := strings.Fields(string(text))
	if len(list) == 0 {
		return fmt.Errorf("%s: holds no text", name)
	}
	c.ordered = true
	for part := range slices.Chunk(list, 8) {
		c.add(" " + strings.Join(part, " "))
	}
	return nil
}

func prefixed(list []string) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = " " + w
	}
	return out
}

func (c *Corpus) add(text string) {
	n := c.tok.Count(text)
	if n == 0 {
		return
	}
	c.pieces = append(c.pieces, piece{text, n})
	for len(c.byTokens) <= n {
		c.byTokens = append(c.byTokens, nil)
	}
	c.byTokens[n] = append(c.byTokens[n], text)
	c.longest = max(c.longest, n)
}

// makeSentence is one of a few patterns filled with words.
func makeSentence(r *rand.Rand) string {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	thing := func(article string) string {
		if r.IntN(2) == 0 {
			return article + " " + pick(nouns)
		}
		return article + " " + pick(adjectives) + " " + pick(nouns)
	}
	deed := func() string { return pick(verbs) + " " + thing("the") }
	switch r.IntN(5) {
	case 0:
		return " " + thing("The") + " " + deed() + "."
	case 1:
		return " " + thing("The") + " " + deed() + " " + pick(places) + " " + thing("the") + "."
	case 2:
		return " " + thing("Every") + " " + deed() + ", and " + thing("the") + " " + pick(verbs) + " it " +
			pick(times) + "."
	case 3:
		return " Nobody " + deed() + " " + pick(times) + "; " + pick(counts) + " " + pick(nouns) + "s " + pick(verbs) +
			" it " + pick(places) + " " + thing("the") + "."
	}
	return " When " + thing("the") + " " + deed() + ", " + thing("the") + " " + deed() + " " + pick(times) + "."
}

// tryAdditive composes texts of many lengths and counts them.
func (c *Corpus) tryAdditive() bool {
	w := c.Writer(0)
	for n := 1; n <= 256; n += 1 + n/3 {
		text := w.compose(n, n)
		if c.tok.Count(text) != n || c.tok.Count(text+" "+text) != 2*n {
			return false
		}
	}
	return true
}
