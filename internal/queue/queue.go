// Package queue hands work on in order: Queue within one goroutine, Mailbox from
// many goroutines to a few.
package queue

// Queue is first in, first out. It reuses its memory.
type Queue[T any] struct {
	items []T
	head  int
}

// Len is how many wait.
func (q *Queue[T]) Len() int { return len(q.items) - q.head }

// Push adds x at the end.
func (q *Queue[T]) Push(x T) {
	if q.head > len(q.items)/2 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, x)
}

// First is the one that is popped next.
func (q *Queue[T]) First() T { return q.items[q.head] }

// All are its items, the oldest first; they belong to the queue.
func (q *Queue[T]) All() []T { return q.items[q.head:] }

// Pop takes the first; there must be one.
func (q *Queue[T]) Pop() T {
	var zero T
	x := q.items[q.head]
	q.items[q.head] = zero
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return x
}
