package transport_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// identity is a self-signed certificate and its files.
type identity struct {
	pair      tls.Certificate
	cert, key string
}

// newIdentity makes a certificate for host that ends at a time.
func newIdentity(t *testing.T, host string, until time.Time) identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	id := identity{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	writePEM(t, id.cert, "CERTIFICATE", der)
	writePEM(t, id.key, "PRIVATE KEY", secret)
	if id.pair, err = tls.LoadX509KeyPair(id.cert, id.key); err != nil {
		t.Fatal(err)
	}
	return id
}

func writePEM(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (id identity) config() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{id.pair}}
}

func trusting(id identity) func(*transport.Config) {
	return func(c *transport.Config) { c.CAFile = id.cert }
}

func TestTLS(t *testing.T) {
	t.Parallel()
	id := newIdentity(t, "127.0.0.1", tomorrow())
	step := make(chan struct{})
	s := fs.StartTLS(t, id.config(), fs.Script{
		fs.Read(), fs.Send(fs.JSON("1")),
		fs.Read(), fs.Send(fs.StreamHead() + fs.Event("a")), fs.Wait(step),
		fs.Send(fs.Event("b")), fs.Wait(step), fs.Send(fs.Event("c") + fs.Event("d") + fs.LastChunk), fs.UntilClosed(),
	})
	r := open(t, s.URL(), trusting(id))
	if x := r.do(); x.Status != record.OK || x.TLS == record.None || x.TLS <= 0 || string(x.Payload) != "1" {
		t.Fatalf("%s %s, TLS took %d", x.Status, x.ErrorText, x.TLS)
	}
	x := r.do(stream, func(x *transport.Exchange) {
		n := 0
		x.OnEvent = func([]byte) {
			if n++; n < 3 {
				select {
				case step <- struct{}{}:
				case <-t.Context().Done(): // the client's end waits for this goroutine
				}
			}
		}
	})
	if got := strings.Join(texts(x), " "); x.Status != record.OK || got != "a b c d" || !x.Reused {
		t.Fatalf("%s %s: %q", x.Status, x.ErrorText, got)
	}
	inOrder(t, x.Sent, x.FirstByte, x.Events[0].At, x.Events[1].At, x.Events[3].At, x.End, r.clock.Now())
	if b, d := x.Events[1], x.Events[3]; r.Stats().Stamps == "kernel" &&
		(b.Low != b.At || d.Low != b.At || !d.SameRead) {
		t.Errorf("b %+v, d %+v", b, d)
	}
}

func TestTLSLargeBodies(t *testing.T) {
	t.Parallel()
	id := newIdentity(t, "127.0.0.1", tomorrow())
	answer := strings.Repeat("0123456789", 300_000)
	s := fs.StartTLS(t, id.config(), fs.Script{fs.Read(), fs.Send(fs.JSON(answer)), fs.UntilClosed()})
	x := open(t, s.URL(), trusting(id)).do(func(x *transport.Exchange) { x.Body = []byte(answer) })
	if x.Status != record.OK || string(x.Payload) != answer || string(s.Requests()[0].Body) != answer {
		t.Errorf("%s %s, %d bytes back", x.Status, x.ErrorText, len(x.Payload))
	}
}

func TestTLSFaults(t *testing.T) {
	t.Parallel()
	good := newIdentity(t, "127.0.0.1", tomorrow())
	expired := newIdentity(t, "127.0.0.1", time.Now().Add(-time.Hour))
	other := newIdentity(t, "other.example", tomorrow())
	plain := fs.Start(t, fs.Script{fs.Send("HTTP/1.1 400 Bad Request\r\n\r\n")})
	secure := func(id identity) string { return fs.StartTLS(t, id.config(), echo()).URL() }
	cases := []struct {
		name, url, text string
		change          func(*transport.Config)
	}{
		{"self-signed", secure(good), "unknown authority; name its CA with --ca-file (endpoint.ca_file), or accept any with --insecure", func(*transport.Config) {}},
		{"self-signed, by gRPC", strings.Replace(secure(good), "https:", "grpcs:", 1), "accept any with --insecure", func(*transport.Config) {}},
		{"expired", secure(expired), "expired", trusting(expired)},
		{"other host", secure(other), "another host", trusting(other)},
		{"plain text", strings.Replace(plain.URL(), "http:", "https:", 1), "plain text", func(*transport.Config) {}},
	}
	hints := map[string]string{"plain text": "try --url " + plain.URL()}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := open(t, c.url, c.change)
			var said *diag.Error
			if err := r.Probe(context.Background(), 0); strings.HasPrefix(c.url, "grpcs:") {
				// the probe of a gRPC server looks whether anybody listens
			} else if !errors.As(err, &said) || !strings.Contains(said.Message, c.text) || said.Hint != hints[c.name] {
				t.Errorf("Probe: %+v, want …%s…, hint %q, and no doubt that a server is there", said, c.text,
					hints[c.name])
			}
			x := r.do(func(x *transport.Exchange) { x.Path, x.Body = "/v2/models/m/infer", []byte(`{"inputs":[]}`) })
			if x.Status != record.Connection || x.ErrorKind != "tls" || !strings.Contains(x.ErrorText, c.text) {
				t.Errorf("%s %q %q, want %q", x.Status, x.ErrorKind, x.ErrorText, c.text)
			}
		})
	}
}

