package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aiperf.dev/aiperf/internal/diag"
)

// hosts are two network namespaces, as two machines are. Each has an address for the load, on a
// line that is always whole, and one on a line that this test is: what goes over it is read from
// one end and written to the other, later, or not at all.
type hosts struct {
	t    *testing.T
	name [2]string
	line *line
}

// Addresses of the first host; the second one's end in 2.
const (
	loadNet = "10.231.1."
	lineNet = "10.231.2."
)

// twoHosts needs root and Linux' ip. Where these are and it does not work, something is broken,
// which a machine that tests for everybody does not overlook.
func twoHosts(t *testing.T) *hosts {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("needs root, and ip")
	}
	var some [3]byte
	_, _ = rand.Read(some[:]) // it never fails
	id := hex.EncodeToString(some[:])
	h := &hosts{t: t, name: [2]string{"aiperf-" + id + "-1", "aiperf-" + id + "-2"}}
	for _, name := range h.name {
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("ip netns add: %v: %s", err, out)
			}
			t.Skipf("no network namespaces: %s", out)
		}
		t.Cleanup(func() {
			if out, err := exec.Command("ip", "netns", "pids", name).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("processes that are left in %s: %v: %s", name, err, out)
			}
			h.ip("netns", "delete", name)
		})
	}
	h.ip("link", "add", "load", "netns", h.name[0], "type", "veth", "peer", "name", "load", "netns", h.name[1])
	h.line = &line{}
	for i, name := range h.name {
		tun := "ap" + id + fmt.Sprint(i)
		h.line.ends[i] = openTUN(t, tun)
		h.ip("link", "set", tun, "netns", name, "name", "line")
		for device, net := range map[string]string{"load": loadNet, "line": lineNet} {
			h.ip("-n", name, "addr", "add", net+fmt.Sprint(i+1)+"/24", "dev", device)
			h.ip("-n", name, "link", "set", device, "up")
		}
		h.ip("-n", name, "link", "set", "lo", "up")
	}
	h.line.carry()
	t.Cleanup(h.line.close)
	return h
}

func (h *hosts) ip(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		h.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// aiperf starts the program on a host.
func (h *hosts) aiperf(host int, dir string, args ...string) *process {
	h.t.Helper()
	p := &process{t: h.t, cmd: exec.Command("ip", append([]string{"netns", "exec", h.name[host], "aiperf"}, args...)...)}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = dir, &p.out, &p.err, ownGroup()
	p.ended = make(chan struct{})
	p.run()
	return p
}

// listen listens on the first host.
func (h *hosts) listen() net.Listener {
	h.t.Helper()
	type made struct {
		l   net.Listener
		err error
	}
	got := make(chan made, 1)
	var there func()
	there = func() {
		runtime.LockOSThread() // the thread goes to the other namespace, and ends with this function
		if unix.Gettid() == os.Getpid() {
			defer runtime.UnlockOSThread() // but not the first one, which cannot end
			again := make(chan struct{})
			go func() { defer close(again); there() }()
			<-again
			return
		}
		ns, err := os.Open("/run/netns/" + h.name[0])
		if err == nil {
			defer ns.Close()
			err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		}
		var l net.Listener
		if err == nil {
			l, err = net.Listen("tcp", loadNet+"1:0")
		}
		got <- made{l, err}
	}
	go there()
	m := <-got
	if m.err != nil {
		h.t.Fatal(m.err)
	}
	return m.l
}

// line carries packets between two hosts.
type line struct {
	ends  [2]*os.File
	delay atomic.Int64  // ns each way
	loss  atomic.Uint64 // of 1000 packets
	cut   atomic.Bool
	over  sync.WaitGroup
}

type packet struct {
	due time.Time
	b   []byte
}

func openTUN(t *testing.T, name string) *os.File {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("/dev/net/tun: %v", err)
	}
	as, err := unix.NewIfreq(name)
	if err == nil {
		as.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, as)
	}
	f := os.NewFile(uintptr(fd), name)  // not before: until then the poller takes it for closed
	t.Cleanup(func() { _ = f.Close() }) // line.close may have been there before
	if err != nil {
		t.Fatalf("a device for packets: %v", err)
	}
	return f
}

