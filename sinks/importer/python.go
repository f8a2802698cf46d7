package importer

import (
	"bufio"
	"io"
)

// pythonJSON passes JSON on as Python's json writes it: NaN and the infinities, which no
// JSON has, become null. It knows where strings are.
type pythonJSON struct {
	in       *bufio.Reader
	inString bool
	escaped  bool
	pending  []byte
}

func fromPython(in io.Reader) io.Reader { return &pythonJSON{in: bufio.NewReaderSize(in, 64<<10)} }

// bare are the words that stand outside strings and are no JSON, by their first byte.
var bare = map[byte]string{'N': "NaN", 'I': "Infinity"}

func (p *pythonJSON) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if len(p.pending) > 0 {
			k := copy(b[n:], p.pending)
			p.pending, n = p.pending[k:], n+k
			continue
		}
		c, err := p.in.ReadByte()
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		switch {
		case p.escaped:
			p.escaped = false
		case p.inString && c == '\\':
			p.escaped = true
		case c == '"':
			p.inString = !p.inString
		case p.inString:
		case c == '-' && p.next("Infinity"), bare[c] != "" && p.next(bare[c][1:]):
			p.pending = []byte("null")
			continue
		}
		b[n] = c
		n++
	}
	return n, nil
}

// next takes word, if it comes next.
func (p *pythonJSON) next(word string) bool {
	b, err := p.in.Peek(len(word))
	if err != nil || string(b) != word {
		return false
	}
	_, _ = p.in.Discard(len(word)) // it was there
	return true
}
