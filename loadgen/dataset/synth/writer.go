package synth

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
)

// Writer composes texts. Text k is reached by its ordinal and depends on
// nothing else. No two of V² texts in a row begin with the same two words, V
// being the number of openers, so that none is a prefix of another in a
// server's cache. It is safe for concurrent use.
type Writer struct {
	*Corpus
	stream Stream
	code   int
	drift  atomic.Int64 // texts whose length could not be repaired
}

// Writer writes the texts of one stream.
func (c *Corpus) Writer(stream Stream) *Writer {
	return &Writer{Corpus: c, stream: stream, code: int(uint64(stream) % uint64(len(c.openers)*len(c.openers)))}
}

// Drift is how many texts miss their length.
func (w *Writer) Drift() int { return int(w.drift.Load()) }

// stride is a prime above every number of openers, hence coprime to V².
const stride = 104729

// Text is text k, of exactly n tokens, repaired if need be.
func (w *Writer) Text(k, n int) string {
	if w.additive {
		return w.compose(k, n)
	}
	return w.repair("", w.compose(k, n), n)
}

// After is text k, of n tokens, behind prefix, which has p: both joined by a
// space have p+n.
func (w *Writer) After(prefix string, p, k, n int) string {
	if w.additive {
		return prefix + " " + w.compose(k, n)
	}
	return w.repair(prefix+" ", w.compose(k, n), p+n)
}

// Block is text k, of n tokens, made to stand behind other text: it begins
// with a space.
func (w *Writer) Block(k, n int) string { return " " + w.compose(k, n) }

// Words is text k, of n tokens, made to stand behind other text, of single words:
// a shorter one begins every longer one.
func (w *Writer) Words(k, n int) string {
	var s strings.Builder
	s.Grow(8 * n)
	s.WriteString(" ")
	r := w.stream.At(k, 0)
	for range w.open(&s, k, n) {
		s.WriteString(w.fillers[r.IntN(len(w.fillers))])
	}
	return s.String()
}

// Whole repairs a text put together from parts, so that it has n tokens; head
// is what is not to be touched.
func (w *Writer) Whole(head, rest string, n int) string {
	if w.additive {
		return head + rest
	}
	return w.repair(head, rest, n)
}

// compose is a text that is n tokens long if the tokenizer is additive.
func (w *Writer) compose(k, n int) string {
	var s strings.Builder
	s.Grow(6 * n)
	r := w.stream.At(k, 0)
	n = w.open(&s, k, n)
	if w.lines && n > w.longest {
		s.WriteString("\n")
		n--
	}
	n = w.fill(&s, r, n)
	w.finish(&s, r, n)
	return s.String()
}

// open begins text k with its two words and says what is left of n tokens.
func (w *Writer) open(s *strings.Builder, k, n int) int {
	v := len(w.openers)
	code := (w.code + k%(v*v)*stride) % (v * v)
	s.WriteString(w.openers[code%v])
	if n < 2 {
		return 0
	}
	s.WriteString(" ")
	s.WriteString(w.openers[code/v])
	return n - 2
}

// fill adds whole pieces while the longest one fits and says what is left.
func (w *Writer) fill(s *strings.Builder, r *rand.Rand, n int) int {
	if len(w.pieces) == 0 {
		return n
	}
	for next := r.IntN(len(w.pieces)); n > w.longest; next++ {
		if !w.ordered {
			next = r.IntN(len(w.pieces))
		}
		one := w.pieces[next%len(w.pieces)]
		s.WriteString(one.text)
		n -= one.tokens
	}
	return n
}

// finish adds exactly n tokens: a piece of that length, else words.
func (w *Writer) finish(s *strings.Builder, r *rand.Rand, n int) {
	if n > 0 && n < len(w.byTokens) && len(w.byTokens[n]) > 0 && !w.lines {
		fits := w.byTokens[n]
		s.WriteString(fits[r.IntN(len(fits))])
		return
	}
	for range n {
		s.WriteString(w.fillers[r.IntN(len(w.fillers))])
	}
}

// repairs is how often a text is counted before its length is given up.
const repairs = 40

// repair drops and adds words at the end of body until head+body has n tokens.
// A single word that is too long gives way to another one.
func (w *Writer) repair(head, body string, n int) string {
	r := w.stream.At(n, len(body))
	for range repairs {
		have := w.tok.Count(head + body)
		switch {
		case have == n:
			return head + body
		case have > n:
			short := dropWords(body, max(1, (have-n)/2))
			if short == body {
				short = body[:len(body)-len(strings.TrimLeft(body, " "))] + w.openers[r.IntN(len(w.openers))]
			}
			body = short
		default:
			var s strings.Builder
			s.WriteString(body)
			for range max(1, (n-have)/2) {
				s.WriteString(w.fillers[r.IntN(len(w.fillers))])
			}
			body = s.String()
		}
	}
	w.drift.Add(1)
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
