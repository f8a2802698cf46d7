package expose_test

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/sinks/expose"
)

// What is counted is on the page, in a form that Prometheus' own parser reads, whatever
// names say; what is not known is not.
func TestPage(t *testing.T) {
	t.Parallel()
	p := expose.NewPage(3, [][2]string{{"model", "a\"b\\\n<script>"}})
	s, err := expose.Listen(t.Context(), "127.0.0.1:0", p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the test is over
	p.Begin([][2]string{{"cell", "c"}, {"trial", "1"}})
	for i := range 4 {
		r := record.New()
		r.Status, r.Sent, r.End, r.FirstToken, r.LastToken = record.OK, 0, 2e9, 1e9, 2e9
		r.Streamed, r.ISL, r.OSL, r.OutputTokens, r.InWindow, r.Measured = true, 10, 5, 5, true, true
		switch i {
		case 0:
			r.Warmup = true
		case 3:
			r.Status, r.ErrorKind = record.HTTPError, "http_500"
		}
		p.Record(&r)
	}
	p.Snapshot(loadgen.Snapshot{InFlight: 7, RequestsPerSecond: 2.5, LagP99: math.NaN(), At: 3e9, Start: 1e9})
	res, err := http.Get("http://" + s.Address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	for _, want := range []string{
		`aiperf_requests_total{phase="profiling",status="ok"} 2`, `aiperf_requests_total{phase="warmup",status="ok"} 1`,
		`aiperf_errors_total{kind="http_500"} 1`, "aiperf_output_tokens_total 10", "aiperf_input_tokens_total 20",
		"aiperf_requests_in_flight 7", "aiperf_request_rate 2.5", "aiperf_runs 3", `aiperf_run_info{cell="c",trial="1"} 1`,
		`aiperf_time_to_first_token_seconds_bucket{le="1"} 2`, `aiperf_time_to_first_token_seconds_bucket{le="0.75"} 0`,
		"aiperf_request_latency_seconds_sum 4", "aiperf_phase_elapsed_seconds 2",
	} {
		if !strings.Contains(string(body), want+"\n") {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	if found["aiperf_send_lag_p99_seconds"] != nil {
		t.Error("what is not known is on the page")
	}
	p.End()
	if text := strings.Join(names(p), " "); strings.Contains(text, "in_flight") || strings.Contains(text, "run_info") {
		t.Errorf("after the run: %s", text)
	}
}

func names(p *expose.Page) (out []string) {
	for _, f := range p.Families() {
		out = append(out, f.GetName())
	}
	return out
}

// Without a host the page is for this machine alone; an address in use is said.
func TestListen(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "0.0.0.0:9464": "0.0.0.0:9464", "[::1]:1": "[::1]:1",
	} {
		if at, err := expose.Loopback(given); err != nil || at != want {
			t.Errorf("%s: %s, %v; want %s", given, at, err, want)
		}
	}
	if _, err := expose.Loopback("a:b:c"); err == nil {
		t.Error("no address is one")
	}
	s, err := expose.Listen(t.Context(), "127.0.0.1:0", expose.NewPage(1, nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := expose.Listen(t.Context(), s.Address, expose.NewPage(1, nil)); err == nil {
		t.Error("two servers at one address")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