func (l *line) carry() {
	for i := range l.ends {
		from, to, on := l.ends[i], l.ends[1-i], make(chan packet, 1<<14)
		random := mathrand.New(mathrand.NewPCG(1, uint64(i)))
		l.over.Go(func() {
			defer close(on)
			for b := make([]byte, 1<<16); ; {
				n, err := from.Read(b)
				if err != nil {
					return
				}
				if !l.cut.Load() && random.Uint64N(1000) >= l.loss.Load() {
					on <- packet{time.Now().Add(time.Duration(l.delay.Load())), append([]byte(nil), b[:n]...)}
				}
			}
		})
		l.over.Go(func() {
			for p := range on {
				<-time.After(time.Until(p.due))
				_, _ = to.Write(p.b) // a line may lose what it carries
			}
		})
	}
}

func (l *line) close() {
	for _, f := range l.ends {
		_ = f.Close()
	}
	l.over.Wait()
}

func (h *hosts) serve() (url string, a *requested) {
	a = &requested{}
	l := h.listen()
	s := &http.Server{Handler: http.HandlerFunc(a.answer)}
	go func() { _ = s.Serve(l) }() // until it is closed
	h.t.Cleanup(func() { _ = s.Close() })
	return "http://" + l.Addr().String(), a
}

// Workers on two machines and a line between them. One that is slow and loses packets changes
// nothing in what is sent. One that is cut while requests are sent spoils the run: the coordinator
// gives the worker up, and when the line is whole again the worker has stopped, joins once more,
// and the run is sent again. Nothing of the first attempt is sent beside the second.
func TestWorkersOnABadLine(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]bool{"slow": false, "cut": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := twoHosts(t)
			url, server := h.serve()
			dir := t.TempDir()
			const requests = 400
			write(t, dir, "rate.yaml", fmt.Sprintf(badLine, url, requests))
			if !cut {
				h.line.delay.Store(int64(50 * time.Millisecond))
				h.line.loss.Store(10)
			}
			p := h.aiperf(0, dir, "run", "rate.yaml", "--artifact-dir", "out", "--workers", "2", "--listen", "0.0.0.0:0",
				"--token-file", "token")
			called := regexp.MustCompile(`--join tls://[^ ]+:([0-9]+) `)
			var port string
			if !p.until("an address", func() bool {
				found := called.FindStringSubmatch(p.err.String())
				if found != nil {
					port = found[1]
				}
				return found != nil
			}) {
				t.Fatalf("it ended\n%s", &p.err)
			}
			join := []string{
				"worker", "--join", "tls://" + lineNet + "1:" + port, "--token-file", "token", "--wait", "100", "--index",
			}
			near, far := h.aiperf(0, dir, append(join, "0")...), h.aiperf(1, dir, append(join, "1")...)
			if cut {
				p.until("requests", func() bool { return len(server.all()) >= 50 })
				h.line.cut.Store(true)
				p.until("the worker to be given up", func() bool { return strings.Contains(p.err.String(), "was lost") })
				said := p.err.String()
				if !strings.Contains(said, "worker 2 of 2 was lost: nothing was heard of it for") {
					t.Errorf("it said\n%s", said)
				}
				h.line.cut.Store(false)
			}
			p.wants(diag.OK)
			near.wants(diag.OK)
			far.wants(diag.OK)
			if n := lines(filepath.Join(dir, "out", "requests.csv")); n != requests+1 {
				t.Errorf("%d lines of requests, want a head and %d", n, requests)
			}
			all := server.all() // the last attempt is whole, and stands by itself
			once(t, all[max(0, len(all)-requests):], requests)
			if !cut && len(all) != requests {
				t.Errorf("%d requests were sent, want %d", len(all), requests)
			}
			if given := strings.Contains(p.err.String(), "was lost"); given != cut {
				t.Errorf("a worker was given up: %t\n%s", given, &p.err)
			}
		})
	}
}
