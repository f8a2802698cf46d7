package sim

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/sinks/expose"
	"aiperf.dev/aiperf/sinks/otlp"
)

// Whether servers' pages of metrics are read, have anything to read, or lie, and whatever
// files are written, requests are sent at the same moments and answered at the same moments:
// open loops and closed ones, by the server's own log.
func TestTelemetryMovesNoRequest(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{"type: concurrency, concurrency: 12, requests: 200", "type: poisson, rate: 60, requests: 200"} {
		text := func(more string) string {
			return fmt.Sprintf(`benchmark:
  models: demo
  endpoint: {url: "mock:?step=5ms&batch=8&prefill=50us&jitter=0.2&seed=3&kv_blocks=200", streaming: true}
  datasets: [{name: main, type: synthetic, prompts: {isl: {mean: 64, stddev: 16}, osl: {mean: 16, stddev: 4}}}]
  phases: [{name: profiling, %s}]
  tokenizer: {name: builtin}
%s
random_seed: 1
allow_invalid: true
`, phase, more)
		}
		many := &bytes.Buffer{} // values that nobody can have, of series that nobody asked for
		many.WriteString("# TYPE vllm:num_requests_running gauge\n")
		for i := range 2000 {
			fmt.Fprintf(many, "vllm:num_requests_running{engine=\"%d\"} -1e300\n", i)
		}
		var off []string
		for _, c := range []struct {
			name, more string
			worlds     *Worlds
		}{
			{"off", "", &Worlds{}},
			{"on", "", &Worlds{Scrape: true}},
			{"dead", "", &Worlds{Scrape: true, Garble: func([]byte) []byte { return []byte("<html>502</html>") }}},
			{"lying", "", &Worlds{Scrape: true, Garble: func([]byte) []byte { return many.Bytes() }}},
			{"NaN", "", &Worlds{Scrape: true, Garble: func(b []byte) []byte {
				return []byte(strings.ReplaceAll(string(b), "} 1", "} NaN"))
			}}},
			{"all files", "  artifacts: {aiperf: true, raw: true}", &Worlds{Scrape: true}},
		} {
			o, err := runText(text(c.more), t.TempDir(), c.worlds)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			moments := o.moments(t, c.name, 200)
			if c.name == "off" {
				off = moments
			} else if diff := cmp.Diff(off, moments); diff != "" {
				t.Errorf("%s, %s (-off +this):\n%s", phase, c.name, diff)
			}
		}
	}
}

// moments are those of the requests that the servers logged, of which there are so many.
func (o *Outcome) moments(t *testing.T, name string, want int) (out []string) {
	t.Helper()
	for _, log := range o.Servers {
		for _, e := range log {
			out = append(out, momentsOf(&e))
		}
	}
	if len(out) != want {
		t.Fatalf("%s: %d requests", name, len(out))
	}
	return out
}

// momentsOf are all times of a request, and what it asked for.
func momentsOf(e *mockserver.Entry) string {
	return fmt.Sprint(e.Recv, e.Start, e.First, e.Last, e.End, e.InTokens, e.OutTokens, e.Preempted, e.Status)
}

// Whether what is measured is shown to nobody, to a collector and a page, or to a collector
// that is dead, fails, lies or hangs, requests are sent and answered at the same moments, by
// the server's own log.
func TestExportersMoveNoRequest(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32 // of the collector that takes everything
	over := make(chan struct{})
	collectors := []struct {
		name    string
		answers http.HandlerFunc // nil for none
	}{
		{name: "off"},
		{"on", func(http.ResponseWriter, *http.Request) { calls.Add(1) }},
		{"dead", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"fails", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		{"lies", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("\x0a", 100_000)) }},
		{"hangs", func(http.ResponseWriter, *http.Request) { <-over }},
	}
	for _, phase := range []string{"type: concurrency, concurrency: 12, requests: 200", "type: poisson, rate: 60, requests: 200"} {
		var off []string
		for _, c := range collectors {
			worlds, shut := &Worlds{}, func() {}
			page := expose.NewPage(1, nil)
			if c.answers != nil {
				srv := httptest.NewServer(c.answers)
				t.Cleanup(srv.Close)
				out, err := otlp.Open(t.Context(), otlp.Config{
					URL: srv.URL + "/v1/metrics", Records: true, Timing: true, Semconv: otlp.V141,
				})
				if err != nil {
					t.Fatal(err)
				}
				out.Begin(otlp.Run{Endpoint: "chat"})
				worlds.exporters = []onerun.Exporter{out, page}
				shut = func() {
					ctx, stop := context.WithCancel(t.Context())
					if c.name == "hangs" {
						stop() // nobody waits for it
					}
					_ = out.Close(ctx)
					stop()
				}
			}
			o, err := runText(fmt.Sprintf(`benchmark:
  models: demo
  endpoint: {url: "mock:?step=5ms&batch=8&prefill=50us&jitter=0.2&seed=3&kv_blocks=200", streaming: true}
  datasets: [{name: main, type: synthetic, prompts: {isl: {mean: 64, stddev: 16}, osl: {mean: 16, stddev: 4}}}]
  phases: [{name: profiling, %s}]
  tokenizer: {name: builtin}
random_seed: 1
allow_invalid: true
`, phase), t.TempDir(), worlds)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			shut()
			moments := o.moments(t, c.name, 200)
			if c.name == "off" {
				off = moments
				continue
			}
			if diff := cmp.Diff(off, moments); diff != "" {
				t.Errorf("%s, %s (-off +this):\n%s", phase, c.name, diff)
			}
			if shown := fmt.Sprint(page.Families()); !strings.Contains(shown, "value:200") {
				t.Errorf("%s: the page does not have the 200 requests: %s", c.name, shown)
			}
		}
	}
	close(over)
	if calls.Load() < 2 {
		t.Errorf("%d messages to the collector that takes everything", calls.Load())
	}
}
