package qmc_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/pcg"
	"aiperf.dev/aiperf/internal/qmc"
)

// reference is one design as scipy.stats.qmc (SciPy 1.17) draws it.
type reference struct {
	Kind     string // sobol, latin
	N, D     int
	Seed     uint64
	Option   string // scramble, plain; none, random-cd
	First    []float64
	Last     []float64
	Weighted float64     // Σ (i+1)(k+1)·xᵢₖ
	Points   [][]float64 // of small designs
}

func references(t *testing.T) (out []reference) {
	t.Helper()
	text, err := os.ReadFile("testdata/scipy.json")
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil || len(out) == 0 {
		t.Fatalf("testdata/scipy.json: %d designs, %v", len(out), err)
	}
	return out
}

func draw(t *testing.T, r reference) [][]float64 {
	t.Helper()
	rng := pcg.New(r.Seed)
	if r.Kind == "latin" {
		points := qmc.Latin(r.N, r.D, rng)
		if r.Option == "random-cd" {
			qmc.Spread(points, rng)
		}
		return points
	}
	if r.Option == "plain" {
		rng = nil
	}
	points, err := qmc.Sobol(r.N, r.D, rng)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// The designs agree to the last bit; only the checksum, a long sum, is compared
// with a tolerance.
func TestAsSciPy(t *testing.T) {
	t.Parallel()
	for _, r := range references(t) {
		got := draw(t, r)
		if !slices.Equal(got[0], r.First) || !slices.Equal(got[r.N-1], r.Last) {
			t.Errorf("%s n=%d d=%d seed=%d %s: first %v, last %v; want %v, %v", r.Kind, r.N, r.D, r.Seed,
				r.Option, got[0], got[r.N-1], r.First, r.Last)
		}
		sum := 0.0
		for i, x := range got {
			for k, v := range x {
				sum += float64(i+1) * float64(k+1) * v
			}
			if r.Points != nil && !slices.Equal(x, r.Points[i]) {
				t.Errorf("%s n=%d d=%d seed=%d %s: point %d = %v, want %v", r.Kind, r.N, r.D, r.Seed, r.Option, i, x,
					r.Points[i])
			}
		}
		if math.Abs(sum-r.Weighted) > 1e-12*math.Abs(r.Weighted) {
			t.Errorf("%s n=%d d=%d seed=%d %s: checksum %v, want %v", r.Kind, r.N, r.D, r.Seed, r.Option, sum,
				r.Weighted)
		}
	}
}

// Every part of every axis holds one point, also after coordinates were swapped.
func TestLatinHasOnePointPerPart(t *testing.T) {
	t.Parallel()
	const n, d = 37, 5
	rng := pcg.New(12)
	points := qmc.Latin(n, d, rng)
	before := qmc.Discrepancy(points)
	qmc.Spread(points, rng)
	if after := qmc.Discrepancy(points); after >= before {
		t.Errorf("Spread: discrepancy %v, before %v", after, before)
	}
	for k := range d {
		var seen [n]int
		for _, x := range points {
			seen[int(x[k]*n)]++
		}
		for part, count := range seen {
			if count != 1 {
				t.Errorf("axis %d, part %d: %d points", k, part, count)
			}
		}
	}
}

// A single point in the middle of the square: (13/12)² − 2 + 1.
func TestDiscrepancyByHand(t *testing.T) {
	t.Parallel()
	if got, want := qmc.Discrepancy([][]float64{{0.5, 0.5}}), 169.0/144-1; math.Abs(got-want) > 1e-15 {
		t.Errorf("Discrepancy = %v, want %v", got, want)
	}
}

func TestSobolLimits(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int{{4, 0}, {4, 65}, {-1, 1}, {1<<30 + 1, 1}} {
		if _, err := qmc.Sobol(c[0], c[1], nil); err == nil {
			t.Errorf("Sobol(%d, %d): no error", c[0], c[1])
		}
	}
}
