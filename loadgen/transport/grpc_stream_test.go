package transport_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

func inferring(x *transport.Exchange) {
	x.Path, x.Body = "/v2/models/m/infer",
		[]byte(`{"inputs":[{"name":"i","datatype":"BYTES","shape":[1],"data":["hi"]}]}`)
}

func inferringStream(x *transport.Exchange) {
	inferring(x)
	x.Path, x.Stream = "/v2/models/m/stream_infer", true
}

// handled is a server that answers every method with f.
func handled(
	t *testing.T, f func(method string, in []byte, s grpc.ServerStream) error, opts ...grpc.ServerOption,
) string {
	return listen(t, grpc.NewServer(append(opts, grpc.ForceServerCodecV2(bytesCodec{}),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
			method, _ := grpc.MethodFromServerStream(s)
			var in []byte
			if err := s.RecvMsg(&in); err != nil {
				return err
			}
			return f(method, in, s)
		}))...))
}

func send(s grpc.ServerStream, message string) error {
	b := []byte(message)
	return s.SendMsg(&b)
}

// answered is a ModelInferResponse of model m with a text.
const answered = "\x0a\x01m\x2a\x0d\x0a\x01o\x12\x05BYTES\x1a\x01\x01\x32\x09\x05\x00\x00\x00hello"

func TestGRPCOverTLS(t *testing.T) {
	t.Parallel()
	id := newIdentity(t, "127.0.0.1", time.Now().Add(time.Hour))
	url := handled(t, func(_ string, _ []byte, s grpc.ServerStream) error { return send(s, answered) },
		grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{id.pair}})))
	url = strings.Replace(url, "grpc:", "grpcs:", 1)
	r := open(t, url, trusting(id))
	if x := r.do(inferring); x.Status != record.OK || !strings.Contains(string(x.Payload), "hello") {
		t.Errorf("%s %s %s: %s", x.Status, x.ErrorKind, x.ErrorText, x.Payload)
	}
	if x := open(t, url).do(inferring); x.Status != record.Connection || !strings.Contains(x.ErrorText, "certificate") {
		t.Errorf("a certificate that nobody trusts: %s %s %s", x.Status, x.ErrorKind, x.ErrorText)
	}
}

// The server is told of the deadline, and learns of a cancellation.
func TestGRPCDeadlineAndCancellation(t *testing.T) {
	t.Parallel()
	deadlines, began, ended := make(chan bool, 3), make(chan struct{}, 3), make(chan error, 3)
	r := open(t, handled(t, func(_ string, _ []byte, s grpc.ServerStream) error {
		_, has := s.Context().Deadline()
		deadlines <- has
		began <- struct{}{}
		<-s.Context().Done()
		ended <- s.Context().Err()
		return status.FromContextError(s.Context().Err()).Err()
	}))
	due := r.clock.Now() + int64(100*time.Millisecond)
	x := r.do(inferring, func(x *transport.Exchange) { x.Deadline = due })
	if x.Status != record.Timeout || x.CancelAsked != due || x.End < due {
		t.Errorf("deadline: %s %s, asked %d, due %d, end %d", x.Status, x.ErrorText, x.CancelAsked, due, x.End)
	}
	if !<-deadlines {
		t.Error("the server was not told of the deadline")
	}
	<-began
	<-ended
	x, done := r.start(inferring)
	<-began
	r.Cancel(x)
	if await(t, done); x.Status != record.Cancelled {
		t.Errorf("cancelled: %s %s", x.Status, x.ErrorText)
	}
	if <-deadlines {
		t.Error("a deadline that nobody set")
	}
	if err := <-ended; err != context.Canceled {
		t.Errorf("the server saw %v", err)
	}
	x = r.do(inferring, func(x *transport.Exchange) { x.CancelAfter = int64(10 * time.Millisecond) })
	if x.Status != record.Cancelled || x.WriteEnd == record.None || x.End < x.WriteEnd+int64(10*time.Millisecond) {
		t.Errorf("cancelled on purpose: %s, written %d, end %d", x.Status, x.WriteEnd, x.End)
	}
}

// Triton's stream needs no reflection: a decoupled model gives any number of
// answers, and its problems come inside of the stream.
func TestTritonStream(t *testing.T) {
	t.Parallel()
	got := make(chan metadata.MD, 1)
	next := make(chan struct{})
	url := handled(t, func(method string, in []byte, s grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(s.Context())
		got <- md
		if method != "/inference.GRPCInferenceService/ModelStreamInfer" || !strings.HasPrefix(string(in), "\x0a\x01m") {
			return status.Error(codes.Unimplemented, method)
		}
		inner := "\x12" + string(rune(len(answered))) + answered
		for range 2 {
			if err := send(s, inner); err != nil {
				return err
			}
			<-next
		}
		// infer_response {model m, parameters {triton_final_response: true}}
		if err := send(s, "\x12\x20\x0a\x01m\x22\x1b\x0a\x15triton_final_response\x12\x02\x08\x01"); err != nil {
			return err
		}
		return send(s, "\x0a\x04oops")
	})
	r := open(t, url)
	seen := make(chan string, 4)
	x, done := r.start(inferringStream, func(x *transport.Exchange) {
		x.Header = []byte("X-Request-ID: r7\r\nContent-Type: application/json\r\n")
		x.OnEvent = func(data []byte) { seen <- string(data) }
	})
	for range 2 { // each message is there before the next is sent
		if s := <-seen; !strings.Contains(s, `"data":["hello"]`) {
			t.Errorf("message %s", s)
		}
		next <- struct{}{}
	}
	if await(t, done); x.Status != record.OK || !x.Streamed || len(x.Events) != 5 {
		t.Fatalf("%s %s, streamed %v, %d events", x.Status, x.ErrorText, x.Streamed, len(x.Events))
	}
	for i, want := range []string{
		`{"model_name":"m","outputs":[{"name":"o","datatype":"BYTES","shape":[1],"data":["hello"]}]}`,
		`{"model_name":"m","outputs":[{"name":"o","datatype":"BYTES","shape":[1],"data":["hello"]}]}`,
		`{"model_name":"m","parameters":{"triton_final_response":true},"outputs":[]}`,
		`{"error":"oops"}`, `[DONE]`,
	} {
		if s := string(x.Data(i)); s != want {
			t.Errorf("event %d: %s\nwant %s", i, s, want)
		}
	}
	inOrder(t, x.Sent, x.WriteEnd, x.Events[0].At, x.Events[1].At, x.Events[2].At, x.End)
	if md := <-got; md.Get("x-request-id")[0] != "r7" || !strings.HasPrefix(md.Get("content-type")[0],
		"application/grpc") {
		t.Errorf("metadata %v", md)
	}
}

