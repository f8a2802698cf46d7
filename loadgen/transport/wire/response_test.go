package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// collected is what a parser made of some bytes.
type collected struct {
	begun  int
	head   Head
	body   []byte
	rest   string
	done   bool
	err    error
	closed error // EOF's answer, when not done
}

func (c *collected) Begin() { c.begun++ }
func (c *collected) Head(h *Head) error {
	c.head = *h
	c.head.Reason = bytes.Clone(h.Reason)
	c.head.ContentType = bytes.Clone(h.ContentType)
	c.head.RetryAfter = bytes.Clone(h.RetryAfter)
	return nil
}
func (c *collected) Body(b []byte) error { c.body = append(c.body, b...); return nil }

// parse feeds in, cut at the given places, then ends the connection.
func parse(in string, cuts ...int) *collected {
	c := &collected{}
	r := Response{Sink: c}
	c.rest = in
	from := 0
	for _, to := range append(cuts, len(in)) {
		piece := []byte(in[from:to])
		rest, err := r.Feed(piece)
		c.rest = string(rest) + in[to:]
		from = to
		if c.err = err; err != nil || r.Done() {
			break
		}
	}
	if c.done = r.Done(); !c.done && c.err == nil {
		c.closed = r.EOF()
		c.done = r.Done()
	}
	if c.head.KeepAlive && c.done {
		c.head.KeepAlive = r.KeepAlive()
	}
	return c
}

