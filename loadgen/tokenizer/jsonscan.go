package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A tokenizer.json is mostly two lists of half a million entries. They are
// read by the scanner below, ten times as fast as by reflection; everything
// else goes to encoding/json, without them.

var errJSON = errors.New("not JSON")

// scanner walks over JSON text without building anything.
type scanner struct {
	s  string
	at int
}

func (c *scanner) space() {
	for c.at < len(c.s) && (c.s[c.at] == ' ' || c.s[c.at] == '\n' || c.s[c.at] == '\t' || c.s[c.at] == '\r') {
		c.at++
	}
}

// consume steps over one character, white space before it left out.
func (c *scanner) consume(b byte) bool {
	c.space()
	if c.at < len(c.s) && c.s[c.at] == b {
		c.at++
		return true
	}
	return false
}

// text is a string. Without escapes it is a part of the whole text.
func (c *scanner) text() (string, error) {
	if !c.consume('"') {
		return "", errJSON
	}
	start := c.at
	for plain := true; ; {
		i := strings.IndexByte(c.s[c.at:], '"')
		if i < 0 {
			return "", errJSON
		}
		part := c.s[c.at : c.at+i]
		c.at += i + 1
		if k := len(part) - len(strings.TrimRight(part, `\`)); k%2 == 1 {
			plain = false // the quote itself is escaped
			continue
		}
		raw := c.s[start : c.at-1]
		if plain && strings.IndexByte(raw, '\\') < 0 {
			return raw, nil
		}
		var out string
		err := json.Unmarshal([]byte(c.s[start-1:c.at]), &out)
		return out, err
	}
}

// number is a JSON number as it is written.
func (c *scanner) number() string {
	c.space()
	start := c.at
	for c.at < len(c.s) && strings.IndexByte("+-.0123456789eE", c.s[c.at]) >= 0 {
		c.at++
	}
	return c.s[start:c.at]
}

// value is the text of any value.
func (c *scanner) value() (string, error) {
	c.space()
	start, depth := c.at, 0
	for c.at < len(c.s) {
		switch c.s[c.at] {
		case '"':
			if _, err := c.text(); err != nil {
				return "", err
			}
			if depth == 0 {
				return c.s[start:c.at], nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				c.at++
				return c.s[start:c.at], nil
			}
			if depth < 0 {
				return c.s[start:c.at], nil
			}
		case ',':
			if depth == 0 {
				return c.s[start:c.at], nil
			}
		}
		c.at++
	}
	return c.s[start:], nil
}

// members calls f at the value of each member of an object; f steps over it.
func (c *scanner) members(f func(name string) error) error {
	if !c.consume('{') {
		return errJSON
	}
	for first := true; !c.consume('}'); first = false {
		if !first && !c.consume(',') {
			return errJSON
		}
		name, err := c.text()
		if err != nil || !c.consume(':') {
			return errJSON
		}
		c.space()
		if err := f(name); err != nil {
			return err
		}
	}
	return nil
}

// elements calls f at each element of a list; f steps over it.
func (c *scanner) elements(f func() error) error {
	if !c.consume('[') {
		return errJSON
	}
	for first := true; !c.consume(']'); first = false {
		if !first && !c.consume(',') {
			return errJSON
		}
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// entry is one token of a vocabulary as it stands in a file.
type entry struct {
	text string
	id   int32
}

// bulk is the two long lists of a model.
type bulk struct {
	words  []entry     // of an object {token: id}
	scored []scored    // of a list [[token, score], …]
	merges [][2]string // pairs
}

// split takes the long lists out of a tokenizer.json and gives back what is
// left of it.
func split(data string) (*bulk, []byte, error) {
	b := &bulk{}
	rest := []byte{'{'}
	keep := func(out []byte, name string, c *scanner) ([]byte, error) {
		v, err := c.value()
		if len(out) > 1 {
			out = append(out, ',')
		}
		return append(append(strconv.AppendQuote(out, name), ':'), v...), err
	}
	c := &scanner{s: strings.TrimPrefix(data, "\ufeff")}
	err := c.members(func(name string) (err error) {
		if name != "model" || c.at >= len(c.s) || c.s[c.at] != '{' {
			rest, err = keep(rest, name, c)
			return err
		}
		model := []byte{'{'}
		err = c.members(func(name string) (err error) {
			switch {
			case name == "vocab" && c.at < len(c.s) && c.s[c.at] == '{':
				return b.readWords(c)
			case name == "vocab" && c.at < len(c.s) && c.s[c.at] == '[':
				return b.readScored(c)
			case name == "merges" && c.at < len(c.s) && c.s[c.at] == '[':
				return b.readMerges(c)
			}
			model, err = keep(model, name, c)
			return err
		})
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, `"model":`...), model...), '}')
		return err
	})
	return b, append(rest, '}'), err
}

// A token and a merge take at least so many bytes of a file, mostly: lists are
// made for so many entries and grow where that is too few.
const usualEntry = 48

func (b *bulk) readWords(c *scanner) error {
	b.words = make([]entry, 0, (len(c.s)-c.at)/usualEntry/2)
	return c.members(func(name string) error {
		id, err := strconv.ParseInt(c.number(), 10, 32)
		if err != nil {
			return errVocab
		}
		b.words = append(b.words, entry{name, int32(id)})
		return nil
	})
}

func (b *bulk) readScored(c *scanner) error {
	return c.elements(func() error {
		if !c.consume('[') {
			return errors.New("model: the vocabulary of a Unigram model is a list of [token, score]")
		}
		text, err := c.text()
		if err != nil || !c.consume(',') {
			return errJSON
		}
		score, err := strconv.ParseFloat(c.number(), 64)
		if err != nil || !c.consume(']') {
			return errJSON
		}
		b.scored = append(b.scored, scored{text, score})
		return nil
	})
}

// readMerges reads "left right" or, in newer files, ["left", "right"].
func (b *bulk) readMerges(c *scanner) error {
	b.merges = make([][2]string, 0, (len(c.s)-c.at)/usualEntry)
	return c.elements(func() error {
		c.space()
		if c.at < len(c.s) && c.s[c.at] == '[' {
			var pair []string
			err := c.elements(func() error {
				s, err := c.text()
				pair = append(pair, s)
				return err
			})
			if err != nil {
				return err
			}
			if len(pair) != 2 {
				return fmt.Errorf("a merge of %d parts: %q", len(pair), pair)
			}
			b.merges = append(b.merges, [2]string{pair[0], pair[1]})
			return nil
		}
		s, err := c.text()
		if err != nil {
			return err
		}
		left, right, ok := strings.Cut(s, " ")
		if !ok || strings.Contains(right, " ") {
			return fmt.Errorf("a merge of %d parts: %q", strings.Count(s, " ")+1, s)
		}
		b.merges = append(b.merges, [2]string{left, right})
		return nil
	})
}
