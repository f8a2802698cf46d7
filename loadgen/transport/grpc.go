package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport/rpc"
)

// procedures is a target that is spoken to by gRPC.
type procedures struct {
	conn    *grpc.ClientConn
	methods *rpc.Methods
	way     attempts
}

// attempts keeps why the last attempt to connect failed, TLS included: a gRPC
// status has it as text only.
type attempts struct {
	credentials.TransportCredentials
	failure *atomic.Pointer[error] // nil once a connection stands
	t       *target
}

func (a attempts) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		a.failure.Store(&err)
	}
	return c, err
}

func (a attempts) ClientHandshake(
	ctx context.Context, authority string, c net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := a.TransportCredentials.ClientHandshake(ctx, authority, c)
	if err != nil {
		err = a.t.handshakeFailed(err)
		a.failure.Store(&err)
		return nil, nil, err
	}
	a.failure.Store(nil)
	return secure, info, nil
}

func (a attempts) Clone() credentials.TransportCredentials {
	return attempts{a.TransportCredentials.Clone(), a.failure, a.t}
}

// isRPC reports whether a URL's scheme asks for gRPC.
func isRPC(scheme string) bool { return scheme == "grpc" || scheme == "grpcs" }

// newProcedures prepares the connection; it is made when it is needed.
func newProcedures(t *target, shared *tls.Config, most int64) (*procedures, error) {
	how := insecure.NewCredentials()
	if strings.HasPrefix(t.base, "grpcs:") {
		how = credentials.NewTLS(t.noticing(shared))
	}
	_, address, _ := strings.Cut(t.name, "://")
	way := attempts{how, &atomic.Pointer[error]{}, t}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(way),
		grpc.WithContextDialer(way.dial),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(int(most))))
	if err != nil {
		return nil, fmt.Errorf("url %s: %w", t.name, err)
	}
	plain, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(how), grpc.WithNoProxy())
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &procedures{conn: conn, methods: rpc.NewMethods(plain), way: way}, nil
}

// connect makes the connection of all requests now, as far as ctx lets it: the
// first request would be late by its handshake. What stands in the way is for the
// requests to tell.
func (p *procedures) connect(ctx context.Context) {
	for {
		p.conn.Connect()
		switch s := p.conn.GetState(); {
		case s == connectivity.Ready, s == connectivity.TransientFailure, s == connectivity.Shutdown,
			!p.conn.WaitForStateChange(ctx, s):
			return
		}
	}
}

// describeWithin bounds how long a server may take to describe a method.
const describeWithin = 10 * time.Second

// Knows tells why a target cannot be sent calls of the method at path with
// bodies like this one, or nil. Only gRPC servers are asked.
func (cl *Client) Knows(ctx context.Context, target int, path string, body []byte) error {
	p := cl.targets[target].rpc
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, describeWithin)
	defer cancel()
	m, err := p.methods.Find(ctx, path)
	if err == nil {
		_, err = m.Encode(body)
	}
	return err
}

// Answers is the message that a method answers with, as far as its server
// describes one.
func (cl *Client) Answers(ctx context.Context, target int, path string) (rpc.Message, error) {
	p := cl.targets[target].rpc
	if p == nil {
		return rpc.Message{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, describeWithin)
	defer cancel()
	m, err := p.methods.Find(ctx, path)
	if err != nil {
		return rpc.Message{}, err
	}
	return m.Answer(), nil
}

// raw takes messages as they are on the wire.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// call sends o by gRPC. Stamps are the application's, taken when a message is
// there; what it says is looked at afterwards.
func (cl *Client) call(o *op) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if d := o.x.Deadline; d != record.None { // the server is told of it, too
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(d-cl.clock.Now()))
		defer stop()
	}
	if !o.begin(cancel) {
		o.finish(o.killed())
		return
	}
	e := (&rpcCall{cl: cl, o: o, x: o.x}).do(ctx)
	if k := o.killed(); e.status != record.OK && (k.isSet() || errors.Is(ctx.Err(), context.DeadlineExceeded)) {
		if e = k; !k.isSet() {
			e = ending{status: record.Timeout, asked: o.x.Deadline}
		}
		if o.x.HTTPStatus = http.StatusOK; o.x.FirstByte == record.None { // the end is ours: no status of the server's
			o.x.HTTPStatus = record.None
		}
	}
	o.finish(e)
}

// rpcCall is one exchange on its way.
type rpcCall struct {
	cl       *Client
	o        *op
	x        *Exchange
	method   *rpc.Method
	messages [][]byte
	at       []int64
}