func TestResponse(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	cases := []struct {
		name, in     string
		status       int
		body         string
		rest         string
		keep         bool
		err          string // part of Feed's error
		cut          bool   // EOF finds it incomplete
		reason, kind string
	}{
		{name: "length", in: ok + "Content-Length: 3\r\nContent-Type: a/b\r\n\r\nabcXY", status: 200, body: "abc", rest: "XY", keep: true, reason: "OK", kind: "a/b"},
		{name: "no body", in: ok + "Content-Length: 0\r\n\r\n", status: 200, keep: true, reason: "OK"},
		{name: "short", in: ok + "Content-Length: 4\r\n\r\nabc", status: 200, body: "abc", cut: true, keep: true, reason: "OK"},
		{name: "until close", in: ok + "\r\nabc", status: 200, body: "abc", reason: "OK"},
		{name: "chunked", in: ok + "Transfer-Encoding: Chunked\r\n\r\n3;x=\"y\"\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\nrest", status: 200, body: "abc0123456789", rest: "rest", keep: true, reason: "OK"},
		{name: "chunked, bare LF", in: "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n", status: 200, body: "abc", keep: true, reason: "OK"},
		{name: "chunked, cut", in: ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", status: 200, body: "abc", cut: true, keep: true, reason: "OK"},
		{name: "chunked overrules length", in: ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", status: 200, body: "ab", keep: true, reason: "OK"},
		{name: "interim", in: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na", status: 200, body: "a", keep: true, reason: "OK"},
		{name: "204", in: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, keep: true, reason: "No Content"},
		{name: "304 with a length", in: "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", status: 304, keep: true, reason: "Not Modified"},
		{name: "close", in: ok + "Connection: foo, Close\r\nContent-Length: 0\r\n\r\n", status: 200, reason: "OK"},
		{name: "HTTP/1.0", in: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", status: 200, body: "a", reason: "OK"},
		{name: "HTTP/1.0 kept", in: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", status: 200, body: "a", keep: true, reason: "OK"},
		{name: "no reason", in: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", status: 200, keep: true},
		{name: "folded", in: ok + "Content-Type: a/b;\r\n  c=d\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", status: 200, body: "x", keep: true, reason: "OK", kind: "a/b; c=d"},
		{name: "same length twice", in: ok + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", status: 200, body: "a", keep: true, reason: "OK"},
		{name: "two lengths", in: ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\na", err: "content lengths 1 and 2"},
		{name: "negative length", in: ok + "Content-Length: -1\r\n\r\n", err: "content length"},
		{name: "huge length", in: ok + "Content-Length: 99999999999999999999\r\n\r\n", err: "content length"},
		{name: "empty length", in: ok + "Content-Length:\r\n\r\n", err: "empty content length"},
		{name: "no colon", in: ok + "what is this\r\n\r\n", err: "line"},
		{name: "other encoding", in: ok + "Transfer-Encoding: gzip\r\n\r\n", err: "transfer encoding"},
		{name: "not HTTP", in: "SSH-2.0-OpenSSH_9.6\r\n\r\n", err: "status line"},
		{name: "html", in: "<html>\r\n\r\n", err: "status line"},
		{name: "bad chunk size", in: ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", status: 200, err: "chunk size", reason: "OK"},
		{name: "empty chunk size", in: ok + "Transfer-Encoding: chunked\r\n\r\n\r\n", status: 200, err: "chunk size", reason: "OK"},
		{name: "huge chunk", in: ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("f", 17), status: 200, err: "limit", reason: "OK"},
		{name: "chunk too long", in: ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", status: 200, body: "a", err: "where its end was due", reason: "OK"},
		{name: "long line", in: ok + "X: " + strings.Repeat("x", MaxLine) + "\r\n\r\n", err: "limit"},
		{name: "long header", in: ok + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 270) + "\r\n", err: "limit"},
		{name: "endless line", in: strings.Repeat("H", MaxLine+1), err: "limit"},
		{name: "long extension", in: ok + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", MaxLine+1), status: 200, err: "limit", reason: "OK"},
		{name: "nothing", in: "", cut: true},
		{name: "half a header", in: ok + "Content-Le", cut: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			step := max(1, len(c.in)/200) // all cuts of short inputs, some of long ones
			for cut := 0; cut <= len(c.in); cut += step {
				got := parse(c.in, cut)
				if c.err != "" {
					if got.err == nil || !strings.Contains(got.err.Error(), c.err) {
						t.Fatalf("cut at %d: error %v, want %q", cut, got.err, c.err)
					}
				} else if got.err != nil {
					t.Fatalf("cut at %d: %v", cut, got.err)
				}
				if got.head.Status != c.status || string(got.body) != c.body || string(got.head.Reason) != c.reason ||
					string(got.head.ContentType) != c.kind {
					t.Fatalf("cut at %d: %d %q %q, body %q", cut, got.head.Status,
						got.head.Reason, got.head.ContentType, got.body)
				}
				if c.err != "" {
					continue
				}
				if got.rest != c.rest || errors.Is(got.closed, io.ErrUnexpectedEOF) != c.cut ||
					got.head.KeepAlive != c.keep {
					t.Fatalf("cut at %d: rest %q, closed %v, keep alive %v", cut, got.rest, got.closed,
						got.head.KeepAlive)
				}
			}
		})
	}
}

// reference parses with net/http, skipping interim responses as its client does.
func reference(in string) (status int, body []byte, err error) {
	br := bufio.NewReader(strings.NewReader(in))
	req := &http.Request{Method: http.MethodPost}
	for {
		resp, err := http.ReadResponse(br, req)
		if err != nil {
			return 0, nil, err
		}
		if strings.Trim(resp.Status[:3], "0123456789") != "" {
			return 0, nil, errors.New("a status with a sign") // it takes +00 for a number
		}
		if resp.StatusCode/100 == 1 && resp.StatusCode != 101 {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		return resp.StatusCode, body, err
	}
}

// FuzzResponse holds the parser against net/http: what that accepts must give
// the same here, however it is split.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;e\r\nabc\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nabc",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nA: b\r\n c\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
		"HTTP/1.1   200  two  \r\n\r\nrest of it",
		"HTTP/0.0 +00\n\n0",
		"HTTP/3.1 101 S\r\n:\r\n\r\n",
		"HTTP/1.1 304 N\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
	} {
		f.Add(seed, uint16(7), uint16(40))
	}
	f.Fuzz(func(t *testing.T, in string, a, b uint16) {
		whole := parse(in)
		i := int(a) % (len(in) + 1)
		j := i + int(b)%(len(in)-i+1)
		split := parse(in, i, j)
		if fmt.Sprint(whole.err, whole.closed, whole.head, string(whole.body), whole.rest,
			whole.done) != fmt.Sprint(split.err, split.closed, split.head, string(split.body), split.rest, split.done) {
			t.Fatalf("%q cut at %d, %d:\n%+v\nin one piece:\n%+v", in, i, j, split, whole)
		}
		status, body, err := reference(in)
		if err != nil {
			return // it is stricter in places: bare LF between chunks, header names
		}
		if whole.err != nil || whole.closed != nil || whole.head.Status != status || !bytes.Equal(whole.body, body) {
			t.Fatalf("%q: status %d, body %q, errors %v, %v; net/http: %d %q", in, whole.head.Status,
				whole.body, whole.err, whole.closed, status, body)
		}
	})
}

// bytewise feeds one byte at a time.
func TestResponseBytewise(t *testing.T) {
	t.Parallel()
	in := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nT: v\r\n\r\n"
	c := &collected{}
	r := Response{Sink: c}
	for round := range 3 {
		for i := range len(in) {
			if r.Done() {
				t.Fatalf("done at byte %d of %d", i, len(in))
			}
			if _, err := r.Feed([]byte{in[i]}); err != nil {
				t.Fatal(err)
			}
		}
		if !r.Done() || string(c.body) != "hello world" || c.begun != round+1 {
			t.Fatalf("round %d: done %v, body %q, begun %d", round, r.Done(), c.body, c.begun)
		}
		c.body = nil
		r.Reset()
	}
}
