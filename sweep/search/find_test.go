package search_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep/search"
)

// The smallest load that holds is found as the largest is: every load of the range is
// probed as it stands there, both ends are seen twice, and the reasons say which way.
func TestSmallest(t *testing.T) {
	t.Parallel()
	good := func(is bool) search.Run {
		y := stats.Tally{Hits: 200, Of: 200}
		if !is {
			y.Hits = 100
		}
		return search.Run{Worst: y, Best: y, Own: search.Holds}
	}
	terms := search.Terms{
		Find: search.Min, Low: 3, High: 500, Whole: true, Share: limitShare, Resolution: 0.01,
		Probes: 60,
	}
	for limit := 4.0; limit <= 500; limit++ {
		a := find(t, terms, func(load float64) search.Run { return good(load >= limit) })
		if a.Outcome != search.Bracketed || a.Holds.Load < limit || a.Fails.Load >= limit ||
			a.Holds.Load-a.Fails.Load > 1 && a.Holds.Load/a.Fails.Load > 1.01 || !a.Sure {
			t.Fatalf("limit %g: %s, %+v, %+v, sure %v", limit, a.Outcome, a.Holds, a.Fails, a.Sure)
		}
		for i := 1; i < len(a.Loads); i++ {
			if a.Loads[i].Load <= a.Loads[i-1].Load {
				t.Fatalf("limit %g: loads %+v", limit, a.Loads)
			}
		}
		if l := a.Curve.Likely; l < a.Fails.Load || l > a.Holds.Load {
			t.Fatalf("limit %g: most likely %g of %g to %g", limit, l, a.Fails.Load, a.Holds.Load)
		}
	}
	if a := find(t, terms, func(float64) search.Run { return good(true) }); a.Outcome != search.AtLeast ||
		a.Holds.Load != 3 {
		t.Errorf("always holds: %s %+v", a.Outcome, a.Holds)
	}
	if a := find(t, terms, func(float64) search.Run { return good(false) }); a.Outcome != search.Fewer ||
		a.Fails.Load != 500 {
		t.Errorf("never holds: %s %+v", a.Outcome, a.Fails)
	}
	rates := search.Terms{Find: search.Min, Low: 0.123456, High: 77.7, Share: limitShare, Resolution: 0.02, Probes: 60}
	for _, limit := range []float64{0.2, 1, 3.3333, 50} {
		a := find(t, rates, func(load float64) search.Run { return good(load >= limit) })
		if a.Outcome != search.Bracketed || a.Holds.Load < limit ||
			a.Fails.Load >= limit || a.Holds.Load/a.Fails.Load > 1.02 {
			t.Errorf("limit %g: %s, %+v, %+v", limit, a.Outcome, a.Holds, a.Fails)
		}
	}
	step := search.Next(terms, nil)
	if step.Load != 500 || step.Why != "the upper end of the range" {
		t.Errorf("%+v", step)
	}
	first := good(true)
	first.Load = 500
	if step = search.Next(terms, []search.Run{first}); step.Load != 125 || step.Why != "no load down to 500 fails" ||
		!strings.HasPrefix(step.Standing(), "500 holds; ") {
		t.Errorf("%+v, %s", step, step.Standing())
	}
}

