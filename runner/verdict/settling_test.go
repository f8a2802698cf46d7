package verdict

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen"
)

// phaseOf is a phase whose answers took these times, in order, one a second.
func phaseOf(ms ...float64) *PhaseEvidence {
	p := &PhaseEvidence{Result: loadgen.PhaseResult{Gauge: loadgen.Gauge{
		SteadyStart: record.None,
		SteadyEnd:   record.None,
	}}}
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

// One run is described and never judged; what changes on purpose is not even
// described.
func TestSettlingIsDescribed(t *testing.T) {
	t.Parallel()
	slowStart := append(noise("slow", 60, 200, 0.2), noise("rest", 240, 100, 0.2)...)
	r, ok := settling(phaseOf(slowStart...))
	if !ok || r.crossed() != Valid || !strings.Contains(r.Detail,
		"lower than that of the first; MSER-5 would leave out the first 21.7 %") {
		t.Errorf("%v %s %q", ok, r.crossed(), r.Detail)
	}
	ramp := phaseOf(slowStart...)
	ramp.Result.Varying = true
	e := Evidence{Phases: []*PhaseEvidence{ramp}}
	if _, ok := settling(ramp); ok || !math.IsNaN(e.HalfShift()) {
		t.Error("a phase whose load changes on purpose is described")
	}
}

// trialsOf are h of runs whose first quarter is slower by step, one list a cell.
func trialsOf(name string, cells, trials, n int, cv, step float64) *PlanEvidence {
	e := &PlanEvidence{Trials: trials}
	for c := range cells {
		ce := CellEvidence{Label: string(rune('a' + c)), OK: trials}
		for k := range trials {
			x := noise(fmt.Sprintf("%s/%d/%d", name, c, k), n, 100, cv)
			for i := range x[:n/4] {
				x[i] *= 1 + step
			}
			run := Evidence{Phases: []*PhaseEvidence{phaseOf(x...)}}
			ce.Shifts = append(ce.Shifts, run.HalfShift())
		}
		e.Cells = append(e.Cells, ce)
	}
	return e
}

// Clean plans are in doubt in one of a hundred at most; a step of 49 % over the
// first quarter of each run is found over five trials.
func TestWarmupOverTrials(t *testing.T) {
	t.Parallel()
	verdictOf := func(e *PlanEvidence, id string) Verdict {
		for _, f := range JudgePlan(e, nil) {
			if f.Check == id {
				return f.Verdict
			}
		}
		t.Fatalf("%s does not apply", id)
		return Valid
	}
	alarms := 0
	for plan := range 100 {
		e := trialsOf(fmt.Sprint("clean", plan), 8, 5, 200, 0.5, 0)
		if verdictOf(e, "warmup") != Valid || verdictOf(e, "stationary") != Valid {
			alarms++
		}
	}
	if alarms > 1 {
		t.Errorf("%d of 100 clean plans are in doubt", alarms)
	}
	if v := verdictOf(trialsOf("step", 1, 5, 400, 0.2, 0.49), "warmup"); v != Degraded {
		t.Errorf("a step of 49 %%: %s", v)
	}
	growing := trialsOf("grows", 3, 5, 400, 0.2, 0)
	for k := range growing.Cells[1].Shifts {
		growing.Cells[1].Shifts[k] += 0.3
	}
	if v := verdictOf(growing, "stationary"); v != Degraded {
		t.Errorf("a queue that grows in every trial: %s", v)
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
		{5, "5 answers, in latency worth 5 independent ones: no percentile is certified; p50 needs 11 independent ones"},
		{130, "130 answers, in latency worth 130 independent ones: percentiles up to p95 are certified; p97 needs 219 independent ones"},
		{6636, "6,636 answers, in latency worth 6636 independent ones: percentiles up to p99.9 are certified"},
	} {
		x := make([]float64, c.n)
		for i := range x {
			x[i] = float64(i % 2) // alternates: no value says less than one
		}
		r, ok := tailSamples(phaseOf(x...))
		if !ok || r.Detail != c.want || r.crossed() != Valid || r.Value != float64(c.n) {
			t.Errorf("%d answers: %v %s %q; want %q", c.n, r.Value, r.crossed(), r.Detail, c.want)
		}
	}
}

// What is known of a percentile without an upper bound: never a sentence
// without its number.
func TestAtLeast(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	for _, c := range []struct {
		bottom, plain float64
		want          string
	}{
		{30, 20, ": request latency p50 is at least 30.0 ms (20.0 ms for answered requests)"},
		{20, 20, ": request latency p50 is at least 20.0 ms"},
		{none, 20, ": request latency p50 is at least 20.0 ms"},
		{30, none, ": request latency p50 is at least 30.0 ms"},
		{none, none, ": request latency p50 is unknown, because no answer came"},
	} {
		if got := atLeast("p50", c.bottom, c.plain); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.bottom, c.plain, got, c.want)
		}
	}
}
