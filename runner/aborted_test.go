package runner

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"aiperf.dev/aiperf/sweep/sweeptest"
)

// A trial whose server died is in no average, and is made again on resume; the
// others are kept.
func TestTrialWhoseServerDied(t *testing.T) {
	t.Parallel()
	var answers atomic.Int64
	serve := func(address string, most int64) *http.Server {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Addr: l.Addr().String()}
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				http.NotFound(w, r)
				return
			}
			if answers.Add(1) == most {
				_ = s.Close() // killed: the answer is never seen
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"Hello world"},"finish_reason":"stop"}]}`)
		})
		done := make(chan struct{})
		go func() { defer close(done); _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close(); <-done })
		return s
	}
	first := serve("127.0.0.1:0", 45) // the second trial's fifteenth request
	dir := t.TempDir() + "/out"
	again := func(resume bool) *Result {
		t.Helper()
		plan := sweeptest.PlanOf(t, "benchmark.endpoint.urls=[http://"+first.Addr+"]",
			"endpoint.unreachable_timeout=0.1", "tokenizer.name=builtin", "tables.formats=[csv]",
			"datasets.main.prompts.isl=8", "datasets.main.entries=20", "phases.profiling={type: concurrency, concurrency: 1, requests: 30}", "multi_run.num_runs=2",
			"verdict.turnaround={warn: 99, fail: 99}", "verdict.concurrency_held={warn: 0, fail: 0}") // answers take microseconds here
		res, err := Run(t.Context(), t.Context(), plan, Options{Dir: dir, Resume: resume})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := again(false)
	if len(res.Outcomes) != 2 || res.Outcomes[0].Err != "" ||
		!strings.Contains(res.Outcomes[1].Err, "the server was gone") {
		t.Fatalf("the server died: %+v", res.Outcomes)
	}
	if c := res.Results.Cells[0]; c.Trials != 1 {
		t.Errorf("%d trials are averaged, want the one that was measured", c.Trials)
	}
	serve(first.Addr, -1)
	res = again(true)
	if len(res.Outcomes) != 2 || res.Outcomes[1].Err != "" || res.Results.Cells[0].Trials != 2 ||
		answers.Load() != 45+30 {
		t.Errorf("resumed: %+v, %d answers", res.Outcomes, answers.Load())
	}
}
