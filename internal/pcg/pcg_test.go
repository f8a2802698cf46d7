package pcg_test

import (
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/pcg"
)

// The wanted numbers are those of numpy.random.default_rng(seed), NumPy 2.4, in
// the order of the calls below.
var drawn = []struct {
	seed    uint64
	floats  []float64
	bits    []uint32 // integers(0, 2)
	sevens  []uint32 // integers(0, 7)
	ten     []int    // shuffle of 1…10
	first   []int    // of a shuffle of 0…2999
	last    []int
	after   float64
	largest []uint32 // integers(0, 4e9)
}{
	{
		0,
		[]float64{0.6369616873214543, 0.2697867137638703, 0.04097352393619469},
		[]uint32{0, 0, 0, 1, 1, 1, 1, 1, 1},
		[]uint32{5, 4, 3, 3, 6, 1, 5},
		[]int{5, 8, 7, 3, 6, 2, 4, 10, 9, 1},
		[]int{2625, 2013, 861, 2659, 238},
		[]int{2848, 568, 985},
		0.5452660992798924,
		[]uint32{789216305, 596438405, 1689614067, 269361660, 1435209896, 3969945790},
	},
	{
		3,
		[]float64{0.08564916714362436, 0.2368105065960997, 0.8012744652063969},
		[]uint32{1, 1, 0, 0, 0, 0, 1, 0, 0},
		[]uint32{1, 4, 5, 0, 0, 3, 2},
		[]int{5, 6, 4, 8, 7, 3, 2, 10, 1, 9},
		[]int{2831, 1594, 2100, 205, 586},
		[]int{2317, 1576, 2197},
		0.1671093848188998,
		[]uint32{385959653, 1686029226, 2912963076, 1073090639, 3986461922, 1688329696},
	},
	{
		1<<40 + 7,
		[]float64{0.829812891829413, 0.25530515834910417, 0.15379071585298754},
		[]uint32{1, 1, 1, 1, 0, 0, 1, 0, 1},
		[]uint32{0, 4, 0, 1, 6, 2, 2},
		[]int{6, 9, 2, 7, 5, 1, 3, 4, 8, 10},
		[]int{896, 2365, 2944, 2823, 1609},
		[]int{538, 2143, 2372},
		0.9352063985697862,
		[]uint32{2170146477, 2708566300, 2926296060, 1455520582, 3272052222, 1896151537},
	},
	{
		1<<63 - 1,
		[]float64{0.1754661243027813, 0.4699286514015091, 0.8250374441530688},
		[]uint32{0, 0, 0, 0, 1, 1, 1, 1, 0},
		[]uint32{5, 3, 4, 0, 1, 0, 1},
		[]int{9, 2, 1, 5, 7, 10, 6, 3, 8, 4},
		[]int{698, 1454, 2085, 1582, 2980},
		[]int{2116, 67},
		0.9209042899901284,
		[]uint32{2707089287, 2003938992, 3833326074, 2142026036, 168081101, 1783504827},
	},
}

func TestDraws(t *testing.T) {
	t.Parallel()
	for _, w := range drawn {
		g := pcg.New(w.seed)
		equal(t, w.seed, "Float64", repeat(len(w.floats), g.Float64), w.floats)
		equal(t, w.seed, "Below(2)", repeat(len(w.bits), func() uint32 { return g.Below(2) }), w.bits)
		equal(t, w.seed, "Below(7)", repeat(len(w.sevens), func() uint32 { return g.Below(7) }), w.sevens)
		equal(t, w.seed, "Shuffle(10)", shuffled(g, 1, 10), w.ten)
		many := shuffled(g, 0, 3000)
		equal(t, w.seed, "Shuffle(3000)", many[:len(w.first)], w.first)
		equal(t, w.seed, "Shuffle(3000)", many[len(many)-len(w.last):], w.last)
		equal(t, w.seed, "Float64", []float64{g.Float64()}, []float64{w.after})
		equal(t, w.seed, "Below(4e9)", repeat(len(w.largest), func() uint32 { return g.Below(4_000_000_000) }),
			w.largest)
	}
}

// The words themselves, as PCG64(42).random_raw gives them.
func TestWords(t *testing.T) {
	t.Parallel()
	g := pcg.New(42)
	equal(t, 42, "Uint64", repeat(3, g.Uint64), []uint64{
		14276969152011380360, 8095878257575067585,
		15838336090824644132,
	})
}

func TestBelowOneDrawsNothing(t *testing.T) {
	t.Parallel()
	a, b := pcg.New(5), pcg.New(5)
	if got := a.Below(1); got != 0 {
		t.Errorf("Below(1) = %d", got)
	}
	equal(t, 5, "Uint64 after Below(1)", []uint64{a.Uint64()}, []uint64{b.Uint64()})
}

func repeat[T any](n int, draw func() T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = draw()
	}
	return out
}

func shuffled(g *pcg.Generator, first, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = first + i
	}
	g.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func equal[T comparable](t *testing.T, seed uint64, call string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("seed %d: %s = %v, want %v", seed, call, got, want)
	}
}
