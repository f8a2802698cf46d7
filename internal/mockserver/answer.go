package mockserver

import (
	"fmt"
	"math"
	"net/http"
	"time"
)

// open queues what a good answer begins with: a stream's header and, if so
// scripted, its role event.
func (s *scheduler) open(x *exchange) {
	x.status = http.StatusOK
	if !x.call.Stream {
		return
	}
	kind := "text/event-stream"
	if x.spec.Served.Lines {
		kind = "application/x-ndjson"
	}
	x.add("header", 0, []byte("HTTP/1.1 200 OK\r\nContent-Type: "+kind+
		"\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"))
	if s.server.cfg.Role == RoleEarly {
		s.role(x)
		s.send(x)
	}
}

func (s *scheduler) role(x *exchange) {
	if x.spec.Served.Begin != nil {
		x.event("role", 0, x.spec.Served.Begin(nil, x.now()))
	}
}

// complete queues the end of a stream, or the whole of another answer.
func (s *scheduler) complete(x *exchange) {
	switch {
	case x.call.Stream && x.fate == empty && x.spec.Served.Lines:
		// lines have no end mark of their own
	case x.call.Stream && x.fate == empty:
		x.event("done", 0, []byte("data: [DONE]\n\n"))
	case x.call.Stream:
		x.event("done", 0, x.spec.Served.End(nil, x.now()))
	default:
		s.whole(x)
		return
	}
	s.conclude(x)
}

// whole queues an answer that is not a stream.
func (s *scheduler) whole(x *exchange) {
	if x.spec.Next != nil {
		s.server.jobs.add(x)
	}
	b := x.spec.Served.Whole(nil, x.now())
	n := x.out
	if !x.spec.ProducesTokens {
		n = 0
	}
	kind := "application/json"
	if len(b) > 0 && b[0] != '{' && b[0] != '[' {
		kind = "text/plain; charset=utf-8"
	}
	full := response(http.StatusOK, kind, s.headers(x), b)
	if x.fate == cut {
		x.add("body", 0, full[:len(full)-(len(b)+1)/2])
		s.conclude(x)
		return
	}
	x.add("body", n, full)
	s.server.counts.output.Add(int64(n))
	s.conclude(x)
}

// headers are the times of the work, as Hugging Face's servers say them.
func (s *scheduler) headers(x *exchange) []string {
	if !x.spec.Served.TimeHeaders {
		return nil
	}
	queue, total := float64(x.start-x.recv)/1e6, float64(s.server.now()-x.recv)/1e6
	return []string{
		fmt.Sprintf("x-queue-time: %.3f", queue), fmt.Sprintf("x-inference-time: %.3f", total-queue),
		fmt.Sprintf("x-total-time: %.3f", total),
	}
}

// refuse answers with a failure.
func (s *scheduler) refuse(x *exchange) {
	var b []byte
	switch {
	case x.fate == html:
		x.status = http.StatusOK
		b = response(200, "text/html; charset=utf-8", nil,
			[]byte("<!doctype html><title>Gateway</title><h1>It works</h1>\n"))
	case x.fate == fails:
		list := s.server.cfg.ErrorStatus
		x.status = list[x.rng.IntN(len(list))]
		b = failure(x.status, "scripted failure (error_rate)", "server_error", x.retry)
	default:
		b = failure(x.status, x.reason, "invalid_request_error", x.retry)
	}
	x.call.Stream = false
	x.add("error", 0, b)
	s.conclude(x)
}

// failure is an error answer in the usual shape. Of a server that is busy it
// says in whole seconds, at least 1, when to come again.
func failure(status int, message, kind string, retry time.Duration) []byte {
	var extra []string
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		extra = []string{fmt.Sprintf("Retry-After: %d", max(1, int(math.Ceil(retry.Seconds()))))}
	}
	b := fmt.Appendf(nil, `{"error":{"message":%s,"type":"%s","code":%d}}`, quote(message), kind, status)
	return response(status, "application/json", extra, b)
}

// response is an HTTP answer with a length.
func response(status int, kind string, extra []string, b []byte) []byte {
	out := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n",
		status, http.StatusText(status), kind, len(b))
	for _, h := range extra {
		out = append(append(out, h...), "\r\n"...)
	}
	return append(append(out, "\r\n"...), b...)
}

// appendString writes s as JSON.
func appendString(b, s []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func quote(s string) []byte { return appendString(nil, []byte(s)) }
