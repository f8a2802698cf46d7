package dataset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/fidelity"
	formats "aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/schema"
)

// dagOf is a file whose lines are conversations of one-turn agents: `a>b,c`
// spawns b and c, `a!b` forks b.
func dagOf(lines ...string) string {
	var s strings.Builder
	for _, l := range lines {
		id, rest, kind := l, "", "spawns"
		if i := strings.IndexAny(l, ">!"); i >= 0 {
			id, rest = l[:i], l[i+1:]
			if l[i] == '!' {
				kind = "forks"
			}
		}
		turn := `"messages":[{"role":"user","content":"` + id + `"}]`
		if rest != "" {
			turn += fmt.Sprintf(`,%q:["%s"]`, kind, strings.ReplaceAll(rest, ",", `","`))
		}
		fmt.Fprintf(&s, `{"session_id":%q,"turns":[{%s}]}`+"\n", id, turn)
	}
	return s.String()
}

func TestTreesThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	const user = `"messages":[{"role":"user","content":"x"}]`
	line := func(format string, args ...any) string { return fmt.Sprintf(format, args...) + "\n" }
	for _, c := range []struct{ what, content, want string }{
		{"nobody of that name", dagOf("a>b"), `:1: turns[0]: "b" is not a session_id of the file`},
		{"nobody of that name, forked", dagOf("a", "b!c"), `:2: turns[0]: "c" is not a session_id of the file`},
		{"its own parent", dagOf("a", "b>b"), `:2: turns[0]: "b" starts itself`},
		{"a circle of two", dagOf("r", "a>b", "b>a"), `:3: a circle: b → a → b; hint: who waits for itself never begins`},
		{"a circle below others", dagOf("a>b", "b>c", "c>d", "d>b"), `:4: a circle: d → b → c → d; hint: who waits for itself never begins`},
		{
			"a circle of twelve", dagOf("a>b", "b>c", "c>d", "d>e", "e>f", "f>g", "g>h", "h>i", "i>j", "j>k", "k>l", "l>a"),
			`:12: a circle: l → a → b → c → … 5 more … → i → j → k → l; hint: who waits for itself never begins`,
		},
		{"two histories", dagOf("a!c", "b!c", "c"), `:2: turns[0]: "c" is forked by F:1: turns[0], too; hint: a fork goes on from one history, a spawn begins afresh and may have several`},
		{"a name twice", dagOf("a", "b", "a"), `:3: session_id: "a" is already at F:1`},
		{"a child twice", dagOf("a>b,b", "b"), `:1: turns[0]: spawns: "b" appears twice`},
		{
			"a fork that ends a conversation in its middle", line(`{"session_id":"a","turns":[{%s,"forks":["b"]},{%s}]}`, user, user) + dagOf("b"),
			`:1: turns[0]: forks: "b" ends the conversation, and turns follow; hint: {"child": "b", "background": true} goes on beside it`,
		},
		{
			"a join before its start", line(`{"session_id":"a","turns":[{%s},{%s,"spawns":[{"children":["b"],"join_at":1}]},{%s}]}`, user, user, user) + dagOf("b"),
			`:1: turns[1]: spawns: join_at 1 is not a later turn of the conversation (2 to 2)`,
		},
		{
			"a join behind the end", line(`{"session_id":"a","turns":[{%s,"spawns":[{"children":["b"],"join_at":9}]},{%s}]}`, user, user) + dagOf("b"),
			`:1: turns[0]: spawns: join_at 9 is not a later turn of the conversation (1 to 1)`,
		},
		{
			"a history that is thrown away", dagOf("a!b") + line(`{"session_id":"b","context_mode":"message_array_with_responses","turns":[{%s}]}`, user),
			`:1: turns[0]: "b" is forked and has no use for a history (context_mode message_array_with_responses); hint: spawn it`,
		},
		{
			"a history before the session", line(`{"session_id":"a","pre_session_spawns":["b"],"turns":[{%s,"forks":["b"]}]}`, user) + dagOf("b"),
			`:1: pre_session_spawns: "b" is forked by F:1: turns[0], too; hint: what begins before a session has no history`,
		},
		{
			"a system prompt in the middle", line(`{"session_id":"a","turns":[{%s},{"messages":[{"role":"system","content":"s"}]}]}`, user),
			`:1: turns[1].messages[0]: a system message that is not the first one sent; hint: chat templates read it at the beginning only`,
		},
		{"no turns", `{"session_id":"a","type":"dag_jsonl","turns":[]}`, `:1: turns: a conversation needs at least one; hint: only an orchestrator ("orchestrator": true) has none`},
		{"rounds of no orchestrator", line(`{"session_id":"a","rounds":2,"turns":[{%s}]}`, user), `:1: rounds and think_time_*: only an orchestrator has them; hint: a turn has a delay`},
		{"an orchestrator with turns", line(`{"session_id":"a","orchestrator":true,"spawns":["b"],"turns":[{%s}]}`, user), `:1: orchestrator: it sends nothing, so it has neither turns nor pre_session_spawns`},
		{"an orchestrator of nothing", line(`{"session_id":"a","orchestrator":true}`), `:1: orchestrator: it starts nothing; hint: give it spawns, or rounds with spawns`},
		{"no rounds", line(`{"session_id":"a","orchestrator":true,"rounds":0,"spawns":["b"]}`), `:1: rounds: 0 is not from 1 to 1048576`},
		{
			"a spread without a median", line(`{"session_id":"a","orchestrator":true,"rounds":1,"think_time_sigma":1,"spawns":["b"]}`),
			`:1: think_time_sigma: want a number above 0, up to 10, and think_time_ms, its median`,
		},
		{"true is not a number", line(`{"session_id":"a","turns":[{%s,"max_tokens":true}]}`, user), `:1: turns.max_tokens: want a whole number, got a bool`},
	} {
		path := write(t, "dag.jsonl", c.content)
		_, err := dataset.Open(schema.Dataset{Type: "file", Path: path, Format: "dag_jsonl"}, nil, 1, "profiling")
		want := path + strings.ReplaceAll(c.want, "F:", path+":")
		if err == nil || diag.Line(err) != want {
			t.Errorf("%s: %v\nwant %s", c.what, err, want)
		}
	}
}

