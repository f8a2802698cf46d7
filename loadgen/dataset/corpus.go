package dataset

import (
	"math/rand/v2"
	"strings"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// corpus is English-like prose in pieces whose token counts are known, so that
// a text of exactly n tokens is put together without encoding it.
//
// Sentences begin with a space and end with a full stop; words begin with a
// space. Tokenizers that never merge across the start of a word therefore count
// a text as the sum of its pieces: additive says whether this one does, found
// by trying. Where it does not, every text is counted and repaired.
type corpus struct {
	tok       tokenizer.Tokenizer
	sentences []sentence
	byTokens  [][]string // sentences of i tokens
	longest   int        // tokens of the longest sentence
	openers   []string   // words of one token with and without a leading space, as they begin a text
	fillers   []string   // " word" of one token
	additive  bool
}

type sentence struct {
	text   string
	tokens int
}

// sentenceCount is large enough that repetition inside a prompt is rare and
// small enough to be encoded in a few milliseconds.
const sentenceCount = 1200

// newCorpus is the same for every seed; only the tokenizer matters.
func newCorpus(tok tokenizer.Tokenizer) *corpus {
	c := &corpus{tok: tok}
	for _, list := range [][]string{nouns, verbs, adjectives, counts} {
		for _, w := range list {
			if tok.Count(" "+w) != 1 {
				continue
			}
			c.fillers = append(c.fillers, " "+w)
			if tok.Count(w) == 1 {
				c.openers = append(c.openers, w)
			}
		}
	}
	if len(c.openers) < 16 { // a vocabulary without English: counted and repaired anyway
		c.openers, c.fillers = nouns, prefixed(nouns)
	}
	r := seed.Stream(0, "dataset.corpus")
	for range sentenceCount {
		c.add(makeSentence(r))
	}
	c.additive = c.tryAdditive(r)
	return c
}

func prefixed(list []string) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = " " + w
	}
	return out
}

func (c *corpus) add(text string) {
	n := c.tok.Count(text)
	c.sentences = append(c.sentences, sentence{text, n})
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
		return " " + thing("Every") + " " + deed() + ", and " + thing("the") + " " + pick(verbs) + " it " + pick(times) + "."
	case 3:
		return " Nobody " + deed() + " " + pick(times) + "; " + pick(counts) + " " + pick(nouns) + "s " + pick(verbs) + " it " + pick(places) + " " + thing("the") + "."
	}
	return " When " + thing("the") + " " + deed() + ", " + thing("the") + " " + deed() + " " + pick(times) + "."
}

// tryAdditive composes texts of many lengths and counts them.
func (c *corpus) tryAdditive(r *rand.Rand) bool {
	w := c.writer(r)
	for n := 1; n <= 256; n += 1 + n/3 {
		text := w.compose(n)
		if c.tok.Count(text) != n || c.tok.Count(text+" "+text) != 2*n {
			return false
		}
	}
	return true
}

// writer composes texts. No two of its first V² texts begin with the same two
// words, V being the number of openers, so that none is a prefix of another in
// a server's cache.
type writer struct {
	*corpus
	rng   *rand.Rand
	code  int
	drift int // texts whose length could not be repaired
}

func (c *corpus) writer(r *rand.Rand) *writer {
	return &writer{corpus: c, rng: r, code: r.IntN(len(c.openers) * len(c.openers))}
}

// stride is a prime above every number of openers, hence coprime to V².
const stride = 104729

// compose is a text that is n tokens long if the tokenizer is additive.
func (w *writer) compose(n int) string {
	var s strings.Builder
	s.Grow(6 * n)
	v := len(w.openers)
	w.code = (w.code + stride) % (v * v)
	s.WriteString(w.openers[w.code%v])
	n--
	if n > 0 {
		s.WriteString(" ")
		s.WriteString(w.openers[w.code/v])
		n--
	}
	for ; n > w.longest; n -= w.sentence(&s) {
	}
	w.finish(&s, n)
	return s.String()
}

func (w *writer) sentence(s *strings.Builder) int {
	one := w.sentences[w.rng.IntN(len(w.sentences))]
	s.WriteString(one.text)
	return max(one.tokens, 1)
}

// finish adds exactly n tokens: a sentence of that length, else words.
func (w *writer) finish(s *strings.Builder, n int) {
	if n > 0 && n < len(w.byTokens) && len(w.byTokens[n]) > 0 {
		fits := w.byTokens[n]
		s.WriteString(fits[w.rng.IntN(len(fits))])
		return
	}
	for range n {
		s.WriteString(w.fillers[w.rng.IntN(len(w.fillers))])
	}
}

// text is a text of exactly n tokens, repaired if need be.
func (w *writer) text(n int) string {
	if w.additive {
		return w.compose(n)
	}
	return w.repair("", w.compose(n), n)
}

// after is content of n tokens that follows prefix, which has p, so that both
// joined by a space have p+n.
func (w *writer) after(prefix string, p, n int) string {
	if w.additive {
		return prefix + " " + w.compose(n)
	}
	return w.repair(prefix+" ", w.compose(n), p+n)
}

// repairs is how often a text is counted before its length is given up.
const repairs = 40

// repair drops and adds words at the end of body until head+body has n tokens.
func (w *writer) repair(head, body string, n int) string {
	for range repairs {
		have := w.tok.Count(head + body)
		switch {
		case have == n:
			return head + body
		case have > n:
			body = dropWords(body, max(1, (have-n)/2))
		default:
			var s strings.Builder
			s.WriteString(body)
			for range max(1, (n-have)/2) {
				s.WriteString(w.fillers[w.rng.IntN(len(w.fillers))])
			}
			body = s.String()
		}
	}
	w.drift++
	return head + body
}

// dropWords cuts the last n words off, but never the first one.
func dropWords(s string, n int) string {
	for range n {
		i := strings.LastIndexByte(s, ' ')
		if i <= 0 {
			break
		}
		s = s[:i]
	}
	return s
}
