package dataset_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/schema"
)

// loaded is what AIPerf 0.13's loader makes of a file: a line of
// testdata/aiperf/recorded.jsonl.
type loaded struct {
	Format        string         `json:"format"`
	Settings      map[string]any `json:"settings,omitempty"` // of the data set
	Refused       string         `json:"refused,omitempty"`
	Conversations []loadedTalk   `json:"conversations,omitempty"`

	Analysis map[string]any `json:"analysis,omitempty"` // in place of conversations
}

type loadedTalk struct {
	System string       `json:"system,omitempty"`
	Starts []string     `json:"starts,omitempty"` // before the first turn
	Turns  []loadedTurn `json:"turns"`
}

// loadedTurn has times in ms. A text that is made of hashes stands as
// [[hash, …], input length].
type loadedTurn struct {
	Timestamp *float64        `json:"timestamp,omitempty"`
	Delay     float64         `json:"delay,omitempty"`
	MaxTokens int64           `json:"max_tokens,omitempty"`
	Model     string          `json:"model,omitempty"`
	Role      string          `json:"role,omitempty"`
	Texts     []string        `json:"texts,omitempty"`
	Images    []string        `json:"images,omitempty"`
	Messages  json.RawMessage `json:"raw_messages,omitempty"`
	Tools     json.RawMessage `json:"raw_tools,omitempty"`
	Payload   json.RawMessage `json:"raw_payload,omitempty"`
	Extra     json.RawMessage `json:"extra_body,omitempty"`
	Silent    bool            `json:"silent,omitempty"`
	Starts    []string        `json:"starts,omitempty"` // "fork ID", "spawn ID", the turn that waits for it
}

