package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/mockserver"
)

// agents is a file of conversations that start others: look and test are
// waited for by lead's second turn, which comes 60 ms later; after goes on from
// lead, aside is waited for by nobody.
const agents = `{"session_id":"lead","turns":[{"messages":[{"role":"user","content":"plan"}],"max_tokens":3,"spawns":["look","test"]},{"messages":[{"role":"user","content":"sum up"}],"max_tokens":3,"delay":60,"forks":["after"]}]}
{"session_id":"look","turns":[{"messages":[{"role":"user","content":"look"}],"max_tokens":3,"forks":[{"child":"aside","background":true}]},{"messages":[{"role":"user","content":"look again"}],"max_tokens":3,"delay":20}]}
{"session_id":"test","turns":[{"messages":[{"role":"user","content":"test"}],"max_tokens":3}]}
{"session_id":"aside","turns":[{"messages":[{"role":"user","content":"aside"}],"max_tokens":3,"delay":5}]}
{"session_id":"after","turns":[{"messages":[{"role":"user","content":"after"}],"max_tokens":3}]}
`

// The server's log proves the order of trees: nothing arrives before what it
// depends on has left, and a delay lies between.
func TestTreesAgainstServersLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, out := filepath.Join(dir, "agents.jsonl"), filepath.Join(dir, "out")
	if err := os.WriteFile(path, []byte(agents), 0o600); err != nil {
		t.Fatal(err)
	}
	measure(t, "profile", "-m", "demo", "-u", "mock:?ttft=5ms&itl=1ms&jitter=0.5&log=true", "--streaming",
		"--tokenizer", "builtin",
		"--input-file", path, "--concurrency", "3", "--num-conversations", "6", "--artifact-dir", out)
	type metadata struct {
		RequestID    string `json:"x_request_id"`
		Session      string `json:"x_correlation_id"`
		Parent       string `json:"parent_correlation_id"`
		Root         string `json:"root_correlation_id"`
		Conversation string `json:"conversation_id"`
		Turn         int    `json:"turn_index"`
		Depth        int    `json:"agent_depth"`
	}
	seen := map[string]mockserver.Entry{}
	for _, e := range lines[mockserver.Entry](t, filepath.Join(out, "server_log_1.jsonl")) {
		seen[e.RequestID] = e
	}
	// of is what the server saw of a turn of a tree; each conversation is
	// started once in it.
	of := map[string]mockserver.Entry{}
	requests := lines[struct{ Metadata metadata }](t, filepath.Join(out, "profile_export.jsonl"))
	depth := map[string]int{"lead": 0, "look": 1, "test": 1, "after": 1, "aside": 2}
	byID := map[string]metadata{}
	for _, r := range requests {
		m := r.Metadata
		e, ok := seen[m.RequestID]
		if !ok {
			t.Fatalf("the server never saw request %s", m.RequestID)
		}
		of[strings.Join([]string{m.Root, m.Conversation, string(rune('0' + m.Turn))}, " ")] = e
		byID[m.Session] = m
		if m.Depth != depth[m.Conversation] || (m.Parent == "") != (m.Depth == 0) {
			t.Errorf("%s has depth %d and parent %q, want depth %d", m.Conversation, m.Depth, m.Parent,
				depth[m.Conversation])
		}
	}
	if len(requests) != 6*7 || len(of) != len(requests) {
		t.Fatalf("%d requests, %d by tree, conversation and turn, want %d", len(requests), len(of), 6*7)
	}
	for _, m := range byID {
		if m.Conversation != "lead" {
			if up := byID[m.Parent]; up.Root != m.Root {
				t.Errorf("%s is in the tree of %s, its parent %s in that of %s",
					m.Conversation, m.Root, up.Conversation, up.Root)
			}
			continue
		}
		for _, d := range []struct {
			later, earlier string
			delay          int64 // ms
		}{
			{"look 0", "lead 0", 0},
			{"test 0", "lead 0", 0},
			{"aside 0", "look 0", 5},
			{"look 1", "look 0", 20},
			{"lead 1", "lead 0", 60},
			{"lead 1", "look 1", 60},
			{"lead 1", "test 0", 60},
			{"after 0", "lead 1", 0},
		} {
			was, is := of[m.Session+" "+d.earlier], of[m.Session+" "+d.later]
			if gap := is.Recv - was.Last; gap < d.delay*1e6 {
				t.Errorf("%s came %.3f ms after the last token of %s had left, want at least %d",
					d.later, float64(gap)/1e6, d.earlier, d.delay)
			}
		}
	}
	if b, err := os.ReadFile(filepath.Join(out, "summary.md")); err != nil ||
		!strings.Contains(string(b), "replay fidelity 100 %: 7 of 7 rows sent · dependencies kept 100 %") {
		t.Errorf("summary.md does not say that all dependencies were kept: %v", err)
	}
}
