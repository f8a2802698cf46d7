package faultserver_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	fs "aiperf.dev/aiperf/internal/faultserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial connects to s with a plain socket.
func dial(t *testing.T, s *fs.Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// request is what dial's user says.
const request = "POST /a?b=c HTTP/1.1\r\nHost: here\r\nX-Y: z\r\nContent-Length: 2\r\n\r\nhi"

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// All that is said is sent as it stands, and what was read is logged.
func TestReadAndSend(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send("abc"), fs.Send("def")})
	c := dial(t, s)
	say(t, c, request)
	if got, err := io.ReadAll(c); err != nil || string(got) != "abcdef" {
		t.Errorf("received %q, %v", got, err)
	}
	q := s.Requests()
	if len(q) != 1 || q[0].Path != "/a?b=c" || q[0].Host != "here" || q[0].Header.Get("X-Y") != "z" ||
		string(q[0].Body) != "hi" || q[0].Conn != 0 {
		t.Errorf("log %+v", q)
	}
}

func TestScriptsInTurn(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Send("first")}, fs.Script{fs.Send("later")})
	for i, want := range []string{"first", "later", "later"} {
		if got, err := io.ReadAll(dial(t, s)); err != nil || string(got) != want {
			t.Errorf("connection %d: %q, %v; want %q", i, got, err, want)
		}
	}
	if n := s.Accepted(); n != 3 {
		t.Errorf("accepted %d", n)
	}
	if got := strings.Join(s.Peers(), " "); got != "127.0.0.1 127.0.0.1 127.0.0.1" {
		t.Errorf("peers %s", got)
	}
}

func TestEndsOfAConnection(t *testing.T) {
	t.Parallel()
	const broken = "no request\r\n\r\n"
	cases := []struct {
		name   string
		script fs.Script
		say    string
		want   string
		err    error // of reading on
	}{
		{"orderly", fs.Script{fs.Read(), fs.Send("x")}, request, "x", nil},
		{"reset", fs.Script{fs.Send("x"), fs.Read(), fs.Reset(), fs.Send("y")}, request, "x", syscall.ECONNRESET},
		{"half", fs.Script{fs.Read(), fs.Send("x"), fs.CloseWrite(), fs.UntilClosed()}, request, "x", nil},
		{"broken request", fs.Script{fs.Read(), fs.Send("y")}, broken, "", nil},
		{"loop", fs.Script{fs.Loop(fs.Read(), fs.Send("x"))}, request + request + broken, "xx", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fs.Start(t, c.script)
			conn := dial(t, s)
			say(t, conn, c.say)
			got, err := io.ReadAll(conn)
			if string(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("received %q, %v; want %q, %v", got, err, c.want, c.err)
			}
		})
	}
}

// The test and the scripts wait for each other; a word may come first.
func TestSignals(t *testing.T) {
	t.Parallel()
	told, ready := make(chan struct{}), make(chan struct{})
	s := fs.Start(t, fs.Script{fs.Await("early"), fs.Tell(told), fs.Wait(ready), fs.Await("late"), fs.Send("done")})
	s.Notify("early")
	s.Notify("early")
	c := dial(t, s)
	<-told
	close(ready)
	s.Notify("late")
	if got, err := io.ReadAll(c); err != nil || string(got) != "done" {
		t.Errorf("received %q, %v", got, err)
	}
}

// Stop ends every script, whatever it waits for.
func TestStop(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	told := make(chan struct{})
	for _, step := range []fs.Step{fs.Read(), fs.UntilClosed(), fs.Wait(never), fs.Tell(never), fs.Await("nothing")} {
		s := fs.Start(t, fs.Script{fs.Tell(told), step})
		c := dial(t, s)
		<-told
		s.Stop()
		s.Stop()
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is still open")
		}
		if _, err := net.Dial("tcp", s.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialling after Stop: %v", err)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	s := fs.StartTLS(t, &tls.Config{Certificates: web.TLS.Certificates}, fs.Script{fs.Read(), fs.Send(fs.JSON("1"))})
	client := web.Client()
	defer client.CloseIdleConnections()
	resp, err := client.Post(s.URL(), "a/b", strings.NewReader("hi"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "1" {
		t.Errorf("received %q, %v", got, err)
	}
	if !strings.HasPrefix(s.URL(), "https://") || string(s.Requests()[0].Body) != "hi" {
		t.Errorf("%s read %+v", s.URL(), s.Requests())
	}
}

// The answers are HTTP as net/http reads it.
func TestAnswersAreHTTP(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, answer, status, kind, body string
	}{
		{"json", fs.JSON(`{"a":1}`), "200 OK", "application/json", `{"a":1}`},
		{"answer", fs.Answer("429 Slow", "text/plain", "no", "Retry-After: 3"), "429 Slow", "text/plain", "no"},
		{"stream", fs.Stream("a", "b"), "200 OK", "text/event-stream", "data: a\n\ndata: b\n\n"},
		{"parts", fs.StreamHead() + fs.Event("a") + fs.Chunk(": ping\n") + fs.LastChunk, "200 OK", "text/event-stream", "data: a\n\n: ping\n"},
		{"head", fs.Head("204 None", "x/y"), "204 None", "x/y", ""},
	}
	for _, c := range cases {
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(c.answer)), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.Status != c.status || resp.Header.Get("Content-Type") != c.kind ||
			string(body) != c.body {
			t.Errorf("%s: %s, %s, %q, %v", c.name, resp.Status, resp.Header.Get("Content-Type"), body, err)
		}
	}
}
