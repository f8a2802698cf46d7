package loadgen

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// fixedLatency answers everything after d.
func fixedLatency(d time.Duration) func(*transport.Exchange) time.Duration {
	return func(*transport.Exchange) time.Duration { return d }
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	// Request i takes (i+1)·10 ms: three slots, each used again at once.
	w := &world{latency: func(x *transport.Exchange) time.Duration {
		return time.Duration(x.User.(*request).id+1) * 10 * msec
	}}
	out := w.play(t, job(t, schema.Phase{Type: "concurrency", Concurrency: 3, Requests: 6}))
	if diff := cmp.Diff(millis(0, 0, 0, 10, 20, 30), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	// The last three end at 10+40, 20+50, 30+60 ms.
	p := out.result.Phases[0]
	if p.Stop != "requests" || p.End != int64(90*msec) || p.Gauge.Max != 3 || p.Target != 3 {
		t.Errorf("stop %s, end %v, max %d, target %d; want requests, 90ms, 3, 3", p.Stop, time.Duration(p.End),
			p.Gauge.Max, p.Target)
	}
	// 3·50 + 2·20 + 1·20 over 90 ms; three in flight all the time until the last send.
	if g := p.Gauge; fmt.Sprintf("%.4f %.2f", g.Mean, g.HeldShare) != "2.3333 1.00" ||
		g.SteadyStart != 0 || g.SteadyEnd != int64(50*msec) {
		t.Errorf("gauge %+v, want mean 2.3333, held 1, steady 3 in 0..50 ms", g)
	}
	for _, r := range out.records {
		if want := max(0, r.Sent); r.Intended != want || r.Admitted != want {
			t.Errorf("request %d: intended %d, admitted %d, sent %d: all are the end of the slot's previous request",
				r.RequestID, r.Intended, r.Admitted, r.Sent)
		}
	}
}

func TestOpenLoopIsNotHeldUpByAnswers(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(time.Second)}
	out := w.play(t, job(t, schema.Phase{Type: "constant", Rate: 100, Requests: 5}))
	if diff := cmp.Diff(millis(10, 20, 30, 40, 50), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	if p := out.result.Phases[0]; p.Rate != 100 || p.Target != 0 || p.Gauge.Max != 5 {
		t.Errorf("rate %v, target %d, max %d; want 100, 0, 5", p.Rate, p.Target, p.Gauge.Max)
	}
}

// 100/s, two slots, 25 ms each: arrival i waits for a slot, in order, and is
// never re-anchored.
func TestCapQueues(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(25 * msec)}
	out := w.play(t, job(t, schema.Phase{Type: "constant", Rate: 100, Requests: 6, Concurrency: 2}))
	if diff := cmp.Diff(millis(10, 20, 35, 45, 60, 70), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	var waits []float64
	for _, r := range out.records {
		waits = append(waits, r.AdmissionWait())
	}
	if diff := cmp.Diff([]float64{0, 0, 5, 5, 10, 10}, waits); diff != "" {
		t.Errorf("admission waits in ms (-want +got):\n%s", diff)
	}
}

// A client that stands still is no queue of the server's. What was due
// meanwhile, and what waits for slots behind it, was admitted when a client that never
// stands still would have sent it; the rest is our lateness.
func TestPauseIsNoAdmissionWait(t *testing.T) {
	t.Parallel()
	uneven := func(x *transport.Exchange) time.Duration { return time.Duration(3+x.User.(*request).id*7%10) * msec }
	talk := func(x *transport.Exchange) time.Duration { return 12 * msec }
	for _, c := range []struct {
		name    string
		phase   schema.Phase
		latency func(*transport.Exchange) time.Duration
	}{
		{"slots to spare", schema.Phase{Type: "constant", Rate: 100, Requests: 400, Concurrency: 2}, fixedLatency(15 * msec)},
		{"as many slots as it takes", schema.Phase{Type: "constant", Rate: 100, Requests: 400, Concurrency: 2}, fixedLatency(20 * msec)},
		{"a queue", schema.Phase{Type: "constant", Rate: 100, Requests: 400, Concurrency: 2}, fixedLatency(21 * msec)},
		{"one slot, uneven answers", schema.Phase{Type: "poisson", Rate: 100, Requests: 400, Concurrency: 1}, uneven},
		{"on the wire", schema.Phase{Type: "poisson", Rate: 60, Requests: 400, InFlight: 1}, talk},
	} {
		play := func(pause time.Duration) []*record.Record {
			w := &world{latency: c.latency, kernel: true}
			if pause > 0 {
				w.at = map[time.Duration]func(*driver){155 * msec: func(*driver) { w.now = int64(155*msec + pause) }}
			}
			out := w.play(t, job(t, c.phase)).records
			slices.SortFunc(out, func(a, b *record.Record) int { return int(a.RequestID - b.RequestID) })
			return out
		}
		ideal, real := play(0), play(time.Second)
		late := 0
		for i, r := range real {
			if r.Admitted != ideal[i].Admitted {
				t.Errorf("%s: request %d admitted at %v, without the pause at %v", c.name, i, time.Duration(r.Admitted),
					time.Duration(ideal[i].Admitted))
				break
			}
			if r.DispatchLateness() > 100 {
				late++
			}
		}
		if last := ideal[len(ideal)-1]; late < 50 || last.DispatchLateness() != 0 {
			t.Errorf("%s: %d requests were late by more than 100 ms; without a pause by %v ms", c.name, late,
				last.DispatchLateness())
		}
	}
}

func TestCapSkips(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(25 * msec)}
	out := w.play(t, job(t, schema.Phase{Type: "constant", Rate: 100, Requests: 4, Concurrency: 2, OnCap: "skip"}))
	if diff := cmp.Diff(millis(10, 20, 40, 50), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"on_cap": 1}, out.result.Phases[0].Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

// A client that stands still skips for want of slots what a punctual one sends: that is no
// work of the cap.
func TestPauseIsNoSkipOfTheCap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		latency time.Duration
	}{{"slots to spare", 15 * msec}, {"a cap that skips", 25 * msec}} {
		play := func(pause time.Duration) map[string]int64 {
			w := &world{latency: fixedLatency(c.latency), kernel: true}
			if pause > 0 {
				w.at = map[time.Duration]func(*driver){155 * msec: func(*driver) { w.now = int64(155*msec + pause) }}
			}
			return w.play(t, job(t, schema.Phase{
				Type: "constant", Rate: 100, Duration: schema.Seconds(4),
				Concurrency: 2, OnCap: "skip",
			})).result.Phases[0].Skipped
		}
		ideal, real := play(0), play(time.Second)
		if lost := real[skipLate]; ideal[skipLate] != 0 || lost < 95 || lost > 105 {
			t.Errorf("%s: %d skipped by a client that stood still for 100 arrivals; without that %d", c.name, lost,
				ideal[skipLate])
		}
		if real[skipOnCap] > ideal[skipOnCap] || ideal[skipOnCap] > 0 && real[skipOnCap] < ideal[skipOnCap]/2 {
			t.Errorf("%s: the cap skipped %d; without the pause %d", c.name, real[skipOnCap], ideal[skipOnCap])
		}
	}
}

