package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
)

// request is one call to servers beside the load.
type request struct {
	path    string // at each of the endpoint's servers, or an address of its own
	method  string
	headers schema.Headers
	body    schema.Members
	seconds float64
	shown   string // how it is called, without what a person may not see
}

// callError is a server that does not do what it was called for.
type callError struct {
	status int // 0: it did not answer
	said   string
}

func (e *callError) Error() string { return e.said }

// callAll makes a call: a path at each of the endpoint's servers, as its requests are
// made; an address of its own without their credentials.
func callAll(ctx context.Context, b schema.Benchmark, targets []string, q request) error { //nolint:gocritic // changed
	if !strings.HasPrefix(q.path, "/") {
		b.Endpoint.Headers, b.Endpoint.APIKey, b.Endpoint.Type = nil, "", endpoint.Usual(nil).Type
		targets = []string{q.path}
	}
	b.Endpoint.Headers = b.Endpoint.Headers.With(q.headers)
	for _, t := range targets {
		root, err := url.Parse(t)
		if err != nil {
			return err
		}
		one := q
		if !strings.HasPrefix(q.path, "/") {
			one.path = root.RequestURI()
		}
		root.Path, root.RawPath, root.RawQuery, root.Fragment = "", "", "", ""
		if err := call(ctx, b, root.String(), one); err != nil {
			return err
		}
	}
	return nil
}

// call asks base and wants a status of 2xx.
func call(ctx context.Context, b schema.Benchmark, base string, q request) (err error) { //nolint:gocritic // as callAll
	w := &waiter{url: base, bench: b, model: b.Models.Items[0].Name, clock: record.NewClock()}
	how := onerun.Transport(&b, []string{base}, w.clock)
	how.Reuse, how.MaxConns = "never", 1
	if w.client, err = transport.Open(how); err != nil {
		return err
	}
	defer w.client.Close() //nolint:errcheck // nothing depends on it any more
	w.until = w.clock.Now() + seconds(q.seconds)
	x, err := w.request()
	if err != nil {
		return err
	}
	x.Method, x.Path, x.Body, x.Stream = q.method, q.path, nil, false
	if q.method == http.MethodPost {
		x.Method = ""
	}
	if q.body != nil {
		if x.Body, err = json.Marshal(q.body); err != nil {
			return err
		}
	}
	if w.send(ctx, x, time.Duration(q.seconds*float64(time.Second))); x.Status != record.OK {
		return &callError{int(x.HTTPStatus), fmt.Sprintf("%s: %s", q.shown, refusal(x))}
	}
	return nil
}
