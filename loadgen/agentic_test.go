package loadgen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/dataset/fidelity"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// recordedAgent is a session of four turns, at 0, 1, 2 and 4 s, each answered in
// 100 ms. At 1.2 s it starts a subagent with requests at 1.3, 1.5 and 1.9 s, for
// which the third turn waits.
func recordedAgent(id string) map[string]any {
	request := func(t float64, in int, hashes ...any) map[string]any {
		return map[string]any{"type": "n", "t": t, "in": in, "out": 10, "api_time": 0.1, "hash_ids": hashes}
	}
	return map[string]any{"id": id, "block_size": 64, "hash_id_scope": "local", "requests": []any{
		request(0, 64, 1), request(1, 128, 1, 2),
		map[string]any{"type": "subagent", "t": 1.2, "agent_id": "helper", "duration_ms": 800, "requests": []any{
			request(1.3, 65, 7, 8), request(1.5, 66, 7, 9), request(1.9, 67, 7, 10),
		}},
		request(2.05, 192, 1, 2, 3), request(4, 256, 1, 2, 3, 4),
	}}
}

// recordedLate is a session of four turns, at 0, 1.2, 3 and 4 s, each answered in 100 ms.
func recordedLate(id string) map[string]any {
	var requests []any
	for i, at := range []float64{0, 1.2, 3, 4} {
		hashes := []any{1, 2, 3, 4}[:i+1]
		requests = append(requests, map[string]any{
			"type": "n", "t": at, "in": 64 * (i + 1), "out": 10, "api_time": 0.1, "hash_ids": hashes,
		})
	}
	return map[string]any{"id": id, "block_size": 64, "hash_id_scope": "local", "requests": requests}
}

// agentic is a job that replays the sessions, with the phase that primes.
func agentic(t *testing.T, phase schema.Phase, sessions ...map[string]any) Job {
	t.Helper()
	tok, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	var records []any
	for _, s := range sessions {
		records = append(records, s)
	}
	set, err := dataset.Open(schema.Dataset{
		Type: "file", Format: "weka_trace",
		Records: datasettest.Records(t, records...),
	}, tok, 1, "profiling")
	if err != nil {
		t.Fatal(err)
	}
	phase.Type = "agentic_replay"
	j := job(t, phase)
	j.Phases, j.Set, j.Tokenizer = mode.WithPriming(j.Phases), set, tok
	return j
}

// sendings is a line for each request: its phase, when it was sent, which turn
// it is and how many tokens it asks for.
func sendings(records []*record.Record) (lines []string) {
	slices.SortFunc(records, func(a, b *record.Record) int { return cmp.Compare(a.RequestID, b.RequestID) })
	for _, r := range records {
		lines = append(lines, fmt.Sprintf("%s %v %s:%d %d/%d", r.Phase, time.Duration(r.Sent), r.ConversationID, r.Turn,
			r.ISL, r.OSLRequested))
	}
	return lines
}