func TestDurationAndGrace(t *testing.T) {
	t.Parallel()
	// Four requests go out before 45 ms. Grace ends at 65 ms: those of 10, 20
	// and 30 ms (35 ms each) are in, the one of 40 ms is cut off.
	w := &world{latency: fixedLatency(35 * msec)}
	out := w.play(t, job(t, schema.Phase{
		Type: "constant", Rate: 100, Duration: schema.Seconds(0.045),
		GracePeriod: schema.Seconds(0.02),
	}))
	if diff := cmp.Diff(millis(10, 20, 30, 40), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	last := out.records[3]
	if last.Status != record.Cut || last.InWindow || last.End != int64(65*msec) || last.ErrorKind != "grace_over" {
		t.Errorf("last: %s %s, in window %v, end %d; want cancelled at 65 ms, outside", last.Status, last.ErrorKind,
			last.InWindow, last.End)
	}
	if p := out.result.Phases[0]; p.OK != 3 || p.Cut != 1 || p.Stop != "duration" {
		t.Errorf("ok %d, cancelled %d, stop %s", p.OK, p.CancelledCount, p.Stop)
	}
}

func TestArrivalsWaitingAtTheEndAreCounted(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(time.Second)}
	out := w.play(t, job(t, schema.Phase{Type: "constant", Rate: 100, Duration: schema.Seconds(0.1), Concurrency: 4}))
	// Due at 10..90 ms (100 is too late): four sent, five waiting.
	if diff := cmp.Diff(map[string]int64{"stopped": 5}, out.result.Phases[0].Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

// A client that was held up over the end sends what was due before it.
func TestArrivalsDueBeforeTheEndAreSentLate(t *testing.T) {
	t.Parallel()
	w := &world{}
	w.at = map[time.Duration]func(*driver){75 * msec: func(*driver) { w.now = int64(125 * msec) }}
	out := w.play(t, job(t, schema.Phase{Type: "constant", Rate: 100, Duration: schema.Seconds(0.1)}))
	if diff := cmp.Diff(millis(10, 20, 30, 40, 50, 60, 70, 125, 125), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	if p := out.result.Phases[0]; len(p.Skipped) != 0 || p.Stop != "duration" {
		t.Errorf("skipped %v, stop %s", p.Skipped, p.Stop)
	}
	if late := out.records[8]; late.Intended != int64(90*msec) {
		t.Errorf("the last was intended at %v, want 90ms", time.Duration(late.Intended))
	}
}

func TestInFlightAndPrefillLimits(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(100 * msec), content: 30 * msec}
	w.play(t, job(t, schema.Phase{Type: "concurrency", Concurrency: 4, PrefillConcurrency: 2, Requests: 5}))
	// Two prefill at once; content frees the prefill slot after 30 ms.
	if diff := cmp.Diff(millis(0, 0, 30, 30, 100), w.offsets()); diff != "" {
		t.Errorf("prefill limit, sent at (-want +got):\n%s", diff)
	}
	w = &world{latency: fixedLatency(100 * msec)}
	w.play(t, job(t, schema.Phase{Type: "constant", Rate: 100, InFlight: 2, Requests: 5}))
	if diff := cmp.Diff(millis(10, 20, 110, 120, 210), w.offsets()); diff != "" {
		t.Errorf("in_flight limit, sent at (-want +got):\n%s", diff)
	}
}

// A closed loop says which second limit can make its requests wait.
func TestSecondLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase  schema.Phase
		closed bool
		capped string
	}{
		{schema.Phase{Type: "concurrency", Concurrency: 4}, true, ""},
		{schema.Phase{Type: "concurrency", Concurrency: 4, InFlight: 4, PrefillConcurrency: 4}, true, ""},
		{schema.Phase{Type: "concurrency", Concurrency: 4, InFlight: 3}, true, "in_flight"},
		{schema.Phase{Type: "concurrency", Concurrency: 4, PrefillConcurrency: 3}, true, "prefill"},
		{schema.Phase{Type: "concurrency", InFlight: 4, PrefillConcurrency: 3}, true, "prefill"},
		{schema.Phase{Type: "concurrency", PrefillConcurrency: 3}, true, ""},
		{schema.Phase{Type: "constant", Rate: 100, Concurrency: 4, InFlight: 3}, false, ""},
	} {
		c.phase.Requests = 5
		w := &world{latency: fixedLatency(10 * msec)}
		if p := w.play(t, job(t, c.phase)).result.Phases[0]; p.Closed != c.closed || p.Capped != c.capped {
			t.Errorf("%+v: closed %v, capped by %q; want %v, %q", c.phase, p.Closed, p.Capped, c.closed, c.capped)
		}
	}
}

