package endpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/loadgen/endpoint"
)

func TestHeaderTimings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines string
		want  *endpoint.Timings
	}{
		{"", nil},
		{"Content-Type: application/json\r\nX-Time: 5\r\n", nil},
		{"X-Queue-Time: 1.5\r\nx-inference-time: 20\r\nx-total-time: 22\r\n", &endpoint.Timings{Queue: 1.5, Prefill: nan, Decode: 20, Total: 22}},
		{"Server-Timing: queue;dur=2, cache;desc=\"hit\", prefill;desc=p;dur=3.5, decode;dur=\"40\"\r\n", &endpoint.Timings{Queue: 2, Prefill: 3.5, Decode: 40, Total: nan}},
		{"Server-Timing: total\r\nx-queue-time: -1\r\nx-total-time: soon\r\n", nil},
		{"server-timing: total;dur=Inf, queue;dur=NaN, decode;dur=0\r\n", &endpoint.Timings{Queue: nan, Prefill: nan, Decode: 0, Total: nan}},
	} {
		if diff := cmp.Diff(c.want, endpoint.HeaderTimings([]byte(c.lines)), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("HeaderTimings(%q) (-want +got):\n%s", c.lines, diff)
		}
	}
}
