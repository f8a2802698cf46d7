package faults

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"aiperf.dev/aiperf/internal/record"
)

// roles are what a copy of this binary can be.
func roles() map[string]func() {
	return map[string]func(){"few ports": fewPorts, "client": clientToStop, "hog": hog, "on core 0": onCore0}
}

// fewPorts runs its arguments where 200 local ports exist and nothing but
// loopback: it is started in a network namespace of its own.
func fewPorts() {
	if err := raiseLoopback(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40199"), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	err := syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
	fmt.Fprintln(os.Stderr, err)
	os.Exit(99)
}

// raiseLoopback sets the interface lo up.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(req))); e != 0 {
		return e
	}
	return nil
}

// withFewPorts runs aiperf where there are 200 local ports.
func withFewPorts(t *testing.T, args ...string) *program {
	t.Helper()
	if out, err := exec.Command("unshare", "-rn", "true").CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %s", out)
	}
	return start(t, t.TempDir(), func(c *exec.Cmd) {
		c.Env = append(c.Env, role+"=few ports")
		c.Args = append([]string{"unshare", "-rn", os.Args[0], c.Path}, c.Args[1:]...)
		c.Path, c.Err = exec.LookPath("unshare")
	}, args...)
}

// With 200 local ports 500 requests cannot be in flight: said before anything
// is sent, with the numbers and what to do.
func TestFewPorts(t *testing.T) {
	t.Parallel()
	p := withFewPorts(t, profiling("mock:?ttft=1ms", "--concurrency", "500", "--request-count", "500")...)
	p.exit(1, 2)
	out := flat(p.stdout.String() + p.stderr.String())
	if !strings.Contains(out, "500 connections need as many local ports and there are 200") ||
		!strings.Contains(out, "source addresses") {
		t.Errorf("said:\n%s", out)
	}
}

// A port serves one connection to each server: with 200 of them 300 requests to
// two servers are in flight at once.
func TestPortsServeSeveralServers(t *testing.T) {
	t.Parallel()
	p := withFewPorts(t, profiling("mock:?ttft=400ms&osl=1", "--url", "mock:?ttft=401ms&osl=1", "--concurrency", "300",
		"--request-count", "300", "--allow-invalid")...)
	p.exit(0)
	if got := p.ended(); got["ok"] != 300 || len(got) != 1 {
		t.Errorf("requests ended as %v, want 300 ok", got)
	}
	if most := p.mostAtOnce(); most <= 200 {
		t.Errorf("%d requests were in flight at once, want more than there are ports", most)
	}
}

// mostAtOnce is the number of requests in flight at once, by their stamps.
func (p *program) mostAtOnce() int {
	p.t.Helper()
	var all []arrival
	for _, r := range p.table("requests") {
		a := arrival{rec: &record.Record{}}
		for column, to := range map[string]*int64{"sent_ns": &a.at, "end_ns": &a.rec.End} {
			n, err := strconv.ParseInt(r[column], 10, 64)
			if err != nil {
				p.t.Fatalf("%s: %v", column, err)
			}
			*to = n
		}
		all = append(all, a)
	}
	return most(all, func(a arrival) int64 { return a.rec.End })
}
