package mockserver

import (
	"fmt"
	"net/http"
)

// open queues what a good answer begins with: a stream's header and, if so
// scripted, its role event.
func (s *scheduler) open(x *exchange) {
	x.status = http.StatusOK
	if !x.call.stream {
		return
	}
	x.add("header", 0, []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"))
	if s.server.cfg.Role == RoleEarly {
		s.role(x)
		s.send(x)
	}
}

func (s *scheduler) role(x *exchange) {
	if x.format.begin != nil {
		x.event("role", 0, x.format.begin(nil, x))
	}
}

// complete queues the end of a stream, or the whole of another answer.
func (s *scheduler) complete(x *exchange) {
	switch {
	case x.call.stream && x.fate == empty:
		x.event("done", 0, []byte("data: [DONE]\n\n"))
	case x.call.stream:
		x.event("done", 0, x.format.end(nil, x))
	default:
		s.whole(x)
		return
	}
	s.conclude(x)
}

// whole queues an answer that is not a stream.
func (s *scheduler) whole(x *exchange) {
	b := x.format.whole(nil, x)
	n := x.out
	if !x.format.tokens {
		n = 0
	}
	full := response(http.StatusOK, "application/json", nil, b)
	if x.fate == cut {
		x.add("body", 0, full[:len(full)-(len(b)+1)/2])
		s.conclude(x)
		return
	}
	x.add("body", n, full)
	s.server.counts.output.Add(int64(n))
	s.conclude(x)
}

// refuse answers with a failure.
func (s *scheduler) refuse(x *exchange) {
	var b []byte
	switch {
	case x.fate == html:
		x.status = http.StatusOK
		b = response(200, "text/html; charset=utf-8", nil, []byte("<!doctype html><title>Gateway</title><h1>It works</h1>\n"))
	case x.fate == fails:
		list := s.server.cfg.ErrorStatus
		x.status = list[x.rng.IntN(len(list))]
		b = failure(x.status, fmt.Sprintf("scripted failure of request %d", x.n), "server_error")
	default:
		b = failure(x.status, x.reason, "invalid_request_error")
	}
	x.call.stream = false
	x.add("error", 0, b)
	s.conclude(x)
}

// failure is an error answer in the usual shape.
func failure(status int, message, kind string) []byte {
	var extra []string
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		extra = []string{"Retry-After: 1"}
	}
	b := fmt.Appendf(nil, `{"error":{"message":%s,"type":"%s","code":%d}}`, quote(message), kind, status)
	return response(status, "application/json", extra, b)
}

// response is an HTTP answer with a length.
func response(status int, kind string, extra []string, b []byte) []byte {
	out := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), kind, len(b))
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
