package loadgen

import (
	"math"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/schema"
)

// ended is a streamed answer of 11 tokens, sent at 0 on time.
func ended(ttft, itl time.Duration) *record.Record {
	r := record.New()
	r.Status, r.Streamed, r.OSL = record.OK, true, 11
	r.Intended, r.Admitted, r.Sent = 0, 0, int64(300*time.Microsecond)
	r.FirstToken = r.Sent + int64(ttft)
	r.LastToken = r.FirstToken + 10*int64(itl)
	r.End = r.LastToken
	return &r
}

// A snapshot shows the quantiles of the last seconds, and only of these: what is
// older than both windows is gone.
func TestLiveQuantiles(t *testing.T) {
	t.Parallel()
	m := newMeter(true)
	for i := range 100 {
		m.add(ended(time.Duration(i+1)*time.Millisecond, 10*time.Millisecond))
	}
	at := int64(0)
	next := func() (s Snapshot) {
		at += int64(liveEvery)
		s.At = at
		m.fill(&s)
		return s
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= 0.01*want } // the histogram keeps two digits
	s := next()
	for name, v := range map[string][2]float64{
		"TTFT p50": {s.TTFTP50, 50}, "TTFT p99": {s.TTFTP99, 99}, "ITL p50": {s.ITLP50, 10}, "ITL p99": {s.ITLP99, 10},
		"latency p50": {s.LatencyP50, 150}, "latency p99": {s.LatencyP99, 199}, "lag p99": {s.LagP99, 0.3},
		"requests per second": {s.RequestsPerSecond, 200}, "tokens per second": {s.OutputTokensPerSecond, 2200},
	} {
		if !near(v[0], v[1]) {
			t.Errorf("%s %v, want %v", name, v[0], v[1])
		}
	}
	for i := range 2 * liveWindow {
		if s = next(); i < liveWindow-1 && !near(s.TTFTP50, 50) {
			t.Errorf("after %d snapshots: TTFT p50 %v, want 50", i+2, s.TTFTP50)
		}
		if i >= liveWindow {
			m.add(ended(7*time.Millisecond, time.Millisecond))
		}
	}
	if !near(s.TTFTP99, 7) || !near(s.ITLP99, 1) || s.RequestsPerSecond != 2 {
		t.Errorf("%d snapshots later: TTFT p99 %v, ITL p99 %v, %v requests/s; want 7, 1, 2",
			2*liveWindow, s.TTFTP99, s.ITLP99, s.RequestsPerSecond)
	}
}

// A snapshot holds what the phase is doing while it does it, and adds up.
func TestSnapshotWhileRunning(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(100 * msec)}
	var shown []Snapshot
	w.at = map[time.Duration]func(*driver){}
	for _, when := range []time.Duration{50 * msec, 150 * msec, 250 * msec} {
		w.at[when] = func(d *driver) { shown = append(shown, d.current.Load().snapshot(int64(when))) }
	}
	w.play(t, job(t, schema.Phase{Name: "busy", Type: "concurrency", Concurrency: 3, Requests: 9}))
	if len(shown) != 3 {
		t.Fatalf("%d snapshots", len(shown))
	}
	for i, s := range shown {
		if s.Phase != "busy" || s.Warmup || s.Planned != 9 || s.Target != 3 || s.InFlight != 3 || s.Start != 0 ||
			s.Ends != record.None ||
			s.Sent != int64(3*(i+1)) || s.Done != int64(3*i) || s.Failed != 0 || s.Cancelled != 0 {
			t.Errorf("after %v: %+v", time.Duration(s.At), s)
		}
	}
}

// Counting a request for the snapshots allocates nothing, nor does taking one:
// they are free beside the request itself.
func TestLiveDoesNotAllocate(t *testing.T) {
	m := newMeter(true)
	r := ended(40*time.Millisecond, 10*time.Millisecond)
	var s Snapshot
	if n := testing.AllocsPerRun(100, func() { m.add(r); s.At += int64(liveEvery); m.fill(&s) }); n > 0 {
		t.Errorf("%v allocations a record and snapshot", n)
	}
}

func BenchmarkLiveRecord(b *testing.B) {
	m := newMeter(true)
	r := ended(40*time.Millisecond, 10*time.Millisecond)
	for b.Loop() {
		m.add(r)
	}
}

func BenchmarkLiveSnapshot(b *testing.B) {
	m := newMeter(true)
	for i := range 10_000 {
		m.add(ended(time.Duration(i)*time.Microsecond*37, 10*time.Millisecond))
	}
	var s Snapshot
	for b.Loop() {
		s.At += int64(liveEvery)
		m.fill(&s)
	}
}
