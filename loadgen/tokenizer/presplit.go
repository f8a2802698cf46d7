package tokenizer

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
	"github.com/dlclark/regexp2/syntax"

	"aiperf.dev/aiperf/internal/diag"
)

// splitter cuts text into pieces. first says that the text begins the whole
// text that is encoded.
type splitter func(text string, first bool, emit func(string))

// gpt2Pattern is what ByteLevel splits by unless told not to; splitR50k is it.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// byHand are the patterns that have a splitter written out.
var byHand = map[string]func(string, int) int{
	gpt2Pattern: splitR50k,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: splitCL100k,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:      splitOneDigit,
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: splitO200k,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: splitMarks,
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|` +
		`\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: splitTekken,
	`[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: splitKimi,
}

// byHandInPlaces are those that do not match everywhere: DeepSeek's.
var byHandInPlaces = map[string]func(string, int) int{
	`\p{N}{1,3}`: splitThreeDigits,
	"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+": splitCJK,
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+": splitDeepSeek,
}

// newSplits builds the pre-tokenizers; byteLevel says that pieces are bytes
// rather than characters from there on.
func newSplits(list []component, t *trouble) (all []splitter, byteLevel bool, err error) {
	for i := range list {
		c := &list[i]
		switch c.Type {
		case "ByteLevel":
			all = append(all, byteLevelSplits(c)...)
			if i+1 == len(list) {
				return all, true, nil
			}
			rest, again, err := newSplits(list[i+1:], t)
			if err != nil || again {
				return nil, false, errors.Join(err, errTwice(again))
			}
			return append(all, inLetters(rest)), true, nil
		case "Metaspace":
			all = append(all, metaspace(c))
			continue
		case "Digits":
			all = append(all, digitsSplit(c.Individual))
			continue
		case "Split":
			s, err := newSplit(c, t)
			if err != nil {
				return nil, false, err
			}
			all = append(all, s)
			continue
		}
		if s := plainSplit(c); s != nil {
			all = append(all, s)
			continue
		}
		return nil, false, fmt.Errorf("pre-tokenizer %s: not supported", c.Type)
	}
	return all, byteLevel, nil
}

// errTwice refuses bytes that are written as letters a second time.
func errTwice(again bool) error {
	if again {
		return errors.New("ByteLevel: twice: not supported")
	}
	return nil
}

// inLetters applies splits that stand behind ByteLevel: they see the letters
// that byte-level files write for bytes, of which some count as numbers and
// others as punctuation.
func inLetters(splits []splitter) splitter {
	letters := byteLetters()
	var t fileTokenizer
	return func(text string, first bool, emit func(string)) {
		var spelt strings.Builder
		for i := range len(text) {
			spelt.WriteRune(letters[text[i]])
		}
		t.cut(spelt.String(), first, splits, func(piece string) {
			plain := make([]byte, 0, len(piece))
			for _, r := range piece {
				if int(r) < len(letterBytes) && letterBytes[r] >= 0 {
					plain = append(plain, byte(letterBytes[r]))
				}
			}
			emit(string(plain))
		})
	}
}

// plainSplit cuts by kinds of characters; nil for a type it does not know.
func plainSplit(c *component) splitter {
	switch c.Type {
	case "Whitespace": // \w+|[^\w\s]+
		return dropping(func(r rune) int {
			switch {
			case unicode.IsSpace(r):
				return drop
			case wordRune(r):
				return 1
			}
			return 2
		})
	case "WhitespaceSplit":
		return dropping(func(r rune) int {
			if unicode.IsSpace(r) {
				return drop
			}
			return 1
		})
	case "BertPreTokenizer":
		return dropping(func(r rune) int {
			switch {
			case unicode.IsSpace(r):
				return drop
			case bertPunct(r):
				return alone
			}
			return 1
		})
	case "Punctuation":
		behaviour := c.Behavior
		if behaviour == "" {
			behaviour = "Isolated"
		}
		if !behaviours[behaviour] {
			return nil
		}
		return func(text string, _ bool, emit func(string)) {
			spread(marked(text, bertPunct), behaviour, false, emit)
		}
	case "CharDelimiterSplit":
		return dropping(func(r rune) int {
			if string(r) == c.Delimiter {
				return drop
			}
			return 1
		})
	case "FixedLength":
		return func(text string, _ bool, emit func(string)) {
			runes := []rune(text)
			for n := max(1, c.Length); len(runes) > 0; {
				k := min(n, len(runes))
				emit(string(runes[:k]))
				runes = runes[k:]
			}
		}
	}
	return nil
}

// What dropping does with a character besides joining it with its like.
const (
	drop  = 0
	alone = -1
)

// dropping cuts text into runs of one kind. Kind drop is left out, a character
// of kind alone stands by itself.
func dropping(kind func(rune) int) splitter {
	return func(text string, _ bool, emit func(string)) {
		start, run := 0, drop
		flush := func(end int) {
			switch {
			case start == end:
			case run != drop:
				emit(text[start:end])
			case start == 0:
				emit("") // see cut
			}
			start = end
		}
		for i, r := range text {
			if k := kind(r); k != run || k == alone {
				flush(i)
				run = k
			}
		}
		flush(len(text))
	}
}

// marked cuts text into single characters that are so, and what is between.
func marked(text string, is func(rune) bool) (all []span) {
	start := 0
	for i, r := range text {
		if !is(r) {
			continue
		}
		if i > start {
			all = append(all, span{text[start:i], false})
		}
		start = i + utf8.RuneLen(r)
		all = append(all, span{text[i:start], true})
	}
	if start < len(text) {
		all = append(all, span{text[start:], false})
	}
	return all
}

// bertPunct is what BERT calls punctuation: Unicode's, and all symbols of ASCII.
func bertPunct(r rune) bool { return unicode.Is(punctSet, r) }

// byteLevelSplits is a leading space if asked for, then the GPT-2 pattern if
// not refused. Both are on by default.
func byteLevelSplits(c *component) (all []splitter) {
	if c.AddPrefix == nil || *c.AddPrefix {
		all = append(all, func(text string, _ bool, emit func(string)) {
			if text != "" && !strings.HasPrefix(text, " ") {
				text = " " + text
			}
			emit(text)
		})
	}
	if c.UseRegex == nil || *c.UseRegex {
		all = append(all, walking(splitR50k))
	}
	return all
}

// walking makes a splitter of a function that finds the end of a piece.
func walking(end func(string, int) int) splitter {
	return func(text string, _ bool, emit func(string)) {
		for at := 0; at < len(text); {
			next := end(text, at)
			emit(text[at:next])
			at = next
		}
	}
}

// isolating makes a splitter of a function that finds the end of a match, or
// where it began when there is none. What lies between matches is a piece, too.
func isolating(end func(string, int) int) splitter {
	return func(text string, _ bool, emit func(string)) {
		from := 0
		for at := 0; at < len(text); {
			next := end(text, at)
			if next == at {
				_, w := utf8.DecodeRuneInString(text[at:])
				at += w
				continue
			}
			if at > from {
				emit(text[from:at])
			}
			emit(text[at:next])
			from, at = next, next
		}
		if from < len(text) {
			emit(text[from:])
		}
	}
}

// metaspace writes spaces as ▁, puts one in front, and cuts before each.
func metaspace(c *component) splitter {
	mark := c.Replacement
	if mark == "" {
		mark = "▁"
	}
	scheme := c.PrependScheme
	if scheme == "" {
		scheme = "always"
		if c.AddPrefix != nil && !*c.AddPrefix {
			scheme = "never"
		}
	}
	whole := c.SplitSpaces != nil && !*c.SplitSpaces
	return func(text string, first bool, emit func(string)) {
		text = strings.ReplaceAll(text, " ", mark)
		if (scheme == "always" || scheme == "first" && first) && !strings.HasPrefix(text, mark) {
			text = mark + text
		}
		if whole {
			emit(text)
			return
		}
		for text != "" {
			end := len(text)
			if i := strings.Index(text[1:], mark); i >= 0 {
				end = i + 1
			}
			emit(text[:end])
			text = text[end:]
		}
	}
}

// digitsSplit isolates numbers, each one by itself or in runs.
func digitsSplit(individual bool) splitter {
	return walking(func(s string, i int) int {
		isNumber := false
		for j, r := range s[i:] {
			if j > 0 && (individual && isNumber || unicode.IsNumber(r) != isNumber) {
				return i + j
			}
			isNumber = unicode.IsNumber(r)
		}
		return len(s)
	})
}

// newSplit cuts at the matches of a pattern; behaviour says where they go.
func newSplit(c *component, t *trouble) (splitter, error) {
	if end, ok := byHand[c.Pattern.Regex]; ok && (c.Behavior == "Isolated" || c.Behavior == "Removed" && c.Invert) {
		return walking(end), nil // these patterns match everywhere
	}
	if end, ok := byHandInPlaces[c.Pattern.Regex]; ok && c.Behavior == "Isolated" && !c.Invert {
		return isolating(end), nil
	}
	expr := c.Pattern.Regex
	if expr == "" {
		expr = literal(c.Pattern.String)
	}
	m, err := newMatcher("pre-tokenizer Split", expr, t)
	if err != nil {
		return nil, err
	}
	if c.Invert && c.Behavior != "Removed" || !behaviours[c.Behavior] {
		return nil, fmt.Errorf("pre-tokenizer Split: behavior %s, invert %v: not supported", c.Behavior, c.Invert)
	}
	return func(text string, _ bool, emit func(string)) {
		spread(m.pieces(text), c.Behavior, c.Invert, emit)
	}, nil
}

// literal is the pattern of a plain text.
func literal(text string) string {
	var out strings.Builder
	for _, r := range text {
		out.WriteString(quoted(r))
	}
	return out.String()
}

var behaviours = map[string]bool{
	"Isolated": true, "Removed": true, "MergedWithPrevious": true, "MergedWithNext": true, "Contiguous": true,
}

// patience is how long a pattern may be matched against a text, and against
// each further MiB of it. Patterns in use take a hundredth of it. The matcher
// goes back over the text for some patterns so often that it would never end;
// it has no count of its steps that could be bounded instead.
const patience = 20 * time.Second

// matcher is a pattern of a tokenizer.json that is matched by backtracking.
type matcher struct {
	re       *regexp2.Regexp
	expr     string // as the file has it
	part     string // of the file
	patience time.Duration
	trouble  *trouble // of the tokenizer
}

func newMatcher(part, expr string, t *trouble) (*matcher, error) {
	own, err := translated(expr)
	if err != nil {
		return nil, fmt.Errorf("%s: pattern %q: %w", part, expr, err)
	}
	re, err := regexp2.Compile(own, regexp2.None)
	var fault *syntax.Error
	if errors.As(err, &fault) { // without the pattern as it was rewritten
		return nil, fmt.Errorf("%s: pattern %q: %s", part, expr, fmt.Sprintf(string(fault.Code), fault.Args...))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: pattern %q: %w", part, expr, err)
	}
	return (&matcher{re: re, expr: expr, part: part, trouble: t}).within(patience), nil
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
		if found.Index > at {
			all = append(all, span{string(runes[at:found.Index]), false})
		}
		at = found.Index + found.Length
		all = append(all, span{string(runes[found.Index:at]), true}) // an empty one still cuts
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
		m.part, m.expr, at+1, len(text), string(behind)).Try("take another tokenizer, or count by builtin")
}

// spread emits the pieces as the behaviour says.
func spread(all []span, behaviour string, invert bool, emit func(string)) {
	held := ""
	for i, s := range all {
		switch behaviour {
		case "Removed":
			if s.match == invert {
				emit(s.text)
			} else if i == 0 {
				emit("") // see cut
			}
		case "MergedWithPrevious":
			held += s.text
			if s.match || i+1 == len(all) {
				emit(held)
				held = ""
			}
		case "MergedWithNext":
			if s.match && held != "" {
				emit(held)
				held = ""
			}
			held += s.text
			if i+1 == len(all) {
				emit(held)
			}
		case "Contiguous":
			held += s.text
			if i+1 == len(all) || all[i+1].match != s.match {
				emit(held)
				held = ""
			}
		default:
			emit(s.text)
		}
	}
}
