package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// equip gives t what its way of sending needs: our own connections for
// HTTP/1.1, net/http for HTTP/2 and for proxies.
func (cl *Client) equip(t *target, cfg *Config, shared *tls.Config) error {
	if scheme, _, _ := strings.Cut(t.base, ":"); isRPC(scheme) {
		var err error
		if t.rpc, err = newProcedures(t, shared, cl.maxBody); err != nil {
			return err
		}
		return t.resolve(context.Background())
	}
	var proxy *url.URL
	if cfg.ProxyEnv {
		var err error
		if proxy, err = proxyFor(t.base); err != nil {
			return fmt.Errorf("proxy from the environment: %s", withoutURL(err))
		}
	}
	if cfg.HTTP2 || proxy != nil {
		if t.pool.reuse == sticky {
			return fmt.Errorf("connection reuse sticky-user-sessions works with HTTP/1.1 and without a proxy only; use pooled")
		}
		t.via, t.http2 = cl.newTransport(t, cfg.HTTP2, proxy, shared), cfg.HTTP2
		return nil
	}
	if strings.HasPrefix(t.base, "https:") {
		t.tls = t.noticing(shared)
		t.tls.ServerName = t.host
		t.tls.NextProtos = []string{"http/1.1"}
	}
	return t.resolve(context.Background())
}

// proxyFor is the proxy that the environment names for a URL.
func proxyFor(base string) (*url.URL, error) {
	r, err := http.NewRequest(http.MethodPost, base, nil)
	if err != nil {
		return nil, err
	}
	return http.ProxyFromEnvironment(r)
}

func (cl *Client) newTransport(t *target, http2 bool, proxy *url.URL, shared *tls.Config) *http.Transport {
	tr := &http.Transport{
		DisableCompression:  true,
		DisableKeepAlives:   t.pool.reuse == never,
		TLSClientConfig:     t.noticing(shared),
		TLSHandshakeTimeout: handshakeTimeout,
		MaxIdleConnsPerHost: 1 << 20,
		Protocols:           new(http.Protocols),
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			cl.dials.Add(1)
			d := net.Dialer{Timeout: dialTimeout}
			if n := uint64(len(cl.sources)); n > 0 {
				d.LocalAddr = &net.TCPAddr{IP: cl.sources[cl.sourceTurn.Add(1)%n].AsSlice()}
			}
			c, err := d.DialContext(ctx, network, addr)
			if err == nil {
				t.connected.Store(cl.clock.Now())
			}
			return c, err
		},
	}
	if proxy != nil {
		tr.Proxy = http.ProxyURL(proxy)
	}
	tr.Protocols.SetHTTP1(!http2)
	tr.Protocols.SetHTTP2(http2)
	tr.Protocols.SetUnencryptedHTTP2(http2)
	return tr
}

// roundTrip sends o through net/http. Stamps are the application's.
func (cl *Client) roundTrip(o *op) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !o.begin(cancel) {
		o.finish(o.killed())
		return
	}
	n := &netHTTP{cl: cl, o: o, x: o.x, began: record.None}
	n.rec.maxBody, n.rec.free = cl.maxBody, &cl.buffers
	e := n.do(ctx)
	if k := o.killed(); k.isSet() && e.status != record.OK {
		e = k
	}
	n.rec.fill()
	n.close()
	o.finish(e)
}

// netHTTP is one exchange on its way through net/http.
type netHTTP struct {
	cl  *Client
	o   *op
	x   *Exchange
	rec reception
	seq uint64

	// net/http may call its trace after the answer is complete.
	mu                            sync.Mutex
	over                          bool
	dnsBegan, dialBegan, tlsBegan int64
	began, open                   int64 // of its connection: the first step began, and the last one so far ended
}

func (n *netHTTP) do(ctx context.Context) ending {
	x, t := n.x, n.o.t
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, n.trace()), x.method(),
		t.base+string(t.appendTarget(nil, x)), bytes.NewReader(x.Body))
	if err != nil {
		return ours("request", withoutURL(err).Error())
	}
	if err := n.header(req); err != nil {
		return ours("header", err.Error())
	}
	n.rec.begin(x)
	resp, err := t.via.RoundTrip(req)
	if err != nil {
		return failed(t.noticed(withoutURL(err)))
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end, or given up
	if t.http2 && resp.ProtoMajor < 2 {
		t.older.Add(1)
	}
	n.rec.arrive(n.now())
	if x.FirstByte != record.None {
		n.rec.stamp.at = x.FirstByte
	}
	if err := n.rec.Head(headOf(resp)); err != nil {
		return n.rec.broken(err)
	}
	return n.body(resp.Body)
}