func (c *rpcCall) do(ctx context.Context) ending {
	x, p := c.x, c.o.t.rpc
	var err error
	if c.method, err = p.methods.Find(ctx, x.Path); err != nil {
		return ours("grpc_method", diag.Line(err))
	}
	body, err := c.method.Encode(x.Body)
	if err != nil {
		return ours("request", diag.Line(err))
	}
	x.Sent = c.cl.clock.Now()
	stream, err := p.conn.NewStream(metadata.NewOutgoingContext(ctx, c.metadata()),
		&grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, c.method.Path)
	if err != nil {
		return c.ended(err)
	}
	if err = stream.SendMsg(&body); err == nil {
		err = stream.CloseSend()
	}
	if err != nil && !errors.Is(err, io.EOF) { // the answer says why
		return c.ended(err)
	}
	x.WriteEnd, x.BytesSent = c.cl.clock.Now(), int64(len(body))
	c.o.armCancel()
	if _, err = stream.Header(); err == nil && ctx.Err() == nil { // a call that we end has none, and no error either
		x.FirstByte = c.cl.clock.Now()
	}
	for err == nil {
		var message []byte
		if err = stream.RecvMsg(&message); err == nil {
			err = c.receive(message)
		}
	}
	x.End = c.cl.clock.Now()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return c.ended(err)
}

// receive notes a message that has come.
func (c *rpcCall) receive(message []byte) error {
	now := c.cl.clock.Now()
	c.at = append(c.at, now)
	c.x.Hear(now)
	c.cl.echoes.read()
	c.messages = append(c.messages, message)
	if c.x.BytesReceived += int64(len(message)); c.x.BytesReceived > c.cl.maxBody {
		return status.Errorf(codes.ResourceExhausted, "answer: more than %d bytes", c.cl.maxBody)
	}
	if c.x.OnEvent != nil {
		if data, err := c.method.Decode(nil, message); err == nil {
			c.x.OnEvent(data)
		}
	}
	return nil
}

// ended lays out what came and says how it ended.
func (c *rpcCall) ended(err error) ending {
	x := c.x
	x.buffers = c.cl.buffers.Get().(*buffers)
	x.buffers.packed.reset()
	x.Payload, x.Events = x.buffers.body[:0], x.buffers.events[:0]
	x.Streamed, x.ReceiveLag = c.method.Stream, math.NaN()
	for i, message := range c.messages {
		start := len(x.Payload)
		payload, derr := c.method.Decode(x.Payload, message)
		if derr != nil {
			return ending{status: record.ParseError, kind: "grpc", text: derr.Error(), asked: record.None}
		}
		x.Payload = payload
		x.Events = append(x.Events, Event{Start: int32(start), End: int32(len(payload)), At: c.at[i], Low: c.at[i]})
	}
	if err != nil {
		return c.failed(err)
	}
	if x.Streamed && len(c.at) > 0 { // the status at the end of the stream is its end mark
		start := len(x.Payload)
		x.Payload = append(x.Payload, "[DONE]"...)
		x.Events = append(x.Events, Event{Start: int32(start), End: int32(len(x.Payload)), At: x.End, Low: x.End})
		x.OwnEnd = true
	}
	x.HTTPStatus = http.StatusOK
	return ending{status: record.OK, asked: record.None}
}

// httpCodes are the HTTP statuses that say what a gRPC status says.
var httpCodes = map[codes.Code]int64{
	codes.InvalidArgument: 400, codes.FailedPrecondition: 400, codes.OutOfRange: 400, codes.Unauthenticated: 401,
	codes.PermissionDenied: 403, codes.NotFound: 404, codes.AlreadyExists: 409,
	codes.Aborted: 409, codes.ResourceExhausted: 429,
	codes.Canceled: 499, codes.Unimplemented: 501, codes.Unavailable: 503, codes.DeadlineExceeded: 504,
}

// failed is the end of a call with a status that is not OK.
func (c *rpcCall) failed(err error) ending {
	s := status.Convert(err)
	if s.Code() == codes.Unavailable && c.x.FirstByte == record.None {
		if why := c.o.t.rpc.way.failure.Load(); why != nil {
			return failed(*why)
		}
		return ending{status: record.Connection, kind: "reset", text: s.Message(), asked: record.None}
	}
	if c.x.HTTPStatus = 500; httpCodes[s.Code()] != 0 {
		c.x.HTTPStatus = httpCodes[s.Code()]
	}
	return ending{
		status: record.HTTPError, kind: "grpc_" + strings.ToLower(s.Code().String()), text: s.Message(),
		asked: record.None,
	}
}

// metadata is the request's header.
func (c *rpcCall) metadata() metadata.MD {
	md := metadata.MD{}
	for line := range strings.SplitSeq(string(c.o.t.auth)+string(c.x.Header), "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		switch name = strings.ToLower(name); {
		case !ok, name == "host", name == "content-type", name == "user-agent",
			name == "accept", strings.HasPrefix(name, "grpc-"):
		default:
			md.Append(name, strings.TrimSpace(value))
		}
	}
	return md
}

// close ends the connections.
func (p *procedures) close() error { return errors.Join(p.conn.Close(), p.methods.Close()) }