// An agentic replay goes on from a moment inside a session: what came before is
// primed, what was under way goes on at its recorded distances, and a turn waits
// for the subagents that it waited for.
func TestAgenticReplay(t *testing.T) {
	t.Parallel()
	at := func(ratio float64) schema.Phase {
		return schema.Phase{
			Concurrency: 1, Sessions: 1, TrajectoryStartMinRatio: &ratio,
			TrajectoryStartMaxRatio: &ratio,
		}
	}
	burst, idle := at(0.4), at(0.4)
	burst.BurstPhaseStarts = true
	most := 0.15
	idle.SystemIdleGapCapSeconds = &most
	twice := at(0.9)
	twice.Sessions = 2
	laterOne, lanes, lanesAtOnce, lanesIdle := at(0.4), at(0.4), at(0.4), at(0.4)
	laterOne.LaterReplay = true
	for _, p := range []*schema.Phase{&lanes, &lanesAtOnce, &lanesIdle} {
		p.LaterReplay, p.Concurrency, p.Sessions = true, 2, 2
	}
	lanesAtOnce.BurstPhaseStarts, lanesIdle.TreeIdleGapCapSeconds = true, &most
	for _, c := range []struct {
		name  string
		phase schema.Phase
		want  []string
	}{
		{
			"at 1.6 s, while the subagent works", at(0.4),
			[]string{
				"agentic_warmup 0s a:1 128/1", "agentic_warmup 500ms a::sa:helper:1 66/1",
				"profiling 810ms a::sa:helper:2 67/10", // the warmup was over at 510 ms
				"profiling 870ms a:2 192/10",           // 50 ms after the subagent, as recorded
				"profiling 2.73s a:3 256/10",           // 1.85 s after that
			},
		},
		{
			"all at once", burst,
			[]string{
				"agentic_warmup 0s a::sa:helper:1 66/1", "agentic_warmup 0s a:1 128/1",
				"profiling 10ms a::sa:helper:2 67/10", "profiling 70ms a:2 192/10", "profiling 1.93s a:3 256/10",
			},
		},
		{
			"no request in flight for 150 ms at most", idle,
			[]string{
				"agentic_warmup 0s a:1 128/1", "agentic_warmup 500ms a::sa:helper:1 66/1",
				"profiling 660ms a::sa:helper:2 67/10", "profiling 720ms a:2 192/10", "profiling 880ms a:3 256/10",
			},
		},
		{
			"from the beginning there is nothing to prime", at(0),
			[]string{
				"profiling 0s a:0 64/10", "profiling 910ms a:1 128/10", "profiling 1.02s a::sa:helper:0 65/10",
				"profiling 1.13s a::sa:helper:1 66/10", "profiling 1.44s a::sa:helper:2 67/10", "profiling 1.5s a:2 192/10", "profiling 3.36s a:3 256/10",
			},
		},
		{
			"the next session is played as a whole", twice,
			[]string{
				"agentic_warmup 0s a:2 192/1", "profiling 410ms a:3 256/10",
				"profiling 420ms b:0 64/10", "profiling 1.33s b:1 128/10", "profiling 1.44s b::sa:helper:0 65/10",
				"profiling 1.55s b::sa:helper:1 66/10", "profiling 1.86s b::sa:helper:2 67/10", "profiling 1.92s b:2 192/10", "profiling 3.78s b:3 256/10",
			},
		},
		{
			"after 0.13 every wait is shorter by the shortest one, 300 ms", laterOne,
			[]string{
				"agentic_warmup 0s a:1 128/1", "agentic_warmup 500ms a::sa:helper:1 66/1",
				"profiling 510ms a::sa:helper:2 67/10", "profiling 570ms a:2 192/10", "profiling 2.43s a:3 256/10",
			},
		},
		{
			"after 0.13, two sessions: both wait 300 ms less", lanes,
			[]string{
				"agentic_warmup 0s a:1 128/1", "agentic_warmup 200ms late:1 128/1",
				"agentic_warmup 500ms a::sa:helper:1 66/1",
				"profiling 510ms a::sa:helper:2 67/10", "profiling 570ms a:2 192/10", "profiling 1.61s late:2 192/10",
				"profiling 2.43s a:3 256/10", "profiling 2.52s late:3 256/10",
			},
		},
		{
			"after 0.13, all at once: each session waits its own shortest less, in the warmup, too", lanesAtOnce,
			[]string{
				"agentic_warmup 0s a:1 128/1", "agentic_warmup 0s late:1 128/1",
				"agentic_warmup 500ms a::sa:helper:1 66/1",
				"profiling 510ms a::sa:helper:2 67/10", "profiling 510ms late:2 192/10", "profiling 570ms a:2 192/10",
				"profiling 1.42s late:3 256/10", "profiling 2.43s a:3 256/10",
			},
		},
		{
			"after 0.13, 150 ms idle in each session at most, whatever the other does", lanesIdle,
			[]string{
				"agentic_warmup 0s a:1 128/1", "agentic_warmup 200ms late:1 128/1",
				"agentic_warmup 500ms a::sa:helper:1 66/1",
				"profiling 510ms a::sa:helper:2 67/10", "profiling 570ms a:2 192/10", "profiling 660ms late:2 192/10",
				"profiling 730ms a:3 256/10", "profiling 820ms late:3 256/10",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{latency: fixedLatency(10 * msec)}
			second := recordedAgent("b")
			if c.phase.Concurrency > 1 {
				second = recordedLate("late")
			}
			out := w.play(t, agentic(t, c.phase, recordedAgent("a"), second))
			if diff := gocmp.Diff(c.want, sendings(out.records)); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			sessions := map[string]string{}
			for _, r := range out.records {
				if was := sessions[r.ConversationID]; was != "" && was != r.SessionID {
					t.Errorf("%s is session %s, and was %s", r.ConversationID, r.SessionID, was)
				}
				sessions[r.ConversationID] = r.SessionID
			}
		})
	}
}

