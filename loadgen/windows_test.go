package loadgen

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/stable"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// untilStable is a closed loop of ten that ends by windows of a second, after 40 s at the latest.
func untilStable(percentage float64) schema.Phase {
	return schema.Phase{
		Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 10, Duration: schema.Seconds(40),
		Stability: &schema.Stability{Percentage: percentage, Mode: "time_windows", Interval: 1, Requests: 50},
	}
}

// A server that is slow for some seconds: the load goes on for three windows behind that, and
// these are its steady window, whatever was before.
func TestEndsWhenStable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ slow, want int }{{0, 3}, {1, 4}, {2, 5}, {7, 10}} {
		w := &world{}
		w.latency = func(*transport.Exchange) time.Duration {
			if at := int(w.now / int64(time.Second)); at < c.slow { // and slower in each of them
				return time.Duration(400-40*at) * time.Millisecond
			}
			return 10 * time.Millisecond
		}
		res := w.play(t, job(t, untilStable(10))).result.Phases[0]
		s := res.Stability
		if res.Stop != stopStable || s == nil || !s.Stable {
			t.Fatalf("slow for %d s: ended by %s, %+v", c.slow, res.Stop, s)
		}
		// at the border the last slow answers reach into the first quick second
		if n := len(s.Windows); n != c.want && n != c.want+1 || c.slow == 0 && n != c.want {
			t.Errorf("slow for %d s: %d windows, want %d", c.slow, n, c.want)
		}
		last := s.Last()
		if res.Gauge.SteadyStart != last[0].From || res.Gauge.SteadyEnd != last[2].To ||
			res.Gauge.SteadyEnd-res.Gauge.SteadyStart != int64(3*time.Second) {
			t.Errorf("steady from %d to %d, windows %+v", res.Gauge.SteadyStart, res.Gauge.SteadyEnd, last)
		}
		for _, win := range last { // ten at once, each 10 ms
			if math.Abs(win.Rate-1000) > 20 || math.Abs(win.Latency-10) > 0.1 {
				t.Errorf("%+v, want 1000 requests/s of 10 ms", win)
			}
		}
	}
}

// A server whose latency doubles and halves by turns is never stable: the duration ends the load.
func TestNeverStable(t *testing.T) {
	t.Parallel()
	w := &world{}
	w.latency = func(*transport.Exchange) time.Duration {
		return time.Duration(10+10*(w.now/int64(time.Second)%2)) * time.Millisecond
	}
	p := untilStable(10)
	p.Duration = schema.Seconds(10)
	res := w.play(t, job(t, p)).result.Phases[0]
	if s := res.Stability; res.Stop != stopDuration || s.Stable || len(s.Windows) < 9 {
		t.Errorf("ended by %s: %+v", res.Stop, s)
	}
}

// Windows of a count end with the request that completes them, and not within a second.
func TestCountWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		latency time.Duration
		count   int64
		length  time.Duration
	}{
		{10 * time.Millisecond, 50, time.Second},              // 50 came within 50 ms
		{500 * time.Millisecond, 50, 2500 * time.Millisecond}, // twenty a second
		{400 * time.Millisecond, 900, 40 * time.Second},       // the second is not complete in time
	} {
		w := &world{latency: func(*transport.Exchange) time.Duration { return c.latency }}
		p := untilStable(20)
		p.Stability.Mode, p.Stability.Requests = "count_windows", c.count
		res := w.play(t, job(t, p)).result.Phases[0]
		s := res.Stability
		if c.length == 40*time.Second {
			if res.Stop != stopDuration || len(s.Windows) != 1 {
				t.Errorf("%d requests: ended by %s after %d windows", c.count, res.Stop, len(s.Windows))
			}
			continue
		}
		if res.Stop != stopStable || len(s.Windows) != stable.Agreeing {
			t.Fatalf("%d requests of %s: ended by %s, %+v", c.count, c.latency, res.Stop, s)
		}
		for _, win := range s.Windows {
			if d := time.Duration(win.To - win.From); d < c.length || d > c.length+c.latency {
				t.Errorf("%d requests of %s: a window of %s, want %s", c.count, c.latency, d, c.length)
			}
			if win.Completed < c.count {
				t.Errorf("a window of %d requests, want %d at least", win.Completed, c.count)
			}
		}
	}
}

// Drawn servers: each window holds exactly what was answered in it, by the records, and the
// load ends at the first three that agree and at no other.
func TestWindowsOfDrawnServers(t *testing.T) {
	t.Parallel()
	ended := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		mean, spread, drift := 5+45*r.Float64(), r.Float64(), 4*r.Float64()
		w := &world{}
		w.latency = func(*transport.Exchange) time.Duration {
			slow := 1 + drift*math.Exp(-float64(w.now)/3e9)
			return time.Duration(mean * slow * (1 + spread*(2*r.Float64()-1)) * 1e6)
		}
		p := untilStable(1 + 14*r.Float64())
		p.Duration = schema.Seconds(10)
		p.Concurrency = 1 + r.IntN(12)
		if r.IntN(3) == 0 {
			p.Stability.Mode, p.Stability.Requests = "count_windows", 20+int64(r.IntN(200))
		}
		out := w.play(t, job(t, p))
		res := out.result.Phases[0]
		again := stable.New(p.Stability)
		for i, win := range res.Stability.Windows {
			n, ms := int64(0), 0.0
			for _, rec := range out.records {
				if rec.Status == record.OK && rec.End > win.From && rec.End <= win.To {
					n, ms = n+1, ms+float64(rec.End-rec.Sent)/1e6
				}
			}
			want := stable.NewWindow(win.From, win.To, n, ms)
			if n != win.Completed || math.Abs(want.Latency-win.Latency) > 1e-9 {
				t.Fatalf("seed %d, window %d: %+v, by the records %+v", seed, i, win, want)
			}
			if agree := again.Add(win); agree != (res.Stop == stopStable && i == len(res.Stability.Windows)-1) {
				t.Fatalf("seed %d: %d windows agree %v, of %d; ended by %s", seed, i+1, agree, len(res.Stability.Windows), res.Stop)
			}
		}
		if res.Stop == stopStable {
			ended++
		}
	}
	if ended < 8 || ended > 32 {
		t.Errorf("%d of 40 drawn servers became stable: the test needs both", ended)
	}
}
