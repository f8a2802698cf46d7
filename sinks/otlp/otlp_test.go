package otlp_test

import (
	"compress/gzip"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/sinks/otlp"
)

// inbox is a collector that keeps the last message.
type inbox struct {
	mu     sync.Mutex
	last   *collector.ExportMetricsServiceRequest
	status int
	probes int
}

func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var from io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(400)
			return
		}
		from = z
	}
	body, _ := io.ReadAll(from)
	m := &collector.ExportMetricsServiceRequest{}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status != 0 && (b.status != 503 || len(body) > 0) {
		w.WriteHeader(b.status)
		return
	}
	if proto.Unmarshal(body, m) != nil || r.URL.Path != "/v1/metrics" {
		w.WriteHeader(400)
		return
	}
	if len(m.ResourceMetrics) == 0 {
		b.probes++
	} else {
		b.last = m
	}
}

// sent is the value of each metric with the attributes of its points: sums, and counts and
// sums of histograms.
func (b *inbox) sent() map[string]string {
	out := map[string]string{}
	for _, rm := range b.last.GetResourceMetrics() {
		for _, s := range rm.ScopeMetrics {
			for _, m := range s.Metrics {
				text := m.Unit
				for _, p := range m.GetHistogram().GetDataPoints() {
					text += " " + attrs(p.Attributes) + " n=" + strings.TrimSpace(strings.Repeat("|", int(p.Count)))
				}
				for _, p := range m.GetSum().GetDataPoints() {
					text += " " + attrs(p.Attributes) + " sum=" + strings.Repeat("|", int(p.GetAsInt()))
				}
				out[m.Name] = text
			}
		}
	}
	return out
}

