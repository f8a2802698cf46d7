package wire

import (
	"encoding/binary"
	"hash"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// Bulk takes the long texts of some members out of the JSON that passes through
// it: an answer with pictures in base64 needs no more room than one without.
// What is left is JSON still, with the beginning of each text. The JSON may be
// one value, lines, or the data of an event stream: no line end can stand in a
// text, so one ends whatever a lone quote began.
type Bulk struct {
	Names []string             // of the members
	Keep  int                  // bytes of each text that stay, as they are written
	Hash  hash.Hash            // gets the meaning of the texts, one after the other
	Next  func(b []byte) error // takes what is left, borrowed for the call

	Size int64 // bytes of the texts so far
	Left int64 // bytes left out so far

	state  bulkState
	name   [32]byte // the beginning of the last string that is no such text
	named  int      // its length; more than the room: too long for a name
	kept   int      // bytes of this text that stayed
	escape [6]byte  // what has come of an escape
	begun  int      // bytes of it
}

type bulkState uint8

const (
	stBetween   bulkState = iota // between strings
	stAfterName                  // after a string: a colon would make it a name
	stValue                      // after the colon of one of Names
	stString                     // in another string
	stEscaped                    // after a backslash in it
	stText                       // in a text
	stEscape                     // in an escape of it
)

// Reset makes k ready for another answer.
func (k *Bulk) Reset() {
	k.Hash.Reset()
	*k = Bulk{Names: k.Names, Keep: k.Keep, Hash: k.Hash, Next: k.Next}
}

// Feed passes b on, less what is left out. An error comes from Next.
func (k *Bulk) Feed(b []byte) error {
	from := 0 // what is before was passed on, or left out
	pass := func(to int) error {
		if to == from {
			return nil
		}
		return k.Next(b[from:to])
	}
	for i := 0; i < len(b); {
		switch k.state {
		case stText:
			n := run(b[i:])
			stay := min(n, max(0, k.Keep-k.kept))
			_, _ = k.Hash.Write(b[i : i+n]) // hashes take everything
			k.Size += int64(n)
			k.kept += stay
			if stay < n {
				if err := pass(i + stay); err != nil {
					return err
				}
				k.Left += int64(n - stay)
				from = i + n
			}
			if i += n; i == len(b) {
				break
			}
			if k.state = stBetween; b[i] != '\\' { // its end, or what may not stand in it
				i++
				break
			}
			if err := pass(i); err != nil {
				return err
			}
			k.state, k.begun, from = stEscape, 0, i
		case stEscape:
			k.escape[k.begun] = b[i]
			k.begun++
			i++
			from = i
			if err := k.escaped(); err != nil {
				return err
			}
		default:
			i += k.step(b[i:])
		}
	}
	return pass(len(b))
}

// step goes over some of b, which is in no text.
func (k *Bulk) step(b []byte) int {
	if k.state == stString {
		n := run(b)
		k.called(b[:n])
		if n == len(b) {
			return n
		}
		switch b[n] {
		case '"':
			k.state = stAfterName
		case '\\':
			k.state, k.named = stEscaped, len(k.name)+1 // no name of ours
		default:
			k.state = stBetween
		}
		return n + 1
	}
	switch c := b[0]; {
	case k.state == stEscaped:
		k.state = stString
	case c == '"' && k.state == stValue:
		k.state, k.kept = stText, 0
	case c == '"':
		k.state, k.named = stString, 0
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
	case c == ':' && k.state == stAfterName && k.isOurs():
		k.state = stValue
	default:
		k.state = stBetween
	}
	return 1
}

// called appends to the name that a string may be.
func (k *Bulk) called(b []byte) {
	if k.named += len(b); k.named <= len(k.name) {
		copy(k.name[k.named-len(b):], b)
	}
}

func (k *Bulk) isOurs() bool {
	for _, name := range k.Names {
		if k.named == len(name) && string(k.name[:k.named]) == name {
			return true
		}
	}
	return false
}

// escaped looks whether the escape is complete. One that means nothing stays
// for the reader to refuse.
func (k *Bulk) escaped() error {
	e := k.escape[:k.begun]
	if len(e) < 2 || e[1] == 'u' && len(e) < 6 {
		return nil
	}
	k.state = stText
	var meaning []byte
	var room [utf8.UTFMax]byte
	if e[1] == 'u' {
		if c, err := strconv.ParseUint(string(e[2:]), 16, 16); err == nil {
			meaning = utf8.AppendRune(room[:0], rune(c))
		}
	} else if c := meanings[e[1]]; c != 0 {
		meaning = append(room[:0], c)
	}
	_, _ = k.Hash.Write(meaning)
	k.Size += int64(len(meaning))
	if len(meaning) > 0 && k.kept+len(e) > k.Keep {
		k.kept = k.Keep
		k.Left += int64(len(e))
		return nil
	}
	k.kept += len(e)
	return k.Next(e)
}

// meanings are what the short escapes of JSON stand for.
var meanings = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// run is how many bytes at the beginning of b are neither quotes nor backslashes
// nor control characters. It looks at eight at a time: in m the high bit of the
// first byte that is one of them is set, and none before it.
func run(b []byte) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(b); n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote, backslash := x^each*'"', x^each*'\\'
		if m := ((x-each*0x20)&^x | (quote-each)&^quote | (backslash-each)&^backslash) & high; m != 0 {
			return n + bits.TrailingZeros64(m)/8
		}
	}
	for n < len(b) && b[n] >= 0x20 && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}
