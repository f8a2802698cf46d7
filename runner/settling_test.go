package runner

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen"
)

// phaseOf is a phase whose answers took these times, in order, one a second.
func phaseOf(ms ...float64) *PhaseEvidence {
	p := &PhaseEvidence{Result: loadgen.PhaseResult{Gauge: loadgen.Gauge{SteadyStart: record.None, SteadyEnd: record.None}}}
	for i, v := range ms {
		p.answered = append(p.answered, answered{int64(i) * second, int64(i) * second, v})
	}
	return p
}

// noise is n values around level: log-normal with this coefficient of variation.
func noise(stream string, n int, level, cv float64) []float64 {
	rng := seed.Stream(1, stream)
	sigma := math.Sqrt(math.Log1p(cv * cv))
	out := make([]float64, n)
	for i := range out {
		out[i] = level * math.Exp(sigma*rng.NormFloat64()-sigma*sigma/2)
	}
	return out
}

// Noise is not a warm-up, whatever MSER-5 likes to cut off: of 300 steady runs
// of each kind hardly one is in doubt, and none is invalid.
func TestSteadyRunsAreNotInDoubt(t *testing.T) {
	t.Parallel()
	for _, cv := range []float64{0.02, 0.3, 1, 3} {
		doubted := 0
		for run := range 300 {
			r, ok := warmup(phaseOf(noise(string(rune('a'+run)), 100+run, 100, cv)...))
			if !ok {
				t.Fatal("warmup does not apply")
			}
			if r.verdict() == Invalid {
				t.Errorf("cv %v, run %d: %s", cv, run, r.Detail)
			}
			if r.verdict() != Valid {
				doubted++
			}
		}
		if doubted > 3 {
			t.Errorf("cv %v: %d of 300 steady runs are in doubt", cv, doubted)
		}
	}
}

func TestWarmup(t *testing.T) {
	t.Parallel()
	slowStart := append(noise("slow", 60, 200, 0.2), noise("rest", 240, 100, 0.2)...)
	outlier := noise("outlier", 200, 100, 0.1)
	outlier[97] = 5000
	growing := noise("growing", 300, 100, 0.1)
	for i := range growing {
		growing[i] *= 1 + float64(i)/100
	}
	for _, c := range []struct {
		name  string
		p     *PhaseEvidence
		value float64
		want  Verdict
		there bool
	}{
		{"slow start", phaseOf(slowStart...), 0.2, Degraded, true},
		{"one slow answer in the middle", phaseOf(outlier...), 0, Valid, true},
		{"a queue that grows", phaseOf(growing...), 1, Invalid, true},
		{"few answers", phaseOf(slowStart[:99]...), 0, Valid, false},
	} {
		r, ok := warmup(c.p)
		if ok != c.there || ok && (math.Abs(r.Value-c.value) > 0.02 || r.verdict() != c.want) {
			t.Errorf("%s: applies %v, %v %s (%s); want %v, %v %s", c.name, ok, r.Value, r.verdict(), r.Detail, c.there, c.value, c.want)
		}
	}
	ramp := phaseOf(growing...)
	ramp.Result.Varying = true
	if _, ok := warmup(ramp); ok {
		t.Error("warmup applies to a phase whose load changes on purpose")
	}
}

// The ramp of the concurrency is no part of the series.
func TestSeriesIsSteady(t *testing.T) {
	t.Parallel()
	p := phaseOf(10, 20, 30, 40, 50)
	p.Result.Gauge.SteadyStart, p.Result.Gauge.SteadyEnd = second, 3*second
	if got := p.series(); len(got) != 3 || got[0] != 20 || got[2] != 40 {
		t.Errorf("series %v, want 20 30 40", got)
	}
}

func TestTailSamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int
		want string
	}{
		{5, "5 answers, worth 5 independent: no percentile is certified; p50 needs 11"},
		{130, "130 answers, worth 130 independent: percentiles up to p95 are certified; p97 needs 219"},
		{6636, "6636 answers, worth 6636 independent: percentiles up to p99.9 are certified"},
	} {
		x := make([]float64, c.n)
		for i := range x {
			x[i] = float64(i % 2) // alternates: no value says less than one
		}
		r, ok := tailSamples(phaseOf(x...))
		if !ok || r.Detail != c.want || r.verdict() != Valid || r.Value != float64(c.n) {
			t.Errorf("%d answers: %v %s %q; want %q", c.n, r.Value, r.verdict(), r.Detail, c.want)
		}
	}
}

// 200 sent where 20/s were asked for T seconds. Garwood's 99.9 % interval of a
// count of 200 is [156.713, 250.949]: the 0.0005 quantile of Gamma(200) and the
// 0.9995 quantile of Gamma(201), by the series of the incomplete gamma function.
// Of 50 it is [29.95, 77.81].
func TestOfferedRateByChance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expected, dispersion float64
		want                 Verdict
	}{
		{156.8, 1, Valid},
		{156.6, 1, Invalid},
		{250.9, 1, Valid},
		{251, 1, Invalid},
		{311, 4, Valid}, // burstier arrivals: like 50 clusters of 4
		{312, 4, Invalid},
	} {
		p := &PhaseEvidence{Result: loadgen.PhaseResult{Rate: 20, Random: true, Dispersion: c.dispersion}}
		for range 200 {
			p.lives = append(p.lives, residence{0, int64(c.expected / 20 * 1e9), 0})
		}
		r, ok := offeredRate(p)
		if !ok || r.verdict() != c.want {
			t.Errorf("200 of %v, dispersion %v: %v (warn %v) %s, want %s", c.expected, c.dispersion, r.Value, r.Warn, r.verdict(), c.want)
		}
	}
}
