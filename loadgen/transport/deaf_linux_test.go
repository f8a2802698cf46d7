package transport_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// deaf is an address that neither accepts a connection nor refuses it, as one
// behind a firewall: its queue of connections is full.
func deaf(t *testing.T) netip.AddrPort {
	t.Helper()
	socket := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	l := socket()
	loopback := [4]byte{127, 0, 0, 1}
	if err := unix.Bind(l, &unix.SockaddrInet4{Addr: loopback}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(l, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(l)
	if err != nil {
		t.Fatal(err)
	}
	port := name.(*unix.SockaddrInet4).Port
	for range 4 { // more than the queue takes
		// it is in progress, or never will be
		unix.Connect(socket(), &unix.SockaddrInet4{Addr: loopback, Port: port}) //nolint:errcheck
	}
	return netip.AddrPortFrom(netip.AddrFrom4(loopback), uint16(port))
}

// A server that does not even refuse is said to be out of reach, and requests
// to it end at their deadlines.
func TestDeafServer(t *testing.T) {
	t.Parallel()
	r := open(t, "http://"+deaf(t).String())
	transport.SetPatience(r.Client, 100*time.Millisecond)
	if err := r.Probe(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "no connection within 100ms") {
		t.Errorf("probe: %v", err)
	}
	x := r.do(func(x *transport.Exchange) { x.Deadline = r.clock.Now() + int64(50*time.Millisecond) })
	if x.Status != record.Timeout || x.ErrorKind != "connect_timeout" || x.Sent != record.None {
		t.Errorf("%s %q %q, sent at %d", x.Status, x.ErrorKind, x.ErrorText, x.Sent)
	}
}

// One address of several that does not answer leaves time for the others, and
// is not tried again.
func TestOneDeafAddress(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, echo())
	r := open(t, s.URL(), reusing("never"))
	transport.Resolved(r.Client, deaf(t), netip.MustParseAddrPort(s.Addr()))
	transport.SetPatience(r.Client, 400*time.Millisecond)
	if err := r.Probe(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if x := r.do(func(x *transport.Exchange) {
			x.Deadline = r.clock.Now() +
				int64(20*time.Second)
		}); x.Status != record.OK {
			t.Errorf("%s %s", x.Status, x.ErrorText)
		}
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("the other address got %d requests, want 3", n)
	}
}
