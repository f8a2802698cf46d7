package stats_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// reference is one value that SciPy or statsmodels computed; testdata/reference.py
// says how.
type reference struct {
	Name string
	Args json.RawMessage
	Want []float64
}

// computed gives ours for each name of the table, from its arguments.
var computed = map[string]func(t *testing.T, args json.RawMessage) []float64{
	"t": func(t *testing.T, args json.RawMessage) []float64 {
		a := floats(t, args)
		low, high := stats.OneSample(spread(int(a[1]) + 1)).Interval(a[0])
		return []float64{(high - low) / 2}
	},
	"beta": func(t *testing.T, args json.RawMessage) []float64 {
		a := floats(t, args)
		return []float64{stats.BetaQuantile(a[0], a[1], a[2])}
	},
	"clopper_pearson": func(t *testing.T, args json.RawMessage) []float64 {
		a := floats(t, args)
		return pair(stats.ClopperPearson(a[0], a[1], a[2]))
	},
	"fisher": func(t *testing.T, args json.RawMessage) []float64 {
		a := floats(t, args)
		return []float64{stats.FisherExact(int64(a[0]), int64(a[1]), int64(a[2]), int64(a[3]))}
	},
	"share": func(t *testing.T, args json.RawMessage) []float64 {
		hits, of := two(t, args)
		var trials []stats.Tally
		for i := range hits {
			trials = append(trials, stats.Tally{Hits: hits[i], Of: of[i]})
		}
		return bounds(stats.Share(trials, .95))
	},
	"count": func(t *testing.T, args json.RawMessage) []float64 { return bounds(stats.Count(floats(t, args), .95)) },
	"level": func(t *testing.T, args json.RawMessage) []float64 {
		return bounds(stats.Level(floats(t, args), .95, 0))
	},
	"signed": func(t *testing.T, args json.RawMessage) []float64 { return bounds(stats.Signed(floats(t, args), .95)) },
	"poisson": func(t *testing.T, args json.RawMessage) []float64 {
		a := floats(t, args)
		return pair(stats.Garwood(a[0], a[1]))
	},
	"paired": func(t *testing.T, args json.RawMessage) []float64 {
		d := stats.OneSample(logRatios(two(t, args)))
		return slices.Concat([]float64{d.Mean}, pair(d.Interval(.95)), pair(d.Interval(.99)), []float64{d.P()})
	},
	"tost": func(t *testing.T, args json.RawMessage) []float64 {
		var a [4]json.RawMessage
		decode(t, args, &a)
		var low, high float64
		decode(t, a[2], &low)
		decode(t, a[3], &high)
		return []float64{stats.OneSample(logRatios(floats(t, a[0]), floats(t, a[1]))).Equivalent(low, high)}
	},
	"welch": func(t *testing.T, args json.RawMessage) []float64 {
		a, b := two(t, args)
		d := stats.Welch(logs(a), logs(b))
		return slices.Concat([]float64{d.Mean, d.DF}, pair(d.Interval(.95)), []float64{d.P()})
	},
	"bh": func(t *testing.T, args json.RawMessage) []float64 { return stats.BenjaminiHochberg(floats(t, args)) },
	"ks2": func(t *testing.T, args json.RawMessage) []float64 {
		a, b := two(t, args)
		slices.Sort(a)
		slices.Sort(b)
		k := stats.KS2(a, b)
		return []float64{k.D, k.P}
	},
	"power": func(t *testing.T, args json.RawMessage) []float64 {
		a := floats(t, args)
		return []float64{stats.Design{SD: a[0], Alpha: a[1]}.Power(a[2], int(a[3]))}
	},
	"trials": func(t *testing.T, args json.RawMessage) []float64 {
		a := floats(t, args)
		n, ok := stats.Design{SD: a[0], Alpha: a[1]}.Trials(a[2], 0.8)
		if !ok {
			return []float64{math.NaN()}
		}
		return []float64{float64(n)}
	},
	"floor": func(t *testing.T, args json.RawMessage) []float64 {
		return []float64{float64(stats.Floor(floats(t, args)[0]))}
	},
	"half_shift": func(t *testing.T, args json.RawMessage) []float64 { return []float64{stats.HalfShift(floats(t, args))} },
}

func TestReference(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []reference
	decode(t, b, &cases)
	seen := map[string]int{}
	for _, c := range cases {
		seen[c.Name]++
		f := computed[c.Name]
		if f == nil {
			t.Errorf("nothing of ours is called %s", c.Name)
			continue
		}
		got := f(t, c.Args)
		if len(got) != len(c.Want) {
			t.Errorf("%s %s: %d values, want %d", c.Name, c.Args, len(got), len(c.Want))
			continue
		}
		for i, want := range c.Want {
			if !(math.Abs(got[i]-want) <= 1e-9*math.Abs(want)+1e-12) {
				t.Errorf("%s %s: value %d is %.15g, want %.15g", c.Name, c.Args, i, got[i], want)
			}
		}
	}
	for name := range computed {
		if seen[name] == 0 {
			t.Errorf("no reference for %s", name)
		}
	}
}

// spread is n values with mean 0 and a standard error of 1.
func spread(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i) - float64(n-1)/2
	}
	se := stats.StdSample(v) / math.Sqrt(float64(n))
	for i := range v {
		v[i] /= se
	}
	return v
}

func bounds(e stats.Estimate) []float64 { return []float64{e.Mean, e.Low, e.High} }
func pair(a, b float64) []float64       { return []float64{a, b} }

func logs(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Log(x)
	}
	return out
}

func logRatios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = math.Log(b[i] / a[i])
	}
	return out
}

func floats(t *testing.T, raw json.RawMessage) (v []float64) {
	t.Helper()
	decode(t, raw, &v)
	return v
}

func two(t *testing.T, raw json.RawMessage) (a, b []float64) {
	t.Helper()
	var v []json.RawMessage
	decode(t, raw, &v)
	return floats(t, v[0]), floats(t, v[1])
}

func decode(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}