// A replay from the middle of sessions is held against the trace: pauses, order,
// lengths, and the prefixes that the server knows, those primed among them.
func TestFidelityOfAgenticReplay(t *testing.T) {
	t.Parallel()
	ratio := 0.4
	j := agentic(t, schema.Phase{
		Concurrency: 1, Sessions: 2, TrajectoryStartMinRatio: &ratio,
		TrajectoryStartMaxRatio: &ratio,
	}, recordedAgent("a"), recordedAgent("b"))
	w := &world{latency: fixedLatency(10 * msec)}
	out := w.play(t, j)
	judge := func(change func(r *record.Record)) trace.Fidelity {
		replay := fidelity.New(j.Set, false)
		replay.FromMiddle(true)
		for _, r := range out.records {
			is := *r
			change(&is)
			replay.Add(fidelity.Played{
				Conversation: is.ConversationID, Session: is.SessionID, Parent: is.ParentSession, Turn: is.Turn,
				Intended: time.Duration(is.Intended), Ended: time.Duration(is.End),
			}, trace.Sent{At: time.Duration(is.Sent), In: is.ISL, Out: is.OSLRequested, Known: -1, Primes: is.Warmup})
		}
		return replay.Fidelity()
	}
	turn := func(id string, n int64, by time.Duration) func(*record.Record) {
		return func(r *record.Record) {
			if r.ConversationID == id && r.Turn == n && !r.Warmup {
				r.Sent += int64(by)
			}
		}
	}
	// Session a from its middle: 64, 128 and 192 of 67, 192 and 256 tokens are known;
	// b as a whole: 0, 64, 128 and 192 of its own, 0, 64 and 64 of its helper's.
	const known, asked = 64 + 128 + 192 + 64 + 128 + 192 + 64 + 64, 67 + 192 + 256 + 64 + 128 + 192 + 256 + 65 + 66 + 67
	f := judge(func(*record.Record) {})
	if f.Rows != 10 || f.Missing != 0 || f.Timed != 5 || f.OnTime != 1 || f.LagP99 > time.Millisecond ||
		f.Dependencies != 1 || f.InputLength != 1 || f.OutputLength != 1 || f.Score != 1 {
		t.Errorf("a faithful replay: %+v", f)
	}
	if want := float64(known) / asked; math.Abs(f.PrefixHit-want) > 1e-12 {
		t.Errorf("the trace has %v of its tokens known, want %v", f.PrefixHit, want)
	}
	if f := judge(turn("b", 1, 50*msec)); f.OnTime != 0.8 || f.LagP99 < 45*msec || f.Dependencies != 1 {
		t.Errorf("a pause that is 50 ms too long: %+v", f)
	}
	if f := judge(turn("a", 2, -55*msec)); f.Dependencies >= 1 || f.OnTime != 1 {
		t.Errorf("a turn that did not wait for its subagent: %+v", f)
	}
}

// Whatever the moments, a replay of many slots ends, keeps the order of turns and
// sends none twice in one session.
func TestAgenticReplayOfManySlots(t *testing.T) {
	t.Parallel()
	for seed := range int64(40) {
		j := agentic(t, schema.Phase{Concurrency: 5, Sessions: 12}, recordedAgent("a"), recordedAgent("b"),
			recordedAgent("c"), recordedAgent("d"), recordedAgent("e"))
		j.Seed = seed
		w := &world{latency: fixedLatency(10 * msec)}
		out := w.play(t, j)
		last := map[string]int64{}
		for _, line := range out.records {
			key := line.SessionID
			if before, ok := last[key]; ok && line.Turn != before+1 {
				t.Fatalf("seed %d: session %s goes from turn %d to %d:\n%s", seed, line.ConversationID, before,
					line.Turn, strings.Join(sendings(out.records), "\n"))
			}
			last[key] = line.Turn
		}
		if s := out.result.Phases[1]; s.Stop != stopSessions || len(s.Skipped) > 0 {
			t.Errorf("seed %d: stopped by %s, skipped %v", seed, s.Stop, s.Skipped)
		}
	}
}

// What an agentic replay cannot do is said before anything is sent.
func TestAgenticReplayRefuses(t *testing.T) {
	t.Parallel()
	whole := agentic(t, schema.Phase{Concurrency: 3, Duration: schema.Seconds(1)}, recordedAgent("a"),
		recordedAgent("b"))
	answers := agentic(t, schema.Phase{Concurrency: 1, Sessions: 1}, recordedAgent("a"))
	answers.Set = agents(t, agent("x", 4, nil))
	warm := agentic(t, schema.Phase{Concurrency: 1, Sessions: 1}, recordedAgent("a"))
	warm.Phases = warm.Phases[1:]
	warm.Phases[0].Kind = "warmup"
	for want, j := range map[string]Job{
		"concurrency 3 is more than 2 sessions":    whole,
		"continues answers that were not recorded": answers,
		"is measured": warm,
	} {
		j.Emit = func(*record.Record) {}
		if _, err := newDriver(&j, &world{}, &world{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