func attrs(list []*common.KeyValue) string {
	var all []string
	for _, a := range list {
		all = append(all, a.Key+"="+a.Value.GetStringValue())
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

func answered(i int) *record.Record {
	r := record.New()
	r.Status, r.Sent, r.End, r.FirstToken, r.LastToken, r.FirstOutput = record.OK, 0, 2e9, 1e9, 2e9, 1e9
	r.Streamed, r.ISL, r.OSL, r.OutputTokens, r.InWindow, r.Measured = true, 3, 2, 2, true, true
	r.Model, r.URL = "m", "http://api.openai.com:80/v1"
	if i == 2 {
		r.Status, r.HTTPStatus = record.HTTPError, 503
	}
	return &r
}

// What arrives is what was measured, by the names of either version of the conventions, in
// seconds, with both directions of tokens, and without histograms of tokens of failures.
func TestArrives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version otlp.Version
		want    map[string]string
		not     []string
	}{
		{otlp.V141, map[string]string{
			"gen_ai.client.operation.duration": "error.type=http_5xx", "gen_ai.client.token.usage": "gen_ai.token.type=input",
			"gen_ai.client.operation.time_to_first_chunk": "gen_ai.provider.name=openai", "aiperf.input_sequence_length": "{token}",
			"aiperf.timing.requests.sent": "sum=|||", "aiperf.timing.requests.completed": "sum=||", "aiperf.timing.requests.errors": "sum=|",
		}, []string{"gen_ai.client.inference.duration", "aiperf.request_latency", "aiperf.timing.requests.cancelled"}},
		{otlp.Next, map[string]string{
			"gen_ai.client.inference.duration": "gen_ai.request.model=m", "gen_ai.client.inference.usage.input_tokens": "sum=||||||",
			"gen_ai.client.inference.operation.output_tokens": "n=||",
		}, []string{"gen_ai.client.token.usage", "gen_ai.client.operation.duration"}},
	} {
		b := &inbox{}
		srv := httptest.NewServer(b)
		t.Cleanup(srv.Close)
		if err := otlp.Probe(t.Context(), srv.URL+"/v1/metrics"); err != nil {
			t.Fatal(err)
		}
		e, err := otlp.Open(t.Context(), otlp.Config{
			URL: srv.URL + "/v1/metrics", Records: true, Timing: true, Semconv: c.version, Resource: [][2]string{{"service.name", "aiperf"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		e.Begin(otlp.Run{Endpoint: "chat", Cell: "a"})
		for i := range 3 {
			e.Record(answered(i))
		}
		e.Snapshot(loadgen.Snapshot{InFlight: 4})
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := b.sent()
		for name, part := range c.want {
			if !strings.Contains(got[name], part) {
				t.Errorf("%s: %s is %q, want %q", c.version, name, got[name], part)
			}
		}
		for _, name := range c.not {
			if _, ok := got[name]; ok {
				t.Errorf("%s: %s is sent", c.version, name)
			}
		}
		if usage := got["gen_ai.client.token.usage"]; strings.Contains(usage, "error.type") ||
			c.version == otlp.V141 && !strings.Contains(usage, "gen_ai.token.type=output") {
			t.Errorf("tokens: %q", usage)
		}
		if b.probes != 1 {
			t.Errorf("%d probes, want 1", b.probes)
		}
	}
}

// A collector that is not there when the load begins gets all that was counted since, once
// it is there.
func TestComesLater(t *testing.T) {
	t.Parallel()
	box := &inbox{status: 500}
	srv := httptest.NewServer(box)
	t.Cleanup(srv.Close)
	c := otlp.Config{URL: srv.URL + "/v1/metrics", Records: true, Timing: true, Semconv: otlp.V141}
	if err := otlp.Probe(t.Context(), c.URL); err == nil {
		t.Fatal("a collector that answers 500 takes a probe")
	}
	e, err := otlp.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	e.Begin(otlp.Run{Endpoint: "chat"})
	e.Record(answered(0))
	box.mu.Lock()
	box.status = 0
	box.mu.Unlock()
	e.Record(answered(1))
	_ = e.Close(t.Context()) // which counts messages that were not taken before
	if got := box.sent()["gen_ai.client.operation.duration"]; !strings.Contains(got, "n=||") {
		t.Errorf("%q: want both requests", got)
	}
}

// A collector that is not there, or takes nothing, is said at once; one that dies later
// when all is over.
func TestDown(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(&inbox{status: 500})
	t.Cleanup(srv.Close)
	if err := otlp.Probe(t.Context(), srv.URL+"/v1/metrics"); err == nil || !strings.Contains(err.Error(), "it answers 500") {
		t.Errorf("%v", err)
	}
	gone := httptest.NewServer(&inbox{})
	address := gone.URL
	gone.Close()
	if err := otlp.Probe(t.Context(), address+"/v1/metrics"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	dies := httptest.NewServer(&inbox{status: 503})
	t.Cleanup(dies.Close)
	e, err := otlp.Open(t.Context(), otlp.Config{URL: dies.URL + "/v1/metrics", Records: true, Semconv: otlp.V141})
	if err != nil {
		t.Fatal(err)
	}
	e.Begin(otlp.Run{Endpoint: "chat"})
	e.Record(answered(0))
	if err := e.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "1 of 1 messages were not taken") {
		t.Errorf("%v", err)
	}
}

// What OpenTelemetry's environment asks of exporters is done: headers, compression, and
// certificates; what it cannot do is said in one line.
func TestEnvironment(t *testing.T) {
	box := &inbox{}
	var heads []http.Header
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heads = append(heads, r.Header.Clone())
		box.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	to := srv.URL + "/v1/metrics"
	if err := otlp.Probe(t.Context(), to); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that the machine does not trust: %v", err)
	}
	ca := t.TempDir() + "/ca.pem"
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", ca)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20YTpi, x-tenant = all")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-tenant=metrics")
	e, err := otlp.Open(t.Context(), otlp.Config{URL: to, Records: true, Semconv: otlp.V141})
	if err != nil {
		t.Fatal(err)
	}
	e.Begin(otlp.Run{Endpoint: "chat"})
	e.Record(answered(0))
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := heads[len(heads)-1]
	if h.Get("Authorization") != "Basic YTpi" || h.Get("X-Tenant") != "metrics" || h.Get("Content-Encoding") != "gzip" {
		t.Errorf("headers %v", h)
	}
	if got := box.sent()["gen_ai.client.operation.duration"]; !strings.Contains(got, "n=|") {
		t.Errorf("%q", got)
	}
	for name, value := range map[string]string{
		"COMPRESSION": "lz4", "CERTIFICATE": ca + ".gone", "CLIENT_KEY": ca,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_METRICS_"+name, value)
			err := otlp.Probe(t.Context(), to)
			if err == nil || !strings.HasPrefix(err.Error(), "OTEL_EXPORTER_OTLP_") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Points that a collector leaves out count as not taken, with its reason; credentials do
// not follow where it sends somebody on to.
func TestAnswers(t *testing.T) {
	t.Parallel()
	partial, err := proto.Marshal(&collector.ExportMetricsServiceResponse{
		PartialSuccess: &collector.ExportMetricsPartialSuccess{RejectedDataPoints: 300, ErrorMessage: "too\nold"},
	})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("somebody else was asked")
	}))
	t.Cleanup(elsewhere.Close)
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // "" for what is taken
	}{
		{"partial", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(partial)
		}, "it took all but 300 points: too old"},
		{"nonsense", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write([]byte("\xff\x0a\xff"))
		}, ""},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "it answers 307"},
		{"long", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(strings.Repeat("no ", 1e6)))
		}, "it answers 400: no no"},
	} {
		srv := httptest.NewServer(c.answer)
		t.Cleanup(srv.Close)
		err := otlp.Probe(t.Context(), srv.URL)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case err != nil && (len(err.Error()) > 250 || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %q", c.name, err)
		}
	}
}
