package loadgen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/dataset/fidelity"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// node is a conversation of a tree; its turns say "ID:turn".
type node map[string]any

// agent is a conversation with turns; each option changes one.
func agent(id string, turns int, with map[int]node) node {
	var list []any
	for k := range turns {
		t := node{"messages": []any{map[string]any{"role": "user", "content": fmt.Sprintf("%s:%d", id, k)}}}
		for name, v := range with[k] {
			t[name] = v
		}
		list = append(list, map[string]any(t))
	}
	return node{"session_id": id, "turns": list}
}

func agents(t *testing.T, nodes ...node) *dataset.Set {
	t.Helper()
	var records []any
	for _, n := range nodes {
		records = append(records, map[string]any(n))
	}
	return datasettest.Inline(t, "dag_jsonl", records)
}

// said are the user's texts in a request's body, the newest last.
func said(body string) (texts []string) {
	for _, part := range strings.Split(body, `"content":"`)[1:] {
		texts = append(texts, part[:strings.IndexByte(part, '"')])
	}
	return texts
}

// sentTexts is a line for each request: when, and what it says.
func (w *world) sentTexts() (lines []string) {
	for _, s := range w.sent {
		lines = append(lines, fmt.Sprintf("%v %s", s.at, strings.Join(said(s.body), " ")))
	}
	return lines
}

func TestTrees(t *testing.T) {
	t.Parallel()
	one := schema.Phase{Type: "concurrency", Concurrency: 1, Sessions: 1}
	for _, c := range []struct {
		name  string
		nodes []node
		phase schema.Phase
		want  []string
	}{
		{
			"a fork goes on from the history, the answer in it",
			[]node{agent("a", 2, map[int]node{1: {"forks": []any{"b", "c"}}}), agent("b", 1, nil), agent("c", 2, nil)},
			one,
			[]string{
				"0s a:0", "10ms a:0 ok a:1", "20ms a:0 ok a:1 ok b:0", "20ms a:0 ok a:1 ok c:0",
				"30ms a:0 ok a:1 ok c:0 ok c:1",
			},
		},
		{
			"a fork in the background leaves the conversation going",
			[]node{
				agent("a", 2, map[int]node{0: {"forks": []any{map[string]any{"child": "b", "background": true}}}}),
				agent("b", 1, nil),
			},
			one,
			[]string{"0s a:0", "10ms a:0 ok b:0", "10ms a:0 ok a:1"},
		},
		{
			"a spawn begins afresh, and the next turn waits for it",
			[]node{agent("a", 2, map[int]node{0: {"spawns": []any{"b", "c"}}}), agent("b", 2, nil), agent("c", 1, nil)},
			one,
			[]string{"0s a:0", "10ms b:0", "10ms c:0", "20ms b:0 ok b:1", "30ms a:0 ok a:1"},
		},
		{
			"a later turn may wait instead, and its delay begins then",
			[]node{
				agent("a", 3, map[int]node{
					0: {"spawns": []any{map[string]any{"children": []any{"b"}, "join_at": 2}}},
					2: {"delay": 5},
				}),
				agent("b", 4, nil),
			},
			one,
			[]string{
				"0s a:0", "10ms b:0", "10ms a:0 ok a:1", "20ms b:0 ok b:1", "30ms b:0 ok b:1 ok b:2",
				"40ms b:0 ok b:1 ok b:2 ok b:3", "55ms a:0 ok a:1 ok a:2",
			},
		},
		{
			"one that is over before its join is not waited for",
			[]node{
				agent("a", 3, map[int]node{
					0: {"spawns": []any{map[string]any{"children": []any{"b"}, "join_at": 2}}},
					1: {"delay": 30}, 2: {"delay": 5},
				}),
				agent("b", 1, nil),
			},
			one,
			[]string{"0s a:0", "10ms b:0", "40ms a:0 ok a:1", "55ms a:0 ok a:1 ok a:2"},
		},
		{
			"nothing waits for spawns of the last turn; a child's delay counts from its start",
			[]node{
				agent("a", 1, map[int]node{0: {"spawns": []any{"b"}}}),
				agent("b", 1, map[int]node{0: {"delay": 7}}),
			},
			schema.Phase{Type: "concurrency", Concurrency: 1, Sessions: 2},
			[]string{"0s a:0", "17ms b:0", "27ms a:0", "44ms b:0"},
		},
		{
			"a child may start others, and spawns may be shared",
			[]node{
				agent("a", 2, map[int]node{0: {"spawns": []any{"b", "c"}}}),
				agent("b", 2, map[int]node{0: {"spawns": []any{"d"}}}),
				agent("c", 2, map[int]node{0: {"spawns": []any{"d"}}}), agent("d", 1, nil),
			},
			one,
			[]string{
				"0s a:0", "10ms b:0", "10ms c:0", "20ms d:0", "20ms d:0", "30ms b:0 ok b:1", "30ms c:0 ok c:1",
				"40ms a:0 ok a:1",
			},
		},
		{
			"some begin together with a session",
			[]node{
				{"session_id": "a", "pre_session_spawns": []any{"b"}, "turns": agent("a", 2, nil)["turns"]},
				agent("b", 3, nil),
			},
			one,
			[]string{"0s a:0", "0s b:0", "10ms a:0 ok a:1", "10ms b:0 ok b:1", "20ms b:0 ok b:1 ok b:2"},
		},
		{
			"an orchestrator sends nothing itself, and thinks before each round",
			[]node{{
				"session_id": "o", "orchestrator": true, "rounds": 2, "spawns": []any{"a", "b"},
				"think_time_ms": 4,
			}, agent("a", 2, nil), agent("b", 1, nil)},
			schema.Phase{Type: "concurrency", Concurrency: 1, Sessions: 2},
			[]string{
				"4ms a:0", "4ms b:0", "14ms a:0 ok a:1", "28ms a:0", "28ms b:0", "38ms a:0 ok a:1",
				"52ms a:0", "52ms b:0", "62ms a:0 ok a:1", "76ms a:0", "76ms b:0", "86ms a:0 ok a:1",
			},
		},
		{
			"rounds that differ",
			[]node{
				{"session_id": "o", "orchestrator": true, "rounds": []any{map[string]any{"spawns": []any{"a"}}, map[string]any{"spawns": []any{"b"}, "think_time_ms": 3}}},
				agent("a", 1, nil), agent("b", 1, nil),
			},
			one,
			[]string{"0s a:0", "13ms b:0"},
		},
		{
			"requests on the wire are limited in trees, too",
			[]node{
				agent("a", 2, map[int]node{0: {"spawns": []any{"b", "c", "d"}}}),
				agent("b", 1, nil), agent("c", 1, nil), agent("d", 1, nil),
			},
			schema.Phase{Type: "concurrency", Concurrency: 1, InFlight: 2, Sessions: 1},
			[]string{"0s a:0", "10ms b:0", "10ms c:0", "20ms d:0", "30ms a:0 ok a:1"},
		},
		{
			"at a rate every request has its arrival",
			[]node{agent("a", 2, map[int]node{0: {"spawns": []any{"b", "c"}}}), agent("b", 1, nil), agent("c", 1, nil)},
			schema.Phase{Type: "constant", Rate: 25, Sessions: 1},
			[]string{"40ms a:0", "80ms b:0", "120ms c:0", "160ms a:0 ok a:1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{latency: fixedLatency(10 * msec)}
			j := job(t, c.phase)
			j.Set = agents(t, c.nodes...)
			out := w.play(t, j)
			if diff := cmp.Diff(c.want, w.sentTexts()); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if s := out.result.Phases[0].Skipped; len(s) > 0 {
				t.Errorf("skipped %v, want nothing", s)
			}
		})
	}
}

