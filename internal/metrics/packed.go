package metrics

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// A run's values are kept packed, or a million requests would take half a
// gigabyte. Values come in blocks; a block holds its least value and how far
// each of its values is above it, in as few bytes as the largest distance
// needs. Spans are whole nanoseconds and counts are whole numbers, so most
// values take one to four bytes and equal ones none. Nothing is rounded: what
// does not come back as the same float is kept as it is.

// blockRows is the number of values in a block.
const blockRows = 512

// block is blockRows integers; record.None is an absent one.
type block struct {
	base   int64
	data   []byte
	scale  float64 // of a block of floats: value = integer / scale; 0: their bits, in 8 bytes
	width  uint8   // bytes per integer: 0, 1, 2, 3, 4 or 8
	absent bool    // the largest code of the width means absent
}

// pack makes a block of values.
func pack(values []int64) block {
	low, high, absent := int64(math.MaxInt64), int64(math.MinInt64), false
	for _, v := range values {
		if v == record.None {
			absent = true
			continue
		}
		low, high = min(low, v), max(high, v)
	}
	if low > high { // nothing but absent ones
		return block{absent: true}
	}
	b := block{base: low, absent: absent, width: widthOf(uint64(high)-uint64(low), absent)}
	if b.width == 8 {
		b.base = 0
	}
	b.data = make([]byte, len(values)*int(b.width))
	for i, v := range values {
		b.put(i, v)
	}
	return b
}

// widthOf is the bytes that codes up to most need, with one code to spare for
// absent values.
func widthOf(most uint64, absent bool) uint8 {
	if absent && most != math.MaxUint64 {
		most++
	}
	switch {
	case most == 0:
		return 0
	case most < 1<<8:
		return 1
	case most < 1<<16:
		return 2
	case most < 1<<24:
		return 3
	case most < 1<<32:
		return 4
	}
	return 8
}

func (b *block) put(i int, v int64) {
	code := uint64(v) - uint64(b.base)
	if v == record.None {
		code = math.MaxUint64 // all bytes ff, whatever the width
		if b.width == 8 {
			code = uint64(v)
		}
	}
	switch b.width {
	case 1:
		b.data[i] = byte(code)
	case 2:
		binary.LittleEndian.PutUint16(b.data[2*i:], uint16(code))
	case 3:
		b.data[3*i], b.data[3*i+1], b.data[3*i+2] = byte(code), byte(code>>8), byte(code>>16)
	case 4:
		binary.LittleEndian.PutUint32(b.data[4*i:], uint32(code))
	case 8:
		binary.LittleEndian.PutUint64(b.data[8*i:], code)
	}
}

// at is value i.
func (b *block) at(i int) int64 {
	var code, last uint64
	switch b.width {
	case 0:
		if b.absent {
			return record.None
		}
		return b.base
	case 1:
		code, last = uint64(b.data[i]), 1<<8-1
	case 2:
		code, last = uint64(binary.LittleEndian.Uint16(b.data[2*i:])), 1<<16-1
	case 3:
		code, last = uint64(b.data[3*i])|uint64(b.data[3*i+1])<<8|uint64(b.data[3*i+2])<<16, 1<<24-1
	case 4:
		code, last = uint64(binary.LittleEndian.Uint32(b.data[4*i:])), 1<<32-1
	default:
		return int64(binary.LittleEndian.Uint64(b.data[8*i:]))
	}
	if b.absent && code == last {
		return record.None
	}
	return b.base + int64(code)
}

// unpack fills out with the block's integers.
func (b *block) unpack(out *[blockRows]int64) {
	var last int64 // the code of an absent value
	switch b.width {
	case 0:
		v := b.at(0)
		for i := range out {
			out[i] = v
		}
		return
	case 1:
		last = 1<<8 - 1
		for i := range out {
			out[i] = int64(b.data[i])
		}
	case 2:
		last = 1<<16 - 1
		for i := range out {
			out[i] = int64(binary.LittleEndian.Uint16(b.data[2*i:]))
		}
	case 3:
		last = 1<<24 - 1
		for i := range out {
			d := b.data[3*i : 3*i+3 : 3*i+3]
			out[i] = int64(d[0]) | int64(d[1])<<8 | int64(d[2])<<16
		}
	case 4:
		last = 1<<32 - 1
		for i := range out {
			out[i] = int64(binary.LittleEndian.Uint32(b.data[4*i:]))
		}
	default:
		for i := range out {
			out[i] = int64(binary.LittleEndian.Uint64(b.data[8*i:]))
		}
		return
	}
	for i, code := range out {
		if b.absent && code == last {
			out[i] = record.None
		} else {
			out[i] = b.base + code
		}
	}
}