// What cannot be called is said before anything is sent, with what there is.
func TestGRPCMethodsThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	reflection.Register(s)
	described := listen(t, s)
	dumb := handled(t, func(string, []byte, grpc.ServerStream) error {
		return status.Error(codes.Unimplemented, "unknown service")
	})
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	const mend = "does a gRPC server listen there, and is it TLS that it speaks (grpcs://)?"
	for _, c := range []struct {
		url, path, body string
		code            diag.Code
		text            string // its beginning
		hint            string
	}{
		{described, "/grpc.health.v1.Helth/Check", `{}`, diag.Usage, "endpoint.rpc.method: the server has no service grpc.health.v1.Helth; it has grpc.health.v1.Health", ""},
		{described, "/grpc.health.v1.Health/Chek", `{}`, diag.Usage, "endpoint.rpc.method: grpc.health.v1.Health has no method Chek; it has Check, List, Watch", ""},
		{described, "/v1/chat/completions", `{}`, diag.Usage, "endpoint.rpc.method: /v1/chat/completions names no gRPC method", "write it like package.Service/Method"},
		{described, "/grpc.health.v1.Health/Check", `{"servise": "a"}`, diag.Usage, `endpoint.rpc.body: it makes no grpc.health.v1.HealthCheckRequest: unknown field "servise"`, "its fields are service"},
		{dumb, "/grpc.health.v1.Health/Check", `{}`, diag.Usage, "endpoint.rpc: the server offers no reflection, so its methods are unknown", "turn reflection on there; --endpoint-type kserve_v2_infer needs none"},
		{strings.Replace(page.URL, "http:", "grpc:", 1), "/a.B/C", `{}`, diag.Failed, "the question for its methods failed: ", mend},
		{"grpc://127.0.0.1:1", "/a.B/C", `{}`, diag.Failed, "the question for its methods failed: ", mend},
	} {
		r := open(t, c.url)
		e := diag.Of(r.Knows(t.Context(), 0, c.path, []byte(c.body)))
		if !strings.HasPrefix(e.Error(), c.text) || e.Hint != c.hint ||
			e.Exit() != c.code || strings.Contains(e.Error(), "\n") {
			t.Errorf("%s is known: %d %s; hint: %s\nwant %d %s; hint: %s", c.path, e.Exit(), e, e.Hint, c.code, c.text,
				c.hint)
		}
		x := r.do(func(x *transport.Exchange) { x.Path, x.Body = c.path, []byte(c.body) })
		if x.Status != record.Client || !strings.HasPrefix(x.ErrorText, c.text) || x.Sent != record.None ||
			x.BytesSent != 0 {
			t.Errorf("%s: %s %s %s\nwant %s", c.path, x.Status, x.ErrorKind, x.ErrorText, c.text)
		}
	}
	if err := open(t, described).Knows(t.Context(), 0, "/grpc.health.v1.Health/Check",
		[]byte(`{"service":"a"}`)); err != nil {
		t.Error(err)
	}
	if err := open(t, page.URL).Knows(t.Context(), 0, "/a.B/C", nil); err != nil { // no gRPC server
		t.Error(err)
	}
	for url, path := range map[string]string{
		described: "/grpc.health.v1.Health/Watch",
		page.URL:  "/a.B/C", dumb: "/v2/models/m/infer",
	} {
		m, err := open(t, url).Answers(t.Context(), 0, path)
		if err != nil || url == described && (m.Name != "grpc.health.v1.HealthCheckResponse" ||
			!slices.Equal(m.Fields, []string{"status"})) || url != described && m.Name != "" {
			t.Errorf("%s answers with %+v, %v", path, m, err)
		}
	}
}

// Servers of other libraries know reflection by its older name only.
func TestGRPCOlderReflection(t *testing.T) {
	t.Parallel()
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	reflection.RegisterV1(older{s})
	x := open(t, listen(t, s)).do(func(x *transport.Exchange) {
		x.Path, x.Body = "/grpc.health.v1.Health/Check",
			[]byte(`{}`)
	})
	if x.Status != record.OK || !strings.Contains(string(x.Payload), "SERVING") {
		t.Errorf("%s %s %s: %s", x.Status, x.ErrorKind, x.ErrorText, x.Payload)
	}
}

// older registers the reflection service under the name that it had first.
type older struct{ *grpc.Server }

func (o older) RegisterService(d *grpc.ServiceDesc, impl any) {
	c := *d
	c.ServiceName = "grpc.reflection.v1alpha.ServerReflection"
	o.Server.RegisterService(&c, impl)
}