// What a failed turn would have started is not sent, and who waits for the
// failed session goes on.
func TestFailuresInTrees(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(10 * msec)}
	w.reply = func(x *transport.Exchange) []string {
		if strings.Contains(string(x.Body), "b:0") {
			x.Status, x.HTTPStatus = record.HTTPError, 500
		}
		return []string{`{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}`}
	}
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Sessions: 1})
	j.Set = agents(t, agent("a", 2, map[int]node{0: {"spawns": []any{"b"}}}),
		agent("b", 3, map[int]node{0: {"spawns": []any{"c"}}, 2: {"forks": []any{"d"}}}), agent("c", 2, nil),
		agent("d", 1, nil))
	out := w.play(t, j)
	if diff := cmp.Diff([]string{"0s a:0", "10ms b:0", "20ms a:0 ok a:1"}, w.sentTexts()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"turn_failed": 5}, out.result.Phases[0].Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

// randomTree is a file of conversations that only start later ones, so that
// there is no circle.
func randomTree(rng *rand.Rand) (nodes []node) {
	const n = 9
	forked := map[string]bool{}
	id := func(i int) string { return fmt.Sprintf("n%d", i) }
	for i := range n {
		turns := 1 + rng.IntN(3)
		with := map[int]node{}
		for k := range turns {
			t := node{}
			if rng.IntN(2) == 0 {
				t["delay"] = rng.IntN(30)
			}
			if to := i + 1 + rng.IntN(3); to < n && rng.IntN(3) == 0 && !forked[id(to)] {
				forked[id(to)] = true
				t["forks"] = []any{map[string]any{"child": id(to), "background": true}}
			} else if to < n && rng.IntN(2) == 0 {
				t["spawns"] = []any{map[string]any{"children": []any{id(to)}}}
				if k+1 < turns {
					t["spawns"].([]any)[0].(map[string]any)["join_at"] = k + 1 + rng.IntN(turns-k-1)
				}
			}
			with[k] = t
		}
		nodes = append(nodes, agent(id(i), turns, with))
	}
	return nodes
}

