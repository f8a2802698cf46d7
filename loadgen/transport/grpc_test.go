package transport_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// bytesCodec hands messages over as they are on the wire.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (bytesCodec) Unmarshal(b mem.BufferSlice, v any) error {
	*v.(*[]byte) = b.Materialize()
	return nil
}

func listen(t *testing.T, s *grpc.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { s.Serve(l); close(ended) }() //nolint:errcheck // it ends with Stop
	t.Cleanup(func() { s.Stop(); <-ended })
	return "grpc://" + l.Addr().String()
}

// inferServer answers ModelInfer with the bytes of a published example: outputs
// with a text, once in contents and once raw.
func inferServer(t *testing.T, got chan<- metadata.MD, asked chan<- []byte) string {
	answer := func(_ any, stream grpc.ServerStream) error {
		var in []byte
		if err := stream.RecvMsg(&in); err != nil {
			return err
		}
		md, _ := metadata.FromIncomingContext(stream.Context())
		got <- md
		asked <- in
		if strings.Contains(string(in), "fail") {
			return status.Error(codes.ResourceExhausted, "slow down")
		}
		// model_name "m"; outputs {name "o", datatype "BYTES", shape [1]}; raw "hello"
		out := []byte("\x0a\x01m\x2a\x0d\x0a\x01o\x12\x05BYTES\x1a\x01\x01\x32\x09\x05\x00\x00\x00hello")
		return stream.SendMsg(&out)
	}
	return listen(t, grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}), grpc.UnknownServiceHandler(answer)))
}

func TestGRPCInference(t *testing.T) {
	t.Parallel()
	got, asked := make(chan metadata.MD, 2), make(chan []byte, 2)
	r := open(t, inferServer(t, got, asked))
	x := r.do(func(x *transport.Exchange) {
		x.Path, x.Header = "/v2/models/m/infer", []byte("X-Request-ID: r1\r\nAuthorization: Bearer k\r\n")
		x.Body = []byte(`{"inputs":[{"name":"i","datatype":"BYTES","shape":[1],"data":["hi"]}],"parameters":{"max_tokens":3}}`)
	})
	if x.Status != record.OK || len(x.Events) != 1 {
		t.Fatalf("%s %s %s, %d events", x.Status, x.ErrorKind, x.ErrorText, len(x.Events))
	}
	want := `{"model_name":"m","outputs":[{"name":"o","datatype":"BYTES","shape":[1],"data":["hello"]}]}`
	if s := string(x.Data(0)); s != want {
		t.Errorf("answer %s\nwant   %s", s, want)
	}
	inOrder(t, x.Sent, x.WriteEnd, x.FirstByte, x.Events[0].At, x.End)
	// model_name "m", parameters {max_tokens: int64 3}, inputs {i, BYTES, [1], contents {bytes "hi"}}.
	if s := string(<-asked); s != "\x0a\x01m\x22\x10\x0a\x0amax_tokens\x12\x02\x10\x03\x2a\x12\x0a\x01i\x12\x05BYTES\x18\x01\x2a\x04\x42\x02hi" {
		t.Errorf("request %q", s)
	}
	if md := <-got; md.Get("x-request-id")[0] != "r1" || md.Get("authorization")[0] != "Bearer k" {
		t.Errorf("metadata %v", md)
	}
	if st := r.Stats(); st.Stamps != "application" || st.StampError.N == 0 && x.BytesReceived == 0 {
		t.Errorf("%+v", st)
	}
	x = r.do(func(x *transport.Exchange) {
		x.Path, x.Body = "/v2/models/m/infer",
			[]byte(`{"inputs":[{"name":"i","datatype":"BYTES","shape":[1],"data":["fail"]}]}`)
	})
	if x.Status != record.HTTPError || x.HTTPStatus != 429 || x.ErrorKind != "grpc_resourceexhausted" ||
		x.ErrorText != "slow down" {
		t.Errorf("%s %d %s %s", x.Status, x.HTTPStatus, x.ErrorKind, x.ErrorText)
	}
}

