package transport

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// resolveTimeout bounds the one DNS lookup of a target.
const resolveTimeout = 10 * time.Second

// target is one place to send to, ready to be dialled.
type target struct {
	name  string // scheme://host:port, for messages
	host  string // for DNS and TLS
	port  uint16
	tls   *tls.Config // nil for plain http
	asked atomic.Bool // the server asked for a client certificate, and there was none
	path  string      // prefix of every request target, without final slash
	query string      // appended to every request target, without "?"
	fixed []byte      // header lines that never change
	auth  []byte      // Authorization line from the URL's user, if any
	pool  pool
	rpc   *procedures     // gRPC
	via   *http.Transport // HTTP/2 or proxy: net/http does the work
	base  string          // scheme://host:port as net/http wants it
	http2 bool            // via is asked for HTTP/2
	older atomic.Int64    // answers in HTTP/1.1 all the same

	mu    sync.Mutex
	addrs []netip.AddrPort // in rotation
	turn  int

	connected atomic.Int64 // when a connection was last made, ns since T0; record.None for never

	dns atomic.Int64 // ns the lookup took, told by the first exchange that dials; then record.None
}

// parseTarget reads one base URL.
func parseTarget(raw, userAgent string, mode reuse) (*target, error) {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("url: %s; write it like http://localhost:8000", withoutURL(err))
	}
	shown := u.Redacted()
	if u.Scheme != "http" && u.Scheme != "https" && !isRPC(u.Scheme) {
		return nil, fmt.Errorf("url %s: scheme %q is not supported; use http, https, grpc or grpcs", shown, u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("url %s: no host; write it like http://localhost:8000", shown)
	}
	port := map[string]string{"http": "80", "https": "443", "grpc": "8001", "grpcs": "443"}[u.Scheme]
	if u.Port() != "" {
		port = u.Port()
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("url %s: port %q is not between 1 and 65535", shown, port)
	}
	t := &target{host: u.Hostname(), port: uint16(n), query: Visible(u.RawQuery)}
	t.path = strings.TrimRight(u.EscapedPath(), "/")
	t.base = u.Scheme + "://" + u.Host
	t.name = u.Scheme + "://" + net.JoinHostPort(t.host, port)
	t.fixed = []byte("Host: " + u.Host + "\r\n")
	if u.User != nil {
		password, _ := u.User.Password()
		token := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
		t.auth = []byte("Authorization: Basic " + token + "\r\n")
	}
	t.fixed = append(t.fixed, "User-Agent: "+userAgent+"\r\n"...)
	t.pool.reuse, t.pool.sessions = mode, map[string]*list{}
	t.dns.Store(record.None)
	t.connected.Store(record.None)
	return t, nil
}

// Targets are the base URLs that are sent to, without query and credentials.
func (cl *Client) Targets() []string {
	out := make([]string, len(cl.targets))
	for i, t := range cl.targets {
		out[i] = t.base + t.path
	}
	return out
}

// withoutURL is the reason of a url.Error without the URL, which may hold a password.
func withoutURL(err error) error {
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}

// resolve looks the host up, once per run.
func (t *target) resolve(ctx context.Context) error {
	if ip, err := netip.ParseAddr(t.host); err == nil {
		t.addrs = []netip.AddrPort{netip.AddrPortFrom(ip, t.port)}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	began := time.Now()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil || len(ips) == 0 {
		return fmt.Errorf("%s: host %q was not found (%v); check its name", t.name, t.host, dnsReason(err))
	}
	t.dns.Store(int64(time.Since(began)))
	for _, ip := range ips {
		t.addrs = append(t.addrs, netip.AddrPortFrom(ip.Unmap(), t.port))
	}
	return nil
}

// dnsReason is the resolver's reason without the name it repeats.
func dnsReason(err error) string {
	if e, ok := err.(*net.DNSError); ok {
		return e.Err
	}
	if err == nil {
		return "no address"
	}
	return err.Error()
}

// next lists the addresses to try, the one whose turn it is first.
func (t *target) next() []netip.AddrPort {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.addrs)
	if n == 1 {
		return t.addrs
	}
	order := make([]netip.AddrPort, n)
	for i := range order {
		order[i] = t.addrs[(t.turn+i)%n]
	}
	t.turn = (t.turn + 1) % n
	return order
}

// retire takes addresses out of the rotation that failed where another of the
// same target worked ("localhost" where only one family is served).
func (t *target) retire(bad []netip.AddrPort) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var good []netip.AddrPort
	for _, a := range t.addrs {
		keep := true
		for _, b := range bad {
			keep = keep && a != b
		}
		if keep {
			good = append(good, a)
		}
	}
	if len(good) > 0 {
		t.addrs = good
	}
}
