// Package qmc spreads points evenly over the unit cube: Sobol sequences and
// Latin hypercubes.
//
// A number of points, of dimensions and a seed go in; out come the points, one
// slice of coordinates in [0, 1) each. They are the points that
// scipy.stats.qmc gives for the same seed, so that a design drawn there can be
// run again here.
package qmc

import (
	"fmt"
	"math/bits"

	"aiperf.dev/aiperf/internal/pcg"
)

// sobolBits is the precision of a coordinate and bounds the sequence to 2³⁰
// points.
const sobolBits = 30

// Sobol gives the first n points of the Sobol sequence in d dimensions. With a
// generator they are scrambled: a random linear map of the digits (Matoušek
// 1998) and a random digital shift. Without one the first point is the origin.
func Sobol(n, d int, rng *pcg.Generator) ([][]float64, error) {
	if d < 1 || d > maxDimensions {
		return nil, fmt.Errorf("%d dimensions; a Sobol sequence has 1 to %d here", d, maxDimensions)
	}
	if n < 0 || n > 1<<sobolBits {
		return nil, fmt.Errorf("%d points; a Sobol sequence has at most %d", n, 1<<sobolBits)
	}
	columns := make([][sobolBits]uint32, d)
	for k, dir := range directions() {
		if k < d {
			columns[k] = dir.columns()
		}
	}
	at := make([]uint32, d)
	if rng != nil {
		at = scramble(columns, rng)
	}
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, d)
		for k := range at {
			out[i][k] = float64(at[k]) / (1 << sobolBits)
			// Gray code order: point i+1 differs from point i in the direction
			// of the lowest zero bit of i.
			at[k] ^= columns[k][bits.TrailingZeros32(^uint32(i))%sobolBits]
		}
	}
	return out, nil
}

// columns are the direction numbers of a dimension as binary fractions. With m
// the degree of the polynomial x^m + a₁x^(m−1) + … + 1,
//
//	v_j = 2a₁v_{j−1} ⊕ 2²a₂v_{j−2} ⊕ … ⊕ 2^m v_{j−m} ⊕ v_{j−m}
func (dir direction) columns() (v [sobolBits]uint32) {
	m := copy(v[:], dir.start)
	if m == 0 { // the first dimension: van der Corput's sequence
		for j := range v {
			v[j] = 1
		}
	}
	for j := m; m > 0 && j < sobolBits; j++ {
		v[j] = v[j-m]
		for k := 1; k <= m; k++ {
			if dir.polynomial>>(m-k)&1 == 1 {
				v[j] ^= v[j-k] << k
			}
		}
	}
	for j := range v {
		v[j] <<= sobolBits - 1 - j
	}
	return v
}

// scramble maps the digits of every direction number by a random lower
// triangular matrix with ones on its diagonal, one matrix per dimension, and
// returns the random shifts. All shifts are drawn first, then all matrices, row
// by row, also what stands above the diagonal.
func scramble(columns [][sobolBits]uint32, rng *pcg.Generator) []uint32 {
	shifts := make([]uint32, len(columns))
	for k := range shifts {
		for j := range sobolBits {
			shifts[k] |= rng.Below(2) << j
		}
	}
	for k := range columns {
		rows := triangle(rng)
		for j, v := range columns[k] {
			var mapped uint32
			for p, row := range rows {
				parity := uint32(bits.OnesCount32(row&v) & 1)
				mapped |= parity << (sobolBits - 1 - p)
			}
			columns[k][j] = mapped
		}
	}
	return shifts
}

// triangle draws a matrix; bit 29−c of row r is its entry in column c.
func triangle(rng *pcg.Generator) (rows [sobolBits]uint32) {
	for r := range rows {
		for c := range sobolBits {
			if bit := rng.Below(2); c < r {
				rows[r] |= bit << (sobolBits - 1 - c)
			}
		}
		rows[r] |= 1 << (sobolBits - 1 - r)
	}
	return rows
}