func TestClosedLoopOverInFlightAlone(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(10 * msec)}
	out := w.play(t, job(t, schema.Phase{Type: "concurrency", InFlight: 2, Requests: 5}))
	if diff := cmp.Diff(millis(0, 0, 10, 10, 20), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	if r := out.records[4]; r.Intended != int64(20*msec) || out.result.Phases[0].Target != 2 {
		t.Errorf("last intended at %v, target %d; want 20ms, 2", time.Duration(r.Intended), out.result.Phases[0].Target)
	}
}

func TestConcurrencyRamp(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(time.Second)}
	out := w.play(t, job(t, schema.Phase{
		Type: "concurrency", Concurrency: 3, Requests: 7,
		ConcurrencyRamp: &schema.Ramp{Duration: 0.1},
	}))
	if diff := cmp.Diff(millis(0, 50, 100, 1000, 1050, 1100, 2000), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	if g := out.result.Phases[0].Gauge; g.SteadyStart != int64(100*msec) {
		t.Errorf("steady from %v, want from the end of the ramp", time.Duration(g.SteadyStart))
	}
	for _, r := range out.records {
		if r.Intended != r.Sent {
			t.Errorf("request %d: intended %v, sent %v", r.RequestID, time.Duration(r.Intended), time.Duration(r.Sent))
		}
	}
}

// Of a run in which not every user has sent a second request, only followers of the fastest answers lie between
// the time when all were there and the time when the first had none left.
func TestSteadyTakesARound(t *testing.T) {
	t.Parallel()
	for requests, steady := range map[int]bool{10: false, 12: false, 19: false, 20: true, 30: true} {
		w := &world{latency: fixedLatency(10 * msec)}
		out := w.play(t, job(t, schema.Phase{Type: "concurrency", Concurrency: 10, Requests: int64(requests)}))
		if g := out.result.Phases[0].Gauge; (g.SteadyStart != record.None) != steady {
			t.Errorf("%d requests of 10 users: steady from %d to %d, want a window: %v", requests, g.SteadyStart,
				g.SteadyEnd, steady)
		}
	}
}

