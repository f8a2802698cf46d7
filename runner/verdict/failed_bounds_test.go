package verdict

import (
	"math/rand/v2"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
)

// Whichever requests fail, a percentile of all of them lies within the range that is said of the
// ones that succeeded; where too many failed none is said.
func TestPercentilesWithTheFailedOnes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 3))
	bounded := 0
	for trial := range 300 {
		all := make([]float64, 200)
		for i := range all {
			all[i] = 40 + 20*rng.ExpFloat64()
		}
		slices.Sort(all)
		failed := 1 + rng.IntN(30)
		p := &PhaseEvidence{Errors: Failures{}}
		p.OK, p.Failed = int64(len(all)-failed), int64(failed)
		switch trial % 3 {
		case 0: // the slowest fail
			p.TTFT = all[:len(all)-failed]
		case 1: // the fastest
			p.TTFT = all[failed:]
		default:
			for _, i := range rng.Perm(len(all))[failed:] {
				p.TTFT = append(p.TTFT, all[i])
			}
			slices.Sort(p.TTFT)
		}
		r, ok := errorShare(p)
		if !ok {
			t.Fatal("no reading")
		}
		for _, c := range percentiles {
			by, known := r.Ranges[metrics.TimeToFirstToken+"."+c.name]
			if over := c.q*float64(len(all)-1) > float64(len(p.TTFT)-1); known == over {
				t.Errorf("%s where %d of %d failed: bounded %v", c.name, failed, len(all), known)
			}
			if !known {
				continue
			}
			bounded++
			truth, said := stats.Quantile(all, c.q), stats.Quantile(p.TTFT, c.q)
			if low, high := (1-by.Less)*said, (1+by.More)*said; truth < low-1e-9 || truth > high+1e-9 {
				t.Errorf("%s of all is %.3f, outside %.3f to %.3f (%d failed, trial %d)", c.name, truth, low, high, failed, trial)
			}
		}
	}
	if bounded < 500 {
		t.Errorf("%d percentiles were bounded", bounded)
	}
	if r, _ := errorShare(&PhaseEvidence{TTFT: []float64{1, 2}, Counts: record.Counts{OK: 2}}); r.Ranges != nil {
		t.Errorf("nothing failed, and %v", r.Ranges)
	}
}
