// Package grpcserve speaks gRPC in front of the built-in server: KServe v2 with
// Triton's stream, a small service of text, and reflection of both. In goes a
// message, and a POST of the same meaning goes to the server; what that writes,
// an HTTP answer or an event stream, comes back as messages. Timing, faults and
// the log are the server's own.
package grpcserve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport/rpc"
	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// Ask brings a POST to the server. write gets the bytes of the answer as they
// are written and must not keep them; done is closed after the last. leave says
// that the client does not wait any more.
type Ask func(path string, header http.Header, body []byte, write func([]byte)) (done <-chan struct{}, leave func())

// Server speaks gRPC on connections that it is handed.
type Server struct {
	ask  Ask
	grpc *grpc.Server
	in   chan net.Conn
	done chan struct{} // closed when no connection is taken any more
	once sync.Once
	ran  sync.WaitGroup
}

// Preface is what every gRPC connection begins with.
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// maxMessage bounds a request, in bytes.
const maxMessage = 64 << 20

// New makes a server; it waits for connections.
func New(ask Ask) (*Server, error) {
	files, err := described()
	if err != nil {
		return nil, fmt.Errorf("gRPC: %w", err)
	}
	s := &Server{ask: ask, in: make(chan net.Conn), done: make(chan struct{})}
	s.grpc = grpc.NewServer(grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(protocodec.Name)}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.WaitForHandlers(true), grpc.UnknownServiceHandler(s.handle))
	known := reflection.ServerOptions{Services: offered{}, DescriptorResolver: files}
	reflectionpb.RegisterServerReflectionServer(s.grpc, reflection.NewServerV1(known))
	reflectionalpha.RegisterServerReflectionServer(s.grpc, reflection.NewServer(known))
	s.ran.Go(func() { _ = s.grpc.Serve(s) }) // it ends when Close does
	return s, nil
}

// Serve takes c, which belongs to the server from now on; false when it is
// closed.
func (s *Server) Serve(c net.Conn) bool {
	select {
	case s.in <- c:
		return true
	case <-s.done:
		return false
	}
}

// Stop ends all calls and connections and waits for them.
func (s *Server) Stop() {
	s.grpc.Stop()
	s.ran.Wait()
}

