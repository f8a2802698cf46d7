//go:build linux && (amd64 || arm64 || riscv64 || loong64 || ppc64le || s390x)

package transport

import (
	"context"
	"testing"

	"aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
)

// The kernel tells how long a server took to answer the first packet, and a connection
// that was open for longer before this program saw it was open unnoticed.
func TestOpenUnnoticed(t *testing.T) {
	t.Parallel()
	s := faultserver.Start(t, faultserver.Script{faultserver.UntilClosed()})
	cl, err := Open(Config{Targets: []string{s.URL()}, Clock: record.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close() //nolint:errcheck // nothing depends on it
	c, err := cl.open(context.Background(), cl.targets[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if rtt, o := c.raw.roundTrip(), c.opening; rtt <= 0 || rtt > o.dial || o.late > o.dial-rtt {
		t.Errorf("a round trip of %d ns; %+v", rtt, o)
	}
	const us = 1000
	for _, c := range []struct{ took, roundTrip, want int64 }{
		{340 * us, 15 * us, 0},                         // loopback
		{100_500 * us, 100_000 * us, 0},                // a server far away
		{5_000_000 * us, 100_000 * us, 4_899_500 * us}, // this program was stopped
		{515 * us, 15 * us, 0},
		{516 * us, 15 * us, 1 * us},
		{3_000_000 * us, 0, 0}, // the first packet was lost
	} {
		if got := unnoticed(c.took, c.roundTrip); got != c.want {
			t.Errorf("seen after %d ns, round trip %d: unnoticed for %d, want %d", c.took, c.roundTrip, got, c.want)
		}
	}
}
