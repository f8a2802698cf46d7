package runner

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"aiperf.dev/aiperf/internal/leak"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// asked answers chat requests and keeps what was asked.
type asked struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func answering(t *testing.T, each func(n int)) *asked {
	t.Helper()
	s := &asked{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, r.Header.Get("X-Request-ID")+" "+string(body))
		n := len(s.bodies)
		s.mu.Unlock()
		if each != nil {
			each(n)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"Hello world"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// forget lets go of the requests so far.
func (s *asked) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = nil
}

// sorted are the requests so far, in an order of their own.
func (s *asked) sorted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.bodies))
}

// small is a plan against s.
func small(t *testing.T, s *asked, sets ...string) *sweep.Plan {
	t.Helper()
	return sweeptest.PlanOf(t, append([]string{
		"benchmark.endpoint.urls=[" + s.URL + "]", "tokenizer.name=builtin", "tables.formats=[csv]",
		"datasets.main.prompts.isl=8", "datasets.main.entries=20",
	}, sets...)...)
}

// Whatever becomes of a plan, nothing that it started is there afterwards: no
// goroutine of a connection, a pacer, a collector, a monitor.
func TestNothingIsLeftAfterARun(t *testing.T) {
	for _, c := range []struct {
		name string
		sets []string
		stop func(n int, issue, hard func()) // at the n-th request
		gone bool                            // the server is not there
	}{
		{name: "to its end", sets: []string{"phases.profiling={type: concurrency, concurrency: 4, requests: 12}", "multi_run.num_runs=2"}},
		{name: "at a rate", sets: []string{"phases.profiling={type: poisson, rate: 500, requests: 40}", "benchmark.artifacts.raw=true"}},
		{name: "interrupted", sets: []string{"phases.profiling={type: concurrency, concurrency: 4, requests: 100000}"}, stop: func(n int, issue, _ func()) {
			if n == 8 {
				issue()
			}
		}},
		{name: "interrupted twice", sets: []string{"phases.profiling={type: concurrency, concurrency: 4, requests: 100000}"}, stop: func(n int, issue, hard func()) {
			if n == 8 {
				issue()
				hard()
			}
		}},
		{name: "without a server", sets: []string{"phases.profiling={type: concurrency, concurrency: 4, requests: 12}"}, gone: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			issue, stopIssue := context.WithCancel(t.Context())
			hard, stopHard := context.WithCancel(t.Context())
			s := answering(t, func(n int) {
				if c.stop != nil {
					c.stop(n, stopIssue, stopHard)
				}
			})
			if c.gone {
				s.Close()
			}
			res, err := Run(issue, hard, small(t, s, c.sets...), Options{Dir: t.TempDir() + "/out"})
			if err == nil && c.stop != nil != res.Interrupted {
				t.Errorf("interrupted %v, want %v", res.Interrupted, c.stop != nil)
			}
			if err != nil || len(res.Reports) == 0 {
				if !c.gone {
					t.Errorf("Run: %v, %+v", err, res)
				}
			}
			stopIssue()
			stopHard()
			s.Close()
			leak.None(t, before)
		})
	}
}

// Same seed: the same requests at the same times, whatever is kept of them.
func TestWhatIsKeptChangesNothingThatIsSent(t *testing.T) {
	t.Parallel()
	const n = 60
	type sent struct {
		PromptSHA string
		Offset    int64
	}
	var bodies []string
	var times []sent
	for _, kept := range []string{"records", "none", "raw", "trace", "without chunks"} {
		s := answering(t, nil)
		sets := []string{fmt.Sprintf("phases.profiling={type: poisson, rate: 400, requests: %d, cancellation: {rate: 10, delay: 5}}", n)}
		sets = append(sets, map[string][]string{
			"none":           {"benchmark.artifacts.records=false"},
			"raw":            {"benchmark.artifacts.raw=true"},
			"trace":          {"benchmark.artifacts.trace=true"},
			"without chunks": {"tables.chunks=false"},
		}[kept]...)
		dir := filepath.Join(t.TempDir(), "out")
		if _, err := Run(t.Context(), t.Context(), small(t, s, sets...), Options{Dir: dir}); err != nil {
			t.Fatalf("%s: %v", kept, err)
		}
		var now []sent
		rows, column := readTable(t, filepath.Join(dir, "requests.csv"))
		for _, row := range rows {
			at, err := strconv.ParseInt(row[column["intended_ns"]], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			now = append(now, sent{row[column["prompt_sha"]], at})
		}
		slices.SortFunc(now, func(a, b sent) int { return int(a.Offset - b.Offset) })
		for i := range now {
			now[len(now)-1-i].Offset -= now[0].Offset
		}
		if bodies == nil {
			bodies, times = s.sorted(), now
		}
		if len(bodies) != n || len(times) != n {
			t.Fatalf("%d requests, %d rows; want %d", len(bodies), len(times), n)
		}
		if diff := cmp.Diff(bodies, s.sorted()); diff != "" {
			t.Errorf("%s changes what is asked (-records +%s):\n%.400s", kept, kept, diff)
		}
		if diff := cmp.Diff(times, now); diff != "" {
			t.Errorf("%s changes when it is due (-records +%s):\n%.400s", kept, kept, diff)
		}
	}
}

// readTable is a table as CSV and where its columns are.
func readTable(t *testing.T, path string) (rows [][]string, column map[string]int) {
	t.Helper()
	var b bytes.Buffer
	if err := sinks.Export(filepath.Dir(path), "csv", strings.TrimSuffix(filepath.Base(path), ".csv"), &b); err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %d rows, %v", path, len(all), err)
	}
	column = map[string]int{}
	for i, name := range all[0] {
		column[name] = i
	}
	return all[1:], column
}
