package loadgen

// followTurn is a turn that waits, and since when it is due.
type followTurn struct {
	r   *request
	due int64
}

// delayedTurns is a heap, earliest first; equal ones in order of their sessions.
type delayedTurns []followTurn

func (h delayedTurns) Len() int { return len(h) }
func (h delayedTurns) Less(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].r.play.num < h[j].r.play.num
}
func (h delayedTurns) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *delayedTurns) Push(x any)   { *h = append(*h, x.(followTurn)) }
func (h *delayedTurns) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = followTurn{}
	*h = old[:len(old)-1]
	return x
}
