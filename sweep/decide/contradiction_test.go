package decide_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep/decide"
)

// Gates that nothing can hold are refused before anything is sent; what can be
// held, or cannot be told, is not.
func TestContradictingGates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gates []string
		want  string // in the error; "" for none
	}{
		{[]string{"time_to_first_token.p50 < 100", "time_to_first_token.p50 > 200"}, `gates.1: "time_to_first_token.p50 > 200": contradicts "time_to_first_token.p50 < 100" (gates.0)`},
		{[]string{"request_latency.p99 <= 100", "100 < request_latency.p99"}, "contradicts"},
		{[]string{"request_latency.p99 < 50 and request_latency.p99 > 60"}, "no value of request_latency.p99 holds this"},
		{[]string{"error_rate < 0"}, "no value of error_rate holds this"},
		{[]string{"request_latency.avg < 0"}, "request_latency is never below 0"},
		{[]string{"request_error_rate > 100"}, "no value of request_error_rate holds this"},

		{[]string{"request_latency.p99 <= 100", "request_latency.p99 >= 100"}, ""},
		{[]string{"request_latency.p99 < 100", "request_latency.p99 > 99.9"}, ""},
		{[]string{"request_latency.p99 < 100", "request_latency.p50 > 200"}, ""},
		{[]string{"request_latency.p99 < 100 or request_latency.p99 > 500", "request_latency.p99 > 200"}, ""},
		{[]string{"error_rate == 0"}, ""},
		{[]string{"error_rate <= 1", "not (error_rate > 0.5)"}, ""},
		{[]string{"request_latency.p50 * 2 < 5", "request_latency.p50 > 2"}, ""},
		{[]string{"request_latency.p50 * 2 < 5", "request_latency.p50 > 3"}, ""}, // not looked into
		{[]string{"concurrency > 4 or request_latency.p50 < 5", "request_latency.p50 > 6"}, ""},
		{[]string{"osl_mismatch_diff_pct.avg < 0"}, ""},
	} {
		d := loads(2)
		d.Head.Gates = c.gates
		err := decide.CheckGates(expand(t, d), metrics.Tags())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.gates, err)
		case c.want != "" && (err == nil || !strings.Contains(said(err), c.want)):
			t.Errorf("%q: got %v, want %s in it", c.gates, err, c.want)
		}
	}
}

// said is all lines of the mistakes with their hints.
func said(err error) string {
	var many schema.Errors
	if !errors.As(err, &many) {
		return fmt.Sprint(err)
	}
	var lines []string
	for _, e := range many {
		lines = append(lines, e.Error()+" | "+e.Hint)
	}
	return strings.Join(lines, "\n")
}

// A gate on what the endpoint cannot have is refused: it could only be missed.
func TestGatesOnWhatIsNotProduced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		endpoint schema.Endpoint
		gate     string
		want     string
	}{
		{schema.Endpoint{Type: "embeddings"}, "output_token_throughput > 5", "output_token_throughput needs an endpoint that produces tokens"},
		{schema.Endpoint{Type: "embeddings"}, "inter_token_latency.p50 < 5", "inter_token_latency needs an endpoint that produces tokens"},
		{schema.Endpoint{Type: "embeddings"}, "request_latency.p50 < 5", ""},
		{schema.Endpoint{Type: "chat"}, "inter_token_latency.p50 < 5", "needs a streaming endpoint"},
		{schema.Endpoint{Type: "chat"}, "output_token_throughput > 5", ""},
		{schema.Endpoint{Type: "chat", UseServerTokenCount: true}, "usage_discrepancy_count == 0", "needs this program's own count"},
		{schema.Endpoint{Type: "chat"}, "goodput > 5", "needs SLOs"},
	} {
		d := loads(2)
		d.Head.Gates = []string{c.gate}
		p := expand(t, d)
		for _, cell := range p.Cells {
			cell.Resolved.Benchmark.Endpoint = c.endpoint
		}
		err := decide.CheckGates(p, metrics.Tags())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(said(err), c.want)) {
			t.Errorf("%s, %s: got %v, want %q in it", c.endpoint.Type, c.gate, err, c.want)
		}
	}
}

// Objectives that the experiment names: cells are ranked by those, and the front
// is about them.
func TestObjectivesThatAreNamed(t *testing.T) {
	t.Parallel()
	d := loads(5)
	d.Head.Objectives = []string{"time_to_first_token.p50"}
	p := expand(t, d)
	if err := decide.CheckGates(p, metrics.Tags()); err != nil {
		t.Fatal(err)
	}
	r := decide.Aggregate(p, measure(p, .001, tokens, ttft))
	if len(r.Objectives) != 1 || r.Objectives[0].Name != "time_to_first_token.p50" || len(r.Best) != 1 {
		t.Fatalf("objectives %+v, best %+v", r.Objectives, r.Best)
	}
	if got := sentence(r.Best[0]); !strings.HasPrefix(got, "Best time_to_first_token.p50: concurrency 1 ") ||
		!r.Best[0].Shown {
		t.Errorf("best: %s", got)
	}
	d.Head.Objectives = []string{"request_throughput", "time_to_frist_token.p50", "goodput", "request_throughput"}
	err := decide.CheckGates(expand(t, d), metrics.Tags())
	for _, want := range []string{
		"objectives: 4 of them; a front has two",
		`objectives.1: "time_to_frist_token.p50": unknown metric time_to_frist_token | did you mean time_to_first_token?`,
		`objectives.2: "goodput": goodput needs SLOs`, `objectives.3: "request_throughput": is named twice`,
	} {
		if !strings.Contains(said(err), want) {
			t.Errorf("got\n%s\nwant in it\n%s", said(err), want)
		}
	}
}
