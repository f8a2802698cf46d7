//go:build unix

package transport_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// streamed is how many messages a stream of the benchmark has.
const streamed = 1000

// rpcServer answers ModelInfer once and any other method with a stream.
func rpcServer() *grpc.Server {
	return grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
			var in []byte
			if err := s.RecvMsg(&in); err != nil {
				return err
			}
			if method, _ := grpc.MethodFromServerStream(s); method == "/inference.GRPCInferenceService/ModelInfer" {
				return send(s, answered)
			}
			for range streamed {
				if err := send(s, "\x12"+string(rune(len(answered)))+answered); err != nil {
					return err
				}
			}
			return nil
		}))
}

// rpcClient has one call answered by a number of messages.
type rpcClient func(b *testing.B, events int)

// BenchmarkGRPC stands beside grpc-go's plain client on the same server, which
// has a process of its own: the CPU time is that of the client. As many calls
// are under way at once as a small run has.
func BenchmarkGRPC(b *testing.B) {
	const workers = 32
	address := benchServer(b, "grpc")[len("http://"):]
	cl, err := transport.Open(transport.Config{Targets: []string{"grpc://" + address}, Clock: record.NewClock()})
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close() //nolint:errcheck // a benchmark
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{})))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // a benchmark
	ours := func(change func(*transport.Exchange)) rpcClient {
		return func(b *testing.B, events int) {
			done := make(chan struct{})
			x := &transport.Exchange{
				Deadline: record.None, CancelAfter: record.None,
				Done: func(*transport.Exchange) { close(done) },
			}
			change(x)
			cl.Start(x)
			<-done
			if x.Status != record.OK || len(x.Events) < events {
				b.Errorf("%s %s, %d events", x.Status, x.ErrorText, len(x.Events))
			}
			cl.Release(x)
		}
	}
	plain := func(method string) rpcClient {
		return func(b *testing.B, events int) {
			if err := plainCall(conn, method, events); err != nil {
				b.Error(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		call   rpcClient
		events int
	}{
		{"unary/ours", ours(inferring), 1},
		{"unary/plain", plain("/inference.GRPCInferenceService/ModelInfer"), 1},
		{"stream/ours", ours(inferringStream), streamed},
		{"stream/plain", plain("/inference.GRPCInferenceService/ModelStreamInfer"), streamed},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.call(b, c.events) // the connection and the description of the method are there
			work := make(chan struct{})
			var wait sync.WaitGroup
			for range workers {
				wait.Go(func() {
					for range work {
						c.call(b, c.events)
					}
				})
			}
			b.ResetTimer()
			before := cpu(b)
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			wait.Wait()
			used := cpu(b) - before
			b.ReportMetric(float64(used)/float64(time.Microsecond)/float64(b.N), "cpu-µs/call")
			b.ReportMetric(float64(b.N*c.events)/used.Seconds(), "messages/cpu-s")
		})
	}
}

// plainCall makes one call as grpc-go's generated code does.
func plainCall(conn *grpc.ClientConn, method string, events int) error {
	request := []byte("\x0a\x01m\x2a\x12\x0a\x01i\x12\x05BYTES\x18\x01\x2a\x04\x42\x02hi")
	stream, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		method)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(&request); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		var message []byte
		switch err := stream.RecvMsg(&message); {
		case err == io.EOF && n == events:
			return nil
		case err != nil:
			return err
		}
	}
}

// serveRPC is the benchmark's server in its own process.
func serveRPC(l net.Listener) error { return rpcServer().Serve(l) }