// Whatever the tree, the mode and the end of the phase: no turn is sent before
// what it depends on is answered, everything planned is sent or accounted for,
// and the phase ends.
func TestTreesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		set := agents(t, randomTree(rng)...)
		phase := []schema.Phase{
			{Type: "concurrency", Concurrency: 1 + rng.IntN(3), Sessions: 6},
			{Type: "concurrency", InFlight: 1 + rng.IntN(3), Requests: 40},
			{Type: "concurrency", Concurrency: 2, Duration: schema.Seconds(0.2), GracePeriod: schema.Seconds(0.01)},
			{Type: "constant", Rate: 200, Requests: 30},
			{Type: "poisson", Rate: 100, Sessions: 4},
			{Type: "concurrency", Concurrency: 2, Requests: 20, OnCount: "finish"},
			{Type: "user_centric", Users: 3, Rate: 30, Sessions: 8},
		}[rng.IntN(7)]
		w := &world{latency: func(*transport.Exchange) time.Duration { return time.Duration(1+rng.IntN(40)) * msec }}
		j := job(t, phase)
		j.Set = set
		if seed%5 == 0 {
			w.at = map[time.Duration]func(*driver){70 * msec: func(d *driver) { d.interrupt() }}
		}
		out := w.play(t, j)
		checkTree(t, fmt.Sprintf("seed %d, %s", seed, phase.Type), w, out, set)
		if phase.Sessions > 0 && seed%5 != 0 && phase.Type != "user_centric" {
			var planned int64
			for i := range phase.Sessions {
				planned += set.At(int(i) % set.Len()).Requests()
			}
			if p := out.result.Phases[0]; p.Issued != planned {
				t.Errorf("seed %d: %d requests sent, want %d", seed, p.Issued, planned)
			}
		}
	}
}

// checkTree holds each request against the records of those it depends on: the
// turn before it, the turn that started its session, and the sessions that its
// turn waits for.
func checkTree(t *testing.T, what string, w *world, out outcome, set *dataset.Set) {
	t.Helper()
	if f := kept(out, set); f.Dependencies < 1 {
		t.Errorf("%s: %.3f of the dependencies are kept", what, f.Dependencies)
	}
	ends := map[string][]int64{} // by "session turn": when answers were over
	for _, r := range out.records {
		key := fmt.Sprintf("%s %d", r.SessionID, r.Turn)
		ends[key] = append(ends[key], r.End)
		if len(ends[key]) > 1 {
			t.Errorf("%s: turn %d of session %s was sent twice", what, r.Turn, r.SessionID)
		}
	}
	for _, s := range w.sent {
		if s.turn == 0 {
			continue
		}
		before := ends[fmt.Sprintf("%s %d", s.session, s.turn-1)]
		if len(before) != 1 || before[0] > int64(s.at) {
			t.Errorf("%s: turn %d of session %s was sent at %v, the one before it ended at %v", what, s.turn, s.session,
				s.at, before)
		}
		if texts := said(s.body); len(texts)%2 != 1 || !slices.Contains(texts, "ok") {
			t.Errorf("%s: a later turn without answers: %v", what, texts)
		}
	}
}

// kept is what a replay's comparison says about a run.
func kept(out outcome, set *dataset.Set) trace.Fidelity {
	replay := fidelity.New(set, false)
	if replay == nil {
		return trace.Fidelity{Dependencies: 1} // nothing starts anything
	}
	for _, r := range out.records {
		replay.Add(fidelity.Played{
			Conversation: r.ConversationID, Session: r.SessionID, Parent: r.ParentSession, Turn: r.Turn,
			Intended: time.Duration(r.Intended), Ended: time.Duration(r.End),
		}, trace.Sent{At: time.Duration(r.Sent), Known: -1})
	}
	return replay.Fidelity()
}

