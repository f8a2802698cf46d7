//go:build unix

package main

import (
	"encoding/pem"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// natsDeaths is how many times a NATS server stands still or is killed at drawn moments.
var natsDeaths = flag.Int("nats-deaths", 0, "further drawn moments in TestNATSOfOthers")

// A NATS server that stands still for a while costs nothing: coordinator and workers wait for its
// words, and send what is due meanwhile. One that is killed and started again costs the run that was
// under way. Either way each request of what counts was sent once.
func TestNATSOfOthers(t *testing.T) {
	t.Parallel()
	const requests = 400
	type moment struct {
		kill bool
		sent int // requests before it
	}
	moments := []moment{{false, 50}, {true, 50}}
	draw := rand.New(rand.NewPCG(26, 2))
	for range *natsDeaths {
		moments = append(moments, moment{draw.IntN(2) == 0, draw.IntN(requests + 1)})
	}
	for i, m := range moments {
		t.Run(fmt.Sprintf("%d: killed %t, after %d requests", i, m.kill, m.sent), func(t *testing.T) {
			t.Parallel()
			server := &requested{}
			s := httptest.NewServer(http.HandlerFunc(server.answer))
			defer s.Close()
			dir := t.TempDir()
			write(t, dir, "token", "token-of-the-nats-server\n")
			write(t, dir, "rate.yaml", fmt.Sprintf(badLine, s.URL, requests))
			port := freePort(t)
			nats := otherNATS(t, dir, port)
			url := "nats://127.0.0.1:" + port
			to := []string{"--nats", url, "--token-file", "token"}
			p := aiperf(t, dir, append([]string{"run", "rate.yaml", "--artifact-dir", "out", "--workers", "2"}, to...)...)
			if !p.until("workers to be asked for", func() bool {
				return strings.Contains(p.err.String(), "waiting for 2 workers, at most 30m00s: aiperf worker --nats "+url+" --token-file token\n")
			}) {
				t.Fatalf("it ended\n%s", &p.err)
			}
			worker := append([]string{"worker", "--wait", "100"}, to...)
			one, two := aiperf(t, dir, worker...), aiperf(t, dir, worker...)
			p.until("requests", func() bool { return len(server.all()) >= m.sent })
			if m.kill {
				_ = nats.cmd.Process.Kill()
				<-nats.ended
				otherNATS(t, dir, port)
			} else {
				nats.signal(syscall.SIGSTOP)
				<-time.After(3 * time.Second) // longer than a worker may be silent
				nats.signal(syscall.SIGCONT)
			}
			p.wants(diag.OK)
			one.wants(diag.OK)
			two.wants(diag.OK)
			if n := lines(filepath.Join(dir, "out", "requests.csv")); n != requests+1 {
				t.Errorf("%d lines of requests, want a head and %d", n, requests)
			}
			all := server.all()
			once(t, all[max(0, len(all)-requests):], requests)
			again := strings.Contains(p.err.String(), "the run is sent again")
			// Where all is sent, the run may be over before its records are asked for through the dead one.
			if must := m.kill && m.sent == 50; again && !m.kill || must && !again || !again && len(all) != requests {
				t.Errorf("sent again: %t; %d requests\n%s", again, len(all), &p.err)
			}
		})
	}
}

// Over tls:// the server must have a certificate that this machine trusts; the token goes to no other.
func TestNATSWithCertificates(t *testing.T) {
	t.Parallel()
	server := &requested{}
	s := httptest.NewServer(http.HandlerFunc(server.answer))
	defer s.Close()
	dir := t.TempDir()
	const requests = 20
	write(t, dir, "token", "token-of-the-nats-server\n")
	write(t, dir, "rate.yaml", fmt.Sprintf(badLine, s.URL, requests))
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	write(t, dir, "trusted.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
	port := freePort(t)
	otherNATS(t, dir, port, "tls")
	to := []string{"--nats", "tls://127.0.0.1:" + port, "--token-file", "token"}
	run := append([]string{"run", "rate.yaml", "--artifact-dir", "out", "--workers", "1"}, to...)

	stranger := aiperf(t, dir, run...)
	stranger.wants(diag.Failed)
	if said := stranger.err.String(); !strings.Contains(said, "certificate signed by unknown authority") {
		t.Errorf("it said\n%s", said)
	}
	trusting := []string{"SSL_CERT_FILE=" + filepath.Join(dir, "trusted.pem"), "SSL_CERT_DIR=" + filepath.Join(dir, "none")}
	p := aiperfWith(t, dir, trusting, run...)
	worker := aiperfWith(t, dir, trusting, append([]string{"worker", "--wait", "100"}, to...)...)
	p.wants(diag.OK)
	worker.wants(diag.OK)
	once(t, server.all(), requests)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// otherNATS is a NATS server that takes connections. One that was killed is started again with
// the same port and folder.
func otherNATS(t *testing.T, dir, port string, more ...string) *process {
	t.Helper()
	p := &process{
		t: t, ended: make(chan struct{}), cmd: exec.Command("nats-of-others",
			append([]string{port, filepath.Join(dir, "nats"), "token-of-the-nats-server"}, more...)...),
	}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = &p.out, &p.err, ownGroup()
	p.run()
	if !p.until("the NATS server", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}) {
		t.Fatalf("the NATS server ended: %s", &p.err)
	}
	return p
}
