package acceptance

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"regexp"
	"testing"

	"aiperf.dev/aiperf/sinks"
)

// Servers by other people run the matrix example: the same file, with their
// URL in place of its two. What each of them logged or counted must be what we
// say that we sent.
func TestServersNobodyHereWrote(t *testing.T) {
	t.Parallel()
	py := python(t, "servers")
	for _, s := range []struct {
		name    string
		args    []string
		request *regexp.Regexp // in its log, once per request
		counts  func(*testing.T, *foreign) map[string]int
	}{
		{
			name: "llmock", args: []string{"serve", "--port", "0"},
			request: regexp.MustCompile(`"POST /v1/chat/completions HTTP/1\.1" 200`), counts: llmockCounts,
		},
		{
			name: "fakellm", args: []string{"serve", "--port", "0"},
			request: regexp.MustCompile(`"POST /v1/chat/completions HTTP/1\.1" 200`), counts: fakellmCounts,
		},
		{
			name: "llm-mock-api", args: []string{"start", "--port", "0", "--latency", "4", "--log-level", "info"},
			request: regexp.MustCompile(`INFO\S* POST /v1/chat/completions \[stream\]`),
		},
	} {
		t.Run(s.name, func(t *testing.T) {
			server := serve(t, py, s.name, s.args...)
			sent := runMatrix(t, server.url)
			if s.counts != nil {
				for what, n := range s.counts(t, server) {
					if n != sent {
						t.Errorf("%s: %s = %d, we sent %d", s.name, what, n, sent)
					}
				}
			}
			server.stop()
			log := server.log.String()
			if n := len(s.request.FindAllString(log, -1)); n != sent {
				t.Errorf("%s logged %d requests, we sent %d\n%s", s.name, n, sent, log)
			}
		})
	}
}

// llmockCounts reads its journal of what it served, and its judgement of the
// client: as many calls as attempts means that nothing was retried. Both hold
// questions for its models too.
func llmockCounts(t *testing.T, f *foreign) map[string]int {
	var journal struct {
		Requests []struct {
			Method, Path      string
			Status            int
			Stream, Completed bool
		}
	}
	f.ask(t, "/_llmock/requests", &journal)
	var verdict struct {
		Passed          bool
		Calls, Attempts int
		Findings        any
	}
	f.ask(t, "/_llmock/verdict", &verdict)
	if !verdict.Passed || verdict.Calls != verdict.Attempts || verdict.Calls != len(journal.Requests) {
		t.Errorf("llmock's verdict on %d requests: %+v", len(journal.Requests), verdict)
	}
	n := 0
	for _, r := range journal.Requests {
		if r.Method == "POST" && r.Path == "/v1/chat/completions" && r.Status == 200 && r.Stream && r.Completed {
			n++
		}
	}
	return map[string]int{"complete streams in its journal": n}
}

func fakellmCounts(t *testing.T, f *foreign) map[string]int {
	var stats struct {
		Total int `json:"total_requests"`
	}
	f.ask(t, "/_fakellm/stats", &stats)
	return map[string]int{"total_requests": stats.Total}
}

// runMatrix runs the example, shortened, against url and returns how many
// requests its tables hold, warmup included.
func runMatrix(t *testing.T, url string) int {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	r := run(
		t, "examples/experiments/matrix.cue", "-u", url, "--artifact-dir", dir,
		"--set", "sweep.parameters.concurrency=[1, 4]", "--set", "sweep.derive.requests=max(4*concurrency, 8)", "--set", "multi_run.num_runs=2",
	)
	const cells, trials, warmup = 4, 2, 4
	planned := map[string]int{"1": 8, "4": 16} // requests of a run, by concurrency
	if len(r.Cells) != cells || r.Failed != 0 {
		t.Errorf("%d cells and %d failed requests, want %d and none", len(r.Cells), r.Failed, cells)
	}
	perPhase := map[string]int{}
	rows := table(t, dir, "requests")
	for _, row := range rows {
		perPhase[row["phase"]+" "+row["axis_concurrency"]]++
		if row["status"] != "ok" || row["http_status"] != "200" || row["osl"] == "0" || row["ttft_ms"] == "" {
			t.Errorf("request %s: %v", row["request_id"], row)
		}
	}
	for c, n := range planned {
		if got, want := perPhase["profiling "+c], n*trials*cells/len(planned); got != want {
			t.Errorf("concurrency %s: %d requests, planned %d", c, got, want)
		}
		if got, want := perPhase["warmup "+c], warmup*trials*cells/len(planned); got != want {
			t.Errorf("concurrency %s: %d warmup requests, planned %d", c, got, want)
		}
	}
	if profiling := perPhase["profiling 1"] + perPhase["profiling 4"]; r.Sent != profiling {
		t.Errorf("the screen says %d requests sent, the table holds %d", r.Sent, profiling)
	}
	return len(rows)
}

// table reads one table of a result directory by its CSV.
func table(t *testing.T, dir, name string) []map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := sinks.Export(dir, "csv", name, &b); err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %d rows, %v", name, len(all), err)
	}
	rows := make([]map[string]string, 0, len(all)-1)
	for _, values := range all[1:] {
		row := map[string]string{}
		for i, v := range values {
			row[all[0][i]] = v
		}
		rows = append(rows, row)
	}
	return rows
}
