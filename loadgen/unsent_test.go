package loadgen

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// missed is what was due and never sent.
type missed struct {
	At   time.Duration
	Why  string
	Turn int64
}

// What the schedule wanted and nobody sent leaves a record with its due time
// and its reason, and nothing else leaves one.
func TestUnsentLeavesRecords(t *testing.T) {
	t.Parallel()
	talk := func(id string, turns ...any) any { return map[string]any{"session_id": id, "turns": turns} }
	at := func(ms int) any { return map[string]any{"text": "a", "timestamp": ms} }
	for _, c := range []struct {
		name    string
		phase   schema.Phase
		records []any // of a trace
		latency time.Duration
		fails   bool
		want    []missed
	}{
		{
			name: "on_cap", latency: 25 * msec,
			phase: schema.Phase{Type: "constant", Rate: 100, Requests: 3, Concurrency: 1, OnCap: "skip"},
			want: []missed{
				{20 * msec, "on_cap", 0},
				{30 * msec, "on_cap", 0},
				{50 * msec, "on_cap", 0},
				{60 * msec, "on_cap", 0},
			},
		},
		{
			name: "stopped", latency: 100 * msec,
			phase: schema.Phase{Type: "constant", Rate: 100, Duration: schema.Seconds(0.045), Concurrency: 2},
			want:  []missed{{30 * msec, "stopped", 0}, {40 * msec, "stopped", 0}},
		},
		{
			name: "a closed loop wants nothing by the clock", latency: 100 * msec,
			phase: schema.Phase{Type: "concurrency", Concurrency: 3, Duration: schema.Seconds(0.045)},
		},
		{
			name: "stamped turns after a failure", latency: msec, fails: true,
			phase:   schema.Phase{Type: "fixed_schedule"},
			records: []any{talk("a", at(0), at(20), at(90)), talk("b", at(50))},
			want:    []missed{{20 * msec, "turn_failed", 1}, {90 * msec, "turn_failed", 2}},
		},
		{
			name: "stamped turns behind a slow answer", latency: 60 * msec,
			phase:   schema.Phase{Type: "fixed_schedule", Duration: schema.Seconds(0.055)},
			records: []any{talk("a", at(0), at(20), at(40), at(90)), talk("b", at(10))},
			want:    []missed{{20 * msec, "conversation_cut", 1}, {40 * msec, "conversation_cut", 2}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{latency: fixedLatency(c.latency)}
			if c.fails {
				w.reply = func(*transport.Exchange) []string { return []string{"no JSON"} }
			}
			j := job(t, c.phase)
			if c.records != nil {
				j.Set = datasettest.Inline(t, "multi_turn", c.records)
			}
			var got []missed
			ids := map[int64]bool{}
			j.Unsent = func(r *record.Record) {
				got = append(got, missed{time.Duration(r.Intended), r.ErrorKind, r.Turn})
				if r.Status != record.Unsent || !r.Censored() || !r.Measured || r.InWindow || r.RequestID >= 0 ||
					ids[r.RequestID] || r.Sent != record.None || r.ErrorMessage == "" {
					t.Errorf("record %+v", r)
				}
				ids[r.RequestID] = true
			}
			out := w.play(t, j)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("unsent (-want +got):\n%s", diff)
			}
			p := out.result.Phases[0]
			if due := p.Issued + p.Unsent; p.Unsent != int64(len(got)) || p.Closed != (p.Due == 0) || !p.Closed &&
				p.Due != due {
				t.Errorf("%d unsent, %d due; %d issued, %d records", p.Unsent, p.Due, p.Issued, len(got))
			}
		})
	}
}

// A turn of a trace is wanted when the trace says, also where the answer before
// it is late: then it waits for that answer, not for the client.
func TestTraceTurnsKeepTheirTime(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(60 * msec)}
	j := job(t, schema.Phase{Type: "fixed_schedule"})
	j.Set = datasettest.Inline(t, "multi_turn", []any{map[string]any{"session_id": "a", "turns": []any{
		map[string]any{"text": "a", "timestamp": 0},
		map[string]any{"text": "b", "timestamp": 20},
		map[string]any{"text": "c", "timestamp": 200},
	}}})
	out := w.play(t, j)
	var intended, admitted []time.Duration
	for _, r := range out.records {
		intended, admitted = append(intended, time.Duration(r.Intended)), append(admitted, time.Duration(r.Admitted))
	}
	if diff := cmp.Diff(millis(0, 20, 200), intended); diff != "" {
		t.Errorf("intended (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(millis(0, 60, 200), admitted); diff != "" {
		t.Errorf("admitted (-want +got):\n%s", diff)
	}
}

