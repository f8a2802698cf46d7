package record

import (
	"math"
	"testing"
)

// Every span of one request, by hand: intended at 1 ms, admitted at 3, sent at
// 4, first reasoning at 24, first output at 34, last content at 104, 11 tokens.
func TestSpans(t *testing.T) {
	t.Parallel()
	at := func(ms int64) int64 { return ms * 1e6 }
	whole := func() *Record {
		r := New()
		r.Status, r.Streamed, r.OSL = OK, true, 11
		r.Intended, r.Admitted, r.Sent = at(1), at(3), at(4)
		r.FirstToken, r.FirstOutput, r.LastToken, r.End = at(24), at(34), at(104), at(110)
		return &r
	}
	none := math.NaN()
	for _, c := range []struct {
		name   string
		change func(*Record)
		want   [9]float64 // TTFT, TTFO, latency, decode, ITL, TTFT and latency from intended, lateness, wait
	}{
		{"streamed", func(*Record) {}, [9]float64{20, 30, 100, 80, 8, 23, 103, 1, 2}},
		{"not streamed", func(r *Record) { r.Streamed = false }, [9]float64{none, none, 100, none, none, none, 103, 1, 2}},
		{"one token", func(r *Record) { r.OSL = 1 }, [9]float64{20, 30, 100, 80, none, 23, 103, 1, 2}},
		{"no token count", func(r *Record) { r.OSL = None }, [9]float64{20, 30, 100, 80, none, 23, 103, 1, 2}},
		{"no content", func(r *Record) { r.FirstToken, r.FirstOutput, r.LastToken = None, None, None }, [9]float64{none, none, none, none, none, none, none, 1, 2}},
		{"never sent", func(r *Record) { r.Sent, r.FirstToken, r.FirstOutput, r.LastToken = None, None, None, None }, [9]float64{none, none, none, none, none, none, none, none, 2}},
		{"on a connection that took 0.75 ms to open", func(r *Record) { r.Connecting = 750_000 }, [9]float64{20, 30, 100, 80, 8, 23, 103, 0.25, 2}},
		{"a slot that was free before it was due", func(r *Record) { r.Admitted = at(0) }, [9]float64{20, 30, 100, 80, 8, 23, 103, 3, 0}},
	} {
		r := whole()
		c.change(r)
		got := [9]float64{
			r.TTFT(), r.TTFO(), r.Latency(), r.Decode(), r.ITL(), r.TTFTFromIntended(),
			r.LatencyFromIntended(), r.DispatchLateness(), r.AdmissionWait(),
		}
		for i := range got {
			if got[i] != c.want[i] && !(math.IsNaN(got[i]) && math.IsNaN(c.want[i])) {
				t.Errorf("%s: %v ms, want %v", c.name, got, c.want)
				break
			}
		}
	}
}