func TestPrefillRamp(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(time.Second)}
	w.play(t, job(t, schema.Phase{
		Type: "concurrency", Concurrency: 3, PrefillConcurrency: 2, Requests: 3,
		PrefillRamp: &schema.Ramp{Duration: 0.2},
	}))
	if diff := cmp.Diff(millis(0, 200, 1000), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
}

// A call of a function stands in the history as it was made: the server refuses
// its result otherwise.
func TestCallsInTheHistory(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(10 * msec)}
	w.reply = func(*transport.Exchange) []string {
		return []string{`{"choices":[{"delta":{"content":"so","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`}
	}
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Sessions: 1})
	j.Set = datasettest.Inline(t, "multi_turn", []any{
		map[string]any{"session_id": "a", "turns": []any{map[string]any{"text": "one"}, map[string]any{"text": "two"}}},
	})
	out := w.play(t, j)
	want := `"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"so","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"two"}]`
	if !strings.Contains(w.sent[1].body, want) {
		t.Errorf("second turn %s\nwant in it %s", w.sent[1].body, want)
	}
	if n := int64(len("one so f {} two")); out.records[1].ISL != n {
		t.Errorf("ISL %d, want %d", out.records[1].ISL, n)
	}
}

// One conversation of three turns at a time; answers are threaded, think time
// runs from the end of the answer.
func TestConversations(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(10 * msec)}
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Sessions: 2})
	j.Set = datasettest.Inline(t, "multi_turn", []any{
		map[string]any{"session_id": "a", "turns": []any{
			map[string]any{"text": "one"},
			map[string]any{"text": "two", "delay": 500},
		}},
		map[string]any{"session_id": "b", "turns": []any{map[string]any{"text": "three"}}},
	})
	out := w.play(t, j)
	if diff := cmp.Diff(millis(0, 510, 520), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	want := `"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"ok"},{"role":"user","content":"two"}]`
	if !strings.Contains(w.sent[1].body, want) {
		t.Errorf("second turn %s\nwant in it %s", w.sent[1].body, want)
	}
	if w.sent[0].session != w.sent[1].session || w.sent[1].session == w.sent[2].session {
		t.Errorf("sessions %v %v %v: want the first two equal", w.sent[0].session, w.sent[1].session, w.sent[2].session)
	}
	r := out.records[1]
	if r.Turn != 1 || r.ConversationID != "a" || r.Intended != int64(510*msec) || r.ISL != int64(len("one ok two")) {
		t.Errorf("turn %d of %s, intended %v, ISL %d; want 1, a, 510ms, %d", r.Turn, r.ConversationID,
			time.Duration(r.Intended), r.ISL, len("one ok two"))
	}
	if p := out.result.Phases[0]; p.Stop != "sessions" || p.Issued != 3 || p.Gauge.HeldShare != 1 {
		t.Errorf("stop %s, issued %d, held %v; want sessions, 3, 1 (think time holds the session)", p.Stop, p.Issued,
			p.Gauge.HeldShare)
	}
}

func TestRequestCountCutsOrFinishes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		onCount string
		issued  int64
		skipped map[string]int64
	}{
		{"", 4, map[string]int64{"conversation_cut": 2}},
		{"finish", 6, map[string]int64{}},
	} {
		w := &world{}
		j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Requests: 4, OnCount: c.onCount})
		j.Set = datasettest.Conversations(t, 3, 3)
		out := w.play(t, j)
		p := out.result.Phases[0]
		if p.Issued != c.issued || p.Stop != "requests" || !cmp.Equal(p.Skipped, c.skipped) {
			t.Errorf("on_count %q: issued %d, stop %s, skipped %v; want %d, requests, %v", c.onCount,
				p.Issued, p.Stop, p.Skipped, c.issued, c.skipped)
		}
	}
}