// A server that does not answer a handshake is told from one that is slow: at
// the probe, before anything is sent.
func TestHandshakeHasItsTime(t *testing.T) {
	t.Parallel()
	mute := fs.Start(t, fs.Script{fs.UntilClosed()})
	r := open(t, strings.Replace(mute.URL(), "http:", "https:", 1))
	transport.SetHandshakeTime(r.Client, 20*time.Millisecond)
	err := r.Probe(context.Background(), 0)
	if err == nil || !strings.Contains(err.Error(), "cannot reach https://127.0.0.1:") ||
		!strings.Contains(err.Error(), "TLS: no handshake within 20ms") {
		t.Errorf("Probe: %v", err)
	}
	good := fs.Start(t, echo())
	if err := transport.Reach(context.Background(), transport.Config{
		Targets: []string{good.URL()},
		Clock:   record.NewClock(),
	}); err != nil || len(good.Requests()) != 0 {
		t.Errorf("Reach: %v, %d requests", err, len(good.Requests()))
	}
	good.Stop()
	if err := transport.Reach(context.Background(), transport.Config{
		Targets: []string{good.URL()},
		Clock:   record.NewClock(),
	}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Reach, nobody listens: %v", err)
	}
	if x := r.do(); x.ErrorKind != "tls" || !strings.Contains(x.ErrorText, "no handshake within 20ms") {
		t.Errorf("%s %q %q", x.Status, x.ErrorKind, x.ErrorText)
	}
}

func TestInsecure(t *testing.T) {
	t.Parallel()
	id := newIdentity(t, "other.example", time.Now().Add(-time.Hour))
	s := fs.StartTLS(t, id.config(), echo())
	if x := open(t, s.URL(), func(c *transport.Config) { c.Insecure = true }).do(); x.Status != record.OK {
		t.Errorf("%s %s", x.Status, x.ErrorText)
	}
}

// A server that wants a client certificate says so in the handshake or, from TLS 1.3 on, when
// it is over. Both are told, and by every way of sending.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	server, mine, other := newIdentity(t, "127.0.0.1", tomorrow()), newIdentity(t, "client", tomorrow()),
		newIdentity(t, "nobody", tomorrow())
	leaf, err := x509.ParseCertificate(mine.pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	give := func(id identity) func(*transport.Config) {
		return func(c *transport.Config) { c.ClientCert, c.ClientKey = id.cert, id.key }
	}
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := server.config()
			cfg.MaxVersion, cfg.ClientAuth, cfg.ClientCAs = version, tls.RequireAndVerifyClientCert, x509.NewCertPool()
			cfg.ClientCAs.AddCert(leaf)
			s := fs.StartTLS(t, cfg, echo())
			if x := open(t, s.URL(), trusting(server), give(mine)).do(); x.Status != record.OK {
				t.Errorf("with a certificate: %s %s", x.Status, x.ErrorText)
			}
			const wants, refuses = "TLS: the server asks for a client certificate; name one with --client-cert",
				"TLS: the server does not accept the client certificate ("
			for _, c := range []struct {
				way, text string
				change    func(*transport.Config)
			}{
				{"without", wants, func(*transport.Config) {}},
				{"without, HTTP/2", wants, func(c *transport.Config) { c.HTTP2 = true }},
				{"another", refuses, give(other)},
			} {
				if x := open(t, s.URL(), trusting(server), c.change).do(); x.Status != record.Connection ||
					x.ErrorKind != "tls" || !strings.Contains(x.ErrorText, c.text) {
					t.Errorf("%s: %s %q %q, want %q", c.way, x.Status, x.ErrorKind, x.ErrorText, c.text)
				}
			}
		})
	}
}

// A server may ask for a client certificate and do without.
func TestClientCertificateIsOptional(t *testing.T) {
	t.Parallel()
	server := newIdentity(t, "127.0.0.1", tomorrow())
	cfg := server.config()
	cfg.ClientAuth = tls.RequestClientCert
	if x := open(t, fs.StartTLS(t, cfg, echo()).URL(), trusting(server)).do(); x.Status != record.OK {
		t.Errorf("%s %s", x.Status, x.ErrorText)
	}
}

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }
