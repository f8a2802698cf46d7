package runner

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// Before a probe a search looks at the server's metrics until nothing runs or waits there:
// not before its first probe, and no plan without a search does. A server that does not
// tell is asked once, and so is every server when the plan was interrupted.
func TestSearchWaitsForAnIdleServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		busy          int64 // looks that find work
		untold        bool  // the page has nothing about it
		first, matrix bool
		over          bool // the plan was interrupted
		looks         int64
	}{
		"busy for two looks":    {busy: 2, looks: 3},
		"idle":                  {looks: 1},
		"before the first":      {busy: 2, first: true},
		"without a search":      {busy: 2, matrix: true},
		"a server that is mute": {untold: true, looks: 2}, // at both of its usual pages
		"interrupted":           {busy: 9, over: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var looks atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := looks.Add(1)
				if c.untold {
					http.NotFound(w, r)
					return
				}
				fmt.Fprintf(w, "vllm:num_requests_running 0\nvllm:num_requests_waiting %d\n", max(0, c.busy-n+1))
			}))
			defer server.Close()
			d := sweeptest.Grid(1, sweeptest.Axis(sweeptest.Concurrency, "concurrency", 1))
			d.SLOs = map[string]float64{metrics.TimeToFirstToken: 500}
			d.Head.Search = &schema.Search{
				Path: "concurrency", Range: []float64{1, 64}, Share: 0.95,
				Resolution: 0.05, Budget: schema.SearchBudget{Probes: 40},
			}
			plan := sweeptest.Expand(t, d)
			if c.matrix {
				plan.Experiment.Search = nil
			}
			b := &plan.Cells[0].Resolved.Benchmark
			b.Endpoint.URLs, b.ServerMetrics.Enabled = []string{server.URL}, true
			log, err := openLog(t.TempDir(), secret.NewMasker())
			if err != nil {
				t.Fatal(err)
			}
			defer log.close() //nolint:errcheck // nobody reads it
			r := &runner{plan: plan, servers: &servers{}, dir: &resultdir.Dir{}, log: log, result: &Result{}}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if c.over {
				stop()
			}
			run := plan.RunOf(plan.Cells[0], 0)
			last := &run
			if c.first {
				last = nil
			}
			r.idle(ctx, last, run)
			if got := looks.Load(); got != c.looks || r.neverIdle {
				t.Errorf("%d looks, want %d; given up: %v", got, c.looks, r.neverIdle)
			}
		})
	}
}
