package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
)

// A histogram gives back the quantiles of its values, and whole numbers as they are.
func TestHistogram(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var h histogram
	var all []float64
	for range 200_000 {
		v := math.Exp(3*rng.NormFloat64()) - 1 // of both signs
		all = append(all, v)
		h.add(v)
	}
	slices.Sort(all)
	got := h.sorted(nil, 1<<14)
	if len(got) != 1<<14 || !slices.IsSorted(got) {
		t.Fatalf("%d values, sorted %t", len(got), slices.IsSorted(got))
	}
	for _, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.99} {
		if a, b := stats.Quantile(got, q), stats.Quantile(all, q); math.Abs(a-b) > 0.01*math.Abs(b)+1e-4 {
			t.Errorf("quantile %v = %v, want %v", q, a, b)
		}
	}
	var w histogram
	for _, v := range []float64{0, math.Copysign(0, -1), 1, 7, 4095, -3} {
		w.add(v)
	}
	if got := w.sorted(nil, 100); !slices.Equal(got, []float64{-3, 0, 0, 1, 7, 4095}) {
		t.Errorf("whole numbers come back as %v", got)
	}
}

// A run that is summed up in many segments says what the same run says in one:
// counts, sums and levels over time exactly, percentiles to one part in 4096.
func TestSegmentsSayTheSame(t *testing.T) {
	t.Parallel()
	const n = 20_000
	opt := Options{
		Streaming: true, Tokens: true, Window: Window{0, n * 1e6}, Steady: Window{n * 2e5, n * 8e5},
		SLOs: map[string]float64{"time_to_first_token": 12},
	}
	one, many := NewCollector(opt), NewCollector(opt)
	many.limits = limits{rows: 700, gaps: 1 << 20}
	rng := rand.New(rand.NewPCG(3, 4))
	all := make([]record.Record, n)
	for i := range all {
		all[i] = made(rng, int64(i))
	}
	slices.SortFunc(all, func(a, b record.Record) int { return int(a.End - b.End) }) // as a journal has them
	for i := range all {
		one.Add(&all[i])
		many.Add(&all[i])
	}
	if len(many.past) != 2 {
		t.Fatalf("%d windows have a past, want 2", len(many.past))
	}
	want, got := one.Summaries(), many.Summaries()
	for w := range want {
		if len(got[w].Stats) != len(want[w].Stats) || len(got[w].Stats) < 50 {
			t.Fatalf("%s: %d metrics, want %d", want[w].Window, len(got[w].Stats), len(want[w].Stats))
		}
		for i, a := range want[w].Stats {
			same(t, want[w].Window, &a, &got[w].Stats[i])
		}
	}
}

// made is a request that is one of about thirty in flight; one in fifty fails.
func made(rng *rand.Rand, i int64) record.Record {
	r := record.New()
	r.Status, r.Streamed, r.InWindow, r.ISL, r.OSL, r.OSLRequested = record.OK, true, true, 100+rng.Int64N(900), 5,
		5+rng.Int64N(3)
	r.Intended, r.Admitted, r.Sent = i*1e6, i*1e6, i*1e6+rng.Int64N(4e5)
	r.WriteEnd, r.FirstByte, r.FirstToken = r.Sent+1e4, r.Sent+4e6, r.Sent+5e6+rng.Int64N(1e7)
	r.FirstOutput, r.Reused, r.BytesSent, r.BytesReceived = r.FirstToken, true, 700, 2000+rng.Int64N(500)
	at := r.FirstToken
	for range 5 {
		r.Chunks = append(r.Chunks, record.Chunk{At: at, Low: at})
		at += rng.Int64N(9e6)
	}
	r.LastToken, r.End = r.Chunks[4].At, r.Chunks[4].At+rng.Int64N(1e5)
	if rng.IntN(50) == 0 {
		r.Status, r.HTTPStatus, r.OSL, r.Chunks = record.HTTPError, 503, record.None, nil
		r.FirstToken, r.FirstOutput, r.LastToken = record.None, record.None, record.None
	}
	return r
}

func same(t *testing.T, window string, a, b *Stat) {
	t.Helper()
	if a.Tag != b.Tag || a.Count != b.Count || len(a.Intervals) != len(b.Intervals) {
		t.Fatalf("%s: %s (%d values, %d intervals), want %s (%d, %d)", window, b.Tag, b.Count,
			len(b.Intervals), a.Tag, a.Count, len(a.Intervals))
	}
	for _, name := range StatNames() {
		rel := 1e-9
		switch {
		case name[0] == 'p' || strings.HasPrefix(a.Tag, "e2e_normalized_"): // of percentiles, which go into bins
			rel = 2e-3
		case name == "n_effective":
			rel = 0.3
		case name == "std":
			rel = 1e-6
		}
		x, y := a.Value(name), b.Value(name)
		if math.IsNaN(x) != math.IsNaN(y) || math.Abs(x-y) > rel*math.Abs(x)+1e-9 {
			t.Errorf("%s: %s %s = %v, in one segment %v", window, a.Tag, name, y, x)
		}
	}
}