// Files become the conversations that AIPerf's own loaders make of them: turns,
// times, lengths, texts, bodies, and prompts that share the same blocks.
func TestFilesLoadAsInAIPerf(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("testdata", "aiperf", "recorded.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	formats := 0
	for line := range bytes.Lines(b) {
		var want loaded
		if err := json.Unmarshal(line, &want); err != nil || want.Refused != "" {
			t.Fatalf("recorded.jsonl: %v %s", err, want.Refused)
		}
		formats++
		t.Run(want.Format, func(t *testing.T) {
			t.Parallel()
			path := sampleOf(t, want.Format)
			if want.Analysis != nil {
				sameAnalysis(t, path, want.Analysis)
				return
			}
			cfg := schema.Dataset{Type: "file", Path: path, Format: want.Format}
			if err := json.Unmarshal(settingsOf(t, &want), &cfg); err != nil {
				t.Fatal(err)
			}
			set := open(t, cfg, tok(t, "builtin"), 1, "profiling")
			got := loaded{Format: want.Format, Settings: want.Settings}
			for c := range set.Each() {
				got.Conversations = append(got.Conversations, talk(c))
			}
			if rec, err := format.ReadTrace(t.Context(), path, want.Format, 0); err == nil {
				standForHashes(t, &want, &got, rec)
			}
			if want.Format == "weka_trace" || want.Format == "tracelab" {
				withoutThinkingOnOthers(&got)
			}
			if diff := cmp.Diff(tidy(t, want), tidy(t, got)); diff != "" {
				t.Errorf("- AIPerf, + here\n%s", diff)
			}
		})
	}
	if formats < 21 {
		t.Errorf("%d files are recorded, want 21", formats)
	}
}

// settingsOf are the settings as JSON.
func settingsOf(t *testing.T, l *loaded) []byte {
	t.Helper()
	b, err := json.Marshal(l.Settings)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withoutThinkingOnOthers takes out the pause of turns that wait for what others
// started: here such a turn keeps its recorded pause behind the last answer, in
// AIPerf it is sent at once.
func withoutThinkingOnOthers(l *loaded) {
	for _, c := range l.Conversations {
		for _, from := range c.Turns {
			for _, start := range from.Starts {
				if words := strings.Fields(start); len(words) == 3 {
					at, _ := strconv.Atoi(words[2])
					c.Turns[at].Delay = 0
				}
			}
		}
	}
}

// sameAnalysis wants all of AIPerf's keys with its numbers, but for rounding.
func sameAnalysis(t *testing.T, path string, want map[string]any) {
	t.Helper()
	rec, err := format.ReadTrace(t.Context(), path, "mooncake_trace", 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(trace.Analyze(rec.Rows, rec.Block))
	var got map[string]any
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil || len(want) < 16 {
		t.Fatalf("%v; %d keys are recorded", err, len(want))
	}
	for key := range got {
		if _, theirs := want[key]; !theirs {
			delete(got, key) // ours
		}
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("- AIPerf, + here\n%s", diff)
	}
}

func sampleOf(t *testing.T, format string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", "aiperf", format+".*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("samples of %s: %v, %v", format, found, err)
	}
	return found[0]
}

func begun(list []dataset.Start) (words []string) {
	for _, s := range list {
		word := "spawn " + s.ID
		if s.Inherits {
			word = "fork " + s.ID
		}
		if s.JoinAt > 0 {
			word += fmt.Sprintf(" %d", s.JoinAt)
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// talk is c in AIPerf's terms.
func talk(c *dataset.Conversation) loadedTalk {
	out := loadedTalk{System: c.System, Starts: begun(c.Before)}
	for i := range c.Turns {
		t := &c.Turns[i]
		is := loadedTurn{
			Delay: float64(t.Delay) / 1e6, MaxTokens: t.MaxTokens, Model: t.Model, Texts: t.Texts,
			Messages: t.Messages, Tools: t.Tools, Payload: t.Raw, Silent: t.Silent, Starts: begun(t.Starts),
		}
		if t.Role != "user" {
			is.Role = t.Role
		}
		if t.Timestamp != nil {
			ms := float64(*t.Timestamp) / 1e6
			is.Timestamp = &ms
		}
		for k := range t.Images {
			is.Images = append(is.Images, t.Images[k].Address())
		}
		if t.Extra != nil {
			is.Extra, _ = json.Marshal(t.Extra)
		}
		out.Turns = append(out.Turns, is)
	}
	return out
}

// standForHashes puts the recorded words for a prompt of hashes in place of the
// prompt, if the row has as many tokens and the same blocks: which block is
// which may differ, but one name here is one name there.
func standForHashes(t *testing.T, want, got *loaded, rec *format.Trace) {
	t.Helper()
	var sessions [][]trace.Row
	of := map[string]int{}
	for _, row := range rec.Rows {
		k, known := of[row.Session]
		if !known || row.Session == "" {
			k = len(sessions)
			of[row.Session] = k
			sessions = append(sessions, nil)
		}
		sessions[k] = append(sessions[k], row)
	}
	here, there := map[float64]int32{}, map[int32]float64{}
	for i := range min(len(want.Conversations), len(got.Conversations)) {
		for k := range min(len(want.Conversations[i].Turns), len(got.Conversations[i].Turns)) {
			texts := want.Conversations[i].Turns[k].Texts
			var prompt [2]any
			if len(texts) != 1 || json.Unmarshal([]byte(texts[0]), &prompt) != nil {
				continue
			}
			row := sessions[i][k]
			hashes, _ := prompt[0].([]any)
			blocks := row.Blocks
			if want.Format == "weka_trace" { // recorded are whole blocks
				blocks = blocks[:min(len(blocks), int(row.In)/rec.Block)]
			}
			if prompt[1] != float64(row.In) || len(hashes) != len(blocks) {
				t.Errorf("conversation %d turn %d: %d tokens in blocks %v, AIPerf has %s", i, k, row.In, blocks,
					texts[0])
				continue
			}
			for n, h := range hashes {
				h, ours := h.(float64), blocks[n]
				if was, ok := here[h]; ok && was != ours {
					t.Errorf("conversation %d turn %d: hash %g is block %d and %d", i, k, h, was, ours)
				}
				if was, ok := there[ours]; ok && was != h {
					t.Errorf("conversation %d turn %d: block %d is hash %g and %g", i, k, ours, was, h)
				}
				here[h], there[ours] = ours, h
			}
			got.Conversations[i].Turns[k].Texts = texts
		}
	}
}

// tidy is l with all JSON written alike.
func tidy(t *testing.T, l loaded) any {
	t.Helper()
	b, err := json.Marshal(l)
	var out any
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The recorded conversations are what AIPerf 0.13's loaders say today.
func TestAIPerfSaysWhatIsRecorded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("installs AIPerf")
	}
	venv := exec.Command(filepath.Join("..", "..", "internal", "repo", "venv.sh"), "aiperf")
	venv.Env = append(os.Environ(), "PIP_RETRIES=0", "PIP_DEFAULT_TIMEOUT=10")
	python, err := venv.Output()
	if err != nil || len(python) == 0 {
		t.Skipf("AIPerf cannot be installed here: %v", err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "aiperf", "recorded.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-B", "load.py"}
	for line := range bytes.Lines(want) {
		var l loaded
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		word := l.Format + "="
		if l.Settings != nil {
			word += string(settingsOf(t, &l)) + "="
		}
		args = append(args, word+filepath.Base(sampleOf(t, l.Format)))
	}
	load := exec.Command(strings.TrimSpace(string(python)), args...)
	load.Dir = filepath.Join("testdata", "aiperf")
	var said bytes.Buffer
	load.Stderr = &said
	got, err := load.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", "aiperf", "recorded.jsonl"), got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(slices.Collect(strings.Lines(string(want))),
		slices.Collect(strings.Lines(string(got)))); diff != "" {
		t.Errorf("- recorded, + AIPerf; go test -run %s -update records it\n%s", t.Name(), diff)
	}
}