// A closed loop is measured against the target of the moment: neither its ramp
// nor its drain is the client's fault.
func TestConcurrencyHeldAgainstTheTargetOfTheMoment(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(10 * msec)}
	p := schema.Phase{
		Type: "concurrency", Concurrency: 8, ConcurrencyRamp: &schema.Ramp{Duration: 0.5},
		Duration: schema.Seconds(1),
	}
	out := w.play(t, job(t, p))
	res := out.result.Phases[0]
	if g := res.Gauge; math.Abs(g.HeldRatio-1) > 1e-9 || g.HeldShare > 0.6 {
		t.Errorf("held %v of the target of the moment (want 1), %v of the time at the last one", g.HeldRatio,
			g.HeldShare)
	}
	var sum int64
	for _, r := range out.records {
		sum += r.End - r.Sent
	}
	if res.Gauge.Residence != sum {
		t.Errorf("residence %d, the records say %d", res.Gauge.Residence, sum)
	}
}

// Requests go to several targets as asked.
func TestTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		strategy, reuse string
		want            []string // target by request, in order of sending
	}{
		{"round_robin", "", []string{"a", "b", "c", "a", "b", "c"}},
		{"session", "", []string{"a", "a", "a", "b", "b", "b"}},
		{"round_robin", "sticky-user-sessions", []string{"a", "a", "a", "b", "b", "b"}},
		{"least_in_flight", "", []string{"a", "b", "c", "a", "b", "c"}},
	} {
		j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Sessions: 2})
		j.Set = datasettest.Conversations(t, 3, 3)
		j.Endpoint.URLs = []string{"http://a", "http://b", "http://c"}
		j.Endpoint.URLStrategy, j.Endpoint.ConnectionReuse = c.strategy, c.reuse
		out := (&world{}).play(t, j)
		var got []string
		for _, r := range out.records {
			got = append(got, r.URL[len("http://"):len("http://")+1])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.strategy, c.reuse, diff)
		}
	}
}

// Two models on two targets meet in all four pairs, equally often, whichever way
// targets take turns; so do any other numbers of both.
func TestModelsMeetAllTargets(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"round_robin", "session", "least_in_flight"} {
		for _, n := range []struct{ models, targets int }{{2, 2}, {2, 4}, {4, 2}, {4, 6}, {3, 2}, {3, 3}, {5, 1}} {
			const times = 3
			pairs := n.models * n.targets
			j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Requests: int64(times * pairs)})
			j.Endpoint.URLStrategy, j.Endpoint.URLs = strategy, nil
			for i := range n.targets {
				j.Endpoint.URLs = append(j.Endpoint.URLs, fmt.Sprintf("http://t%d", i))
			}
			j.Models = schema.Models{}
			for i := range n.models {
				j.Models.Items = append(j.Models.Items, schema.Model{Name: fmt.Sprintf("m%d", i)})
			}
			met := map[string]int{}
			for _, r := range (&world{}).play(t, j).records {
				met[r.Model+" "+r.URL]++
			}
			if len(met) != pairs {
				t.Errorf("%s: %d models met %d targets in %d pairs, want %d", strategy, n.models, n.targets, len(met),
					pairs)
			}
			for pair, k := range met {
				if k != times {
					t.Errorf("%s, %d models on %d targets: %s %d times, want %d", strategy, n.models, n.targets, pair,
						k, times)
				}
			}
		}
	}
}

// A slow target gets fewer requests when the idlest is chosen.
func TestLeastInFlightAvoidsTheSlow(t *testing.T) {
	t.Parallel()
	e := &engine{targets: newTargets(&schema.Endpoint{URLs: []string{"a", "b"}, URLStrategy: "least_in_flight"}, 1, record.Share{})}
	count := map[int]int{}
	for range 20 {
		r := &request{}
		e.aim(r)
		count[r.x.Target]++
		if r.x.Target == 1 { // b answers at once, a never
			e.arrived(r)
		}
	}
	if count[0] != 1 || count[1] != 19 {
		t.Errorf("requests by target %v, want 1 and 19", count)
	}
}

// Records name targets so that they can be told apart, without what may be
// secret, and a model that stands in the path.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		urls []string
		path string
		want []string
	}{
		{[]string{"http://a", "http://b/v1"}, "/v1/x", []string{"http://a/v1/x", "http://b/v1/x"}},
		{[]string{"http://u:p@a/?key=1", "http://a/?key=2", "http://b"}, "/x", []string{"http://a/x#1", "http://a/x#2", "http://b/x"}},
		{[]string{"http://a?k=1", "http://b", "http://a?k=1", "http://a?k=3"}, "/x", []string{"http://a/x#1", "http://b/x", "http://a/x#1", "http://a/x#4"}},
		{[]string{"mock:?ttft=1ms", "mock:?ttft=2ms"}, "/x", []string{"http://mock:/x#1", "http://mock:/x#2"}},
		{nil, "/x", []string{""}},
	} {
		a := newAddresses(c.urls, c.path, nil)
		var got []string
		for i := range c.want {
			got = append(got, a.of(i, c.path))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.urls, diff)
		}
	}
	a := newAddresses([]string{"http://a?k=1", "http://a?k=2"}, "/models/m/infer", nil)
	if got := a.of(1, "/models/other/infer"); got != "http://a/models/other/infer#2" {
		t.Errorf("another model: %s", got)
	}
}
