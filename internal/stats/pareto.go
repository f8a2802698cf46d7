package stats

import "math"

// Direction says which way an objective is better.
type Direction int

// The two directions.
const (
	Minimise Direction = iota
	Maximise
)

// better is how much a beats b; positive is better.
func (d Direction) better(a, b float64) float64 {
	if d == Maximise {
		return a - b
	}
	return b - a
}

// Pareto tells for each point whether no other point dominates it. A dominates
// B when A is no worse on every objective and better on one; equal points stay
// together. A point with a NaN is not on the front and dominates nothing.
func Pareto(points [][]float64, dirs []Direction) []bool {
	return front(len(points), func(i int) bool { return complete(points[i]) }, func(a, b int) bool {
		some := false
		for k, d := range dirs {
			diff := d.better(points[a][k], points[b][k])
			if diff < 0 {
				return false
			}
			some = some || diff > 0
		}
		return some
	})
}

func front(n int, usable func(int) bool, dominates func(a, b int) bool) []bool {
	on := make([]bool, n)
	for i := range n {
		on[i] = usable(i)
		for j := 0; on[i] && j < n; j++ {
			if j != i && usable(j) && dominates(j, i) {
				on[i] = false
			}
		}
	}
	return on
}

func complete(p []float64) bool {
	for _, v := range p {
		if math.IsNaN(v) {
			return false
		}
	}
	return true
}
