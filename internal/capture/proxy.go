package capture

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
)

// idle is how many connections to the server are kept for later requests.
const idle = 4096

// forward is the handler that passes requests on. It keeps to what a proxy has to do:
// header lines of the connection are its own, all others pass as they are.
func (c *Capture) forward() http.Handler {
	transport := &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		// An answer passes as the server encoded it.
		DisableCompression: true, MaxIdleConns: idle, MaxIdleConnsPerHost: idle, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	buffers := &pool{}
	return &httputil.ReverseProxy{
		Transport: transport, BufferPool: buffers, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), // broken connections are counted
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(c.o.To)
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v, ok := p.In.Header[name]; ok {
					p.Out.Header[name] = v // of a proxy in front of this one
				}
			}
			if _, ok := p.In.Header["User-Agent"]; !ok {
				p.Out.Header.Set("User-Agent", "")
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if e := exchangeOf(r.Request.Context()); e != nil {
				e.begin(r)
			}
			return nil
		},
		ErrorHandler: c.unreached,
	}
}

// unreached answers a request that the server did not take.
func (c *Capture) unreached(w http.ResponseWriter, r *http.Request, err error) {
	e := exchangeOf(r.Context())
	if r.Context().Err() != nil { // the client went away
		if e != nil {
			e.broken = clientGone
		}
		return
	}
	why := reason(err)
	c.warn("cannot reach " + secret.Host(c.o.To.String()) + ": " + why)
	if e != nil {
		e.broken = unreached
		_, _ = io.Copy(io.Discard, io.LimitReader(e.request, mostBody)) // it was asked all the same
	}
	refuse(w, http.StatusBadGateway, "aiperf capture: cannot reach the server: "+why)
}

// reason is err without the addresses in it.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	text := words.Clip(secret.Shapes(err.Error()), 160)
	if at := strings.LastIndex(text, "connect: "); at >= 0 {
		text = text[at+len("connect: "):]
	}
	return text
}

// refuse answers in the form in which inference servers say what is wrong.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // to a client that may be gone
		"error": map[string]any{"message": message, "type": "proxy_error", "code": status},
	})
}

// ServeHTTP passes one request on.
func (c *Capture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" || r.Method == http.MethodConnect {
		c.lose(upgraded)
		refuse(w, http.StatusNotImplemented, "aiperf capture passes HTTP requests on, not "+
			words.Clip(cmp.Or(r.Header.Get("Upgrade"), "tunnel"), 40)+" connections")
		return
	}
	c.passing.Add(1)
	c.inside.Add(1)
	defer c.passing.Done()
	defer c.inside.Add(-1)
	spec := apiOf(r)
	if spec == nil {
		c.passed.Add(1)
		r = r.Clone(r.Context())
		r.Body = &tee{body: r.Body}
		c.proxy.ServeHTTP(w, r)
		return
	}
	e := &exchange{c: c, spec: spec, arrived: c.now(), credentials: credentials(r.Header)}
	c.since(e.arrived)
	whole, client := false, r.Context()
	defer func() { e.finish(whole, client.Err() != nil) }() // a broken connection makes the proxy panic
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e))
	e.request = &tee{body: r.Body, e: e}
	r.Body = e.request
	if n := r.ContentLength; n > 0 {
		e.expect(n)
	}
	c.proxy.ServeHTTP(&watched{w, e, http.NewResponseController(w)}, r)
	whole = true
}

// apiOf is the inference API that a request is of, nil for another page.
func apiOf(r *http.Request) (found *endpoint.Spec) {
	if r.Method != http.MethodPost {
		return nil
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	for _, s := range endpoint.Catalogue() {
		if !s.TakesText || s.Ready || s.Path == "" || strings.Contains(s.Path, "{") || !strings.HasSuffix(path, s.Path) {
			continue
		}
		if found == nil || len(s.Path) > len(found.Path) {
			found = s
		}
	}
	return found
}

// credentials are the values of header lines that must not stand in a text that is kept.
func credentials(h http.Header) (out []string) {
	for name, values := range h {
		for _, v := range values {
			_, token, _ := strings.Cut(v, " ") // Bearer TOKEN
			for _, w := range []string{v, token} {
				if secret.Header(name) && secret.Telling(w, secret.Name(name)) {
					out = append(out, w)
				}
			}
		}
	}
	return out
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// tee keeps a copy of a body while it passes. Its end stays its end: the sender asks for
// more behind it, and a server that has begun to answer has closed the body by then.
type tee struct {
	body io.Reader
	e    *exchange // nil: nothing is kept

	mu   sync.Mutex
	over bool
}

func (t *tee) Read(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return 0, io.EOF
	}
	n, err := t.body.Read(b)
	t.over = errors.Is(err, io.EOF)
	if t.e != nil {
		t.e.read(b[:n], t.over)
	}
	return n, err
}

// Close leaves the body open: where it was not sent, it is still to be read.
func (t *tee) Close() error { return nil }

// watched looks at an answer once a piece of it has left.
type watched struct {
	http.ResponseWriter
	e       *exchange
	control *http.ResponseController
}

func (w *watched) Write(b []byte) (int, error) {
	at := w.e.c.now()
	n, err := w.ResponseWriter.Write(b)
	if err == nil {
		err = w.control.Flush()
	}
	if err != nil {
		w.e.broken = clientGone
	}
	w.e.saw(b[:n], at)
	return n, err
}

// Unwrap is for those who ask for more than Write.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// pool is the buffers in which answers pass.
type pool struct{ p sync.Pool }

const buffer = 32 << 10

func (p *pool) Get() []byte {
	if b, ok := p.p.Get().(*[buffer]byte); ok {
		return b[:]
	}
	return make([]byte, buffer)
}

func (p *pool) Put(b []byte) { p.p.Put((*[buffer]byte)(b)) }
