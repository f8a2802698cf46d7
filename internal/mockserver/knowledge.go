package mockserver

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/dataset/exam"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// Knowledge is what the server knows: questions whose answers it gives right, and what
// goes wrong with some of these answers.
type Knowledge struct {
	Of    string  // a file of items, or NAME[:PATH] of a benchmark; "" knows nothing
	Right float64 // share of the answers that are right while nothing goes wrong; items differ in difficulty
	// What goes wrong with right answers, from a number of requests under way on.
	Corrupt Spoil // another answer stands in its place
	Swap    Spoil // the answer to the question that was asked before it stands in its place
	Shorten Spoil // it ends after half of its length
	Garble  Spoil // it is what numbers that are none make of it
}

// Spoil is a share of the answers, from so many requests under way on.
type Spoil struct {
	Share float64
	From  int
}

// what became of an answer to a known question, in the log.
const (
	toldRight   = "right"
	toldWrong   = "wrong"
	toldCorrupt = "corrupted"
	toldSwapped = "swapped"
	toldShort   = "shortened"
	toldGarbled = "garbled"
)

// known is a question with its answer.
type known struct {
	item   string
	ends   string  // what the prompt ends with
	answer string  // what is said to it
	wrong  string  // what is said in its place
	chance float64 // of a right answer
}

// library finds known questions by the ends of their prompts.
type library struct {
	byEnd map[string][]*known
	last  *known // that was asked last
}

// endLength is how many bytes of the end of a prompt questions are looked up by.
const endLength = 24

// read makes the library; nil where nothing is known.
func (k *Knowledge) read(root uint64) (*library, error) {
	if k.Of == "" {
		return nil, nil //nolint:nilnil // nothing is known
	}
	o := exam.Options{Benchmark: k.Of}
	if name, path, ok := strings.Cut(k.Of, ":"); ok {
		o = exam.Options{Benchmark: name, Path: path}
	}
	items, err := exam.Load(context.Background(), o, nil)
	if err != nil {
		return nil, fmt.Errorf("knows: %w", err)
	}
	l := &library{byEnd: map[string][]*known{}}
	all := make([]*known, len(items))
	for i, it := range items {
		q := &known{item: it.ID, ends: it.Prompt, answer: Spoken(it.Truth, it.Grader)}
		if n := len(it.Messages); n > 0 {
			q.ends = it.Messages[n-1].Content
		}
		q.ends = strings.TrimSpace(q.ends)
		rng := seed.Stream(int64(root), "mock/known/"+it.ID)
		q.chance = difficulty(rng, k.Right)
		end := q.ends[max(0, len(q.ends)-endLength):]
		l.byEnd[end] = append(l.byEnd[end], q)
		all[i] = q
	}
	for i, q := range all {
		q.wrong = wrongFor(all, i)
	}
	return l, nil
}

// Check refuses questions that cannot be read.
func (k *Knowledge) Check() error {
	_, err := k.read(0)
	return err
}

// wrongFor is the answer to the nearest question that has another one.
func wrongFor(all []*known, i int) string {
	for d := 1; d < len(all); d++ {
		if other := all[(i+d)%len(all)].answer; other != all[i].answer {
			return other
		}
	}
	return "none"
}

// Spoken is a truth in the form in which its grader finds it in an answer.
func Spoken(truth, grader string) string {
	switch grader {
	case "multiple_choice": // of which few tokens are asked for
		return strings.TrimSpace(truth)
	case "mmlu_pro":
		return "The answer is (" + strings.TrimSpace(truth) + ")"
	case "lighteval_gpqa":
		return "Answer: " + strings.TrimSpace(truth)
	case "math", "lighteval_expr":
		return `The final answer is \boxed{` + truth + `}. I hope it is correct.`
	}
	return truth
}

// difficulty draws the chance of a right answer to an item: a Beta variate of mean m
// and concentration 2 (Jöhnk, Metrika 8, 1964), so that some items are easy and some hard.
func difficulty(rng *rand.Rand, m float64) float64 {
	if m <= 0 || m >= 1 {
		return m
	}
	a, b := 2*m, 2*(1-m)
	for {
		u, v := math.Pow(rng.Float64(), 1/a), math.Pow(rng.Float64(), 1/b)
		if s := u + v; s > 0 && s <= 1 {
			return u / s
		}
	}
}

// find is the known question that a prompt ends with, nil for none.
func (l *library) find(prompt string) (best *known) {
	if l == nil {
		return nil
	}
	prompt = strings.TrimSpace(prompt)
	// a short question is its own end
	for n := min(endLength, len(prompt)); n > 0; n-- {
		for _, q := range l.byEnd[prompt[len(prompt)-n:]] {
			if strings.HasSuffix(prompt, q.ends) && (best == nil || len(q.ends) > len(best.ends)) {
				best = q
			}
		}
	}
	return best
}

// tell decides what is answered to a known question while so many requests are under
// way, and gives the exchange its text.
func (l *library) tell(x *exchange, k *Knowledge, underWay int, tok tokenizer.Tokenizer) {
	if l == nil || x.known == nil {
		return
	}
	q, said, before := x.known, toldRight, l.last
	l.last = q
	text := q.answer
	if x.rng.Float64() >= q.chance {
		said, text = toldWrong, q.wrong
	}
	hits := func(s Spoil) bool {
		u := x.rng.Float64()
		return said == toldRight && underWay >= s.From && u < s.Share
	}
	switch {
	case hits(k.Corrupt):
		said, text = toldCorrupt, q.wrong
	case hits(k.Swap) && before != nil && before.answer != q.answer:
		said, text = toldSwapped, before.answer
	case hits(k.Shorten):
		said = toldShort
	case hits(k.Garble):
		said, text = toldGarbled, strings.Repeat("!", max(1, len(text)))
	}
	parts := pieces(text, tok.Count(text))
	if said == toldShort {
		parts = parts[:(len(parts)+1)/2]
	}
	switch asked := x.call.Asked; {
	case asked > 0 && len(parts) > asked:
		parts, said = parts[:asked], said+", "+toldShort
	case said == toldShort:
		x.call.Asked = len(parts) // it seems to have been asked for
	default:
		x.call.Asked = 0 // it ends by itself
	}
	x.said, x.out, x.script.Out = said, len(parts), len(parts)
	x.script.Words = func(b []byte, from, to int) []byte {
		quoted := quote(strings.Join(parts[from:to], "")) // words stand between quotes that are there
		return append(b, quoted[1:len(quoted)-1]...)
	}
}

// pieces are a text in n parts that are cut between characters; in fewer where it has
// not so many, and at least one.
func pieces(text string, n int) []string {
	runes := utf8.RuneCountInString(text)
	n = max(1, min(n, runes))
	out, from, seen := make([]string, 0, n), 0, 0
	for i := range text {
		if seen == runes*(len(out)+1)/n && i > from {
			out, from = append(out, text[from:i]), i
		}
		seen++
	}
	return append(out, text[from:])
}

// spoil reads 0.05 or 0.05@16.
func spoil(field func(*Config) *Spoil) func(*Config, string) error {
	return func(c *Config, v string) error {
		share, from, later := strings.Cut(v, "@")
		s := field(c)
		if err := number(0, 1, func(*Config) *float64 { return &s.Share })(c, share); err != nil || !later {
			return err
		}
		n, err := strconv.Atoi(from)
		if err != nil || n < 1 {
			return fmt.Errorf("want a share, or SHARE@N such as 0.05@16: from 16 requests in flight on")
		}
		s.From = n
		return nil
	}
}
