package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/internal/record"
)

// What is packed comes back bit by bit, whatever width it takes, with absent
// values between and at either end of the range.
func TestPackedColumns(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for name, next := range map[string]func(i int) float64{
		"constant":            func(int) float64 { return 16 },
		"constant fraction":   func(int) float64 { return 1.0 / 3 },
		"minus zero":          func(i int) float64 { return math.Copysign(0, float64(i%2)-1) },
		"counts":              func(int) float64 { return float64(rng.IntN(256)) },
		"counts of 1 byte":    func(i int) float64 { return float64(i % 256) },
		"counts of 2 bytes":   func(i int) float64 { return float64(i * 127) },
		"spans in ms":         func(int) float64 { return float64(rng.Int64N(9_000_000)) / 1e6 },
		"long spans":          func(int) float64 { return float64(rng.Int64N(1<<31)) / 1e6 },
		"very long spans":     func(int) float64 { return float64(rng.Int64N(1<<50)) / 1e6 },
		"negative spans":      func(int) float64 { return float64(rng.Int64N(1<<20)-1<<19) / 1e6 },
		"rates":               func(int) float64 { return rng.ExpFloat64() * 1e3 },
		"huge":                func(int) float64 { return rng.NormFloat64() * (math.MaxFloat64 / 100) },
		"edge of a whole":     func(i int) float64 { return float64(1<<53 - 2 + i%4) },
		"full width, a spare": func(i int) float64 { return float64(i % 2 * (1<<32 - 1)) },
	} {
		for _, every := range []int{0, 1, 3, 1000} { // each so-manieth row has no value
			var c column
			want := make([]float64, 3*blockRows+17)
			for i := range want {
				want[i] = next(i)
				if every > 0 && i%every == every-1 {
					want[i] = math.NaN()
				}
				c.set(i, want[i])
			}
			got := c.all(nil)
			for i, w := range want {
				g := math.NaN()
				if i < len(got) {
					g = got[i]
				}
				if math.Float64bits(g) != math.Float64bits(w) && !(math.IsNaN(g) && math.IsNaN(w)) {
					t.Fatalf("%s, gaps each %d: row %d is %v, want %v", name, every, i, g, w)
				}
			}
		}
	}
}

// Columns are equal when every row is, the last one too, in a block or behind
// the last block.
func TestEqualColumns(t *testing.T) {
	t.Parallel()
	const rows = blockRows + 9
	build := func(change int, to float64) *column {
		var c column
		for i := range rows {
			v := float64(i%7) / 8
			if i%5 == 4 {
				v = math.NaN()
			}
			if i == change {
				v = to
			}
			c.set(i, v)
		}
		return &c
	}
	if !build(-1, 0).equal(build(-1, 0)) {
		t.Error("the same values are not equal")
	}
	for _, c := range []struct {
		row int
		to  float64
	}{
		{0, 9},
		{1, math.NaN()},
		{blockRows - 1, 1e-7},
		{blockRows, 2},
		{rows - 1, 3},
		{rows - 1, math.NaN()},
		{blockRows + 2, math.Copysign(0, -1)},
	} {
		if build(-1, 0).equal(build(c.row, c.to)) {
			t.Errorf("row %d changed to %v: still equal", c.row, c.to)
		}
	}
}

func TestPackedInts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for width := range 63 {
		var c ints
		var want []int64
		for i := range 2*blockRows + 3 {
			v := rng.Int64N(1<<width) - 1<<width/2
			switch {
			case i%7 == 3:
				v = record.None
			case i == 11:
				v = 1<<width - 1
			case i == blockRows+5 && width == 63:
				v = math.MinInt64 + 1
			}
			want = append(want, v)
			c.add(v)
		}
		all := c.all(nil)
		for i, w := range want {
			if c.at(i) != w || all[i] != w {
				t.Fatalf("%d bits: row %d is %d and %d, want %d", width, i, c.at(i), all[i], w)
			}
		}
	}
}

// A million requests whose spans are ns and whose counts differ little must
// fit into few bytes each.
func TestPackedSize(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for name, c := range map[string]struct {
		next func() float64
		most int // bytes a value, 100ths
	}{
		"constant":    {func() float64 { return 1 }, 0},
		"counts":      {func() float64 { return 500 + float64(rng.IntN(64)) }, 100},
		"spans, 10ms": {func() float64 { return float64(rng.Int64N(1e7)) / 1e6 }, 300},
		"spans, 4s":   {func() float64 { return float64(rng.Int64N(4e9)) / 1e6 }, 400},
	} {
		var col column
		const n = 64 * blockRows
		for i := range n {
			col.set(i, c.next())
		}
		bytes := 0
		for _, b := range col.blocks {
			bytes += cap(b.data)
		}
		if 100*bytes > c.most*n {
			t.Errorf("%s: %.2f bytes a value, want %.2f at most", name, float64(bytes)/n, float64(c.most)/100)
		}
	}
}
