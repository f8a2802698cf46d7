package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"

	"aiperf.dev/aiperf/runner/cluster"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
)

const natsToken = "token-of-the-nats-server"

// natsServer is one that somebody else runs. change changes what a good one has.
func natsServer(t *testing.T, change func(*nats.Options)) (s *nats.Server, url string) {
	t.Helper()
	o := &nats.Options{
		Host: "127.0.0.1", Port: nats.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		Authorization: natsToken, MaxPayload: 8 << 20,
	}
	if change != nil {
		change(o)
	}
	s, err := nats.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(s.Shutdown)
	return s, "nats://" + s.Addr().String()
}

// A NATS server that could not carry a run is refused in a line.
func TestRefusedNATS(t *testing.T) {
	t.Parallel()
	_, good := natsServer(t, nil)
	_, plain := natsServer(t, func(o *nats.Options) { o.JetStream = false })
	_, small := natsServer(t, func(o *nats.Options) { o.MaxPayload = 1 << 20 })
	refused := func(url, token, want string) {
		t.Helper()
		_, err := cluster.Open(t.Context(), cluster.Options{
			Workers: 1, Version: "test", NATS: url, Token: token, Missing: func(int64, string, time.Duration) {},
		})
		if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsRune(err.Error(), '\n') ||
			strings.Contains(err.Error(), natsToken) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	refused(good, "another", "does not take the token")
	refused(good, "", "does not take the token")
	refused(plain, natsToken, "has no JetStream")
	refused(small, natsToken, "takes messages of 1024 KiB, and 8192 are needed")
	refused(oldNATS(t), natsToken, "is version 2.9.25")
	refused("nats://127.0.0.1:1", natsToken, "cannot reach the NATS server at nats://127.0.0.1:1")

	// and one at which another coordinator is at work
	c, worker := external(t, good, 1)
	refused(good, natsToken, "another aiperf is at work on the NATS server")
	if err := errors.Join(c.Close(), <-worker); err != nil {
		t.Error(err)
	}
	for url, good := range map[string]bool{
		"nats://a:4222": true, "tls://a": true, "http://a": false, "a:4222": false, "nats://": false,
		"nats://me:secret@a": false, "nats://a/b": false,
	} {
		if err := cluster.NATS(url); (err == nil) != good || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// oldNATS is a server that says it is of a version of before what is needed, and answers pings.
func oldNATS(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				fmt.Fprint(conn, `INFO {"server_id":"old","version":"2.9.25","headers":true,"jetstream":true,"max_payload":8388608}`+"\r\n")
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if lines.Text() == "PING" {
						fmt.Fprint(conn, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return "nats://" + l.Addr().String()
}

// external is a coordinator with n workers of other machines, which come again when they have lost
// their way. Their ends come over a channel, once each.
func external(t *testing.T, url string, n int) (*cluster.Coordinator, chan error) {
	t.Helper()
	over := make(chan error, n)
	c, err := cluster.Open(t.Context(), cluster.Options{
		Workers: n, Version: "test", NATS: url, Token: natsToken,
		Missing: func(missing int64, address string, _ time.Duration) {
			if address != url {
				t.Errorf("workers are told to join %s, not %s", address, url)
			}
			if missing < int64(n) {
				return
			}
			for k := range n {
				go func() {
					ctx := context.WithoutCancel(t.Context())
					over <- cluster.Join(ctx, ctx, cluster.Joining{
						URL: url, NATS: true, Token: natsToken, Version: "test", K: int64(k), Wait: time.Hour,
					})
				}()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, over
}

// When the NATS server is started again the run under way is lost, and said to be; coordinator and
// workers come back by themselves, and the next run is whole. Nothing is left on the server.
func TestNATSIsStartedAgain(t *testing.T) {
	t.Parallel()
	for name, forgets := range map[string]bool{"with what it had": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var like nats.Options
			first, url := natsServer(t, func(o *nats.Options) { like = *o })
			like.Port = first.Addr().(*net.TCPAddr).Port
			c, over := external(t, url, 2)
			s := answering(t)
			again := make(chan *nats.Server, 1)
			s.each = func(n int) {
				if n == 40 {
					go func() {
						first.Shutdown()
						first.WaitForShutdown()
						o := like
						if forgets {
							o.StoreDir = t.TempDir()
						}
						next, _ := natsServer(t, func(to *nats.Options) { *to = o })
						again <- next
					}()
				}
			}
			p := schema.Phase{Name: "profiling", Kind: "profiling", Type: "constant", Rate: 200, Requests: 600}
			_, err := c.Driver().Drive(t.Context(), t.Context(), opened(t, s, p), &onerun.Session{Dir: t.TempDir()})
			if senders := (*onerun.SendersError)(nil); !errors.As(err, &senders) {
				t.Errorf("the run whose NATS server went ended with %v", err)
			}
			next := <-again
			s = answering(t)
			p.Requests = 60
			res, err := c.Driver().Drive(t.Context(), t.Context(), opened(t, s, p), &onerun.Session{Dir: t.TempDir()})
			if err != nil || res.Emitted != 60 || len(s.asked) != 60 {
				t.Errorf("the next run: %v, %+v, %d requests", err, res, len(s.asked))
			}
			if err := errors.Join(c.Close(), <-over, <-over); err != nil {
				t.Error(err)
			}
			if x, err := next.Jsz(&nats.JSzOptions{}); err != nil || x.Streams != 0 {
				t.Errorf("left on the server: %d streams, %v", x.Streams, err)
			}
		})
	}
}