// In a rate mode every turn waits for an arrival, a waiting turn goes before a
// new session, and think time is over before the turn queues.
func TestTurnsTakeArrivals(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(15 * msec)}
	j := job(t, schema.Phase{Type: "constant", Rate: 100, Requests: 6})
	j.Set = datasettest.Conversations(t, 2, 2, 2, 2)
	w.play(t, j)
	var order []string
	first := map[string]int{}
	for _, s := range w.sent {
		if _, ok := first[s.session]; !ok {
			first[s.session] = len(first)
		}
		order = append(order, fmt.Sprintf("%v:%d.%d", s.at, first[s.session], s.turn))
	}
	// Session 0 answers at 25 ms: its second turn takes the arrival at 30 ms.
	want := []string{"10ms:0.0", "20ms:1.0", "30ms:0.1", "40ms:1.1", "50ms:2.0", "60ms:3.0"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestFixedSchedule(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(700 * msec)}
	j := job(t, schema.Phase{Type: "fixed_schedule", AutoOffset: ptr(true)})
	j.Set = datasettest.Inline(t, "multi_turn", []any{
		map[string]any{"session_id": "a", "turns": []any{
			map[string]any{"text": "1", "timestamp": 1000},
			map[string]any{"text": "2", "timestamp": 3000},
			map[string]any{"text": "3", "timestamp": 3100}, // due before the answer: at its end
			map[string]any{"text": "4", "delay": 50},
		}},
		map[string]any{"session_id": "b", "turns": []any{map[string]any{"text": "5", "timestamp": 1500}}},
	})
	out := w.play(t, j)
	if diff := cmp.Diff(millis(0, 500, 2000, 2700, 3450), w.offsets()); diff != "" {
		t.Errorf("sent at (-want +got):\n%s", diff)
	}
	if p := out.result.Phases[0]; p.Stop != "schedule" || p.Issued != 5 {
		t.Errorf("stop %s, issued %d; want schedule, 5", p.Stop, p.Issued)
	}
}

func TestUserCentric(t *testing.T) {
	t.Parallel()
	// The schedule of TestScheduleOfUsersByHand, kept because answers are fast.
	w := &world{latency: fixedLatency(100 * msec)}
	j := job(t, schema.Phase{Type: "user_centric", Users: 4, Rate: 2, Requests: 12})
	j.Set = datasettest.Conversations(t, 4, 4, 4)
	w.play(t, j)
	for i, at := range w.offsets() {
		if want := time.Duration(i) * 500 * msec; at != want {
			t.Fatalf("turn %d sent at %v, want %v", i, at, want)
		}
	}
	// Answers slower than the gap of 2 s: a user sends when its answer is in,
	// its successors come all the same.
	w = &world{latency: fixedLatency(2500 * msec)}
	j.Phases[0].Requests = 9
	out := w.play(t, j)
	want := millis(0, 500, 1000, 1500, 2500, 3000, 3500, 3500, 5000)
	if diff := cmp.Diff(want, w.offsets()); diff != "" {
		t.Errorf("slow answers, sent at (-want +got):\n%s", diff)
	}
	if r := out.records[4]; r.Intended != int64(2500*msec) {
		t.Errorf("a held-up turn is intended at %v, want at the end of its answer, 2.5s", time.Duration(r.Intended))
	}
	if n := out.result.Phases[0].HeldUp; n != 4 { // those at 2.5, 3, 3.5 and 5 s; a fresh user takes the last request
		t.Errorf("%d turns were held up, want 4", n)
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(50 * msec)}
	warm := schema.Phase{
		Name: "warmup", Kind: "warmup", Type: "concurrency", Concurrency: 1, Requests: 20,
		Cancellation: &schema.Cancellation{Rate: 100},
	}
	prof := schema.Phase{
		Type: "concurrency", Concurrency: 10, Requests: 1000,
		Cancellation: &schema.Cancellation{Rate: 25, Delay: 0.02},
	}
	out := w.play(t, job(t, warm, prof))
	if p := out.result.Phases[0]; p.CancelledCount != 0 {
		t.Errorf("warmup: %d cancelled", p.CancelledCount)
	}
	p := out.result.Phases[1]
	// Binomial(1000, 0.25): four standard deviations are 55.
	if p.CancelledCount < 195 || p.CancelledCount > 305 {
		t.Errorf("%d of 1,000 cancelled, want about 250", p.CancelledCount)
	}
	for _, r := range out.records {
		if r.Status == record.Cancelled && (r.HTTPStatus != 499 || r.End-r.Sent != int64(20*msec) || !r.InWindow) {
			t.Fatalf("cancelled request %d: status %d after %v, in window %v; want 499 after 20 ms, inside",
				r.RequestID, r.HTTPStatus, time.Duration(r.End-r.Sent), r.InWindow)
		}
	}
}

