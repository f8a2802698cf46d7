package tokenizer

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dlclark/regexp2"

	"aiperf.dev/aiperf/internal/diag"
)

// Err is why the counts of tok mean nothing any more; nil while they are sound.
func Err(tok Tokenizer) error {
	if t, ok := tok.(interface{ Err() error }); ok {
		return t.Err()
	}
	return nil
}

// trouble keeps the first thing that went wrong in a tokenizer.
type trouble struct{ first atomic.Pointer[error] }

func (t *trouble) note(err error) { t.first.CompareAndSwap(nil, &err) }

// Err is the first thing that went wrong: the counts since then are 0.
func (t *trouble) Err() error {
	if err := t.first.Load(); err != nil {
		return *err
	}
	return nil
}

// patience is how long a pattern may be matched against a text, and against
// each further MiB of it. Patterns in use take a hundredth of it. The matcher
// goes back over the text for some patterns so often that it would never end;
// it has no count of its steps that could be bounded instead.
const patience = 20 * time.Second

// matcher is a pattern of a tokenizer.json that is matched by backtracking.
type matcher struct {
	re       *regexp2.Regexp
	part     string // of the file
	patience time.Duration
	trouble  *trouble // of the tokenizer
}

func newMatcher(part, expr string, t *trouble) (*matcher, error) {
	re, err := regexp2.Compile(expr, regexp2.None)
	if err != nil {
		return nil, fmt.Errorf("%s: pattern %q: %w", part, expr, err)
	}
	return (&matcher{re: re, part: part, trouble: t}).within(patience), nil
}

// within bounds what a text may take.
func (m *matcher) within(d time.Duration) *matcher {
	m.patience, m.re.MatchTimeout = d, d
	return m
}

// span is a stretch of text, matched by the pattern or between two matches.
type span struct {
	text  string
	match bool
}

// pieces cuts text into matches and what is between them. The matcher counts
// in characters, we in bytes.
func (m *matcher) pieces(text string) (all []span) {
	runes := []rune(text)
	end := time.Now().Add(m.patience * time.Duration(1+len(text)>>20))
	at := 0
	found, err := m.re.FindRunesMatch(runes)
	for ; err == nil && found != nil; found, err = m.re.FindNextMatch(found) {
		if found.Length == 0 {
			continue
		}
		if found.Index > at {
			all = append(all, span{string(runes[at:found.Index]), false})
		}
		at = found.Index + found.Length
		all = append(all, span{string(runes[found.Index:at]), true})
		if time.Now().After(end) {
			break
		}
	}
	if err != nil || found != nil {
		m.trouble.note(m.hopeless(runes, at))
	}
	if at < len(runes) {
		all = append(all, span{string(runes[at:]), false})
	}
	return all
}

// shownRunes is how much of a text an error quotes.
const shownRunes = 24

func (m *matcher) hopeless(text []rune, at int) error {
	behind := text[at:min(len(text), at+shownRunes)]
	return diag.Errorf("%s: pattern %q: given up at character %d of a text of %d, before %q: it goes over it again and again",
		m.part, m.re.String(), at+1, len(text), string(behind)).Try("take another tokenizer, or count by builtin")
}
