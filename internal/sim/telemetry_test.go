package sim

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/mockserver"
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
			var moments []string
			for _, log := range o.Servers {
				for _, e := range log {
					moments = append(moments, momentsOf(&e))
				}
			}
			if len(moments) != 200 {
				t.Fatalf("%s: %d requests", c.name, len(moments))
			}
			if c.name == "off" {
				off = moments
			} else if diff := cmp.Diff(off, moments); diff != "" {
				t.Errorf("%s, %s (-off +this):\n%s", phase, c.name, diff)
			}
		}
	}
}

// momentsOf are all times of a request, and what it asked for.
func momentsOf(e *mockserver.Entry) string {
	return fmt.Sprint(e.Recv, e.Start, e.First, e.Last, e.End, e.InTokens, e.OutTokens, e.Preempted, e.Status)
}
