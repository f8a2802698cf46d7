//go:build unix

package transport_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// helperRole tells a copy of the test binary what to be.
const helperRole = "AIPERF_TRANSPORT_HELPER"

// tokenEvent is an event as a chat completion streams it, in a chunk of its own.
func tokenEvent() []byte {
	event := `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1763700000,"model":"mock-model-8b-instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
}

const (
	benchJSON = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n{\"id\":\"cmpl-123\"}\n"
	benchHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	benchBody = `{"model":"mock-model-8b-instruct","messages":[{"role":"user","content":"hello"}],"max_tokens":1}`
)

// TestHelperServer is no test: it is the server of the benchmarks, in a process
// of its own so that its CPU does not count. It ends with its standard input.
func TestHelperServer(t *testing.T) {
	role := os.Getenv(helperRole)
	if role != "server" && role != "grpc" {
		t.Skip("a role for a copy of this binary")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(l.Addr())
	if role == "grpc" {
		go serveRPC(l) //nolint:errcheck // it ends with the process
	} else {
		go acceptBench(l)
	}
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // any end will do
	os.Exit(0)
}

func acceptBench(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go serveBench(c)
	}
}

// serveBench answers /json, /burst/EVENTS, /paced/EVENTS/GAP_µs and /idle, which
// is one event and then nothing.
func serveBench(c net.Conn) {
	defer c.Close() //nolint:errcheck // nothing depends on it
	in := bufio.NewReader(c)
	event := tokenEvent()
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		length := 0
		for {
			h, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(h) <= 2 {
				break
			}
			if bytes.HasPrefix(h, []byte("Content-Length: ")) {
				fmt.Sscan(string(h[16:]), &length) //nolint:errcheck // our own client
			}
		}
		in.Discard(length) //nolint:errcheck // the next read tells
		if err := answerBench(c, line, event); err != nil {
			return
		}
	}
}

func answerBench(c net.Conn, line string, event []byte) error {
	var events, gap int
	if strings.Contains(line, "/idle") {
		_, err := c.Write(append([]byte(benchHead), event...))
		return err
	}
	if !strings.Contains(line, "/json") {
		fmt.Sscanf(line, "POST /burst/%d", &events)          //nolint:errcheck // one of the two fits
		fmt.Sscanf(line, "POST /paced/%d/%d", &events, &gap) //nolint:errcheck // one of the two fits
	}
	if events == 0 {
		_, err := io.WriteString(c, benchJSON)
		return err
	}
	if gap == 0 {
		answer := append([]byte(benchHead), bytes.Repeat(event, events)...)
		_, err := c.Write(append(answer, "0\r\n\r\n"...))
		return err
	}
	if _, err := io.WriteString(c, benchHead); err != nil {
		return err
	}
	next := time.Now()
	for range events {
		next = next.Add(time.Duration(gap) * time.Microsecond)
		time.Sleep(time.Until(next))
		if _, err := c.Write(event); err != nil {
			return err
		}
	}
	_, err := io.WriteString(c, "0\r\n\r\n")
	return err
}

// benchServer starts the helper and returns its URL; it speaks HTTP unless a role
// is named.
func benchServer(tb testing.TB, role ...string) string {
	tb.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperServer$")
	cmd.Env = append(os.Environ(), helperRole+"="+strings.Join(append(role, "server")[:1], ""))
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close() //nolint:errcheck // that ends it
		cmd.Wait() //nolint:errcheck // it exits 0
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return "http://" + strings.TrimSpace(addr)
}

// cpu is what this process has used so far.
func cpu(tb testing.TB) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// exchanger runs requests one after the other in each of its workers.
type exchanger func(b testing.TB, url, path string, workers, requests int)

// ours sends through this package.
func ours(b testing.TB, url, path string, workers, requests int) {
	cl, err := transport.Open(transport.Config{Targets: []string{url}, Clock: record.NewClock()})
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close() //nolint:errcheck // nothing depends on it
	var wait sync.WaitGroup
	wait.Add(requests)
	var mu sync.Mutex
	left := requests
	more := func() bool {
		mu.Lock()
		defer mu.Unlock()
		left--
		return left >= 0
	}
	body := []byte(benchBody)
	for range workers {
		if !more() {
			break
		}
		x := &transport.Exchange{Path: path, Body: body, Stream: true, Deadline: record.None, CancelAfter: record.None}
		x.Done = func(x *transport.Exchange) {
			if x.Status != record.OK {
				b.Errorf("%s %s", x.Status, x.ErrorText)
			}
			cl.Release(x)
			if more() {
				cl.Start(x)
			}
			wait.Done()
		}
		cl.Start(x)
	}
	wait.Wait()
}

// theirs sends through net/http, reading with a bufio.Reader and stamping every line.
func theirs(b testing.TB, url, path string, workers, requests int) {
	tr := &http.Transport{MaxIdleConnsPerHost: workers, DisableCompression: true}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr}
	clock := record.NewClock()
	work := make(chan struct{}, requests)
	for range requests {
		work <- struct{}{}
	}
	close(work)
	var wait sync.WaitGroup
	for range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			lines := bufio.NewReader(nil)
			for range work {
				resp, err := client.Post(url+path, "application/json", strings.NewReader(benchBody))
				if err != nil {
					b.Error(err)
					return
				}
				lines.Reset(resp.Body)
				for err == nil {
					_, err = lines.ReadSlice('\n')
					clock.Now()
				}
				resp.Body.Close() //nolint:errcheck // read to its end
			}
		}()
	}
	wait.Wait()
}

// compare measures both engines' CPU on the same work.
func compare(b *testing.B, path string, workers, eventsEach int, unit string) {
	url := benchServer(b)
	for _, engine := range []struct {
		name string
		run  exchanger
	}{{"aiperf", ours}, {"nethttp", theirs}} {
		b.Run(engine.name, func(b *testing.B) {
			engine.run(b, url, path, workers, workers)
			b.ReportAllocs()
			before := cpu(b)
			b.ResetTimer()
			engine.run(b, url, path, workers, b.N)
			used := cpu(b) - before
			b.ReportMetric(float64(used.Nanoseconds())/1e3/float64(b.N)/float64(eventsEach), "cpu-µs/"+unit)
		})
	}
}

func BenchmarkShort(b *testing.B)     { compare(b, "/json", 64, 1, "request") }
func BenchmarkBurst(b *testing.B)     { compare(b, "/burst/1000", 16, 1000, "chunk") }
func BenchmarkPaced100(b *testing.B)  { compare(b, "/paced/50/20000", 100, 50, "chunk") }
func BenchmarkPaced1000(b *testing.B) { compare(b, "/paced/50/20000", 1000, 50, "chunk") }