// Accept, Close and Addr make it the listener that it serves.
func (s *Server) Accept() (net.Conn, error) {
	select {
	case c := <-s.in:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// Close ends the taking of connections.
func (s *Server) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

// Addr is nobody's.
func (s *Server) Addr() net.Addr { return &net.TCPAddr{} }

// codec hands messages over as they are on the wire, and reflection's own as
// usual.
type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(*[]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if b, ok := v.(*[]byte); ok {
		*b = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// call is how a method is answered: what is asked of the server, and what a
// JSON answer, or an event of a stream, becomes.
type call struct {
	path   string
	body   []byte
	stream bool
	encode func(data []byte) ([]byte, error)
}

// handle answers every method but reflection's.
func (s *Server) handle(_ any, stream grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(stream)
	var in []byte
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	c, fixed, err := open(name, in)
	switch {
	case err != nil:
		return err
	case fixed != nil:
		return stream.SendMsg(&fixed)
	}
	return s.play(c, stream)
}

// open works out what a method and its message ask for; fixed is the answer of
// one that needs no model.
func open(name string, in []byte) (c *call, fixed []byte, err error) {
	switch name {
	case "/" + inferService + "/ServerLive", "/" + inferService + "/ServerReady", "/" + inferService + "/ModelReady":
		return nil, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1), nil
	case "/" + inferService + "/ModelInfer", "/" + inferService + "/ModelStreamInfer":
		c, err = openInfer(strings.HasSuffix(name, "ModelStreamInfer"), in)
	case "/" + textService + "/Complete", "/" + textService + "/Generate":
		c, err = openText(strings.HasSuffix(name, "Generate"), in)
	default:
		return nil, nil, status.Errorf(codes.Unimplemented, "unknown method %s", name)
	}
	if err != nil {
		return nil, nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return c, nil, nil
}

func openInfer(stream bool, in []byte) (*call, error) {
	model, body, err := rpc.DecodeRequest(in)
	if err != nil {
		return nil, err
	}
	c := &call{path: "/v2/models/" + model + "/infer", body: body, stream: stream}
	if stream {
		c.path = "/v2/models/" + model + "/stream_infer"
	}
	c.encode = func(data []byte) ([]byte, error) { return rpc.EncodeAnswer(data, stream) }
	return c, nil
}

func openText(stream bool, in []byte) (*call, error) {
	asked := map[string]any{"stream": stream}
	for len(in) > 0 {
		number, typ, n := protowire.ConsumeTag(in)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		in = in[n:]
		switch {
		case number == 1 && typ == protowire.BytesType:
			var text []byte
			text, n = protowire.ConsumeBytes(in)
			asked["prompt"] = string(text)
		case number == 2 && typ == protowire.VarintType:
			var most uint64
			most, n = protowire.ConsumeVarint(in)
			asked["max_tokens"] = most
		default:
			n = protowire.ConsumeFieldValue(number, typ, in)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		in = in[n:]
	}
	body, err := json.Marshal(asked)
	raw, _ := endpoint.Lookup("raw")
	encode := func(data []byte) ([]byte, error) {
		chunk, err := raw.Read(data, stream)
		if chunk.ErrKind != "" {
			return nil, errors.New(chunk.ErrText)
		}
		if err != nil || chunk.Empty && chunk.Finish == "" {
			return nil, err
		}
		b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), chunk.Text)
		return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType),
			protowire.EncodeBool(chunk.Finish != "")), nil
	}
	return &call{path: "/", body: body, stream: stream, encode: encode}, err
}

// play asks the server and sends what it answers, as it comes.
func (s *Server) play(c *call, stream grpc.ServerStream) error {
	a := newAnswer(c)
	done, leave := s.ask(c.path, headerOf(stream), c.body, a.write)
	for {
		select {
		case <-a.news:
			if err := a.send(stream); err != nil {
				leave()
				return err
			}
		case <-stream.Context().Done():
			leave()
			return status.FromContextError(stream.Context().Err()).Err()
		case <-done:
			if err := a.send(stream); err != nil {
				return err
			}
			return a.status()
		}
	}
}

// headerOf is the metadata of a call as a header.
func headerOf(stream grpc.ServerStream) http.Header {
	h := http.Header{}
	md, _ := metadata.FromIncomingContext(stream.Context())
	for name, values := range md {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	h.Set("Content-Type", "application/json")
	return h
}

// answer takes an HTTP answer apart. write belongs to the one who writes it, the
// rest to the call's own goroutine.
type answer struct {
	call *call
	resp wire.Response
	sse  wire.SSE
	news chan struct{} // there is something to send

	mu       sync.Mutex
	ready    [][]byte
	code     int
	body     []byte // of an answer in one piece
	whole    bool
	streamed bool
	err      error
}

func newAnswer(c *call) *answer {
	a := &answer{call: c, news: make(chan struct{}, 1)} // one: to be woken once is enough
	a.resp.Sink = a
	a.sse.Event = a.event
	return a
}

func (a *answer) write(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		_, a.err = a.resp.Feed(b)
	}
	if a.whole = a.resp.Done(); a.whole && !a.streamed && a.code == http.StatusOK && a.err == nil {
		a.err = a.event(a.body, false)
	}
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// Begin, Head and Body take the parts of the HTTP answer.
func (a *answer) Begin() {}

// Head notes what kind of answer follows.
func (a *answer) Head(h *wire.Head) error {
	a.code, a.streamed = h.Status, strings.HasPrefix(string(h.ContentType), "text/event-stream")
	return nil
}

// Body takes a piece of it.
func (a *answer) Body(b []byte) error {
	if a.streamed {
		return a.sse.Feed(b)
	}
	a.body = append(a.body, b...)
	return nil
}

// event makes a message of an answer, or of an event of a stream.
func (a *answer) event(data []byte, _ bool) error {
	if string(data) == "[DONE]" {
		return nil
	}
	m, err := a.call.encode(data)
	if err == nil && m != nil {
		a.ready = append(a.ready, m)
	}
	return err
}

// send sends what has become ready.
func (a *answer) send(stream grpc.ServerStream) error {
	a.mu.Lock()
	ready := a.ready
	a.ready = nil
	a.mu.Unlock()
	for i := range ready {
		if err := stream.SendMsg(&ready[i]); err != nil {
			return err
		}
	}
	return nil
}

// grpcCodes say what HTTP statuses say.
var grpcCodes = map[int]codes.Code{
	400: codes.InvalidArgument, 401: codes.Unauthenticated, 403: codes.PermissionDenied, 404: codes.NotFound,
	409: codes.Aborted,
	413: codes.ResourceExhausted, 429: codes.ResourceExhausted, 501: codes.Unimplemented,
	503: codes.Unavailable, 504: codes.DeadlineExceeded,
}

// status is how the call ends when the answer has come, as far as it did.
func (a *answer) status() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.err != nil:
		return status.Error(codes.Internal, a.err.Error())
	case !a.whole:
		return status.Error(codes.Unavailable, "the answer was broken off")
	case a.code == http.StatusOK:
		return nil
	}
	code, ok := grpcCodes[a.code]
	if !ok {
		code = codes.Internal
	}
	var said struct{ Error struct{ Message string } }
	if err := json.Unmarshal(a.body, &said); err != nil {
		return status.Error(code, errors.New(string(a.body)).Error())
	}
	return status.Error(code, said.Error.Message)
}
