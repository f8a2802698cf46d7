package claims_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/loadgen/endpoint/claims"
)

var nan = math.NaN()

// Most servers say no times, so looking for them costs no allocation.
func TestHeaderTimingsOfNoLines(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { claims.HeaderTimings(nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestHeaderTimings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines string
		want  *claims.Timings
	}{
		{"", nil},
		{"Content-Type: application/json\r\nX-Time: 5\r\n", nil},
		{"X-Queue-Time: 1.5\r\nx-inference-time: 20\r\nx-total-time: 22\r\n", &claims.Timings{Queue: 1.5, Prefill: nan, Decode: 20, Total: 22, Inference: nan, PeakMemory: nan}},
		{"Server-Timing: queue;dur=2, cache;desc=\"hit\", prefill;desc=p;dur=3.5, decode;dur=\"40\"\r\n", &claims.Timings{Queue: 2, Prefill: 3.5, Decode: 40, Total: nan, Inference: nan, PeakMemory: nan}},
		{"Server-Timing: decode;desc=\"a, \\\"b\\\"; dur=1\";dur=20.25, prefill ; DUR = 3\r\n", &claims.Timings{Queue: nan, Prefill: 3, Decode: 20.25, Total: nan, Inference: nan, PeakMemory: nan}},
		{"Server-Timing: total\r\nx-queue-time: -1\r\nx-total-time: soon\r\n", nil},
		{"server-timing: total;dur=Inf, queue;dur=NaN, decode;dur=0\r\n", &claims.Timings{Queue: nan, Prefill: nan, Decode: 0, Total: nan, Inference: nan, PeakMemory: nan}},
	} {
		if diff := cmp.Diff(c.want, claims.HeaderTimings([]byte(c.lines)), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("HeaderTimings(%q) (-want +got):\n%s", c.lines, diff)
		}
	}
}