// Any method that a server describes can be called with JSON, streams included.
func TestGRPCByReflection(t *testing.T) {
	t.Parallel()
	s, h := grpc.NewServer(), health.NewServer()
	healthpb.RegisterHealthServer(s, h)
	reflection.Register(s)
	url := listen(t, s)
	r := open(t, url)
	x := r.do(func(x *transport.Exchange) { x.Path, x.Body = "/grpc.health.v1.Health/Check", []byte(`{"service":""}`) })
	if x.Status != record.OK || !strings.Contains(string(x.Payload), "SERVING") {
		t.Fatalf("%s %s %s: %s", x.Status, x.ErrorKind, x.ErrorText, x.Payload)
	}
	seen := make(chan struct{}, 8)
	x, done := r.start(func(x *transport.Exchange) {
		x.Path, x.Body, x.Stream = "/grpc.health.v1.Health/Watch", []byte(`{}`), true
		x.OnEvent = func([]byte) { seen <- struct{}{} }
	})
	<-seen
	h.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	<-seen
	r.Cancel(x)
	if <-done; x.Status != record.Cancelled || len(x.Events) != 2 || !x.Streamed ||
		!strings.Contains(string(x.Data(1)), "NOT_SERVING") {
		t.Errorf("%s %s, %d events: %s", x.Status, x.ErrorText, len(x.Events), x.Payload)
	}
	inOrder(t, x.Sent, x.Events[0].At, x.Events[1].At, x.End)
	for _, c := range []struct{ path, body, kind, text string }{
		{"/grpc.health.v1.Health/Chek", `{}`, "grpc_method", "it has Check, List, Watch"},
		{"/no.Such/Method", `{}`, "grpc_method", "no.Such"},
		{"/grpc.health.v1.Health/Check", `{"servise":1}`, "request", "servise"},
	} {
		x := r.do(func(x *transport.Exchange) { x.Path, x.Body = c.path, []byte(c.body) })
		if x.Status != record.Client || x.ErrorKind != c.kind || !strings.Contains(x.ErrorText, c.text) ||
			x.Sent != record.None {
			t.Errorf("%s %s: %s %s %s", c.path, c.body, x.Status, x.ErrorKind, x.ErrorText)
		}
	}
}

// The connection stands before the first request is due: a server that takes no
// more of them once it was looked for answers all the same.
func TestGRPCConnectsBeforehand(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
			var in []byte
			if err := s.RecvMsg(&in); err != nil {
				return err
			}
			return send(s, answered)
		}))
	ended := make(chan struct{})
	go func() { s.Serve(l); close(ended) }() //nolint:errcheck // its listener is closed
	t.Cleanup(s.Stop)
	r := open(t, "grpc://"+l.Addr().String())
	if err := r.Probe(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	l.Close() //nolint:errcheck // the only answer is of no use
	<-ended
	if x := r.do(inferring); x.Status != record.OK {
		t.Errorf("%s %s %s", x.Status, x.ErrorKind, x.ErrorText)
	}
}

func TestGRPCFaults(t *testing.T) {
	t.Parallel()
	hang := listen(t, grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
			<-s.Context().Done()
			return nil
		})))
	infer := func(x *transport.Exchange) { x.Path, x.Body = "/v2/models/m/infer", []byte(`{"inputs":[]}`) }
	r := open(t, hang)
	x := inTime(func(d int64) (*transport.Exchange, bool) {
		x := r.do(infer, func(x *transport.Exchange) { x.Deadline = r.clock.Now() + d })
		return x, x.ErrorKind != "write_timeout"
	})
	if x.Status != record.Timeout || x.HTTPStatus != record.None || x.ErrorKind != "header_timeout" {
		t.Errorf("deadline: %s %d %s %s; want no status that no server sent", x.Status, x.HTTPStatus, x.ErrorKind,
			x.ErrorText)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "grpc://" + l.Addr().String()
	l.Close() //nolint:errcheck // nobody listens from now on
	r = open(t, gone)
	if x := r.do(infer); x.Status != record.Connection || x.ErrorKind != "refused" {
		t.Errorf("nobody listens: %s %s %s", x.Status, x.ErrorKind, x.ErrorText)
	}
	if err := r.Probe(context.Background(), 0); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Probe: %v", err)
	}
	r = open(t, "grpcs://"+strings.TrimPrefix(hang, "grpc://"))
	if x := r.do(infer); x.Status != record.Connection || x.ErrorKind != "tls" {
		t.Errorf("TLS to a server without: %s %s %s", x.Status, x.ErrorKind, x.ErrorText)
	}
}