// Sharing doubles what is played with every line; it is counted, not played.
func TestTreesBeyondAllBounds(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("a%d>b%d,c%d", i, i, i), fmt.Sprintf("b%d>a%d", i, i+1),
			fmt.Sprintf("c%d>a%d", i, i+1))
	}
	path := write(t, "wide.jsonl", dagOf(append(lines, "a40")...))
	_, err := dataset.Open(schema.Dataset{Type: "file", Path: path}, nil, 1, "profiling")
	if want := "is more than 10000000 requests with all that it starts"; err == nil ||
		!strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want … %s", err, want)
	}
}

// Thousands of conversations one below the other are read, and a circle of a
// hundred thousand is named in one short line.
func TestTreesOfAHundredThousand(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	const n, deep = 100_000, 10_000
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("a%d>a%d", i, i+1)
	}
	end := append(lines[:deep-1:deep-1], fmt.Sprintf("a%d", deep-1))
	set := open(t, schema.Dataset{Type: "file", Path: write(t, "deep.jsonl", dagOf(end...))}, nil, 1, "profiling")
	if set.Len() != 1 || set.Turns() != deep {
		t.Errorf("%d roots with %d turns, want 1 with %d", set.Len(), set.Turns(), deep)
	}
	lines[n-1] = fmt.Sprintf("a%d>a0", n-1)
	_, err := dataset.Open(schema.Dataset{Type: "file", Path: write(t, "circle.jsonl", dagOf(lines...))}, nil, 1,
		"profiling")
	if err == nil || !strings.Contains(err.Error(),
		"circle.jsonl:100000: a circle: a99999 → a0 → a1 → a2 → … 99993 more … → a99996 → a99997 → a99998 → a99999") {
		t.Errorf("%v", err)
	}
}

