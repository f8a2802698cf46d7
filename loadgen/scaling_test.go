package loadgen

import (
	"math"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/scale"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// raising is a phase that raises a setting from least to most while the latency of all
// answers of a second stays below a limit, by 50 %.
func raising(p schema.Phase, variable string, least, most float64, limit float64) schema.Phase {
	p.Name, p.Kind, p.Duration = "profiling", "profiling", schema.Seconds(60)
	p.AdaptiveScale = &schema.AdaptiveScale{
		Control:          schema.ScaleControl{Variable: variable, Min: least, Max: most},
		AssessmentPeriod: 1, MinCompletedRequests: 2, SustainDuration: 2,
		Strategy: schema.ScaleStrategy{
			Type: "ramp_until_fail", StepPolicy: schema.FixedPercentStep, StepPercent: 50, BaseStep: 1, MaxStepMultiplier: 1,
		},
		SLA: []schema.SLAFilter{{MetricTag: "request_latency", Stat: "max", Op: "lt", Threshold: limit}},
	}
	return p
}

// slowest is the only figure that these phases are judged by.
func slowest(in []*record.Record, _ scale.Window) scale.Figures {
	return func(string, string) float64 {
		v := math.NaN()
		for _, r := range in {
			if l := float64(r.End-r.Sent) / 1e6; !(v > l) {
				v = l
			}
		}
		return v
	}
}

// A phase that raises its load has as much of it as was decided, from the moment on at
// which it was, and ends when the value that was found has held.
func TestRaisesItsLoad(t *testing.T) {
	t.Parallel()
	const sent = 100 * time.Millisecond
	for _, c := range []struct {
		name    string
		phase   schema.Phase
		loads   []float64 // of each second
		latency func(flying int, at time.Duration) time.Duration
		count   func(load float64) int // requests of a second at a load
	}{
		{
			name:  "concurrency",
			phase: raising(schema.Phase{Type: "concurrency", Concurrency: 1}, schema.ScaleConcurrency, 2, 20, 150),
			loads: []float64{2, 3, 5, 8, 12, 8, 8}, // 12 is slow
			latency: func(flying int, _ time.Duration) time.Duration {
				if flying > 10 {
					return 2 * sent
				}
				return sent
			},
			count: func(load float64) int { return int(10 * load) },
		},
		{
			name:  "rate",
			phase: raising(schema.Phase{Type: "constant", Rate: 1}, schema.ScaleRate, 20, 200, 150),
			loads: []float64{20, 30, 45, 67.5, 101.25, 67.5, 67.5}, // in the fifth second all is slow
			latency: func(_ int, at time.Duration) time.Duration {
				if at >= 4*time.Second && at < 5*time.Second {
					return 2 * sent
				}
				return sent
			},
			count: func(load float64) int { return int(math.Round(load)) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{}
			w.latency = func(*transport.Exchange) time.Duration { return c.latency(w.flying, time.Duration(w.now)) }
			j := job(t, c.phase)
			j.Figures = slowest
			out := w.play(t, j)
			res := out.result.Phases[0]
			if res.Stop != stopScaled || res.Scale == nil || res.Scale.Status != scale.StatusCompleted {
				t.Fatalf("ended by %s: %+v", res.Stop, res.Scale)
			}
			if !res.Varying || res.Gauge.SteadyStart != record.None {
				t.Errorf("varying %v, steady from %d", res.Varying, res.Gauge.SteadyStart)
			}
			for i, win := range res.Scale.Candidates {
				if i >= len(c.loads) || win.Value != c.loads[i] {
					t.Errorf("window %d is at %g, want %v", i, win.Value, c.loads)
					break
				}
			}
			if n := len(res.Scale.Candidates); n != len(c.loads) {
				t.Errorf("%d windows, want %d", n, len(c.loads))
			}
			seconds := make([]int, len(c.loads))
			for _, s := range w.sent {
				if i := int(s.at / time.Second); i < len(seconds) {
					seconds[i]++
				}
			}
			for i, load := range c.loads {
				want := c.count(load)
				slow := i > 0 && load < c.loads[i-1] || i+1 < len(c.loads) && c.loads[i+1] < load
				if d := seconds[i] - want; d < -want/10-1 && !slow || d > want/10+1 {
					t.Errorf("second %d at %g: %d requests, want about %d", i, load, seconds[i], want)
				}
			}
			if late := w.sent[len(w.sent)-1].at; late > time.Duration(len(c.loads))*time.Second {
				t.Errorf("something is sent at %s, after the end", late)
			}
		})
	}
}

// A rate that is steered keeps the schedule's draws: the requests of a window are those
// that the seed has at that place, at another scale.
func TestSteeredRateKeepsTheDraws(t *testing.T) {
	t.Parallel()
	w := &world{}
	j := job(t, raising(schema.Phase{Type: "poisson", Rate: 1}, schema.ScaleRate, 50, 50, 500))
	j.Figures = slowest
	w.play(t, j)
	plain := &world{}
	q := job(t, schema.Phase{Name: "profiling", Kind: "profiling", Type: "poisson", Rate: 50, Requests: int64(len(w.sent))})
	plain.play(t, q)
	for i, s := range plain.sent {
		if d := s.at - w.sent[i].at; d < -time.Microsecond || d > time.Microsecond {
			t.Fatalf("request %d is sent at %s, and at %s where nothing is raised", i, w.sent[i].at, s.at)
		}
	}
	if len(w.sent) < 100 {
		t.Errorf("%d requests", len(w.sent))
	}
}

// A limit that the smallest value misses ends the phase at once, and one that needs more
// answers than there are goes on waiting.
func TestRaisesNothing(t *testing.T) {
	t.Parallel()
	w := &world{latency: func(*transport.Exchange) time.Duration { return 400 * time.Millisecond }}
	j := job(t, raising(schema.Phase{Type: "concurrency", Concurrency: 1}, schema.ScaleConcurrency, 1, 20, 150))
	j.Figures = slowest
	res := w.play(t, j).result.Phases[0]
	if res.Scale.Status != scale.StatusFailed || w.now > int64(2*time.Second) {
		t.Errorf("%s after %s", res.Scale.Status, time.Duration(w.now))
	}
	w = &world{latency: func(*transport.Exchange) time.Duration { return 1900 * time.Millisecond }}
	j = job(t, raising(schema.Phase{Type: "concurrency", Concurrency: 1}, schema.ScaleConcurrency, 1, 20, 3000))
	j.Phases[0].Duration = schema.Seconds(10)
	j.Figures = slowest
	res = w.play(t, j).result.Phases[0]
	if res.Scale.Status != scale.StatusIncomplete || res.Stop != stopDuration {
		t.Errorf("%s, by %s", res.Scale.Status, res.Stop)
	}
	if c := res.Scale.Candidates; len(c) == 0 || c[0].Window.Completed != 2 || c[0].Window.To != int64(4*time.Second) {
		t.Errorf("%+v: want a first window of two answers in 4 s", c)
	}
}
