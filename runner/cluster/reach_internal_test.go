package cluster

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/runner/onerun"
)

// Where nothing can listen the address and the cause are said at once, in place of what the
// server waits for.
func TestWhereNothingCanListen(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string][2]string{
		taken.Addr().String(): {"address already in use", "take another port, or 0 for one that is free"},
		"192.0.2.1:4222":      {"requested address", "0.0.0.0:4222 takes workers from anywhere"},
	} {
		b, err := openBus(address, "a token of sixteen and more")
		if err == nil {
			t.Errorf("%s: it listens there: %v", address, b.close())
			continue
		}
		e := diag.Of(err)
		said, begins := e.Error(), "--listen: "+address+": "
		if e.Code != diag.Usage || !strings.HasPrefix(said, begins) || !strings.Contains(said, want[0]) ||
			strings.Contains(said, "\n") || !strings.Contains(e.Hint, want[1]) {
			t.Errorf("%s: code %d, %q, hint %q; want %q", address, e.Code, said, e.Hint, want)
		}
	}
}

// A worker that cannot reach its coordinator says why, in one line, and what to type.
func TestWhatToTypeToReachACoordinator(t *testing.T) {
	t.Parallel()
	const token = "a token of sixteen and more"
	plain, err := openBus("127.0.0.1:0", token)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.close()
	secure, err := openBus("0.0.0.0:0", token)
	if err != nil {
		t.Fatal(err)
	}
	defer secure.close()
	nothing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	none := nothing.Addr().String()
	nothing.Close()
	at := func(b *bus) string { _, host, _ := strings.Cut(b.url, "://"); return host }
	const file = "copy the file that the coordinator names with --token-file"
	for _, c := range []struct{ url, token, said, hint string }{
		{"tls://" + at(plain), token, "does not speak TLS", "--join nats://" + at(plain)},
		{"nats://" + at(secure), token, "speaks TLS", "--join tls://" + at(secure)},
		{"nats://" + at(plain), "another one of sixteen", "does not take the token", file},
		{"tls://" + at(secure), "another one of sixteen", "does not know the token", file},
		{"nats://" + none, token, "nats://" + none + ": connection refused", "--wait 600 waits ten minutes for it"},
	} {
		err := Join(t.Context(), t.Context(), Joining{URL: c.url, Token: c.token, Version: "test", K: -1})
		if err == nil {
			t.Errorf("%s with %q: it joined", c.url, c.token)
			continue
		}
		e := diag.Of(err)
		if said := e.Error(); !strings.Contains(said, c.said) || strings.Contains(said, "\n") || e.Hint != c.hint {
			t.Errorf("%s with %q: %q, hint %q; want %q, hint %q", c.url, c.token, said, e.Hint, c.said, c.hint)
		}
	}
}

// A worker that was started by hand says what a signal has it do, and tells its coordinator, which
// does not wait for its silence.
func TestAWorkerThatGoesSaysSo(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef"
	b, err := openBus("127.0.0.1:0", token)
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan time.Duration, 8)
	c := newCoordinator(&Options{
		Workers: 1, Version: "test", Missing: func(_ int64, _ string, within time.Duration) { waits <- within },
	}, b)
	if err := c.listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	issue, signal := context.WithCancel(t.Context())
	said, over := make(chan string, 8), make(chan error, 1)
	go func() {
		over <- Join(issue, t.Context(), Joining{
			URL: b.url, Token: token, Version: "test", K: 0, Wait: time.Hour, Say: func(line string) { said <- line },
			driver: onerun.Local{},
		})
	}()
	if err := c.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := <-waits; d != arriving {
		t.Errorf("workers are waited for during %v", d)
	}
	signal()
	if line := <-said; line != "worker 1 of 1 leaves, and tells the coordinator" {
		t.Errorf("it said %q", line)
	}
	if err := <-over; !errors.Is(err, ErrLeft) {
		t.Errorf("the worker ended with %v", err)
	}
	err = c.await(t.Context(), nil, 0)
	if err == nil || err.Error() != "worker 1 of 1 was lost: "+signalled {
		t.Errorf("the coordinator noticed %v", err)
	}
	c.leave(0)
	if err := c.fenced(t.Context()); err != nil || len(c.fences) > 0 {
		t.Errorf("the next run waits for a worker that has gone: %v, %v", c.fences, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
