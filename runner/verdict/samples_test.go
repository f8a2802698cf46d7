package verdict

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
)

// A long phase keeps a bounded number of samples, whose percentiles are those
// of all requests; what is counted is counted of all.
func TestSamplesAreBounded(t *testing.T) {
	t.Parallel()
	const n = 3*mostSamples + 17
	e := NewEvidence(loadgen.Result{Phases: []loadgen.PhaseResult{{
		Name: "p", Issued: n, Gauge: loadgen.Gauge{SteadyStart: 0, SteadyEnd: math.MaxInt64},
	}}}, telemetry.Host{})
	r := record.New()
	r.Phase, r.Status, r.Streamed, r.OSL = "p", record.OK, true, 8
	for i := range int64(n) {
		x := int64(uint64(i)*0x9E3779B97F4A7C15>>44) + 1 // ns, uniform below 2^20
		r.Intended, r.Admitted, r.Sent = i*1000, i*1000+2e6, i*1000+2e6
		r.FirstToken, r.LastToken, r.End = r.Sent+x, r.Sent+2*x, r.Sent+3*x
		e.Add(&r)
	}
	e.sortSamples()
	p := e.Phases[0]
	for i, s := range p.lists() {
		if len(*s) > mostSamples {
			t.Errorf("list %d holds %d samples, want %d at most", i, len(*s), mostSamples)
		}
	}
	if want, got := 0.99*1.048576, stats.Quantile(p.TTFT, 0.99); math.Abs(got/want-1) > 0.002 {
		t.Errorf("p99 of TTFT = %v ms, want %v", got, want)
	}
	if p.OK != n || p.arrivals != n || p.waited != n {
		t.Errorf("counted %d, %d and %d, want %d of each", p.OK, p.arrivals, p.waited, n)
	}
}
