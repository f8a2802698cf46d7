package transport

import (
	"encoding/binary"
	"math/bits"
)

// packed keeps the payloads of a stream's events in little room, for as long as
// the stream lasts: neighbours mostly differ in a few bytes in the middle, the
// token. A thousand streams of a thousand tokens are some 20 MB and not 250.
//
// An event is kept as how many bytes it shares with the beginning of the event
// before, how many with its end, the number of bytes in between, and those.
type packed struct {
	data []byte
	last []byte // the event that was added last, if the next may refer to it
	size int    // bytes of all events together

	head, tail int // what the last event shared with the one before: a good guess
}

// maxRefer is the length of the longest event that the next one refers to:
// last is memory, too.
const maxRefer = 4 << 10

func (p *packed) reset() { p.data, p.last, p.size = p.data[:0], p.last[:0], 0 }

func (p *packed) add(event []byte) {
	head := prefix(p.last, event, p.head)
	tail := suffix(p.last[head:], event[head:], p.tail)
	p.head, p.tail = head, tail
	middle := event[head : len(event)-tail]
	b := binary.AppendUvarint(p.data, uint64(head))
	b = binary.AppendUvarint(b, uint64(tail))
	b = binary.AppendUvarint(b, uint64(len(middle)))
	p.data = append(b, middle...)
	p.size += len(event)
	switch {
	case len(event) > maxRefer:
		p.last = p.last[:0]
	case len(event) == len(p.last):
		copy(p.last[head:], middle)
	default:
		p.last = append(p.last[:0], event...)
	}
}

// appendTo appends all events to dst, one after the other.
func (p *packed) appendTo(dst []byte) []byte {
	var last []byte
	for b := p.data; len(b) > 0; {
		var head, tail, n uint64
		head, b = uvarint(b)
		tail, b = uvarint(b)
		n, b = uvarint(b)
		start := len(dst)
		dst = append(dst, last[:head]...)
		dst = append(dst, b[:n]...)
		dst = append(dst, last[uint64(len(last))-tail:]...)
		b = b[n:]
		if last = dst[start:]; len(last) > maxRefer {
			last = nil
		}
	}
	return dst
}

func uvarint(b []byte) (uint64, []byte) {
	v, n := binary.Uvarint(b)
	return v, b[n:]
}

// prefix is how many bytes a and b have in common at their beginning.
func prefix(a, b []byte, guess int) int {
	n, i := min(len(a), len(b)), 0
	if guess <= n && string(a[:guess]) == string(b[:guess]) {
		i = guess
	}
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// suffix is how many bytes a and b have in common at their end.
func suffix(a, b []byte, guess int) int {
	n, i := min(len(a), len(b)), 0
	if guess <= n && string(a[len(a)-guess:]) == string(b[len(b)-guess:]) {
		i = guess
	}
	for ; i+8 <= n; i += 8 {
		x := binary.LittleEndian.Uint64(a[len(a)-i-8:]) ^ binary.LittleEndian.Uint64(b[len(b)-i-8:])
		if x != 0 {
			return i + bits.LeadingZeros64(x)/8
		}
	}
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return i
}
