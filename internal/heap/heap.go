// Package heap is a priority queue: whatever comes before all others is on top.
// It does without interface values, so that pushing allocates nothing but the
// queue's own growth.
package heap

// Ordered is what can stand in a heap.
type Ordered[T any] interface{ Before(T) bool }

// Heap is a priority queue. The zero value is empty.
type Heap[T Ordered[T]] struct {
	// Moved, if set, is told where an element stands now; −1 when it left.
	Moved func(x T, i int)
	items []T
}

// Len is the number of elements.
func (h *Heap[T]) Len() int { return len(h.items) }

// Top is the element that comes before all others. There must be one.
func (h *Heap[T]) Top() T { return h.items[0] }

// All are the elements, in no order. They belong to the heap.
func (h *Heap[T]) All() []T { return h.items }

// Push puts x in.
func (h *Heap[T]) Push(x T) {
	h.items = append(h.items, x)
	h.up(len(h.items)-1, x)
}

// Pop takes the top out. There must be one.
func (h *Heap[T]) Pop() T { return h.Remove(0) }

// FixTop puts the top where it belongs after it has come to be later.
func (h *Heap[T]) FixTop() { h.down(0, h.items[0]) }

// Remove takes element i out.
func (h *Heap[T]) Remove(i int) T {
	var zero T
	x, last := h.items[i], len(h.items)-1
	moved := h.items[last]
	h.items[last] = zero
	h.items = h.items[:last]
	if i < last && !h.up(i, moved) {
		h.down(i, moved)
	}
	if h.Moved != nil {
		h.Moved(x, -1)
	}
	return x
}

// put sets x at place i.
func (h *Heap[T]) put(i int, x T) {
	h.items[i] = x
	if h.Moved != nil {
		h.Moved(x, i)
	}
}

// up puts x where it belongs between place i and the top, and reports whether
// that is above i.
func (h *Heap[T]) up(i int, x T) (rose bool) {
	at := i
	for at > 0 && x.Before(h.items[(at-1)/2]) {
		h.put(at, h.items[(at-1)/2])
		at = (at - 1) / 2
	}
	h.put(at, x)
	return at < i
}

// down puts x where it belongs from place i on.
func (h *Heap[T]) down(i int, x T) {
	for {
		c := 2*i + 1
		if c >= len(h.items) {
			break
		}
		if c+1 < len(h.items) && h.items[c+1].Before(h.items[c]) {
			c++
		}
		if !h.items[c].Before(x) {
			break
		}
		h.put(i, h.items[c])
		i = c
	}
	h.put(i, x)
}
