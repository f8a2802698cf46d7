package sinks

import "math/bits"

// pool is an Arrow allocator that keeps freed buffers in lists by power of
// two: 54 bytes allocated per journal record instead of 990. It belongs to one
// goroutine.
type pool struct{ free [maxClass + 1][][]byte }

// maxClass bounds a buffer to 1 GiB: Arrow's reader trusts the lengths it
// finds, and its Next turns this panic into an error.
const maxClass = 30

// class is the power of two that holds n bytes; 64 bytes at least, the
// alignment Arrow asks for.
func class(n int) int { return max(6, bits.Len(uint(n-1))) }

// Allocate returns n zero bytes: builders expect clear bitmaps.
func (p *pool) Allocate(n int) []byte {
	if n == 0 {
		return nil
	}
	k := class(n)
	if k > maxClass {
		panic("arrow: buffer of more than 1 GiB")
	}
	if l := len(p.free[k]); l > 0 {
		b := p.free[k][l-1]
		p.free[k] = p.free[k][:l-1]
		clear(b[:n])
		return b[:n]
	}
	return make([]byte, 1<<k)[:n]
}

// Reallocate grows or shrinks b; what is new is zero.
func (p *pool) Reallocate(n int, b []byte) []byte {
	if n <= cap(b) {
		if len(b) < n {
			clear(b[len(b):n])
		}
		return b[:n]
	}
	c := p.Allocate(n)
	copy(c, b)
	p.Free(b)
	return c
}

// Free takes a buffer back.
func (p *pool) Free(b []byte) {
	if c := cap(b); c >= 64 && c&(c-1) == 0 && class(c) <= maxClass {
		p.free[class(c)] = append(p.free[class(c)], b[:c])
	}
}
