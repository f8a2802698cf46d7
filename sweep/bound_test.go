package sweep_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

func TestBoundOfPhases(t *testing.T) {
	t.Parallel()
	type want struct {
		mode, stop string
		requests   int64
		atLeast    time.Duration
	}
	for what, c := range map[string]struct {
		f schema.Phase
		want
	}{
		"burst by count":        {schema.Phase{Type: "concurrency", Concurrency: 4, Requests: 100}, want{"closed loop, the next request when one is answered", "100 requests", 100, 0}},
		"burst by default":      {schema.Phase{Type: "concurrency", Concurrency: 8}, want{"closed loop, the next request when one is answered", "16 requests by default", 16, 0}},
		"small burst":           {schema.Phase{Type: "concurrency", Concurrency: 1}, want{"closed loop, the next request when one is answered", "10 requests by default", 10, 0}},
		"burst by time":         {schema.Phase{Type: "concurrency", Concurrency: 8, Duration: schema.Seconds(30)}, want{"closed loop, the next request when one is answered", "30s", 0, 30 * time.Second}},
		"burst by either":       {schema.Phase{Type: "concurrency", Concurrency: 8, Requests: 50, Duration: schema.Seconds(30)}, want{"closed loop, the next request when one is answered", "50 requests or 30s", 50, 0}},
		"constant by count":     {schema.Phase{Type: "constant", Rate: 5, Requests: 100}, want{"open loop, evenly spaced arrivals", "100 requests", 100, 20 * time.Second}},
		"poisson by time":       {schema.Phase{Type: "poisson", Rate: 5, Duration: schema.Seconds(30)}, want{"open loop, random arrivals", "30s", 150, 30 * time.Second}},
		"poisson by either":     {schema.Phase{Type: "poisson", Rate: 5, Requests: 1000, Duration: schema.Seconds(30)}, want{"open loop, random arrivals", "1,000 requests or 30s", 150, 30 * time.Second}},
		"rate by default":       {schema.Phase{Type: "poisson", Rate: 2}, want{"open loop, random arrivals", "10 requests by default", 10, 5 * time.Second}},
		"by sessions":           {schema.Phase{Type: "concurrency", Sessions: 7}, want{"closed loop, the next request when one is answered", "7 sessions", 0, 0}},
		"without end":           {schema.Phase{Type: "concurrency", Requests: 9, Duration: &schema.Inf}, want{"closed loop, the next request when one is answered", "9 requests", 9, 0}},
		"series: 0 to 10 in 10": {schema.Phase{Type: "poisson", Duration: schema.Seconds(15), RateSeries: []schema.RatePoint{{TimeS: 0, QPS: 0}, {TimeS: 10, QPS: 10}}}, want{"open loop, random arrivals at a rate that changes", "15s", 100, 15 * time.Second}},
	} {
		d := &document{Phases: []schema.Phase{c.f}}
		got := expand(t, d).Bound(nil).Phases[0]
		if w := (want{got.Mode, got.Stop, got.Requests, got.AtLeast}); w != c.want {
			t.Errorf("%s: %+v, want %+v", what, w, c.want)
		}
	}
}

func TestBoundOfPlan(t *testing.T) {
	t.Parallel()
	d := three(2)
	d.Phases = []schema.Phase{
		{Name: "warmup", Kind: "warmup", Type: "concurrency", Requests: 5},
		{Name: "profiling", Kind: "profiling", Type: "constant", Rate: 10},
	}
	derive(d, requests, "10*concurrency")
	d.Kind.CooldownSeconds, d.Head.MultiRun.CooldownSeconds = 2, 7
	b := expand(t, d).Bound(nil)
	// warmup in the first trial only: 3·5 + 2·(10+20+40) = 155; 2·(1+2+4) s
	if b.Runs != 6 || b.Requests != 155 || b.AtLeast != 14*time.Second || b.Open || b.Cooldown != 10*time.Second {
		t.Errorf("bound = %+v", b)
	}
	want := []sweep.PhaseBound{
		{Name: "warmup", Kind: "warmup", Mode: "closed loop, the next request when one is answered", Reason: "type concurrency", Stop: "5 requests", Requests: 5, MaxRequests: 5},
		{Name: "profiling", Kind: "profiling", Mode: "open loop, evenly spaced arrivals", Reason: "type constant", Stop: "10 to 40 requests", Requests: 10, MaxRequests: 40, AtLeast: time.Second},
	}
	if diff := cmp.Diff(want, b.Phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	d.Kind.IterationOrder = "independent" // two pauses between cells, three within
	if got := expand(t, d).Bound(nil).Cooldown; got != (2*2+3*7)*time.Second {
		t.Errorf("cooldown by cell = %v, want 25s", got)
	}
	d.Phases[1].Duration = schema.Seconds(1)
	d.Phases[1].Type, d.Phases[1].Rate = "concurrency", 0
	d.Kind.Derive = nil
	if b := expand(t, d).Bound(nil); !b.Open || b.Requests != 15 || b.AtLeast != 6*time.Second {
		t.Errorf("bounded by time: %+v, want it open", b)
	}
}

// What a fixed schedule sends is counted by somebody who reads its rows.
func TestBoundOfFixedSchedules(t *testing.T) {
	t.Parallel()
	d := grid(2, axis(concurrency, "concurrency", 1, 2, 4, 8))
	d.Phases = []schema.Phase{{Name: "profiling", Type: "fixed_schedule"}}
	p := expand(t, d)
	open := p.Bound(nil)
	if !open.Open || open.Requests != 0 || open.Phases[0].Stop != "end of the schedule" {
		t.Errorf("nobody counts: %+v", open)
	}
	asked := 0
	b := p.Bound(func(run sweep.Run, f *schema.Phase) (int64, time.Duration) {
		if asked++; run.Trial != 0 || f.Name != "profiling" {
			t.Errorf("asked for trial %d, phase %s", run.Trial, f.Name)
		}
		return 24, 3 * time.Second
	})
	if b.Open || b.Requests != 2*4*24 || b.AtLeast != 2*4*3*time.Second || asked != 4 ||
		b.Phases[0].Stop != "24 requests, the last due at 3s" {
		t.Errorf("bound = %+v after %d questions", b, asked)
	}
}
