package transport

import "unsafe"

// Recorded is the memory that x holds for its answer, without what was unpacked.
func Recorded(x *Exchange) int64 {
	n := cap(x.Events) * int(unsafe.Sizeof(Event{}))
	if b := x.buffers; b != nil {
		n += cap(b.body) + cap(b.packed.data) + cap(b.packed.last)
	}
	return int64(n)
}
