package transport_test

import (
	"strings"
	"testing"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, want string
		cfg        transport.Config
	}{
		{"nothing", "no URL", transport.Config{}},
		{"scheme", `scheme "ftp"`, transport.Config{Targets: []string{"ftp://x"}}},
		{"host", "no host", transport.Config{Targets: []string{"http://"}}},
		{"port", "not between 1 and 65535", transport.Config{Targets: []string{"http://x:99999"}}},
		{"port text", "url", transport.Config{Targets: []string{"http://x:abc"}}},
		{"name", "was not found", transport.Config{Targets: []string{"http://no-such-host.invalid"}}},
		{"reuse", "connection reuse", transport.Config{Targets: []string{"http://127.0.0.1"}, Reuse: "sometimes"}},
		{"CA", "CA file", transport.Config{Targets: []string{"https://127.0.0.1"}, CAFile: "/does/not/exist"}},
		{"CA content", "no certificate", transport.Config{Targets: []string{"https://127.0.0.1"}, CAFile: "request_test.go"}},
		{"key without certificate", "go together", transport.Config{Targets: []string{"https://127.0.0.1"}, ClientKey: "x"}},
		{"certificate", "client certificate", transport.Config{Targets: []string{"https://127.0.0.1"}, ClientKey: "x", ClientCert: "y"}},
		{"source", "not an IP address", transport.Config{Targets: []string{"http://127.0.0.1"}, SourceAddresses: []string{"eth0"}}},
		{"agent", "User-Agent", transport.Config{Targets: []string{"http://127.0.0.1"}, UserAgent: "a\r\nb"}},
		{"sticky HTTP/2", "sticky-user-sessions", transport.Config{Targets: []string{"http://127.0.0.1"}, HTTP2: true, Reuse: "sticky-user-sessions"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.cfg.Clock = record.NewClock()
			cl, err := transport.Open(c.cfg)
			if err == nil {
				cl.Close() //nolint:errcheck // the test has failed
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q", err, c.want)
			}
		})
	}
}

func TestOpenHidesPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"ftp://u:secret@x", "http://u:secret@x:99999",
		"http://u:secret@\x7f", "http://u:secret@x:abc",
	} {
		if _, err := transport.Open(transport.Config{Targets: []string{url}, Clock: record.NewClock()}); err == nil ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v", url, err)
		}
	}
}

func TestRequestHead(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, base, path, header string
		stream                   bool
		wantPath                 string
		want                     map[string]string
	}{
		{
			name: "plain", path: "/v1/chat/completions", wantPath: "/v1/chat/completions",
			want: map[string]string{
				"Accept":     "application/json",
				"User-Agent": "aiperf", "Content-Type": "application/json",
			},
		},
		{name: "stream", stream: true, path: "/x", wantPath: "/x", want: map[string]string{"Accept": "text/event-stream"}},
		{name: "base path", base: "/proxy/a/", path: "/v1/x", wantPath: "/proxy/a/v1/x"},
		{name: "version in both", base: "/proxy/v1", path: "/v1/x", wantPath: "/proxy/v1/x"},
		{name: "the whole path in both", base: "/a/v1/x", path: "/v1/x", wantPath: "/a/v1/x"},
		{name: "query", base: "/?key=1", path: "/x", wantPath: "/x?key=1"},
		{name: "two queries", base: "?key=1", path: "/x?a=b", wantPath: "/x?a=b&key=1"},
		{
			name: "own lines", path: "/x", wantPath: "/x",
			header: "host: other\r\nACCEPT: */*\r\nuser-agent: me\r\nContent-type: text/plain\r\nAccept-Encoding: no\r\n",
			want: map[string]string{
				"Accept": "*/*", "User-Agent": "me", "Content-Type": "text/plain",
				"Accept-Encoding": "no",
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fs.Start(t, echo())
			x := open(t, s.URL()+c.base).do(func(x *transport.Exchange) {
				x.Path, x.Stream, x.Header = c.path, c.stream, []byte(c.header)
			})
			if x.Status != record.OK {
				t.Fatal(x.ErrorText)
			}
			q := s.Requests()[0]
			if q.Path != c.wantPath {
				t.Errorf("path %s, want %s", q.Path, c.wantPath)
			}
			for name, want := range c.want {
				if got := q.Header.Values(name); len(got) != 1 || got[0] != want {
					t.Errorf("%s: %q, want %q once", name, got, want)
				}
			}
		})
	}
}

func TestCredentialsOfTheURL(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, echo())
	r := open(t, strings.Replace(s.URL(), "://", "://me:secret@", 1))
	r.do()
	r.do(func(x *transport.Exchange) { x.Header = []byte("Authorization: Bearer k\r\n") })
	q := s.Requests()
	if got := q[0].Header.Get("Authorization"); got != "Basic bWU6c2VjcmV0" {
		t.Errorf("authorization %q", got)
	}
	if got := q[1].Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer k" {
		t.Errorf("authorization %q", got)
	}
}

func TestBadExchange(t *testing.T) {
	t.Parallel()
	r := open(t, "http://127.0.0.1:1")
	for _, path := range []string{"x", "/a b", "/a\r\nX: y"} {
		if x := r.do(func(x *transport.Exchange) { x.Path = path }); x.Status != record.Client ||
			x.ErrorKind != "path" {
			t.Errorf("path %q: %s %q", path, x.Status, x.ErrorKind)
		}
	}
	if x := r.do(func(x *transport.Exchange) { x.Target = 1 }); x.Status != record.Client || x.ErrorKind != "target" {
		t.Errorf("target 1 of 1: %s %q", x.Status, x.ErrorKind)
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	r := open(t, "http://127.0.0.1:1")
	if err := r.Preflight(10); err != nil {
		t.Errorf("10 connections: %v", err)
	}
	err := r.Preflight(50_000_000)
	if err == nil || !strings.Contains(err.Error(), "50000000 connections need") {
		t.Errorf("50 million connections: %v", err)
	}
}