// body reads the answer's body.
func (n *netHTTP) body(from io.Reader) ending {
	buf := n.cl.pages.Get().(*[]byte)
	defer n.cl.pages.Put(buf)
	for {
		k, err := from.Read(*buf)
		if k > 0 {
			n.x.BytesReceived += int64(k)
			n.rec.arrive(n.now())
			n.x.Hear(n.rec.stamp.at)
			n.cl.echoes.read()
			if err := n.rec.Body((*buf)[:k]); err != nil {
				return n.rec.broken(err)
			}
			n.rec.depart()
		}
		switch {
		case errors.Is(err, io.EOF):
			if k == 0 {
				n.rec.arrive(n.now())
			}
			if n.rec.mark != record.None {
				n.o.t.pool.ends.Store(true)
			}
			return n.rec.end()
		case err != nil:
			return n.broke(err)
		case n.rec.mark == record.None || n.rec.timed:
		case n.o.t.pool.neverEnds():
			return n.endAtMark(n.rec.mark)
		default:
			n.rec.timed = true
			n.cl.flight.arm(n.o, n.rec.mark+int64(n.cl.afterMark), record.OK)
		}
	}
}

// broke says how the exchange ended when reading its body did, because of err.
func (n *netHTTP) broke(err error) ending {
	kill := n.o.killed()
	switch {
	case n.rec.mark == record.None:
	case kill.status == record.OK || kill.status == record.Timeout:
		return n.endAtMark(min(n.now().at, n.rec.mark+int64(n.cl.afterMark)))
	case !kill.isSet(): // nothing was due but the end of the body
		return n.rec.endAtMark(n.now().at)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n.rec.cut(err)
}

// endAtMark ends the exchange, whose mark has come, at at: the body did not end.
func (n *netHTTP) endAtMark(at int64) ending {
	n.o.t.pool.endless.Add(1)
	return n.rec.endAtMark(at)
}

// now stamps a read that returned just now.
func (n *netHTTP) now() stamp {
	n.seq++
	now := n.cl.clock.Now()
	return stamp{at: now, now: now, seq: n.seq, whole: true}
}

// header gives req the lines that appendHead would render.
func (n *netHTTP) header(req *http.Request) error {
	head := n.o.t.appendHead(nil, n.x)
	lines := strings.Split(strings.TrimRight(string(head), "\r\n"), "\r\n")[1:]
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return fmt.Errorf("header line %q has no colon", line)
		}
		value = strings.TrimSpace(value)
		switch http.CanonicalHeaderKey(name) {
		case "Host":
			req.Host = value
		case "Content-Length", "Connection":
		default:
			req.Header.Add(name, value)
		}
	}
	n.x.BytesSent = int64(len(head) + len(n.x.Body))
	return nil
}

// headOf is net/http's response header in the parser's terms.
func headOf(resp *http.Response) *wire.Head {
	_, text, _ := strings.Cut(resp.Status, " ")
	var lines bytes.Buffer
	_ = resp.Header.Write(&lines) // a buffer takes everything
	return &wire.Head{
		Status: resp.StatusCode, Reason: []byte(text), Lines: lines.Bytes(),
		ContentType:     []byte(resp.Header.Get("Content-Type")),
		ContentEncoding: []byte(resp.Header.Get("Content-Encoding")),
		RetryAfter:      []byte(resp.Header.Get("Retry-After")),
		Location:        []byte(resp.Header.Get("Location")),
	}
}

// trace notes the stages of the round trip.
func (n *netHTTP) trace() *httptrace.ClientTrace {
	x := n.x
	return &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { n.begins(&n.dnsBegan) },
		DNSDone:           func(httptrace.DNSDoneInfo) { n.ends(&x.DNS, &n.dnsBegan) },
		ConnectStart:      func(_, _ string) { n.begins(&n.dialBegan) },
		ConnectDone:       func(_, _ string, _ error) { n.ends(&x.Dial, &n.dialBegan) },
		TLSHandshakeStart: func() { n.begins(&n.tlsBegan) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { n.ends(&x.TLS, &n.tlsBegan) },
		GotConn: func(i httptrace.GotConnInfo) {
			n.note(func(now int64) {
				x.Sent, x.Reused = now, i.Reused
				if !i.Reused && n.began != record.None { // another request's connection may have become free first
					x.Connecting = n.open - n.began
				}
			})
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			n.note(func(now int64) { x.WriteEnd = now; n.o.armCancel() })
		},
		GotFirstResponseByte: func() { n.note(func(now int64) { x.FirstByte = now }) },
	}
}

// begins notes the beginning of a step of opening a connection.
func (n *netHTTP) begins(at *int64) {
	n.note(func(now int64) {
		*at = now
		if n.began == record.None {
			n.began, n.open = now, now
		}
	})
}

// ends notes the end of a step, and how long it took.
func (n *netHTTP) ends(took, began *int64) {
	n.note(func(now int64) { *took, n.open = now-*began, now })
}

// note runs f with the time, unless the exchange is over.
func (n *netHTTP) note(f func(now int64)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.over {
		f(n.cl.clock.Now())
	}
}

// close ends the trace: x is the caller's from now on.
func (n *netHTTP) close() {
	n.mu.Lock()
	n.over = true
	n.mu.Unlock()
}
