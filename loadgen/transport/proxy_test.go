package transport

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"aiperf.dev/aiperf/internal/record"
)

// A proxied target goes through net/http with HTTP/1.1. The environment is read
// once per process, so the proxy is given here.
func TestProxy(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, q.Method+" "+q.RequestURI) //nolint:errcheck // the client checks
	}))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Targets: []string{"http://127.0.0.1:1"}, Clock: record.NewClock()}
	cl, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close() //nolint:errcheck // nothing depends on it
	shared, err := tlsConfig(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	cl.targets[0].via = cl.newTransport(cl.targets[0], false, at, shared)
	done := make(chan *Exchange, 1)
	cl.Start(&Exchange{
		Path: "/v1/x", Deadline: record.None, CancelAfter: record.None,
		Done: func(x *Exchange) { done <- x },
	})
	if x := <-done; x.Status != record.OK || string(x.Payload) != "POST http://127.0.0.1:1/v1/x" {
		t.Errorf("%s %s: %q", x.Status, x.ErrorText, x.Payload)
	}
}
