package metrics

import (
	"testing"

	"aiperf.dev/aiperf/internal/record"
)

// Where a queue grows, those under way wait longer than any that was answered. The mean of the
// steady window is then that of the answers beside whose percentiles it stands, and is no
// larger than the largest of them.
func TestMeanOfAGrowingQueue(t *testing.T) {
	t.Parallel()
	const ms = int64(1e6)
	c := NewCollector(Options{
		Window: Window{Start: 0, End: 30_000 * ms}, Steady: Window{Start: 1_000 * ms, End: 5_000 * ms},
	})
	for i := range int64(200) { // ten a second come, and nothing is answered before 4.9 s
		r := record.New()
		r.Status, r.InWindow, r.Measured = record.OK, true, true
		r.Sent, r.Intended, r.Admitted = i*100*ms, i*100*ms, i*100*ms
		r.End = max(r.Sent+50*ms, 4_900*ms+i*10*ms)
		first := r.End - 10*ms
		r.FirstToken, r.FirstOutput, r.LastToken, r.OSL, r.ISL = first, first, r.End, 2, 1
		r.Streamed, r.Chunks = true, []record.Chunk{{At: first, Low: first}, {At: r.End, Low: r.End}}
		c.Add(&r)
	}
	for _, s := range c.Summaries() {
		l, ok := s.Get(RequestLatency)
		if !ok || l.Avg > l.Max {
			t.Errorf("%s: mean %v of latencies of at most %v", s.Window, l.Avg, l.Max)
		}
	}
}
