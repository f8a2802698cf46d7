//go:build linux && (amd64 || arm64 || riscv64 || loong64 || ppc64le || s390x)

package transport

import (
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// The kernel stamps from the first client to the end of the process: a later
// one waits for nothing, whatever clients were closed before it.
func TestKernelStampsOnceAProcess(t *testing.T) {
	t.Parallel()
	cl, err := Open(Config{Targets: []string{"http://127.0.0.1:1"}, Clock: record.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	if err := cl.Close(); err != nil {
		t.Fatal(err)
	}
	if !cl.kernelStamps {
		t.Skip("this kernel gives no stamps")
	}
	if !stamping.ready(0, func(time.Duration) { t.Error("a later client waits for the kernel's stamps") }) ||
		stamping.there == nil || !stamping.stampsByte() {
		t.Error("the kernel does not stamp any more after a client was closed")
	}
}

// How long the first one waits is a matter of time, not of tries.
func TestPrimingGoesByTime(t *testing.T) {
	t.Parallel()
	var p primer
	tries := 0
	defer func() { // its ends are this test's alone
		if p.there != nil {
			p.there.Close() //nolint:errcheck // nothing depends on it
		}
	}()
	if p.ready(0, func(time.Duration) { tries++ }); tries != 0 {
		t.Errorf("waited %d times within no time", tries)
	}
}
