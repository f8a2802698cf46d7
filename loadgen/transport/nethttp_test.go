package transport_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// http2Server speaks HTTP/2 only, with or without TLS.
func http2Server(t *testing.T, secure bool, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.Protocols.SetHTTP2(true)
	s.EnableHTTP2 = true
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func http2(c *transport.Config) { c.HTTP2, c.Insecure = true, true }

func TestHTTP2(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{true: "https", false: "http"}[secure], func(t *testing.T) {
			t.Parallel()
			seen := make(chan struct{})
			s := http2Server(t, secure, func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body) //nolint:errcheck // what is missing shows in the answer
				if q.URL.Path == "/no" {
					w.Header().Set("Retry-After", "3")
					http.Error(w, "too much", http.StatusTooManyRequests)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				// the client checks
				io.WriteString(w, "data: "+q.Proto+" "+string(body)+" "+q.Header.Get("X-A")+"\n\n") //nolint:errcheck
				w.(http.Flusher).Flush()
				<-seen
				io.WriteString(w, "data: b\n\ndata: [DONE]\n\n") //nolint:errcheck // the client checks
			})
			r := open(t, s.URL, http2)
			first := true
			x := r.do(stream, func(x *transport.Exchange) {
				x.Header = []byte("X-A: 7\r\n")
				x.OnEvent = func([]byte) {
					if first {
						first = false
						seen <- struct{}{}
					}
				}
			})
			if got := strings.Join(texts(x), "|"); x.Status != record.OK || got != `HTTP/2.0 {"n":1} 7|b|[DONE]` ||
				!x.Streamed {
				t.Fatalf("%s %s %q", x.Status, x.ErrorText, got)
			}
			inOrder(t, x.Sent, x.FirstByte, x.Events[0].At, x.Events[1].At, x.End)
			if x.Connecting < x.Dial || x.Dial == record.None {
				t.Errorf("connecting took %d ns, dial %d, TLS %d", x.Connecting, x.Dial, x.TLS)
			}
			if e := x.Events[0]; e.Low != e.At || x.ReceiveLag == x.ReceiveLag {
				t.Errorf("application stamps: %+v, lag %v", e, x.ReceiveLag)
			}
			if b, d := x.Events[1], x.Events[2]; d.SameRead && (b.Low != x.Events[0].At || d.Low != b.Low) {
				t.Errorf("two events of one read after %+v: %+v, %+v", x.Events[0], b, d)
			}
			x = r.do(func(x *transport.Exchange) { x.Path = "/no" })
			if x.Status != record.HTTPError || x.HTTPStatus != 429 || x.ErrorText != "too much" ||
				x.RetryAfter != "3" || !x.Reused || x.Connecting != record.None {
				t.Errorf("%s %d %q %q, reused %v", x.Status, x.HTTPStatus, x.ErrorText, x.RetryAfter, x.Reused)
			}
			// net/http hands a new connection out before it keeps it for others: who
			// comes in between dials, too, and is served by the first all the same.
			if st := r.Stats(); st.Stamps != "application" || st.Dials < 1 || st.Dials > 2 || st.Reused != 1 {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestHTTP2Ends(t *testing.T) {
	t.Parallel()
	s := http2Server(t, false, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/abort" {
			io.WriteString(w, "x")   //nolint:errcheck // it is cut off anyway
			w.(http.Flusher).Flush() // the header is out
			panic(http.ErrAbortHandler)
		}
		<-q.Context().Done()
	})
	r := open(t, s.URL, http2)
	due := r.clock.Now() + int64(300*time.Millisecond)
	if x := r.do(func(x *transport.Exchange) { x.Deadline = due }); x.Status != record.Timeout ||
		x.CancelAsked != due || x.End < due {
		t.Errorf("deadline: %s %q, asked %d, ended %d", x.Status, x.ErrorKind, x.CancelAsked, x.End)
	}
	if x := r.do(func(x *transport.Exchange) { x.Path = "/abort" }); x.Status != record.Truncated {
		t.Errorf("aborted: %s %q %q", x.Status, x.ErrorKind, x.ErrorText)
	}
	x, done := r.start()
	r.Cancel(x)
	if await(t, done); x.Status != record.Cancelled {
		t.Errorf("cancelled: %s %q", x.Status, x.ErrorText)
	}
}

// A server that does not speak HTTP/2 is noticed: net/http falls back in silence.
func TestHTTP2FallsBack(t *testing.T) {
	t.Parallel()
	// the client checks
	h := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, q.Proto) }) //nolint:errcheck
	newer := http2Server(t, true, h)
	old := httptest.NewUnstartedServer(h) // TLS without the extension that agrees on HTTP/2
	old.Listener = tls.NewListener(old.Listener, &tls.Config{Certificates: newer.TLS.Certificates})
	old.Start()
	t.Cleanup(old.Close)
	address := "https://" + old.Listener.Addr().String()
	r := open(t, address, http2, func(c *transport.Config) { c.Targets = append(c.Targets, newer.URL) })
	for i, want := range []string{"HTTP/1.1", "HTTP/2.0", "HTTP/1.1"} {
		if x := r.do(func(x *transport.Exchange) { x.Target = i % 2 }); x.Status != record.OK ||
			string(x.Payload) != want {
			t.Errorf("%s %s: %q, want %s", x.Status, x.ErrorText, x.Payload, want)
		}
	}
	if o := r.Stats().Older; len(o) != 1 || o[0].Answers != 2 || o[0].Target != address {
		t.Errorf("%+v, want two answers of %s", o, address)
	}
}

// A mark ends an answer over HTTP/2 as it does over HTTP/1.1: its end is waited for
// twice, then not any more; and what is cancelled is not ended by its mark.
func TestMarkEndsAnswerOverHTTP2(t *testing.T) {
	t.Parallel()
	s := http2Server(t, false, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: a\n\ndata: [DONE]\n\n") //nolint:errcheck // the client checks
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	})
	r := open(t, s.URL, http2)
	for i := range 3 {
		patience := time.Duration(0)
		if i == 2 {
			patience = time.Hour // would be seen
		}
		transport.SetAfterMark(r.Client, patience)
		if x := r.do(stream); x.Status != record.OK || len(x.Events) != 2 || x.End != x.Events[1].At {
			t.Errorf("answer %d: %s %s, %d events", i, x.Status, x.ErrorText, len(x.Events))
		}
	}
	if e := r.Stats().Endless; len(e) != 1 || e[0].Answers != 3 {
		t.Errorf("endless: %v", e)
	}
	r = open(t, s.URL, http2)
	transport.SetAfterMark(r.Client, time.Hour)
	marked := make(chan struct{})
	x, done := r.start(stream, func(x *transport.Exchange) {
		x.OnEvent = func(data []byte) {
			if string(data) == "[DONE]" {
				close(marked)
			}
		}
	})
	<-marked
	r.Cancel(x)
	if await(t, done); x.Status != record.Cancelled {
		t.Errorf("cancelled after its mark: %s %s", x.Status, x.ErrorText)
	}
}
