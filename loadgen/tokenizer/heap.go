package tokenizer

// candidate says that two neighbours can be merged, and at which rank. What
// left and right are is up to the one who pushes it; they tell whether it is
// stale, because one of the two was merged since.
type candidate struct {
	rank        int32
	at          int32 // position: equal ranks merge from left to right
	left, right int32
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// mergeHeap is a heap of candidates, the next one to merge on top. It does
// without container/heap, which boxes every element.
type mergeHeap []candidate

func (h *mergeHeap) push(c candidate) {
	*h = append(*h, c)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a[i].before(a[up]) {
			return
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

func (h *mergeHeap) pop() candidate {
	a := *h
	top := a[0]
	a[0] = a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(a) {
			return top
		}
		if c+1 < len(a) && a[c+1].before(a[c]) {
			c++
		}
		if !a[c].before(a[i]) {
			return top
		}
		a[i], a[c] = a[c], a[i]
		i = c
	}
}
