package cluster

import (
	"crypto/tls"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// Each side is sure of the other by the token alone: a server that does not know it is found
// before the token is sent.
func TestTLSByToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, client string }{{"one", "one"}, {"another", "one"}} {
		conf, err := serverTLS(c.server)
		if err != nil {
			t.Fatal(err)
		}
		l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_ = conn.(*tls.Conn).Handshake()
				conn.Close()
			}
		}()
		conf, err = clientTLS(c.client)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := tls.Dial("tcp", l.Addr().String(), conf)
		if conn != nil {
			conn.Close()
		}
		if c.server == c.client && err != nil || c.server != c.client && !errors.Is(err, errStranger) {
			t.Errorf("a server with %q and a client with %q: %v", c.server, c.client, err)
		}
	}
}

// A server that other machines reach speaks by TLS, and takes those who know the token.
func TestBusOnTheNetwork(t *testing.T) {
	t.Parallel()
	b, err := openBus("0.0.0.0:0", "a token of sixteen and more")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.url, "tls://") {
		t.Errorf("it is reached at %s", b.url)
	}
	for _, c := range []struct {
		url, token string
		refused    bool
	}{
		{b.url, b.token, false},
		{b.url, "another token of that length", true},
		{strings.Replace(b.url, "tls:", "nats:", 1), b.token, true}, // it does not know whom it would tell the token
	} {
		conn, _, err := connect(c.url, c.token, nil)
		if conn != nil {
			conn.Close()
		}
		if (err != nil) != c.refused || err != nil && strings.Contains(err.Error(), b.token) {
			t.Errorf("%s with %q: %v", c.url, c.token, err)
		}
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
}

// The token's file is made when it is missing, is read again, and has to be long enough.
func TestTokenIn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	made, err := TokenIn(file)
	if err != nil || len(made) != 64 {
		t.Fatalf("%q, %v", made, err)
	}
	if read, err := TokenIn(file); err != nil || read != made {
		t.Errorf("read again: %q, %v", read, err)
	}
	if a, b := addressOf("127.0.0.1", 4222), addressOf("10.0.0.7", 4222); a != "nats://127.0.0.1:4222" || b != "tls://10.0.0.7:4222" {
		t.Errorf("addresses %s and %s", a, b)
	}
	if _, _, err := split("nonsense"); err == nil {
		t.Error("nonsense is taken for an address")
	}
}