func TestFailureThreshold(t *testing.T) {
	t.Parallel()
	w := &world{reply: func(x *transport.Exchange) []string {
		if x.User.(*request).id < 5 {
			return []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`}
		}
		return []string{`{"error":{"message":"out of memory","type":"server_error"}}`}
	}}
	next := schema.Phase{Name: "second", Type: "concurrency", Concurrency: 1, Requests: 5}
	out := w.play(t, job(t, schema.Phase{
		Type: "concurrency", Concurrency: 1,
		Requests: 100, FailedRequestThreshold: ptr(0.5),
	}, next))
	// Armed at 10 records with 5 of 10 failed, not above one half; the 11th is.
	p := out.result.Phases[0]
	if p.OK != 5 || p.Failed < 6 || p.Failed > 7 || p.Stop != "failures" {
		t.Errorf("ok %d, failed %d, stop %s; want 5, 6 or 7, failures", p.OK, p.Failed, p.Stop)
	}
	if len(out.result.Phases) != 1 ||
		out.result.Cancelled != "--failed-request-threshold exceeded: 6/11 requests of phase profiling failed" {
		t.Errorf("%d phases, cancelled %q; want one, with the reason", len(out.result.Phases), out.result.Cancelled)
	}
}

// reads makes the job's API one of a template, with the text of answers at field.
func reads(t *testing.T, j *Job, field string, streaming bool) {
	t.Helper()
	j.Endpoint = schema.Endpoint{
		Type: "template", URLs: []string{"http://a"}, Streaming: streaming,
		Template: &schema.BodyTemplate{Body: `{"t":1}`, ResponseField: field},
	}
	var err error
	if j.Spec, err = endpoint.Open(&j.Endpoint); err != nil {
		t.Fatal(err)
	}
}

// A setting that finds nothing in any of the first answers finds nothing in the
// others: they are not asked for.
func TestMissedFieldEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{false, true} {
		w := &world{reply: func(*transport.Exchange) []string { return []string{`{"text":"a"}`} }}
		j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Requests: 100_000})
		reads(t, &j, "texts", streaming)
		out := w.play(t, j)
		p := out.result.Phases[0]
		if p.OK != 0 || p.Failed < 10 || p.Issued == 100_000 || p.Stop != "failures" {
			t.Errorf("streaming %v: ok %d, failed %d, issued %d, stop %s", streaming, p.OK, p.Failed, p.Issued, p.Stop)
		}
		if got := out.result.Cancelled; !strings.HasPrefix(got,
			"stopped after 10 answers of phase profiling: response_field texts ") || !strings.Contains(got, `"text`) {
			t.Errorf("streaming %v: %s", streaming, got)
		}
		if r := out.records[0]; r.Status != record.ParseError || r.ErrorKind != "no_field" {
			t.Errorf("streaming %v: %s %s", streaming, r.Status, r.ErrorKind)
		}
	}
	// One answer with it is enough.
	w := &world{reply: func(x *transport.Exchange) []string {
		if x.User.(*request).id == 3 {
			return []string{`{"texts":"a"}`}
		}
		return []string{`{"text":"a"}`}
	}}
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Requests: 40})
	reads(t, &j, "texts", false)
	if p := w.play(t, j).result.Phases[0]; p.OK != 1 || p.Failed != 39 || p.Stop != "requests" {
		t.Errorf("one of 40 has it: ok %d, failed %d, stop %s", p.OK, p.Failed, p.Stop)
	}
}

func TestFailedTurnEndsItsConversation(t *testing.T) {
	t.Parallel()
	w := &world{reply: func(x *transport.Exchange) []string { return []string{"<html>bad gateway</html>"} }}
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Sessions: 2})
	j.Set = datasettest.Conversations(t, 3)
	out := w.play(t, j)
	p := out.result.Phases[0]
	if p.Issued != 2 || p.Failed != 2 || p.Skipped["turn_failed"] != 4 {
		t.Errorf("issued %d, failed %d, skipped %v; want 2, 2, 4 turns", p.Issued, p.Failed, p.Skipped)
	}
	if r := out.records[0]; r.Status != record.ParseError || r.ErrorKind != "html" ||
		!strings.Contains(r.ErrorMessage, "bad gateway") {
		t.Errorf("%s %s %q; want parse_error html with the words", r.Status, r.ErrorKind, r.ErrorMessage)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	// Sent at 10..40 ms, 200 ms each. Interrupted at 45 ms: nothing new, the
	// answers are in after 240 ms.
	w := &world{latency: fixedLatency(200 * msec), at: map[time.Duration]func(*driver){45 * msec: (*driver).interrupt}}
	out := w.play(t, job(t, schema.Phase{Type: "constant", Rate: 100, Requests: 50},
		schema.Phase{Name: "second", Type: "constant", Rate: 1, Requests: 1}))
	p := out.result.Phases[0]
	if p.Issued != 4 || p.OK != 4 || p.Stop != "interrupted" || out.result.Cancelled != "interrupted" ||
		len(out.result.Phases) != 1 {
		t.Errorf("issued %d, ok %d, stop %s, cancelled %q, %d phases; want 4, 4, interrupted, one phase", p.Issued,
			p.OK, p.Stop, out.result.Cancelled, len(out.result.Phases))
	}
	// The second one cancels what is left, at once.
	w = &world{latency: fixedLatency(200 * msec), at: map[time.Duration]func(*driver){
		45 * msec: (*driver).interrupt, 215 * msec: (*driver).abort,
	}}
	out = w.play(t, job(t, schema.Phase{Type: "constant", Rate: 100, Requests: 50}))
	if p = out.result.Phases[0]; p.OK != 1 || p.Cut != 3 || p.End != int64(215*msec) {
		t.Errorf("ok %d, cancelled %d, end %v; want 1, 3, 215ms", p.OK, p.CancelledCount, time.Duration(p.End))
	}
	// Warmup's grace has no end, but an interrupted one does not wait for ever.
	w = &world{latency: fixedLatency(time.Hour), at: map[time.Duration]func(*driver){time.Second: (*driver).interrupt}}
	out = w.play(t, job(t, schema.Phase{Kind: "warmup", Type: "concurrency", Concurrency: 2, Requests: 5}))
	if p = out.result.Phases[0]; p.Cut != 2 || p.End != int64(31*time.Second) {
		t.Errorf("warmup: cancelled %d, end %v; want 2 after 31s", p.CancelledCount, time.Duration(p.End))
	}
}

