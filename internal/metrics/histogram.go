package metrics

import (
	"math"
	"slices"
)

// histogram counts values by sign, exponent and the leading 12 bits of the
// mantissa: each is known to one part in 4096, whole numbers up to 8191 exactly.
type histogram struct {
	pages map[uint16]*[binsPerPage]uint32 // by sign and exponent
	n     int64
	part  bool // some value was no whole number
}

const (
	pageBits    = 12
	binsPerPage = 1 << pageBits
)

func (h *histogram) add(v float64) {
	if v == 0 {
		v = 0 // of either sign
	}
	bits := math.Float64bits(v)
	key := uint16(bits >> 52)
	p := h.pages[key]
	if p == nil {
		if h.pages == nil {
			h.pages = map[uint16]*[binsPerPage]uint32{}
		}
		p = new([binsPerPage]uint32)
		h.pages[key] = p
	}
	p[bits>>(52-pageBits)&(binsPerPage-1)]++
	h.n++
	h.part = h.part || v != math.Trunc(v)
}

// value is what stands for a bin: its middle, or its lower end where all values
// are whole numbers.
func (h *histogram) value(key uint16, bin int) float64 {
	bits := uint64(key)<<52 | uint64(bin)<<(52-pageBits)
	if h.part && bits<<1 != 0 {
		bits |= 1 << (51 - pageBits)
	}
	return math.Float64frombits(bits)
}

// sorted appends at most m values in ascending order that have the same
// quantiles: all of them where there are no more, else value i is the quantile
// (i + ½) / m.
func (h *histogram) sorted(into []float64, m int) []float64 {
	m = int(min(int64(m), h.n))
	keys := make([]uint16, 0, len(h.pages))
	for k := range h.pages {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b uint16) int { return int(rankOfPage(a)) - int(rankOfPage(b)) })
	cum, from := int64(0), len(into)
	for _, key := range keys {
		for i := range binsPerPage {
			bin := i
			if key>>11 == 1 { // negative: the largest magnitude first
				bin = binsPerPage - 1 - i
			}
			count := h.pages[key][bin]
			if count == 0 {
				continue
			}
			cum += int64(count)
			for v := h.value(key, bin); len(into)-from < m &&
				(float64(len(into)-from)+0.5)*float64(h.n) <= float64(cum)*float64(m); {
				into = append(into, v)
			}
		}
	}
	return into
}

// rankOfPage orders pages by the values in them.
func rankOfPage(key uint16) int32 {
	if key>>11 == 1 {
		return -int32(key & 0x7ff)
	}
	return int32(key) + 1
}