// Trees are played the same whenever answers come: ids and texts depend on the
// place in the tree.
func TestTreesAreTheSameHoweverLongAnswersTake(t *testing.T) {
	t.Parallel()
	nodes := []node{
		agent("a", 2, map[int]node{0: {"spawns": []any{"b", "c"}}}),
		agent("b", 2, map[int]node{1: {"forks": []any{"d"}}}), agent("c", 2, nil), agent("d", 1, nil),
	}
	play := func(latency func(*transport.Exchange) time.Duration) (ids []string) {
		w := &world{latency: latency}
		j := job(t, schema.Phase{Type: "concurrency", Concurrency: 2, Sessions: 3})
		j.Set = agents(t, nodes...)
		for _, r := range w.play(t, j).records {
			ids = append(ids, r.ConversationID+" "+r.SessionID+" "+r.XRequestID)
		}
		slices.Sort(ids)
		return ids
	}
	rng := rand.New(rand.NewPCG(1, 1))
	a := play(fixedLatency(10 * msec))
	b := play(func(*transport.Exchange) time.Duration { return time.Duration(1+rng.IntN(90)) * msec })
	if diff := cmp.Diff(a, b); diff != "" || len(a) != 21 {
		t.Errorf("%d requests, want 21; ids differ (-even +uneven):\n%s", len(a), diff)
	}
}

// The counts of what sessions of a tree do are those that AIPerf 0.13 writes as
// branch_stats of the same files.
func TestBranches(t *testing.T) {
	t.Parallel()
	nine := []node{
		agent("r1", 2, map[int]node{0: {"spawns": []any{"s1", "s2"}}}), agent("s1", 1, nil), agent("s2", 2, nil),
		agent("r2", 1, map[int]node{0: {"forks": []any{"f1"}}}), agent("f1", 1, nil), agent("r3", 2, nil),
	}
	pre := agent("a", 4, map[int]node{
		0: {"forks": []any{map[string]any{"child": "c", "background": true}}},
		1: {"spawns": []any{map[string]any{"children": []any{"d"}, "join_at": 3}}},
	})
	pre["pre_session_spawns"] = []any{"b"}
	for _, c := range []struct {
		name  string
		nodes []node
		phase schema.Phase
		fails string // a request with this text fails
		want  *record.Branches
	}{
		{
			"two forks",
			[]node{agent("r", 1, map[int]node{0: {"forks": []any{"a", "b"}}}), agent("a", 2, nil), agent("b", 2, nil)},
			schema.Phase{Concurrency: 1, Sessions: 1},
			"",
			&record.Branches{Spawned: 2, Completed: 2},
		},
		{"three roots", nine, schema.Phase{Concurrency: 2, Sessions: 3}, "", &record.Branches{Spawned: 3, Completed: 3, Suspended: 1, Resumed: 1}},
		{"cut between the turns of a child", nine, schema.Phase{Concurrency: 1, Requests: 3}, "", &record.Branches{Spawned: 2, Completed: 1, Truncated: 1, Suspended: 1, Suppressed: 1}},
		{"cut before the join", nine, schema.Phase{Concurrency: 1, Requests: 4}, "", &record.Branches{Spawned: 2, Completed: 2, Suspended: 1, Suppressed: 1}},
		{"cut before a child begins", nine, schema.Phase{Concurrency: 1, Requests: 2}, "", &record.Branches{Spawned: 1, Completed: 1, Truncated: 1, Suspended: 1, Suppressed: 1}},
		{"a child fails", nine, schema.Phase{Concurrency: 1, Sessions: 3}, "s1:0", &record.Branches{Spawned: 3, Completed: 2, Failed: 1, Suspended: 1, Resumed: 1}},
		{
			"what begins together with a session is not followed; what is over at its join delays nothing",
			[]node{pre, agent("b", 1, nil), agent("c", 1, nil), agent("d", 1, nil)},
			schema.Phase{Concurrency: 1, Sessions: 1},
			"",
			&record.Branches{Spawned: 3, Completed: 2},
		},
		{
			"orchestrators",
			[]node{
				{"session_id": "o", "orchestrator": true, "rounds": 2, "spawns": []any{"a", "b"}},
				{"session_id": "p", "orchestrator": true, "spawns": []any{"c"}},
				agent("a", 2, nil), agent("b", 1, nil), agent("c", 1, nil),
			},
			schema.Phase{Concurrency: 1, Sessions: 2},
			"",
			&record.Branches{Spawned: 5, Completed: 5, Suspended: 2, Resumed: 2, Graphs: 2, GraphsDone: 2},
		},
		{"no tree", []node{agent("a", 2, nil)}, schema.Phase{Concurrency: 1, Sessions: 2}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{latency: fixedLatency(10 * msec)}
			w.reply = func(x *transport.Exchange) []string {
				if c.fails != "" && strings.Contains(string(x.Body), c.fails) {
					x.Status, x.HTTPStatus = record.HTTPError, 500
				}
				return []string{`{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}`}
			}
			c.phase.Type = "concurrency"
			j := job(t, c.phase)
			j.Set = agents(t, c.nodes...)
			if diff := cmp.Diff(c.want, w.play(t, j).result.Phases[0].Branches); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