func TestPhasesAreDrained(t *testing.T) {
	t.Parallel()
	warm := schema.Phase{Name: "warmup", Kind: "warmup", Type: "concurrency", Concurrency: 2, Requests: 2}
	prof := schema.Phase{Type: "concurrency", Concurrency: 2, Requests: 2}
	latency := func(x *transport.Exchange) time.Duration {
		return time.Duration(1+x.User.(*request).id) * 10 * msec // 10, 20, 30, 40 ms
	}
	w := &world{latency: latency}
	j := job(t, warm, prof)
	j.WarmupSet = datasettest.Inline(t, "single_turn", []any{map[string]any{"text": "warm"}})
	out := w.play(t, j)
	if diff := cmp.Diff(millis(0, 0, 20, 20), w.offsets()); diff != "" {
		t.Errorf("drained, sent at (-want +got):\n%s", diff)
	}
	if !out.records[0].Warmup || out.records[0].InWindow || !out.records[2].InWindow || out.records[2].Warmup {
		t.Error("warmup and window are mixed up")
	}
	if !strings.Contains(w.sent[1].body, "warm") || strings.Contains(w.sent[2].body, "warm") {
		t.Error("warmup does not have its own conversations")
	}
	// Seamless: the slots are handed over one by one as answers come.
	prof.Seamless = true
	w = &world{latency: latency}
	w.play(t, job(t, warm, prof))
	if diff := cmp.Diff(millis(0, 0, 10, 20), w.offsets()); diff != "" {
		t.Errorf("seamless, sent at (-want +got):\n%s", diff)
	}
	if w.peak != 2 {
		t.Errorf("%d in flight across the phases, want at most 2", w.peak)
	}
}

func TestRateOfAVaryingSchedule(t *testing.T) {
	t.Parallel()
	// Due at 250, 384.6, 487.5 and 587.5 ms: 4 in 0.5875 s.
	w := &world{}
	out := w.play(t, job(t, schema.Phase{
		Type: "constant", Rate: 10,
		Requests: 4, RateRamp: &schema.Ramp{Duration: 0.4},
	}))
	if got := out.result.Phases[0].Rate; math.Abs(got-4/0.5875) > 1e-9 {
		t.Errorf("rate %v, want %v", got, 4/0.5875)
	}
}

