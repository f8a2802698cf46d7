package heap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/heap"
)

type number struct{ v, at int }

func (a *number) Before(b *number) bool { return a.v < b.v }

// A heap under random pushes, pops and removals gives what a sorted list gives,
// and says where each element is.
func TestHeapAgainstASortedList(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	h := heap.Heap[*number]{Moved: func(x *number, i int) { x.at = i }}
	var in []*number
	for range 5000 {
		switch k := rng.IntN(6); {
		case k < 3 || len(in) == 0:
			x := &number{v: rng.IntN(100)}
			h.Push(x)
			in = append(in, x)
		case k == 3:
			least := slices.MinFunc(in, func(a, b *number) int { return a.v - b.v })
			x := h.Pop()
			if x.v != least.v || x.at != -1 {
				t.Fatalf("Pop = %+v, the least is %d", *x, least.v)
			}
			in = slices.DeleteFunc(in, func(y *number) bool { return y == x })
		case k == 4:
			h.Top().v += rng.IntN(50)
			h.FixTop()
		default:
			i := rng.IntN(len(in))
			if x := h.Remove(in[i].at); x != in[i] {
				t.Fatalf("Remove gave %+v, want %+v", *x, *in[i])
			}
			in = slices.Delete(in, i, i+1)
		}
		if h.Len() != len(in) {
			t.Fatalf("%d elements, want %d", h.Len(), len(in))
		}
		for i, x := range h.All() {
			if x.at != i {
				t.Fatalf("an element at %d believes to be at %d", i, x.at)
			}
		}
	}
}
