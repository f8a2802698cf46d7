package faults

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// visitor is a request as a server of net/http saw it.
type visitor struct {
	host, from, url, encodings string
	http                       int
	certificates               int
}

// visited is a server that keeps what it saw of requests for inference.
type visited struct {
	*httptest.Server
	gzip bool

	mu  sync.Mutex
	all []visitor
}

func (v *visited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	seen := visitor{
		host: r.Host, from: r.RemoteAddr, url: r.RequestURI, encodings: r.Header.Get("Accept-Encoding"),
		http: r.ProtoMajor,
	}
	if r.TLS != nil {
		seen.certificates = len(r.TLS.PeerCertificates)
	}
	v.mu.Lock()
	v.all = append(v.all, seen)
	v.mu.Unlock()
	answer := "data: " + content("Hello") + "\n\ndata: " + finish + "\n\ndata: [DONE]\n\n"
	w.Header().Set("Content-Type", "text/event-stream")
	if v.gzip {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write([]byte(answer)) //nolint:errcheck // who reads it finds out
		z.Close()               //nolint:errcheck // who reads it finds out
		return
	}
	fmt.Fprint(w, answer)
}

// each tells how many different values f has over all visitors.
func (v *visited) each(f func(visitor) string) []string {
	got := map[string]bool{}
	for _, s := range v.all {
		got[f(s)] = true
	}
	return slices.Sorted(maps.Keys(got))
}

// files writes the server's certificate and key where the program can read them.
func (v *visited) files(t *testing.T) (cert, key string) {
	t.Helper()
	pair := v.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
}

// Each way to a server that an experiment can ask for is the way its requests
// take, from the file to the socket; what weakens the results is told with them.
func TestWaysToTheServer(t *testing.T) {
	t.Parallel()
	const requests = 4
	plain := func(v *visited) { v.Start() }
	secure := func(v *visited) { v.StartTLS() }
	for _, c := range []struct {
		name  string
		start func(*visited)
		asks  string // of the endpoint; CERT and KEY are the server's
		url   string // "" is the server's
		code  int
		ended string
		told  string // in the output
		look  func(visitor) string
		want  []string
	}{
		{name: "CA file", start: secure, asks: "ca_file: CERT", ended: "ok", look: func(v visitor) string { return fmt.Sprint(v.certificates) }, want: []string{"0"}},
		{name: "unknown authority", start: secure, code: 1, told: "unknown authority", look: func(v visitor) string { return v.host }},
		{
			name: "unchecked", start: secure, asks: "insecure: true",
			ended: "ok", told: "TLS certificate was not checked",
			look: func(v visitor) string { return fmt.Sprint(v.http) }, want: []string{"1"},
		},
		{
			name: "client certificate", asks: "ca_file: CERT, client_cert: CERT, client_key: KEY", ended: "ok",
			start: func(v *visited) {
				v.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
				v.StartTLS()
			},
			look: func(v visitor) string { return fmt.Sprint(v.certificates) }, want: []string{"1"},
		},
		{
			name: "HTTP/2", asks: "ca_file: CERT, http: 2", ended: "ok", told: "this program's and not the kernel's",
			start: func(v *visited) {
				v.EnableHTTP2 = true
				v.StartTLS()
			},
			look: func(v visitor) string { return fmt.Sprint(v.http) }, want: []string{"2"},
		},
		{
			name: "proxy", start: plain, asks: "proxy: env", url: "http://model.example:8000",
			ended: "ok", told: "this program's and not the kernel's",
			look: func(v visitor) string { return v.url },
			want: []string{"http://model.example:8000/v1/chat/completions"},
		},
		{
			name: "source addresses", start: plain,
			asks: `source_addresses: ["127.0.0.2", "127.0.0.3"], connection_reuse: never`, ended: "ok",
			look: func(v visitor) string { host, _, _ := net.SplitHostPort(v.from); return host },
			want: []string{"127.0.0.2", "127.0.0.3"}, //nolint:errcheck // a server's address is one
		},
		{
			name: "compressed though nobody asked", ended: "ok",
			start: func(v *visited) {
				v.gzip = true
				v.Start()
			},
			look: func(v visitor) string { return v.encodings }, want: []string{""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := &visited{}
			v.Server = httptest.NewUnstartedServer(v)
			v.Config.ErrorLog = nil
			c.start(v)
			t.Cleanup(v.Close)
			url := v.URL
			if c.url != "" {
				url = c.url
			}
			asks := c.asks
			if v.TLS != nil && len(v.TLS.Certificates) > 0 {
				cert, key := v.files(t)
				asks = strings.NewReplacer("CERT", cert, "KEY", key).Replace(asks)
			}
			file := filepath.Join(t.TempDir(), "way.yaml")
			text := fmt.Sprintf("benchmark:\n  model: m\n  endpoint: {url: %q, type: chat, streaming: true, api_key: %s, %s}\n  tokenizer: {name: builtin}\n  dataset: {type: synthetic, entries: 4, isl: 8}\n  phases: {type: concurrency, concurrency: 2, requests: %d}\n",
				url, secret, asks, requests)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			p := start(t, filepath.Join(t.TempDir(), "results"),
				func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "HTTP_PROXY="+v.URL) }, "run", file, "--allow-invalid")
			p.exit(c.code)
			if c.ended == "" { // found before anything was sent
				if strings.Contains(p.stdout.String(), "VALID") {
					t.Errorf("a run that could not begin has a verdict:\n%s", p.stdout.String())
				}
			} else if got := p.ended(); got[c.ended] != requests || len(got) != 1 {
				t.Errorf("requests ended as %v, want %d %s", got, requests, c.ended)
			}
			if out := flat(p.stdout.String() + p.stderr.String()); !strings.Contains(out, c.told) {
				t.Errorf("%q is not told:\n%s", c.told, out)
			}
			if got := v.each(c.look); !slices.Equal(got, c.want) {
				t.Errorf("the server saw %q, want %q", got, c.want)
			}
		})
	}
}
