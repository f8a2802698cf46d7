package metrics_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// Two slices of 40 ms and a rest of 10: first (2..90 ms) is sent in the first
// slice, second (10..75) too, third (50..90) in the second.
func TestSlices(t *testing.T) {
	t.Parallel()
	third := second()
	for _, at := range []*int64{
		&third.Intended, &third.Admitted, &third.Sent, &third.WriteEnd, &third.FirstByte,
		&third.FirstToken, &third.FirstOutput, &third.LastToken,
	} {
		*at += 40 * msec
	}
	third.End = 90 * msec
	for i := range third.Chunks {
		third.Chunks[i].At += 40 * msec
	}
	third.LastToken = third.Chunks[2].At
	s := metrics.NewSlicer(metrics.Options{Streaming: true, Tokens: true}, metrics.Window{Start: 0, End: 90 * msec},
		40*msec)
	for _, r := range []*record.Record{warmup(), second(), first(), third, failure()} {
		s.Add(r)
	}
	got := s.Slices()
	if len(got) != 2 || got[0].Window != (metrics.Window{End: 40 * msec}) ||
		got[1].Window != (metrics.Window{Start: 40 * msec, End: 80 * msec}) || !got[0].Whole {
		t.Fatalf("slices %+v", got)
	}
	for _, c := range []struct {
		slice     int
		tag, stat string
		want      float64
	}{
		{0, "request_count", "avg", 2},
		{0, "request_throughput", "avg", 50},
		{0, "completed_request_count", "avg", 3},
		{1, "request_count", "avg", 1},
		{1, "completed_request_count", "avg", 1},
		// 40..80: first all the time, second to 75, third from 50
		{1, "effective_concurrency", "avg", (40 + 35 + 30) / 40.0},
		{1, "effective_concurrency", "max", 3},
		// first decodes from 42, second all its time, third from 70
		{1, "effective_decode_concurrency", "avg", (38 + 35 + 10) / 40.0},
		// first prefills to 42 at 1000/s, third in 50..70 at 500/s
		{1, "effective_prefill_throughput", "avg", (2*1000 + 20*500) / 40.0},
	} {
		st, _ := got[c.slice].Summary.Get(c.tag)
		if v := st.Value(c.stat); !near(v, c.want) {
			t.Errorf("slice %d: %s %s = %v, want %v", c.slice, c.tag, c.stat, v, c.want)
		}
	}
	if n := metrics.SliceCount(metrics.Window{End: 90}, 40); n != 3 {
		t.Errorf("SliceCount = %d, want 3", n)
	}
}
