package tokenizer

// mergeLong is merge in O(n log n), for pieces of hundreds of bytes and more
// (a line of dashes, a text without spaces). A candidate's left and right are
// the ends of its two parts.
func (m *merger) mergeLong(r *ranks, piece string) {
	n := int32(len(piece))
	next := make([]int32, n+1) // next[i]: where the part that begins at i ends; 0 when none begins there
	prev := make([]int32, n+1) // prev[i]: where the part that ends at i begins
	for i := range n {
		next[i], prev[i+1] = i+1, i
	}
	m.heap = m.heap[:0]
	offer := func(start int32) {
		mid := next[start]
		if mid >= n {
			return
		}
		if rank := r.rank(piece[start:next[mid]]); rank != none {
			m.heap.push(candidate{rank, start, mid, next[mid]})
		}
	}
	for i := range n {
		offer(i)
	}
	for len(m.heap) > 0 {
		c := m.heap.pop()
		if next[c.at] != c.left || next[c.left] != c.right {
			continue
		}
		next[c.at], next[c.left], prev[c.right] = c.right, 0, c.at
		offer(c.at)
		if c.at > 0 {
			offer(prev[c.at])
		}
	}
	m.parts = m.parts[:0]
	for i := int32(0); i < n; i = next[i] {
		m.parts = append(m.parts, part{start: i})
	}
	m.parts = append(m.parts, part{start: n})
}