// ints is a growing list of integers.
type ints struct {
	blocks []block
	tail   []int64 // what does not fill a block yet
}

func (c *ints) len() int { return len(c.blocks)*blockRows + len(c.tail) }

func (c *ints) add(v int64) {
	c.tail = append(c.tail, v)
	if len(c.tail) == blockRows {
		c.blocks, c.tail = append(c.blocks, pack(c.tail)), c.tail[:0]
	}
}

func (c *ints) at(i int) int64 {
	if k := i / blockRows; k < len(c.blocks) {
		return c.blocks[k].at(i % blockRows)
	}
	return c.tail[i-len(c.blocks)*blockRows]
}

// all is every value, in into if there is room.
func (c *ints) all(into []int64) []int64 {
	into = grown(into, c.len())
	var codes [blockRows]int64
	for k := range c.blocks {
		c.blocks[k].unpack(&codes)
		into = append(into, codes[:]...)
	}
	return append(into, c.tail...)
}

// grown is an empty slice with room for n.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, 0, n)
	}
	return s[:0]
}

// column is the values of one metric by row; rows without a value hold NaN or
// lie beyond its end.
type column struct {
	blocks []block
	tail   []float64
}

func (c *column) len() int { return len(c.blocks)*blockRows + len(c.tail) }

// set gives the row a value unless it is not a number. Rows come in order.
func (c *column) set(row int, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	for c.len() < row {
		c.add(math.NaN())
	}
	c.add(v)
}

func (c *column) add(v float64) {
	c.tail = append(c.tail, v)
	if len(c.tail) == blockRows {
		c.blocks, c.tail = append(c.blocks, packFloats(c.tail)), c.tail[:0]
	}
}

// all is the values of all rows up to the column's end, in into if there is room.
func (c *column) all(into []float64) []float64 {
	into = grown(into, c.len())
	var codes [blockRows]int64
	for k := range c.blocks {
		b := &c.blocks[k]
		b.unpack(&codes)
		for _, v := range codes {
			into = append(into, b.float(v))
		}
	}
	return append(into, c.tail...)
}

// equal reports whether two columns hold the same values, bit by bit: equal values
// are packed alike.
func (c *column) equal(o *column) bool {
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	return slices.EqualFunc(c.tail, o.tail, same) && slices.EqualFunc(c.blocks, o.blocks, func(a, b block) bool {
		return a.base == b.base && a.scale == b.scale && a.width == b.width &&
			a.absent == b.absent && bytes.Equal(a.data, b.data)
	})
}

// float is the value that an integer of the block stands for.
func (b *block) float(v int64) float64 {
	switch {
	case b.scale == 0:
		return math.Float64frombits(uint64(v))
	case v == record.None:
		return math.NaN()
	}
	return float64(v) / b.scale
}

// packFloats packs values as whole numbers, as millionths (ns told in ms), or
// by their bits.
func packFloats(values []float64) block {
	var codes [blockRows]int64
	for _, scale := range []float64{1, 1e6} {
		if whole(values, scale, codes[:len(values)]) {
			b := pack(codes[:len(values)])
			b.scale = scale
			return b
		}
	}
	b := block{width: 8, data: make([]byte, 8*len(values))}
	for i, v := range values {
		binary.LittleEndian.PutUint64(b.data[8*i:], math.Float64bits(v))
	}
	return b
}

// whole turns values into integers / scale; false when one does not come back
// as the same float. An absent value is record.None.
func whole(values []float64, scale float64, codes []int64) bool {
	for i, v := range values {
		if math.IsNaN(v) {
			codes[i] = record.None
			continue
		}
		k := math.RoundToEven(v * scale)
		if !(math.Abs(k) < 1<<53) || math.Float64bits(float64(int64(k))/scale) != math.Float64bits(v) {
			return false
		}
		codes[i] = int64(k)
	}
	return true
}
