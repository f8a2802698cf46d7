//go:build unix

package transport_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// A source address that is not ours fails as a shortage of ports does.
func TestNoPorts(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, echo())
	r := open(t, s.URL(), func(c *transport.Config) { c.SourceAddresses = []string{"192.0.2.1"} })
	x := r.do()
	if x.Status != record.Client || x.ErrorKind != "eaddrnotavail" {
		t.Errorf("%s %q %q", x.Status, x.ErrorKind, x.ErrorText)
	}
}

// Without descriptors requests fail as the client's fault, and preflight says
// so before. It runs in a process of its own, whose limit is lowered.
func TestNoDescriptors(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperFewDescriptors$", "-test.v")
	cmd.Env = append(os.Environ(), helperRole+"=descriptors")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestHelperFewDescriptors") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestHelperFewDescriptors is what TestNoDescriptors runs.
func TestHelperFewDescriptors(t *testing.T) {
	if os.Getenv(helperRole) != "descriptors" {
		t.Skip("a role for a copy of this binary")
	}
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skip(err)
	}
	s := fs.Start(t, fs.Script{fs.UntilClosed()})
	r := open(t, s.URL())
	if err := r.Preflight(100); err == nil || !strings.Contains(err.Error(), "the limit is 64") {
		t.Errorf("preflight: %v", err)
	}
	const n = 100 // more than 64 can carry
	ended := make(chan *transport.Exchange, n)
	for range n {
		r.start(func(x *transport.Exchange) { x.Done = func(x *transport.Exchange) { ended <- x } })
	}
	x := await(t, ended) // nothing else ends: the server does not answer
	if x.Status != record.Client || x.ErrorKind != "emfile" {
		t.Errorf("%s %q %q", x.Status, x.ErrorKind, x.ErrorText)
	}
	r.CancelAll(record.Cancelled)
	for range n - 1 {
		await(t, ended)
	}
}