// A knee is found where throughput and latency bend, within what the noise leaves open;
// where there is none, the outcome says why.
func TestKnee(t *testing.T) {
	t.Parallel()
	const ms = 200
	closed := func(slots float64) func(n float64) (rate, latency float64) { // waiting begins at so many
		return func(n float64) (float64, float64) {
			rate := min(n, slots) / (ms / 1000.)
			return rate, n / rate * 1000
		}
	}
	for _, c := range []struct {
		name  string
		at    func(n float64) (rate, latency float64)
		want  search.Outcome
		knee  float64
		grows bool
	}{
		{name: "slots", at: closed(24), want: search.Bent, knee: 24},
		{name: "few slots", at: closed(5), want: search.Bent, knee: 5},
		{name: "the latency is that of the first token", at: func(n float64) (float64, float64) {
			rate, _ := closed(24)(n)
			return rate, 40
		}, want: search.BentAlone, knee: 24},
		{name: "never full", at: closed(1000), want: search.BentAtEnd, grows: true},
		{name: "full from one on", at: closed(1), want: search.BentAtEnd},
		{name: "the latency bends elsewhere", at: func(n float64) (float64, float64) {
			rate, _ := closed(12)(n)
			_, latency := closed(120)(n)
			return rate, latency
		}, want: search.BentTwice},
	} {
		rng := rand.New(rand.NewPCG(24, 7))
		terms := search.Terms{
			Find: search.Knee, Low: 1, High: 256, Whole: true, Share: limitShare, Resolution: 0.1,
			Probes: 30,
		}
		a := find(t, terms, func(load float64) search.Run {
			rate, latency := c.at(load)
			noise := math.Exp(0.02 * rng.NormFloat64())
			return search.Run{Own: search.Holds, Rate: rate * noise, Latency: latency / noise}
		})
		if a.Outcome != c.want || a.Knee == nil || a.Knee.Grows != c.grows {
			t.Errorf("%s: %s of %d runs, %+v", c.name, a.Outcome, len(a.Runs), a.Knee)
			continue
		}
		if k := a.Knee.At; c.knee > 0 && (k.Low > c.knee || k.High < c.knee || k.High/k.Low > 1.5 || len(a.Runs) > 25) {
			t.Errorf("%s: at %+v after %d runs, want %g", c.name, k, len(a.Runs), c.knee)
		}
	}
	few := search.Terms{Find: search.Knee, Low: 1, High: 3, Whole: true, Resolution: 0.1, Probes: 30}
	if a := find(t, few, func(n float64) search.Run {
		return search.Run{
			Own: search.Holds, Rate: n,
			Latency: 1,
		}
	}); a.Outcome != search.Unbent || a.Knee != nil {
		t.Errorf("three loads: %s", a.Outcome)
	}
}

// The curve has the isotonic share, the means of throughput and latency, and the law
// where it fits; where it does not, why.
func TestCurve(t *testing.T) {
	t.Parallel()
	terms := search.Terms{Low: 1, High: 64, Whole: true, Share: 0.95, Resolution: 0.05, Probes: 40}
	law := func(n float64) float64 { return 10 * n / (1 + 0.05*(n-1) + 0.001*n*(n-1)) }
	var runs []search.Run
	add := func(load, hits float64) {
		y := stats.Tally{Hits: hits, Of: 200}
		runs = append(runs, search.Run{
			Load: load, Worst: y, Best: y, Own: search.Holds,
			Rate: law(load), Latency: 1000 * load / law(load),
		})
	}
	for i, hits := range []float64{200, 198, 200, 194, 100} {
		add(math.Pow(2, float64(i)), hits)
	}
	c := search.SoFar(terms, runs).Curve
	if c.Law == nil || math.Abs(c.Law.Kappa.Value-0.001) > 1e-9 || len(c.Points) != 5 {
		t.Fatalf("%+v", c)
	}
	for i, want := range []float64{1, 0.995, 0.995, 0.97, 0.5} {
		p := c.Points[i]
		if math.Abs(p.Share-want) > 1e-9 || math.Abs(p.Law/p.Rate-1) > 1e-9 ||
			math.Abs(p.Latency*p.Rate/1000-p.Load) > 1e-9 {
			t.Errorf("%+v, want a share of %g", p, want)
		}
	}
	if want := 8 * math.Pow(2, 0.02/0.47); math.Abs(c.Likely-want) > 1e-9 {
		t.Errorf("most likely %g, want %g", c.Likely, want)
	}
	for want, change := range map[string]func(){
		"at 8 users the throughput lies ":             func() { runs[3].Rate *= 3 },
		"it takes 5 loads with a request rate, and 3": func() { runs = runs[:3] },
		"it is about users":                           func() { terms.Whole = false },
	} {
		keep, was := append([]search.Run(nil), runs...), terms
		change()
		if c := search.SoFar(terms, runs).Curve; c.Law != nil || !strings.HasPrefix(c.NoLaw, want) {
			t.Errorf("%s: %+v %s", want, c.Law, c.NoLaw)
		}
		runs, terms = keep, was
	}
}
