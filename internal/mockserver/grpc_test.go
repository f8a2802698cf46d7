package mockserver

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// caller speaks gRPC to a server as the load generator does.
func caller(t *testing.T, url string) func(path, body string) *transport.Exchange {
	t.Helper()
	cl, err := transport.Open(transport.Config{
		Targets: []string{strings.Replace(url, "http:", "grpc:", 1)},
		Clock:   record.NewClock(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cl.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(path, body string) *transport.Exchange {
		done := make(chan struct{})
		x := &transport.Exchange{
			Path: path, Body: []byte(body), Header: []byte("X-Request-ID: r-7\r\n"),
			Deadline: record.None, CancelAfter: record.None, Done: func(*transport.Exchange) { close(done) },
		}
		cl.Start(x)
		<-done
		return x
	}
}

// events are the messages of an answer as JSON.
func events(x *transport.Exchange) (out []string) {
	for i := range x.Events {
		out = append(out, string(x.Data(i)))
	}
	return out
}

const inferBody = `{"inputs":[{"name":"text_input","shape":[1,1],"datatype":"BYTES","data":["one two three"]}],"parameters":{"max_tokens":4}}`

// KServe v2 and Triton's stream, with the same engine and log as HTTP.
func TestKServeOverGRPC(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=1ms&itl=100us&model=demo")
	ask := caller(t, b.url)
	whole := ask("/v2/models/demo/infer", inferBody)
	if got := events(whole); whole.Status != record.OK || len(got) != 1 ||
		!strings.Contains(got[0], `"name":"text_output"`) || !strings.Contains(got[0], `"name":"embedding"`) {
		t.Errorf("ModelInfer: %s %s: %q", whole.Status, whole.ErrorText, got)
	}
	stream := ask("/v2/models/demo/stream_infer", inferBody)
	got := events(stream)
	// 4 tokens, the mark of the last answer, the end of the stream
	if stream.Status != record.OK || len(got) != 6 || !strings.Contains(got[0], "text_output") ||
		!strings.Contains(got[4], `"triton_final_response":true`) || got[5] != "[DONE]" {
		t.Errorf("ModelStreamInfer: %s %s: %q", stream.Status, stream.ErrorText, got)
	}
	if x := ask("/v2/models/other/infer", inferBody); x.Status != record.HTTPError || x.HTTPStatus != 404 ||
		!strings.Contains(x.ErrorText, `model "other" does not exist; served: demo`) {
		t.Errorf("another model: %s %d %s", x.Status, x.HTTPStatus, x.ErrorText)
	}
	log := b.stop()
	if len(log) != 3 {
		t.Fatalf("the log has %d lines, want 3", len(log))
	}
	for i, e := range log[:2] {
		if e.Model != "demo" || e.InTokens != 3 || e.OutTokens != 4 || e.RequestID != "r-7" || e.Stream != (i == 1) ||
			e.First < e.Recv {
			t.Errorf("log: %+v", e)
		}
	}
}

// Any method by reflection: text in pieces, and lists of what there is.
func TestTextOverGRPC(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=1ms&itl=100us")
	ask := caller(t, b.url)
	x := ask("/aiperf.v1.Text/Generate", `{"prompt":"one two","max_tokens":3}`)
	text, finished := "", 0
	for _, e := range events(x) {
		if i := strings.Index(e, `"token":`); i >= 0 {
			text += strings.Split(e[i+len(`"token":`):], `"`)[1]
		}
		finished += strings.Count(e, `"finished":true`)
	}
	if x.Status != record.OK || count(t, text) != 3 || finished != 1 {
		t.Errorf("Generate: %s %s, text %q, finished %d times: %q", x.Status, x.ErrorText, text, finished, events(x))
	}
	if x := ask("/aiperf.v1.Text/Complete", `{"prompt":"one two","max_tokens":3}`); x.Status != record.OK ||
		len(x.Events) != 1 {
		t.Errorf("Complete: %s %s: %q", x.Status, x.ErrorText, events(x))
	}
	for path, want := range map[string]string{
		"/aiperf.v1.Text/Gen":   "aiperf.v1.Text has no method Gen; it has Complete, Generate",
		"/aiperf.v1.Image/Draw": "the server has no service aiperf.v1.Image; it has aiperf.v1.Text, inference.GRPCInferenceService",
	} {
		if x := ask(path, `{}`); x.Status == record.OK || !strings.Contains(x.ErrorText, want) {
			t.Errorf("%s: %s %q, want %q", path, x.Status, x.ErrorText, want)
		}
	}
}

// What goes wrong goes wrong over gRPC, too, and nobody who leaves is waited for.
func TestFaultsOverGRPC(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		status record.Status
		http   int64
	}{
		"error_rate=1&error_status=429": {record.HTTPError, 429},
		"error_rate=1&error_status=500": {record.HTTPError, 500},
		"cut=1":                         {record.HTTPError, 503},
	} {
		b := start(t, "ttft=1ms&itl=100us&"+query)
		ask := caller(t, b.url)
		for _, path := range []string{"/v2/models/m/infer", "/v2/models/m/stream_infer"} {
			if x := ask(path, inferBody); x.Status != want.status || x.HTTPStatus != want.http {
				t.Errorf("%s %s: %s %d %s", query, path, x.Status, x.HTTPStatus, x.ErrorText)
			}
		}
	}
	broken := start(t, "ttft=1ms&itl=100us&stream_error=1")
	ask := caller(t, broken.url)
	if x := ask("/v2/models/m/stream_infer", inferBody); x.Status != record.OK ||
		!strings.Contains(strings.Join(events(x), ""), `{"error":"scripted failure in the stream"}`) {
		t.Errorf("Triton's stream: %s %s: %q", x.Status, x.ErrorText, events(x))
	}
	if x := ask("/aiperf.v1.Text/Generate", `{"prompt":"one two","max_tokens":4}`); x.Status != record.HTTPError ||
		x.ErrorText != "scripted failure in the stream" {
		t.Errorf("Generate: %s %s: %q", x.Status, x.ErrorText, events(x))
	}
	broken.stop()
	b := start(t, "ttft=1h&itl=1ms")
	cl, err := transport.Open(transport.Config{
		Targets: []string{strings.Replace(b.url, "http:", "grpc:", 1)},
		Clock:   record.NewClock(),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	x := &transport.Exchange{
		Path: "/v2/models/m/infer", Body: []byte(inferBody), Deadline: record.None,
		CancelAfter: 1e6, Done: func(*transport.Exchange) { close(done) },
	}
	cl.Start(x)
	if <-done; x.Status != record.Cancelled {
		t.Errorf("cancelled: %s", x.Status)
	}
	if err := cl.Close(); err != nil {
		t.Error(err)
	}
	b.stop()
}

// Who comes while the server stops is not left waiting, and is in the log.
func TestComesWhileStopping(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=1h")
	b.s.sched.stop()
	if a := b.post("/v1/chat/completions", `{"model":"m","messages":[]}`); a.err == nil {
		t.Errorf("answered with %d %s, want a closed connection", a.status, a.body)
	}
	if x := caller(t, b.url)("/v2/models/m/infer", inferBody); x.Status == record.OK {
		t.Errorf("gRPC: %s", x.Status)
	}
	if log := b.stop(); len(log) == 0 || !log[0].Aborted {
		t.Errorf("the log: %+v", log)
	}
}
