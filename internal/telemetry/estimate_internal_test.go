package telemetry

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The estimates of percentiles are AIPerf's: testdata/estimates.json is what
// accumulate_bucket_statistics and compute_estimated_percentiles of AIPerf 0.13 gave for
// these histograms, read several times each. Sums are added in another order there.
func TestEstimateIsAIPerfs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/estimates.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name    string
		Edges   []float64
		Sums    []float64
		Buckets [][]float64
		Want    []float64
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 30 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	qs := []float64{0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99}
	for _, c := range cases {
		o := observed{append(c.Edges, math.Inf(1)), c.Buckets, c.Sums}
		got := o.estimate(qs...)
		if len(got) != len(c.Want) {
			t.Errorf("%s: %v, want %v", c.Name, got, c.Want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-c.Want[i]) > 1e-9*math.Max(1, c.Want[i]) {
				t.Errorf("%s: p%g is %v, want %v", c.Name, 100*qs[i], got[i], c.Want[i])
			}
		}
	}
}