// A replay tells which requests of trees were sent before what they depend on.
func TestDependenciesKeptInTrees(t *testing.T) {
	t.Parallel()
	const content = `{"session_id":"a","turns":[{"messages":[{"role":"user","content":"x"}],"spawns":["b","c"]},{"messages":[{"role":"user","content":"x"}],"forks":["d"]}]}
{"session_id":"b","turns":[{"messages":[{"role":"user","content":"x"}]},{"messages":[{"role":"user","content":"x"}]}]}
{"session_id":"o","orchestrator":true,"rounds":2,"spawns":["e"]}
` // c, d and e are leaves
	set := open(t, schema.Dataset{Type: "file", Path: write(t, "kept.jsonl", content+dagOf("c", "d", "e"))}, nil, 1,
		"profiling")
	type sent struct {
		conversation, session, parent string
		turn                          int64
		at, end                       time.Duration
	}
	good := []sent{
		{"a", "1", "", 0, 0, 10},
		{"b", "2", "1", 0, 10, 20},
		{"c", "3", "1", 0, 11, 40},
		{"b", "2", "1", 1, 20, 30},
		{"a", "1", "", 1, 40, 50},
		{"d", "4", "1", 0, 50, 60},
		{"e", "6", "5", 0, 0, 10},
		{"e", "7", "5", 0, 10, 20},
	}
	for _, c := range []struct {
		what  string
		row   int // that is sent at another time
		at    time.Duration
		wrong int // requests that depend on something and were sent before it
	}{
		{"as it should be", 0, 0, 0},
		{"a spawn before its starter is answered", 2, 9, 1},
		{"a turn before the one before it is answered", 3, 19, 1},
		{"a turn before the slower of two spawns is over", 4, 39, 1},
		{"a fork before the answer it goes on from", 5, 49, 1},
		{"a round before the round before it is over", 7, 9, 1},
	} {
		replay := fidelity.New(set, false)
		for i, s := range good {
			if i == c.row {
				s.at = c.at
			}
			replay.Add(fidelity.Played{
				Conversation: s.conversation, Session: s.session, Parent: s.parent, Turn: s.turn,
				Ended: s.end,
			}, trace.Sent{At: s.at, Known: -1})
		}
		f := replay.Fidelity()
		if want := float64(6-c.wrong) / 6; f.Dependencies != want || f.Rows != 7 || f.Missing != 0 || f.Score != want {
			t.Errorf("%s: dependencies kept %v, want %v; score %v, %d rows, %d missing", c.what,
				f.Dependencies, want, f.Score, f.Rows, f.Missing)
		}
	}
}

// Without a bound every session that none starts is played once: this is how many
// there are.
func TestRoots(t *testing.T) {
	t.Parallel()
	const turn = `{"messages":[{"role":"user","content":"x"}]}`
	tree := strings.Join([]string{
		`{"session_id":"a","pre_session_spawns":["p"],"turns":[{"messages":[],"forks":["b",{"child":"c","background":true}]},{"messages":[],"spawns":["d",{"children":["e","f"]}]}]}`,
		`{"session_id":"o","orchestrator":true,"rounds":[{"spawns":["g"]},{"spawns":["h"]}]}`,
		`{"session_id":"z","turns":[` + turn + `]}`, `broken`,
	}, "\n")
	for _, id := range []string{"b", "c", "d", "e", "f", "g", "h", "p"} {
		tree = `{"session_id":"` + id + `","turns":[` + turn + "]}\n" + tree
	}
	path := write(t, "tree.jsonl", tree)
	for format, want := range map[string]int64{"dag_jsonl": 3, "single_turn": 0, "": 0} {
		if n := formats.Roots(path, format); n != want {
			t.Errorf("Roots(%q) = %d, want %d", format, n, want)
		}
	}
}