func TestHeadersAndTargets(t *testing.T) {
	t.Parallel()
	w := &world{}
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Requests: 4})
	j.Endpoint.URLs = []string{"http://a/v1", "b:81/proxy?x=1"}
	j.Endpoint.APIKey = "sk-secret"
	j.Endpoint.Headers = schema.Headers{{Name: "X-Team", Value: "blue"}}
	j.Endpoint.ConnectionReuse = "sticky-user-sessions"
	j.Models.Items = append(j.Models.Items, schema.Model{Name: "n"})
	out := w.play(t, j)
	r := out.records[0]
	want := "X-Request-ID: " + r.XRequestID + "\r\nX-Correlation-ID: " + r.XCorrelationID +
		"\r\nX-Team: blue\r\nAuthorization: Bearer sk-secret\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nX-Session-Affinity: " + r.XCorrelationID + "\r\n"
	if diff := cmp.Diff(want, w.sent[0].header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	var urls, models []string
	for _, r := range out.records {
		urls, models = append(urls, r.URL), append(models, r.Model)
	}
	a, b := "http://a/v1/chat/completions", "http://b:81/proxy/v1/chat/completions"
	if !cmp.Equal(urls, []string{a, b, b, a}) || !cmp.Equal(models, []string{"m", "n", "m", "n"}) {
		t.Errorf("round robin, so that each model meets each target: urls %v, models %v", urls, models)
	}
	if len(w.forgot) != 4 || w.forgot[0] != w.sent[0].session {
		t.Errorf("connections of %d of 4 sticky sessions were closed", len(w.forgot))
	}
	ids := map[string]bool{}
	for _, r := range out.records {
		ids[r.XRequestID] = true
	}
	if len(ids) != 4 || len(r.XRequestID) != 36 || r.XRequestID[14] != '4' ||
		!strings.ContainsRune("89ab", rune(r.XRequestID[19])) {
		t.Errorf("request ids %v: want four different version 4 UUIDs", ids)
	}
}

func TestBrokenRequestIsARecord(t *testing.T) {
	t.Parallel()
	w := &world{}
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 2, Requests: 3})
	j.Spec, j.Set = endpointThatCannotRender(j), datasettest.Conversations(t, 1)
	out := w.play(t, j)
	if p := out.result.Phases[0]; p.Issued != 3 || p.Failed != 3 || len(w.sent) != 0 {
		t.Errorf("issued %d, failed %d, sent %d; want 3, 3, 0", p.Issued, p.Failed, len(w.sent))
	}
	if r := out.records[0]; r.Status != record.Client || r.ErrorKind != "request" || r.Sent != record.None {
		t.Errorf("%s %s, sent %d; want client, request, never", r.Status, r.ErrorKind, r.Sent)
	}
}

func TestJobsThatCannotBeDriven(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Job){
		"no phases":      func(j *Job) { j.Phases = nil },
		"no bound":       func(j *Job) { j.Phases[0].Requests = 0 },
		"no models":      func(j *Job) { j.Models.Items = nil },
		"model strategy": func(j *Job) { j.Models.Strategy = "best" },
		"header":         func(j *Job) { j.Endpoint.Headers = schema.Headers{{Name: "X", Value: "a\r\nHost: b"}} },
		"key":            func(j *Job) { j.Endpoint.APIKey = "a\n" },
		"no set":         func(j *Job) { j.Set = nil },
	} {
		j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Requests: 1})
		j.Emit = func(*record.Record) {}
		change(&j)
		w := &world{}
		if _, err := newDriver(&j, w, w); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestLimitThatShrinks(t *testing.T) {
	t.Parallel()
	l := newLimit(3, nil)
	l.set(3, 0)
	for range 3 {
		l.acquire(0)
	}
	l.set(1, 5)
	var full []bool
	for i := range 3 {
		l.release(int64(10 + i))
		full = append(full, l.full())
	}
	if !slices.Equal(full, []bool{true, true, false}) {
		t.Errorf("full after releases: %v, want the debt of two repaid first", full)
	}
	if since := l.acquire(20); since != 12 {
		t.Errorf("the slot is free since %d, want 12", since)
	}
	l.release(30)
	l.set(3, 40)
	if got := []int64{l.acquire(50), l.acquire(50), l.acquire(50)}; !slices.Equal(got, []int64{30, 40, 40}) {
		t.Errorf("slots free since %v, want 30, 40, 40", got)
	}
}

// Who is told twice to end cuts off what is under way himself: that is not put
// on a grace that was not over.
func TestInterruptedIsNotGrace(t *testing.T) {
	t.Parallel()
	w := &world{latency: func(*transport.Exchange) time.Duration { return time.Hour }}
	w.at = map[time.Duration]func(*driver){
		20 * msec: func(d *driver) { d.interrupt() },
		30 * msec: func(d *driver) { d.abort() },
	}
	out := w.play(t, job(t, schema.Phase{
		Type: "concurrency", Concurrency: 2, Duration: schema.Seconds(60),
		GracePeriod: schema.Seconds(30),
	}))
	if len(out.records) != 2 {
		t.Fatalf("%d records, want the two that were under way", len(out.records))
	}
	for _, r := range out.records {
		if r.Status != record.Cut || r.ErrorKind != "interrupted" || r.End != int64(30*msec) {
			t.Errorf("request %d: %s %s at %v: %s", r.RequestID, r.Status, r.ErrorKind, time.Duration(r.End),
				r.ErrorMessage)
		}
	}
}
