package tokenizer

// mergeHeap holds candidates for merging, lowest rank first, then leftmost.
type mergeHeap []mergeCandidate

// mergeCandidate says that the parts from start to mid and from mid to end
// make a token of that rank. It is stale when one of them was merged since.
type mergeCandidate struct {
	rank            int32
	start, mid, end int32
}

func (h mergeHeap) less(i, j int) bool {
	return h[i].rank < h[j].rank || h[i].rank == h[j].rank && h[i].start < h[j].start
}

func (h *mergeHeap) push(c mergeCandidate) {
	*h = append(*h, c)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.less(i, up) {
			return
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

func (h *mergeHeap) pop() mergeCandidate {
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
		if c+1 < len(a) && a.less(c+1, c) {
			c++
		}
		if !a.less(c, i) {
			return top
		}
		a[i], a[c] = a[c], a[i]
		i = c
	}
}

// mergeLong is merge in O(n log n), for pieces of hundreds of bytes and more
// (a line of dashes, a text without spaces).
func (m *merger) mergeLong(r *ranks, piece string) {
	n := len(piece)
	next := make([]int32, n+1) // next[i]: where the part that begins at i ends; 0 when none begins there
	prev := make([]int32, n+1) // prev[i]: where the part that ends at i begins
	for i := range n {
		next[i], prev[i+1] = int32(i+1), int32(i)
	}
	m.heap = m.heap[:0]
	offer := func(start int32) {
		mid := next[start]
		if mid >= int32(n) {
			return
		}
		end := next[mid]
		if rank := r.rank(piece[start:end]); rank != none {
			m.heap.push(mergeCandidate{rank, start, mid, end})
		}
	}
	for i := range n {
		offer(int32(i))
	}
	for len(m.heap) > 0 {
		c := m.heap.pop()
		if next[c.start] != c.mid || next[c.mid] != c.end {
			continue
		}
		next[c.start], next[c.mid], prev[c.end] = c.end, 0, c.start
		offer(c.start)
		if c.start > 0 {
			offer(prev[c.start])
		}
	}
	m.parts = m.parts[:0]
	for i := int32(0); i < int32(n); i = next[i] {
		m.parts = append(m.parts, part{start: i})
	}
	m.parts = append(m.parts, part{start: int32(n)})
}
