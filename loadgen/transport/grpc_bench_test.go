package transport_test

import (
	"context"
	"io"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// streamed is how many messages a stream of the benchmark has.
const streamed = 1000

// BenchmarkGRPC stands beside grpc-go's plain client on the same server, which
// runs in this process: what the server costs is in both.
func BenchmarkGRPC(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
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
	go s.Serve(l) //nolint:errcheck // it ends with Stop
	defer s.Stop()
	address := l.Addr().String()
	cl, err := transport.Open(transport.Config{Targets: []string{"grpc://" + address}, Clock: record.NewClock()})
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close() //nolint:errcheck // a benchmark
	ours := func(b *testing.B, change func(*transport.Exchange), events int) {
		done := make(chan struct{})
		for b.Loop() {
			x := &transport.Exchange{Deadline: record.None, CancelAfter: record.None, Done: func(*transport.Exchange) { done <- struct{}{} }}
			change(x)
			cl.Start(x)
			<-done
			if x.Status != record.OK || len(x.Events) != events {
				b.Fatalf("%s %s, %d events", x.Status, x.ErrorText, len(x.Events))
			}
			cl.Release(x)
		}
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{})))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // a benchmark
	request := []byte("\x0a\x01m\x2a\x12\x0a\x01i\x12\x05BYTES\x18\x01\x2a\x04\x42\x02hi")
	plain := func(b *testing.B, method string, events int) {
		for b.Loop() {
			stream, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
			if err == nil {
				err = stream.SendMsg(&request)
			}
			if err == nil {
				err = stream.CloseSend()
			}
			n := 0
			for ; err == nil; n++ {
				var message []byte
				err = stream.RecvMsg(&message)
			}
			if err != io.EOF || n != events+1 {
				b.Fatalf("%v after %d messages", err, n)
			}
		}
	}
	perMessage := func(b *testing.B) {
		b.ReportMetric(float64(b.N)*streamed/b.Elapsed().Seconds(), "messages/s")
	}
	b.Run("unary/ours", func(b *testing.B) { ours(b, inferring, 1) })
	b.Run("unary/plain", func(b *testing.B) { plain(b, "/inference.GRPCInferenceService/ModelInfer", 1) })
	b.Run("stream/ours", func(b *testing.B) { ours(b, inferringStream, streamed+1); perMessage(b) })
	b.Run("stream/plain", func(b *testing.B) {
		plain(b, "/inference.GRPCInferenceService/ModelStreamInfer", streamed)
		perMessage(b)
	})
}
