package queue

import (
	"testing"
	"time"
)

func TestMailboxAndQueueKeepEverything(t *testing.T) {
	t.Parallel()
	m := NewMailbox[int](0, nil)
	for i := range 100 {
		m.Put(i, i%10 == 0)
	}
	m.Close()
	var got []int
	for x, ok := m.Pop(); ok; x, ok = m.Pop() {
		got = append(got, x)
	}
	if len(got) != 100 || got[0] != 0 || got[9] != 90 || got[10] != 1 || got[99] != 99 {
		t.Errorf("took %v", got)
	}
	var q Queue[int]
	next := 0
	for i := range 10_000 {
		q.Push(i)
		if i%3 != 0 {
			if x := q.Pop(); x != next {
				t.Fatalf("popped %d, want %d", x, next)
			}
			next++
		}
	}
	if q.Len() != 10_000-next || cap(q.items) > 20_000 {
		t.Errorf("%d left in room for %d", q.Len(), cap(q.items))
	}
}

// What is not urgent waits until it is due, and a while longer while others are
// pressed; nothing else does.
func TestMailboxPutsOff(t *testing.T) {
	t.Parallel()
	pressed := true
	m := NewMailbox[int](time.Hour, func() bool { return pressed })
	popped := func(want int) {
		t.Helper()
		if got, ok := m.Pop(); got != want || !ok {
			t.Fatalf("took %d, %v; want %d", got, ok, want)
		}
	}
	m.Put(1, false)
	m.Put(2, true)
	popped(2)
	for i := range patience {
		m.ripen()
		m.mu.Lock()
		if !m.due || !m.putOff() || m.due || !m.armed {
			t.Fatalf("the work was not put off for the %dth time", i+1)
		}
		m.mu.Unlock()
	}
	m.Put(3, false)
	m.ripen()
	popped(1)
	popped(3) // what has become due is taken to its end
	m.Put(4, false)
	pressed = false
	m.ripen()
	popped(4)
	pressed = true
	m.Put(5, false)
	m.Close()
	popped(5)
	if _, ok := m.Pop(); ok {
		t.Error("something is left")
	}
	m.ripen() // a timer that fired while it was stopped
}
