package tokenizer

import (
	"strings"
	"testing"
	"time"
)

// A pattern that is never through with a text is given up: the error names it
// and the place, and nothing is counted from there on.
func TestHopelessPatternIsGivenUp(t *testing.T) {
	t.Parallel()
	text := "so " + strings.Repeat("a", 60) + "b" // 2⁶⁰ ways to take the letters
	for _, c := range []struct{ name, expr, want string }{
		{"one match", "so |(a+)+$", `Split: pattern "so |(a+)+$": given up at character 4 of a text of 64, before "aaaaaaaaaaaaaaaaaaaaaaaa"`},
		{"first match", "(a+)+$", `given up at character 1 of a text of 64, before "so aaaaaaaaaaaaaaaaaaaaa"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tok := &fileTokenizer{name: "hopeless", added: newAddedTokens(nil, nil, nil), model: onePer{}}
			m, err := newMatcher("Split", c.expr, &tok.trouble)
			if err != nil {
				t.Fatal(err)
			}
			m.within(time.Millisecond)
			tok.splits = []splitter{func(text string, _ bool, emit func(string)) {
				spread(m.pieces(text), "Isolated",
					false, emit)
			}}
			tok.Count(text)
			if err := Err(tok); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Err: %v, want %s", err, c.want)
			}
			if n := tok.Count("so fine"); n != 0 {
				t.Errorf("%d tokens are counted after that", n)
			}
		})
	}
}

// Many matches, each of which looks over all that follows, are given up, too.
func TestManySlowMatchesAreGivenUp(t *testing.T) {
	t.Parallel()
	var bad trouble
	m, err := newMatcher("Split", "a", &bad)
	if err != nil {
		t.Fatal(err)
	}
	m.patience = 0
	got := m.pieces(strings.Repeat("a", 1000))
	if len(got) != 2 || len(got[1].text) != 999 || bad.Err() == nil {
		t.Errorf("%d pieces, error %v", len(got), bad.Err())
	}
}

// Whoever makes a matcher gets one with a bound.
func TestMatchersAreBounded(t *testing.T) {
	t.Parallel()
	m, err := newMatcher("Split", "x+", &trouble{})
	if err != nil {
		t.Fatal(err)
	}
	if m.re.MatchTimeout != patience || m.patience != patience {
		t.Errorf("a match may take %v, a text %v; want %v", m.re.MatchTimeout, m.patience, patience)
	}
}

// onePer is a model with one token per piece.
type onePer struct{}

func (onePer) encode(_ *merger, dst []int32, _ string) []int32 { return append(dst, 1) }
func (onePer) token(int) (string, bool)                        { return "", false }
func (onePer) id(string) (int32, bool)                         { return 0, false }
