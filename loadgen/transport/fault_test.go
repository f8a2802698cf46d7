package transport_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"strings"
	"testing"
	"time"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// zipped is text as gzip, flushed after every part.
func zipped(parts ...string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, p := range parts {
		z.Write([]byte(p)) //nolint:errcheck // a buffer takes everything
		z.Flush()          //nolint:errcheck // a buffer takes everything
	}
	z.Close() //nolint:errcheck // a buffer takes everything
	return b.String()
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200<<10)
	cases := []struct {
		name    string
		steps   fs.Script // after the request was read
		status  record.Status
		http    int64
		kind    string
		text    string // part of ErrorText
		events  []string
		payload string
		check   func(*testing.T, *transport.Exchange)
	}{
		{
			name: "429", steps: fs.Script{fs.Send(fs.Answer("429 Too Many Requests", "application/json",
				`{"error":"slow down"}`, "Retry-After: 7"))},
			status: record.HTTPError, http: 429, kind: "http_429", text: `{"error":"slow down"}`,
			payload: `{"error":"slow down"}`,
			check: func(t *testing.T, x *transport.Exchange) {
				if x.RetryAfter != "7" || x.Reason != "Too Many Requests" {
					t.Errorf("retry after %q, reason %q", x.RetryAfter, x.Reason)
				}
			},
		},
		{name: "500 without a body", steps: fs.Script{fs.Send(fs.Answer("500 Oops", "text/plain", ""))}, status: record.HTTPError, http: 500, kind: "http_500", text: "Oops"},
		{
			name: "500 with a long body", steps: fs.Script{fs.Send(fs.Answer("500 Oops", "text/html", long))},
			status: record.HTTPError, http: 500, kind: "http_500",
			check: func(t *testing.T, x *transport.Exchange) {
				if len(x.Payload) != 64<<10 || len(x.ErrorText) != 1<<10 {
					t.Errorf("kept %d bytes, %d as text", len(x.Payload), len(x.ErrorText))
				}
			},
		},
		{name: "503 cut", steps: fs.Script{fs.Send(fs.Head("503 Busy", "text/plain", "Content-Length: 100") + "busy")}, status: record.HTTPError, http: 503, kind: "http_503", text: "busy", payload: "busy"},
		{name: "error event stream is kept as it is", steps: fs.Script{fs.Send(fs.Answer("400 Bad", "text/event-stream", "data: no\n\n"))}, status: record.HTTPError, http: 400, kind: "http_400", text: "data: no", payload: "data: no\n\n"},
		{name: "a stream that says it is JSON and begins with a comment", steps: fs.Script{fs.Send(fs.Answer("200 OK", "application/json", ": ping\n\ndata: a\n\n"))}, status: record.OK, http: 200, events: []string{"a"}, payload: "a"},
		{name: "a stream of no type that begins with an id", steps: fs.Script{fs.Send(fs.Answer("200 OK", "", "id: 7\ndata: a\n\n"))}, status: record.OK, http: 200, events: []string{"a"}, payload: "a"},
		{name: "a text that begins with a colon", steps: fs.Script{fs.Send(fs.Answer("200 OK", "text/plain", ": so"))}, status: record.OK, http: 200, events: []string{": so"}, payload: ": so"},
		{name: "redirect", steps: fs.Script{fs.Send(fs.Answer("307 Temporary Redirect", "text/plain", "", "Location: http://127.0.0.1:1/"))}, status: record.HTTPError, http: 307, kind: "http_307", text: "Temporary Redirect"},
		{name: "no answer", status: record.Connection, http: record.None, kind: "reset", text: "without an answer"},
		{name: "reset before an answer", steps: fs.Script{fs.Reset()}, status: record.Connection, http: record.None, kind: "reset", text: "before an answer"},
		{name: "half a header", steps: fs.Script{fs.Send("HTTP/1.1 200 OK\r\nContent-")}, status: record.Truncated, http: record.None, kind: "truncated"},
		{name: "stream without its end", steps: fs.Script{fs.Send(fs.StreamHead() + fs.Event("a"))}, status: record.Truncated, http: 200, kind: "truncated", events: []string{"a"}, payload: "a"},
		{name: "reset within a stream", steps: fs.Script{fs.Send(fs.StreamHead() + fs.Event("a")), fs.Await("a"), fs.Reset()}, status: record.Truncated, http: 200, kind: "reset", events: []string{"a"}, payload: "a"},
		{name: "short body", steps: fs.Script{fs.Send(fs.Head("200 OK", "application/json", "Content-Length: 9") + `{"a":1}`)}, status: record.Truncated, http: 200, kind: "truncated", payload: `{"a":1}`},
		{name: "stream until close", steps: fs.Script{fs.Send(fs.Head("200 OK", "text/event-stream") + "data: a\n\ndata: b\n\n")}, status: record.OK, http: 200, events: []string{"a", "b"}, payload: "ab"},
		{
			name:   "stream until close, half an event",
			steps:  fs.Script{fs.Send(fs.Head("200 OK", "text/event-stream") + "data: a\n\ndata: b\n")},
			status: record.OK, http: 200, events: []string{"a"}, payload: "a",
			check: func(t *testing.T, x *transport.Exchange) {
				if !x.Unfinished {
					t.Error("the unfinished event is not flagged")
				}
			},
		},
		{name: "not HTTP", steps: fs.Script{fs.Send("220 smtp ready\r\n\r\n")}, status: record.ParseError, http: record.None, kind: "http", text: "status line"},
		{name: "a banner", steps: fs.Script{fs.Send("SSH-2.0-OpenSSH_9.6\r\n")}, status: record.ParseError, http: record.None, kind: "http", text: `not an HTTP server: where a status line was due it sent "SSH-2.0-OpenSSH_9.6"`},
		{name: "bytes", steps: fs.Script{fs.Send("\x1b[2J\x00")}, status: record.ParseError, http: record.None, kind: "http", text: `it sent "\x1b[2J\x00"`},
		{name: "TLS alert", steps: fs.Script{fs.Send("\x15\x03\x01\x00\x02\x02\x46")}, status: record.ParseError, http: record.None, kind: "http", text: "use https://"},
		{name: "lengths that differ", steps: fs.Script{fs.Send(fs.Head("200 OK", "a/b", "Content-Length: 1", "Content-Length: 2"))}, status: record.ParseError, http: record.None, kind: "http", text: "content lengths 1 and 2"},
		{name: "endless header", steps: fs.Script{fs.Send("HTTP/1.1 200 OK\r\nX: " + long)}, status: record.ParseError, http: record.None, kind: "too_large"},
		{name: "endless line in a stream", steps: fs.Script{fs.Send(fs.Head("200 OK", "text/event-stream") + strings.Repeat("x", 2<<20))}, status: record.ParseError, http: 200, kind: "too_large"},
		{
			name: "body past the limit", steps: fs.Script{fs.Send(fs.Answer("200 OK", "application/json",
				strings.Repeat("x", 2<<20)))}, status: record.ParseError, http: 200, kind: "too_large",
			check: func(t *testing.T, x *transport.Exchange) {
				if len(x.Payload) > 1<<20 {
					t.Errorf("kept %d bytes", len(x.Payload))
				}
			},
		},
		{
			name: "stream that was not asked for", steps: fs.Script{fs.Send(fs.Stream("a", "[DONE]"))},
			status: record.OK, http: 200, events: []string{"a", "[DONE]"}, payload: "a[DONE]",
			check: func(t *testing.T, x *transport.Exchange) {
				if !x.Streamed {
					t.Error("not marked as streamed")
				}
			},
		},
		{
			name: "error event", steps: fs.Script{fs.Send(fs.StreamHead() + fs.Chunk("event: error\ndata: no\n\n") +
				fs.LastChunk)}, status: record.OK, http: 200, events: []string{"no"}, payload: "no",
			check: func(t *testing.T, x *transport.Exchange) {
				if !x.Events[0].Error {
					t.Error("the event is not marked as an error")
				}
			},
		},
		{name: "empty answer", steps: fs.Script{fs.Send("HTTP/1.1 204 No Content\r\n\r\n")}, status: record.OK, http: 204},
		{name: "interim first", steps: fs.Script{fs.Send("HTTP/1.1 100 Continue\r\n\r\n"), fs.Send(fs.JSON("1"))}, status: record.OK, http: 200, events: []string{"1"}, payload: "1"},
		{name: "gzip", steps: fs.Script{fs.Send(fs.Answer("200 OK", "application/json", zipped(`{"a":`, `1}`), "Content-Encoding: gzip"))}, status: record.OK, http: 200, events: []string{`{"a":1}`}, payload: `{"a":1}`},
		{name: "gzip stream", steps: fs.Script{fs.Send(fs.Answer("200 OK", "text/event-stream", zipped("data: a\n\nda", "ta: b\n\n"), "Content-Encoding: gzip"))}, status: record.OK, http: 200, events: []string{"a", "b"}, payload: "ab"},
		{name: "gzip cut", steps: fs.Script{fs.Send(fs.Answer("200 OK", "application/json", zipped("{}")[:15], "Content-Encoding: gzip"))}, status: record.ParseError, http: 200, kind: "encoding"},
		{name: "not gzip", steps: fs.Script{fs.Send(fs.Answer("200 OK", "application/json", "{}{}{}{}{}{}", "Content-Encoding: gzip"))}, status: record.ParseError, http: 200, kind: "encoding"},
		{name: "gzip bomb", steps: fs.Script{fs.Send(fs.Answer("200 OK", "application/json", zipped(strings.Repeat("x", 4<<20)), "Content-Encoding: gzip"))}, status: record.ParseError, http: 200, kind: "too_large"},
		{name: "gzip error body", steps: fs.Script{fs.Send(fs.Answer("400 Bad", "application/json", zipped("why"), "Content-Encoding: gzip"))}, status: record.HTTPError, http: 400, kind: "http_400", text: "why", payload: "why"},
		{name: "brotli", steps: fs.Script{fs.Send(fs.Answer("200 OK", "application/json", "xx", "Content-Encoding: br"))}, status: record.ParseError, http: 200, kind: "encoding", text: `"br"`},
		{name: "lines", steps: fs.Script{fs.Send(fs.Answer("200 OK", "application/x-ndjson", "{}\n{\"b\":1}"))}, status: record.OK, http: 200, events: []string{"{}", `{"b":1}`}, payload: `{}{"b":1}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fs.Start(t, append(fs.Script{fs.Read()}, c.steps...))
			r := open(t, s.URL(), func(cfg *transport.Config) { cfg.MaxBody = 1 << 20 })
			x := r.do(func(x *transport.Exchange) {
				x.OnEvent = func(data []byte) { s.Notify(string(data)) }
			})
			if x.Status != c.status || x.HTTPStatus != c.http ||
				x.ErrorKind != c.kind || !strings.Contains(x.ErrorText, c.text) {
				t.Fatalf("%s, HTTP %d, kind %q, text %.200q; want %s, %d, %q, %q", x.Status, x.HTTPStatus, x.ErrorKind,
					x.ErrorText, c.status, c.http, c.kind, c.text)
			}
			if got := texts(x); strings.Join(got, "|") != strings.Join(c.events, "|") {
				t.Errorf("events %q, want %q", got, c.events)
			}
			if c.payload != "" && string(x.Unpack()) != c.payload {
				t.Errorf("payload %.100q, want %q", x.Payload, c.payload)
			}
			if c.check != nil {
				c.check(t, x)
			}
			if x.Sent == record.None || x.End < x.Sent {
				t.Errorf("sent %d, end %d", x.Sent, x.End)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("the server read %d requests, want 1", n)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s := fs.Start(t)
	url := s.URL()
	s.Stop()
	x := open(t, url).do()
	if x.Status != record.Connection || x.ErrorKind != "refused" || x.Sent != record.None || x.End == record.None {
		t.Errorf("%s %q %q, sent %d, end %d", x.Status, x.ErrorKind, x.ErrorText, x.Sent, x.End)
	}
}

// A connection that the server closed while it was idle costs one counted
// reconnect and no second sending.
func TestIdleClosed(t *testing.T) {
	t.Parallel()
	answer := fs.Send(fs.JSON("1"))
	closed := make(chan struct{})
	s := fs.Start(t, fs.Script{fs.Read(), answer, fs.CloseWrite(), fs.Tell(closed)},
		fs.Script{fs.Read(), answer, fs.UntilClosed()})
	r := open(t, s.URL())
	for i := range 2 {
		if x := r.do(); x.Status != record.OK {
			t.Fatalf("request %d: %s %s", i, x.Status, x.ErrorText)
		}
		if i == 0 {
			<-closed
		}
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("the server read %d requests, want 2", n)
	}
	if s.Accepted() != 2 {
		t.Errorf("%d connections, want 2", s.Accepted())
	}
}

// A kept connection that the server closes instead of answering costs no
// request: it is sent once more, on a fresh one, and says so. Nothing else is
// sent twice.
func TestSentOnceMore(t *testing.T) {
	t.Parallel()
	answer := fs.Send(fs.JSON("1"))
	fine := fs.Script{fs.Read(), answer, fs.UntilClosed()}
	for _, c := range []struct {
		name    string
		scripts []fs.Script
		status  record.Status
		resent  bool
		read    int // requests that the server read
		within  time.Duration
		after   time.Duration // the answer before, a close belongs to that
	}{
		{"closed", []fs.Script{{fs.Read(), answer, fs.Read()}, fine}, record.OK, true, 3, time.Minute, 0},
		{"closed after its answer", []fs.Script{{fs.Read(), answer, fs.Read()}, fine}, record.OK, true, 3, time.Minute, time.Minute},
		{"reset", []fs.Script{{fs.Read(), answer, fs.Read(), fs.Reset()}, fine}, record.OK, true, 3, time.Minute, 0},
		{"closed twice", []fs.Script{{fs.Read(), answer, fs.Read()}, {fs.Read()}}, record.Connection, true, 3, time.Minute, 0},
		{"closed after one byte", []fs.Script{{fs.Read(), answer, fs.Read(), fs.Send("H")}, fine}, record.Truncated, false, 2, time.Minute, 0},
		{"closed after work", []fs.Script{{fs.Read(), answer, fs.Read()}, fine}, record.Connection, false, 2, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fs.Start(t, c.scripts...)
			r := open(t, s.URL())
			transport.SetCrossTime(r.Client, c.within)
			transport.SetClosesAfter(r.Client, c.after)
			if x := r.do(); x.Status != record.OK || x.Resent {
				t.Fatal(x.Status, x.ErrorText, x.Resent)
			}
			x := r.do()
			if x.Status != c.status || x.Resent != c.resent {
				t.Errorf("%s %s, resent %v; want %s, %v", x.Status, x.ErrorText, x.Resent, c.status, c.resent)
			}
			if x.ResentRead != (c.resent && c.name != "reset" && c.after == 0) { // else nobody knows what was read
				t.Errorf("resent after it was read: %v", x.ResentRead)
			}
			if c.resent == (x.Dial == record.None) || x.Reused == c.resent {
				t.Errorf("reused %v, dial %d", x.Reused, x.Dial)
			}
			if x.Connecting != record.None { // it was sent before that
				t.Errorf("connecting took %d ns before it was sent", x.Connecting)
			}
			inOrder(t, x.Sent, x.End)
			if st := r.Stats(); (st.Resent == 1) != c.resent || len(s.Requests()) != c.read {
				t.Errorf("%d requests read, want %d; %d resent", len(s.Requests()), c.read, st.Resent)
			}
		})
	}
}

// A server that shuts down a kept connection and then closes it, with a request in
// it that it has not read, resets it after its end: that request was not read.
func TestShutDownUnread(t *testing.T) {
	t.Parallel()
	arrived, reset := make(chan struct{}), make(chan struct{})
	s := fs.Start(t,
		fs.Script{
			fs.Read(), fs.Send(fs.JSON("1")), fs.Await("second"), fs.CloseWrite(), fs.Wait(arrived),
			func(c *fs.Conn) bool {
				defer close(reset)
				return fs.Reset()(c)
			},
		},
		fs.Script{fs.Read(), fs.Tell(arrived), fs.Wait(reset), fs.Send(fs.JSON("2"))})
	r := open(t, s.URL())
	transport.SetClosesAfter(r.Client, 0)
	r.do()
	x, done := r.start()
	s.Notify("second")
	if await(t, done); x.Status != record.OK || !x.Resent || x.ResentRead {
		t.Errorf("%s %s, resent %v, read before %v", x.Status, x.ErrorText, x.Resent, x.ResentRead)
	}
}

// What came before a request was sent is not its answer, though the connection is
// read only afterwards: the request goes out again on a fresh one. A wall clock
// that was set meanwhile tells nothing.
func TestSecondAnswerIsNotTheNextOnes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kernel bool
		set    time.Duration // how far the wall clock is set before the bytes are read
		again  bool
	}{
		{"by the program's stamp", false, 0, true},
		{"by the kernel's stamp", true, 0, true},
		{"the clock was set", true, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			read, answer := make(chan struct{}), make(chan struct{})
			s := fs.Start(t,
				fs.Script{
					fs.Read(), fs.Send(fs.JSON("1")), fs.Read(), fs.Tell(read), fs.Wait(answer),
					fs.UntilClosed(),
				},
				fs.Script{fs.Read(), fs.Send(fs.JSON("3"))})
			r := open(t, s.URL())
			if x := r.do(); string(x.Payload) != "1" {
				t.Fatal(x.Status, x.ErrorText)
			}
			x, done := r.start()
			<-read
			if c.set != 0 {
				transport.SetWallClock(r.Client, c.set)
			}
			transport.Early(x, fs.JSON("2"), c.kernel)
			close(answer)
			await(t, done)
			want := "2"
			if c.again {
				want = "3"
			}
			if x.Status != record.OK || string(x.Payload) != want || x.Resent != c.again || x.ResentRead != c.again {
				t.Errorf("%s %s: the answer is %q, want %q; resent %v", x.Status, x.ErrorText, x.Payload, want,
					x.Resent)
			}
		})
	}
}

// A first request is never sent twice: its connection was not kept.
func TestFirstRequestIsNotResent(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Read()})
	if x := open(t, s.URL()).do(); x.Status != record.Connection || x.Resent || len(s.Requests()) != 1 {
		t.Errorf("%s, resent %v, %d requests read", x.Status, x.Resent, len(s.Requests()))
	}
}

// A large body whose writing is still under way when the server closes.
func TestLargeBodySentOnceMore(t *testing.T) {
	t.Parallel()
	answer := fs.Send(fs.JSON("1"))
	s := fs.Start(t, fs.Script{fs.Read(), answer, fs.Await("second"), fs.Reset()},
		fs.Script{fs.Read(), answer, fs.UntilClosed()})
	r := open(t, s.URL())
	r.do()
	x, done := r.start(func(x *transport.Exchange) { x.Body = make([]byte, 32<<20) })
	s.Notify("second")
	if <-done; x.Status != record.OK || !x.Resent {
		t.Errorf("%s %s, resent %v", x.Status, x.ErrorText, x.Resent)
	}
	if got := s.Requests(); len(got[len(got)-1].Body) != len(x.Body) {
		t.Errorf("the second sending has %d bytes, want %d", len(got[len(got)-1].Body), len(x.Body))
	}
}

// A server that says keep-alive and always closes loses no request, and soon
// gets a fresh connection for each.
func TestAlwaysClosing(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send(fs.JSON("1")), fs.Read()})
	r := open(t, s.URL())
	const n = 20
	resent := 0
	for i := range n {
		x := r.do()
		if x.Status != record.OK {
			t.Fatalf("request %d: %s %s", i, x.Status, x.ErrorText)
		}
		if x.Resent {
			resent++
		}
	}
	st := r.Stats()
	if resent != 3 || st.Resent != 3 || len(st.Closers) != 1 || len(s.Requests()) != n+3 {
		t.Errorf("%d of %d resent, %+v; the server read %d", resent, n, st, len(s.Requests()))
	}
}

// inTime tries a request with longer and longer times, in ns, until what had to happen
// within them did: on a busy machine a short one may be over too soon.
func inTime(try func(d int64) (x *transport.Exchange, enough bool)) *transport.Exchange {
	for d := 100 * time.Millisecond; ; d *= 2 {
		if x, enough := try(int64(d)); enough || d > time.Minute {
			return x
		}
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	cases := []struct {
		name, kind string
		steps      fs.Script
		body       int
	}{
		{"no answer", "header_timeout", fs.Script{fs.Read(), fs.Wait(never)}, 10},
		{"half a header", "header_timeout", fs.Script{fs.Read(), fs.Send("HTTP/1.1 200"), fs.Wait(never)}, 10},
		{"stalled stream", "stall_timeout", fs.Script{fs.Read(), fs.Send(fs.StreamHead() + fs.Event("a")), fs.Wait(never)}, 10},
		{"request not taken", "write_timeout", fs.Script{fs.Wait(never)}, 32 << 20},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fs.Start(t, c.steps)
			r := open(t, s.URL())
			if err := r.Predial(context.Background(), 1); err != nil {
				t.Fatal(err)
			}
			body := make([]byte, c.body)
			var due int64
			x := inTime(func(d int64) (*transport.Exchange, bool) {
				due = r.clock.Now() + d
				x := r.do(func(x *transport.Exchange) { x.Deadline, x.Body = due, body })
				return x, x.ErrorKind == c.kind
			})
			if x.Status != record.Timeout || x.ErrorKind != c.kind || x.CancelAsked != due || x.End < due {
				t.Errorf("%s %q, asked %d, ended %d; due %d", x.Status, x.ErrorKind, x.CancelAsked, x.End, due)
			}
		})
	}
}

func TestCancelAfter(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send(fs.StreamHead() + fs.Event("a")), fs.Wait(never)})
	r := open(t, s.URL())
	var after int64
	x := inTime(func(d int64) (*transport.Exchange, bool) {
		after = d
		x := r.do(func(x *transport.Exchange) { x.CancelAfter = d })
		return x, len(x.Events) > 0
	})
	if x.Status != record.Cancelled || x.CancelAsked != x.WriteEnd+after || x.End < x.CancelAsked {
		t.Errorf("%s: written %d, asked %d, ended %d", x.Status, x.WriteEnd, x.CancelAsked, x.End)
	}
	if got := texts(x); len(got) != 1 || got[0] != "a" {
		t.Errorf("events before the cancellation: %q", got)
	}
}

// An answer that comes before the cancellation is a normal one.
func TestAnswerBeforeCancel(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Loop(fs.Read(), fs.Send(fs.JSON("1")))})
	r := open(t, s.URL())
	for range 2 {
		x := r.do(func(x *transport.Exchange) { x.CancelAfter = int64(time.Hour) })
		if x.Status != record.OK || x.CancelAsked != record.None {
			t.Errorf("%s, asked %d", x.Status, x.CancelAsked)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send(fs.StreamHead() + fs.Event("a")), fs.UntilClosed(), fs.Tell(closed)})
	r := open(t, s.URL())
	arrived := make(chan struct{})
	x, done := r.start(stream, func(x *transport.Exchange) { x.OnEvent = func([]byte) { close(arrived) } })
	<-arrived
	r.Cancel(x)
	r.Cancel(x)
	await(t, done)
	<-closed // the server sees the socket close
	if x.Status != record.Cancelled || x.End < x.CancelAsked {
		t.Errorf("%s, asked %d, ended %d", x.Status, x.CancelAsked, x.End)
	}
	r.Cancel(x)
	select {
	case <-done:
		t.Error("done was called twice")
	default:
	}
}

func TestCancelAllAndClose(t *testing.T) {
	t.Parallel()
	read := make(chan struct{})
	s := fs.Start(t, fs.Script{fs.Read(), fs.Tell(read), fs.UntilClosed()})
	r := open(t, s.URL())
	var all []<-chan *transport.Exchange
	for range 20 {
		_, done := r.start()
		all = append(all, done)
	}
	for range all {
		<-read
	}
	r.CancelAll(record.Timeout)
	for _, done := range all {
		if x := await(t, done); x.Status != record.Timeout {
			t.Errorf("%s %s", x.Status, x.ErrorText)
		}
	}
	_, last := r.start()
	<-read
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if x := await(t, last); x.Status != record.Cancelled {
		t.Errorf("under way at Close: %s", x.Status)
	}
	if x := r.do(); x.Status != record.Client || x.ErrorKind != "closed" {
		t.Errorf("after Close: %s %q", x.Status, x.ErrorKind)
	}
}

// A large request goes on in the background; the answer may come before its end.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Loop(fs.Read(), fs.Send(fs.JSON("1")))},
		fs.Script{fs.Send(fs.Answer("413 Too Large", "text/plain", "no")), fs.UntilClosed()})
	r := open(t, s.URL())
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	x := r.do(func(x *transport.Exchange) { x.Body = body })
	if x.Status != record.OK || x.BytesSent < int64(len(body)) || !bytes.Equal(s.Requests()[0].Body, body) {
		t.Errorf("%s %s, %d bytes sent", x.Status, x.ErrorText, x.BytesSent)
	}
	inOrder(t, x.Sent, x.WriteEnd)
}

func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Send(fs.Answer("413 Too Large", "text/plain", "no")), fs.Wait(make(chan struct{}))})
	r := open(t, s.URL())
	x := r.do(func(x *transport.Exchange) { x.Body = make([]byte, 32<<20) })
	if x.Status != record.HTTPError || x.HTTPStatus != 413 || x.WriteEnd != record.None {
		t.Errorf("%s %d %s, written %d", x.Status, x.HTTPStatus, x.ErrorText, x.WriteEnd)
	}
}

// An answer that overtakes its request leaves the connection fit for the next,
// if the rest of the request goes out soon; otherwise it is closed.
func TestAnswerOvertakesItsRequest(t *testing.T) {
	t.Parallel()
	id := newIdentity(t, "127.0.0.1", tomorrow())
	early := fs.Send(fs.JSON("1"))
	reads := fs.Script{early, fs.Read(), fs.Loop(fs.Read(), fs.Send(fs.JSON("2")))}
	cases := map[string]struct {
		server  *fs.Server
		within  time.Duration
		reused  bool
		written bool
	}{
		"plain":             {fs.Start(t, reads), patience, true, true},
		"TLS":               {fs.StartTLS(t, id.config(), reads), patience, true, true},
		"never read":        {fs.Start(t, fs.Script{early, fs.Wait(make(chan struct{}))}, echo()), time.Millisecond, false, false},
		"never read in TLS": {fs.StartTLS(t, id.config(), fs.Script{early, fs.Wait(make(chan struct{}))}, echo()), time.Millisecond, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, c.server.URL(), trusting(id))
			transport.SetWriteOut(r.Client, c.within)
			x := r.do(func(x *transport.Exchange) { x.Body = make([]byte, 32<<20) })
			if x.Status != record.OK || string(x.Payload) != "1" || (x.WriteEnd != record.None) != c.written {
				t.Errorf("%s %s %q, written %d", x.Status, x.ErrorText, x.Payload, x.WriteEnd)
			}
			if y := r.do(); y.Status != record.OK || y.Reused != c.reused || c.reused && c.server.Accepted() != 1 {
				t.Errorf("the next: %s %s, reused %v, %d connections", y.Status, y.ErrorText, y.Reused,
					c.server.Accepted())
			}
		})
	}
}

// One byte per segment gives the same events.
func TestTrickle(t *testing.T) {
	t.Parallel()
	script := fs.Script{fs.Read()}
	for _, c := range fs.Stream("héllo", "wörld", "[DONE]") {
		script = append(script, fs.Send(string(c)))
	}
	s := fs.Start(t, script)
	x := open(t, s.URL()).do(stream)
	if got := strings.Join(texts(x), "|"); x.Status != record.OK || got != "héllo|wörld|[DONE]" {
		t.Errorf("%s %q", x.Status, got)
	}
}

func TestManyEventsInOneSegment(t *testing.T) {
	t.Parallel()
	events := make([]string, 1000)
	for i := range events {
		events[i] = "e"
	}
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send(fs.Stream(events...))})
	r := open(t, s.URL())
	x := r.do(stream)
	shared := 0
	for i := range x.Events {
		if x.Events[i].SameRead {
			shared++
		}
	}
	if len(x.Events) != 1000 || shared < 900 {
		t.Errorf("%d events, %d shared a read", len(x.Events), shared)
	}
	if st := r.Stats(); st.Stamps == "kernel" && st.Interval < 900 {
		t.Errorf("%d interval stamps", st.Interval)
	}
}

// [DONE] ends an answer whose body does not end, when it has been waited for. Such
// a connection carries nothing more.
func TestMarkEndsAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		patience time.Duration // after the mark
		deadline time.Duration
	}{
		{"after a while", 0, time.Hour},
		{"at the deadline", time.Hour, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			unended := fs.Script{
				fs.Read(), fs.Send(fs.StreamHead() + fs.Event("a") + fs.Event("[DONE]")),
				fs.UntilClosed(),
			}
			s := fs.Start(t, unended, fs.Script{fs.Read(), fs.Send(fs.JSON("1")), fs.UntilClosed()})
			r := open(t, s.URL())
			transport.SetAfterMark(r.Client, c.patience)
			due := r.clock.Now() + int64(c.deadline)
			x := r.do(stream, func(x *transport.Exchange) { x.Deadline = due })
			if x.Status != record.OK || x.ErrorKind != "" || x.CancelAsked != record.None || len(x.Events) != 2 {
				t.Fatalf("%s %s %q, %d events", x.Status, x.ErrorKind, x.ErrorText, len(x.Events))
			}
			if at := x.Events[1].At; c.patience == 0 && x.End != at || c.patience > 0 && x.End < due {
				t.Errorf("ended %d ns after the mark", x.End-at)
			}
			if y := r.do(); y.Status != record.OK || y.Reused {
				t.Errorf("the next: %s %s, reused %v", y.Status, y.ErrorText, y.Reused)
			}
			if e := r.Stats().Endless; len(e) != 1 || e[0].Answers != 1 {
				t.Errorf("endless: %v", e)
			}
		})
	}
}

// A server that never ends a body is not waited for again and again: the third
// answer ends at its mark at once. One that ended a body is always waited for.
func TestMarkIsWaitedForWhereItHelps(t *testing.T) {
	t.Parallel()
	answer := fs.StreamHead() + fs.Event("a") + fs.Event("[DONE]")
	unended := fs.Script{fs.Read(), fs.Send(answer), fs.UntilClosed()}
	r := open(t, fs.Start(t, unended).URL())
	for i := range 3 {
		patience := time.Duration(0)
		if i == 2 {
			patience = time.Hour // would be seen
		}
		transport.SetAfterMark(r.Client, patience)
		x := r.do(stream)
		late := x.End - x.Events[1].At // an answer that was waited for keeps its slot until then
		if x.Status != record.OK || late < 0 || i == 2 && late != 0 {
			t.Errorf("answer %d: %s %s, ended %d ns after the mark", i, x.Status, x.ErrorText, late)
		}
	}
	if e := r.Stats().Endless; len(e) != 1 || e[0].Answers != 3 {
		t.Errorf("endless: %v", e)
	}
}

// Nothing is due after the mark but the end of the body: a server that closes
// there instead has answered.
func TestCloseAfterMark(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send(fs.StreamHead() + fs.Event("a") + fs.Event("[DONE]"))})
	x := open(t, s.URL()).do(stream)
	if x.Status != record.OK || len(x.Events) != 2 || x.End < x.Events[1].At {
		t.Errorf("%s %s %q, %d events", x.Status, x.ErrorKind, x.ErrorText, len(x.Events))
	}
}

// A last chunk that comes after the mark keeps the connection usable.
func TestLastChunkAfterMark(t *testing.T) {
	t.Parallel()
	marked := make(chan struct{})
	s := fs.Start(t, fs.Script{
		fs.Read(), fs.Send(fs.StreamHead() + fs.Event("a") + fs.Event("[DONE]")), fs.Wait(marked),
		fs.Send(fs.LastChunk),
		fs.Read(), fs.Send(fs.JSON("1")), fs.UntilClosed(),
	})
	r := open(t, s.URL())
	transport.SetAfterMark(r.Client, time.Hour)
	x := r.do(stream, func(x *transport.Exchange) {
		x.OnEvent = func(data []byte) {
			if string(data) == "[DONE]" {
				close(marked)
			}
		}
	})
	if x.Status != record.OK {
		t.Fatal(x.Status, x.ErrorText)
	}
	if y := r.do(); y.Status != record.OK || !y.Reused || len(r.Stats().Endless) != 0 {
		t.Errorf("%s %s, reused %v, endless %v", y.Status, y.ErrorText, y.Reused, r.Stats().Endless)
	}
}
