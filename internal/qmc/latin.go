package qmc

import "aiperf.dev/aiperf/internal/pcg"

// Latin gives a Latin hypercube of n points in d dimensions: cut into n equal
// parts, every axis has one point in each of them.
func Latin(n, d int, rng *pcg.Generator) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, d)
		for k := range d {
			out[i][k] = rng.Float64() // place within its part, from the upper end
		}
	}
	part := make([]int, n)
	for k := range d {
		for i := range part {
			part[i] = i + 1
		}
		rng.Shuffle(n, func(i, j int) { part[i], part[j] = part[j], part[i] })
		for i := range out {
			out[i][k] = (float64(part[i]) - out[i][k]) / float64(n)
		}
	}
	return out
}

// Ends of the search for a more even hypercube: steps without a better one, and
// steps at all.
const (
	maxIdle  = 100
	maxSteps = 10_000
)

// Spread swaps coordinates of points of a Latin hypercube, at random, as long as
// that lowers its centered discrepancy. In one dimension there is nothing to
// gain. It changes the points and continues the generator that drew them.
func Spread(points [][]float64, rng *pcg.Generator) {
	n := len(points)
	if n < 2 || len(points[0]) < 2 {
		return
	}
	best := Discrepancy(points)
	for step, idle := 0, 0; idle < maxIdle && step < maxSteps; step++ {
		k := int(rng.Below(uint32(len(points[0]))))
		a, b := int(rng.Below(uint32(n))), int(rng.Below(uint32(n)))
		idle++
		if disc := swapped(points, a, b, k, best); disc < best {
			points[a][k], points[b][k] = points[b][k], points[a][k]
			best, idle = disc, 0
		}
	}
}
