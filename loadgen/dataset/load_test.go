package dataset_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

func after(ms float64) *time.Duration {
	d := time.Duration(ms * 1e6)
	return &d
}

// conversations of testdata/<name>.jsonl, by hand.
var golden = map[string][]dataset.Conversation{
	"single_turn": {
		{ID: "session_000000", Turns: []dataset.Turn{{Texts: []string{"Hello, world!"}, ISL: 4, MaxTokens: 12, Timestamp: after(0)}}},
		{ID: "session_000001", Turns: []dataset.Turn{{Texts: []string{"one", "two", "three"}, ISL: 3, MaxTokens: 3, Timestamp: after(1500.5), Role: "user", Model: "m-2"}}},
		{ID: "session_000002", System: "Be brief.", Turns: []dataset.Turn{{Texts: []string{"日本語"}, ISL: 2, Extra: schema.MembersOf("temperature", json.Number("0.25"), "seed", json.Number("9007199254740993"), "stop", []any{"\n"}), Timestamp: after(2000)}}},
	},
	"multi_turn": {
		{ID: "a", System: "You are terse.", Turns: []dataset.Turn{
			{Texts: []string{"one"}, ISL: 1, MaxTokens: 5},
			{Texts: []string{"two"}, ISL: 1, Delay: 800 * time.Millisecond},
			{Texts: []string{"four"}, ISL: 1, Role: "user"},
		}},
		{ID: "session_000001", System: "Rules.", Turns: []dataset.Turn{{Texts: []string{"three"}, ISL: 1}}},
	},
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, want := range golden {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", name+".jsonl")
			for _, format := range []string{"", name} {
				set := open(t, schema.Dataset{Type: "file", Path: path, Format: format}, tok(t, "builtin"), 1,
					"profiling")
				if diff := cmp.Diff(want, all(set)); diff != "" {
					t.Errorf("format %q (-want +got):\n%s", format, diff)
				}
			}
			set := open(t, schema.Dataset{Type: "file", Records: records(t, path)}, tok(t, "builtin"), 1, "profiling")
			if diff := cmp.Diff(want, all(set)); diff != "" {
				t.Errorf("the same as records (-want +got):\n%s", diff)
			}
		})
	}
}

func all(set *dataset.Set) []dataset.Conversation {
	var list []dataset.Conversation
	for i := range set.Len() {
		list = append(list, *set.At(i))
	}
	return list
}

func records(t *testing.T, path string) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		list = append(list, json.RawMessage(line))
	}
	return list
}

func TestFileWithSettings(t *testing.T) {
	t.Parallel()
	set := open(t, schema.Dataset{
		Type: "file", SystemPrompt: "Always.", TurnDelayRatio: 0.5, Prompts: schema.Prompts{OSL: fixed(77)},
		Records: datasettest.Records(
			t, map[string]any{"turns": []any{
				map[string]any{"role": "system", "text": "Terse."},
				map[string]any{"text": "a", "output_length": 3.0},
				map[string]any{"text": "b", "delay": 100, "mood": "sad"},
			}, "source": "x"},
		),
	}, nil, 1, "profiling")
	want := []dataset.Conversation{{ID: "session_000000", System: "Always.\n\nTerse.", Turns: []dataset.Turn{
		{Texts: []string{"a"}, MaxTokens: 3},
		{Texts: []string{"b"}, MaxTokens: 77, Delay: 50 * time.Millisecond},
	}}}
	if diff := cmp.Diff(want, all(set)); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
	ignored := []string{`records[0]: field "source" is ignored`, `records[0]: field "turns[].mood" is ignored`}
	if diff := cmp.Diff(ignored, set.Doubts()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, c := range []struct{ content, want string }{
		{"", ": no records"},
		{"\n\n  \n", ": no records"},
		{"{\"text\":\"a\"}\n{\"text\":\n", ":2: not a JSON object: unexpected end of JSON input at byte 8; hint: one record is one object in one line: is it written whole, and quoted?"},
		{"{\"text\":\"a\"}\n\n[1]\n", ":3: not a JSON object"},
		{"hello", ":1: not a JSON object"},
		{"\x00\x01\x02ELF", ":1: a NUL byte at byte 1: not text in UTF-8; want one JSON object per line"},
		{"{\"text\":\"\xff\"}", ":1: not text in UTF-8; want one JSON object per line"},
		{`{"input_length":10,"text_input":"hi"}`, ":1: it has more than one of input_length, text_input, messages and payload; hint: one of them is needed: with input_length, a prompt of that length is made"},
		{`{"words":"a","id":1}`, `:1: fields id, words fit no known format (` + listed() + `); hint: single_turn has "text", multi_turn has "turns"; format says which it is`},
		{`{"text":7}`, ":1: text: want a string"},
		{`{"text":""}`, ":1: text: is empty"},
		{`{"text":"a","texts":["b"]}`, ":1: text and texts: only one of them can be given"},
		{`{"text":"a","timestamp":1,"delay":1}`, ":1: timestamp and delay: only one of them can be given"},
		{`{"text":"a","output_length":3,"max_tokens":3}`, ":1: output_length and max_tokens: only one of them can be given"},
		{`{"text":"a","output_length":0}`, ":1: output_length: 0 is not above 0"},
		{`{"text":"a","output_length":1.5}`, ":1: output_length: want a whole number"},
		{`{"text":"a","delay":-1}`, ":1: delay: -1 ms is out of range"},
		{`{"text":"a","timestamp":"now"}`, ":1: timestamp: want a number of milliseconds"},
		{`{"text":"a","timestamp":1e300}`, ":1: timestamp: 1e+300 ms is out of range"},
		{`{"text":"a","extra":[]}`, ":1: extra: want an object"},
		{`{"texts":[]}`, ":1: no text, image, audio or video"},
		{`{"texts":[3]}`, `:1: texts[0]: want a string or {"name": …, "contents": [strings]}`},
		{`{"text":"a","images":["x.png"]}`, ":1: image 1: x.png: no such file or directory"},
		{`{"input_length":0}`, ":1: an input of 0 tokens cannot be sent"},
		{`{"input_length":600,"hash_ids":[1,2,3]}`, ":1: 3 hash ids of 512 tokens disagree with 600 input tokens; hint: is the block size right (block_size)?"},
		{`{"input_length":-5,"timestamp":3}`, ":1: an input of -5 tokens cannot be sent"},
		{`{"input_length":5,"timestamp":-3}`, ":1: timestamp: -3 ms is out of range"},
		{`{"text_input":"a","message_mode":"delta"}`, ":1: message_mode: delta goes with messages only"},
		{`{"messages":[{"content":"a"}],"output_length":3}`, ":1: messages[0]: has no role"},
		{`{"session_id":"a","payloads":[]}`, ":1: payloads: a session needs at least one body"},
		{`{"session_id":"a","payloads":[7]}`, ":1: payloads[0]: want a request body, an object"},
		{`{"captureData":{},"eventMetadata":{"inferenceTime":"noon"}}`, `:1: eventMetadata.inferenceTime: "noon" is not a time such as 2026-04-29T00:03:18Z`},
		{`{"question_id":"q","category":"c","messages":[{"role":"user","content":"FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"}]}`, ":1: messages[0]: the text is not in this file; hint: fill the set in with specdec_bench first"},
		{`{"session_id":"a","turns":[{"messages":[{"role":"user","content":"x"}],"spwans":["b"]}]}`, `:1: unknown field "spwans"`},
		{
			`{"id":"a","block_size":64,"hash_id_scope":"local","requests":[{"t":0,"type":"n","in":9,"out":1}]}
{"id":"b","block_size":32,"hash_id_scope":"local","requests":[{"t":0,"type":"n","in":9,"out":1}]}`,
			":2: block_size: 32, the sessions before have 64; hint: replay them apart",
		},
		{`{"turns":[]}`, ":1: turns: a conversation needs at least one turn of the user"},
		{`{"turns":[{"role":"system","text":"a"}]}`, ":1: turns: a conversation needs at least one turn of the user"},
		{`{"turns":[{"text":"a"},{"text":[]}]}`, ":1: turns[1]: text: want a string"},
		{`{"turns":{"text":"a"}}`, ":1: turns: want a list"},
		{"{\"session_id\":\"s\",\"turns\":[{\"text\":\"a\"}]}\n{\"session_id\":\"s\",\"system\":\"x\",\"turns\":[{\"text\":\"a\"}]}", `:2: session "s": the system prompt belongs to its first line`},
	} {
		path := filepath.Join(dir, string(rune('a'+i))+".jsonl")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := dataset.Open(schema.Dataset{Name: "d", Type: "file", Path: path}, nil, 1, "profiling")
		if err == nil || diag.Line(err) != path+c.want {
			t.Errorf("%q: error %v\nwant %s", c.content, err, path+c.want)
		}
	}
	empty := t.TempDir()
	for path, want := range map[string]string{
		empty: empty +
			": a folder without record files (.jsonl, .json, .ndjson, .csv, .tsv, .parquet, .arrow, .ipc, .jsonl.gz)",
		filepath.Join(dir, "no.js"): "stat " + filepath.Join(dir, "no.js") + ": no such file or directory",
	} {
		if _, err := dataset.Open(schema.Dataset{Type: "file", Path: path}, nil, 1, "profiling"); err == nil ||
			err.Error() != want {
			t.Errorf("%s: error %v, want %s", path, err, want)
		}
	}
}

// All wrong records of a file are told: the first ten with their places, and how many more.
func TestEveryWrongRecord(t *testing.T) {
	t.Parallel()
	many := ""
	for i := range 13 {
		many += fmt.Sprintf(`{"text":%d}`, i) + "\n"
	}
	for _, c := range []struct {
		name, file, content, format string
		want                        []string
	}{
		{"lines", "a.jsonl", "{\"text\":\"a\"}\n{\"text\":5}\nnope\n{\"text\":\"b\"}\n[1]\n", "", []string{":2: text: want a string", ":3: not a JSON object", ":5: not a JSON object"}},
		{"the first line, too", "a.jsonl", "nope\n{\"text\":\"b\"}\n{\"text\":5}\n", "", []string{":1: not a JSON object", ":3: text: want a string"}},
		{"a list", "a.json", `[{"text":"a"},7,{"text":8},{"text":"c"},[]]`, "", []string{"[1]: not a JSON object", "[2]: text: want a string", "[4]: not a JSON object"}},
		{"a table", "a.csv", "text,output_length\na,1\nb\nc,x\nd,2\ne,2,3\n", "", []string{
			":3: the row does not have as many cells as the first line has names (2)", ":4: output_length: want a whole number", ":6: the row does not have as many cells as the first line has names (2)",
		}},
		{"records of another format", "a.jsonl", "{\"text\":\"a\"}\n{\"turns\":[{\"text\":\"a\"}]}\n{\"text\":7}\n", "", []string{
			":2: not single_turn like the records before it: it has no text, texts, image, images, audio, audios, video or videos", ":3: text: want a string",
		}},
		{"many", "a.jsonl", many + "{\"text\":\"z\"}\n", "single_turn", []string{
			":1: text: want a string", ":2: text: want a string", ":3: text: want a string", ":4: text: want a string", ":5: text: want a string", ":6: text: want a string",
			":7: text: want a string", ":8: text: want a string", ":9: text: want a string", ":10: text: want a string", "and 3 more records that are wrong",
		}},
		{"behind which nothing can be read", "a.json", `[{"text":7},{"text":"a"},{"text"]`, "", []string{"[0]: text: want a string", ":1:33: not JSON: invalid character ']' after object key"}},
		{"nothing that is a record", "a.jsonl", "{\n \"text\": 5\n}\n", "", []string{":1: not a JSON object: unexpected end of JSON input at byte 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			for name, err := range map[string]error{
				"Open": func() error {
					_, err := dataset.Open(schema.Dataset{Type: "file", Path: path, Format: c.format}, nil, 1,
						"profiling")
					return err
				}(),
				"Check": dataset.Check(schema.Dataset{Type: "file", Path: path, Format: c.format}, nil),
			} {
				var got []string
				if err != nil {
					got = append([]string{err.Error()}, diag.Of(err).More...)
				}
				for i := range got {
					got[i] = strings.TrimPrefix(got[i], path)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// A field that nothing reads is counted, and one whose name is nearly that of another is asked about.
func TestIgnoredFieldsAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	content := `{"text":"a","colour":1}` + "\n" + `{"text":"b","outputlength":3,"colour":2}` + "\n" + `{"text":"c"}` +
		"\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	set := open(t, schema.Dataset{Type: "file", Path: path}, nil, 1, "profiling")
	want := []string{
		path + `:1: field "colour" is ignored, in 2 of 3 records`,
		path + `:2: field "outputlength" is ignored, in 1 of 3 records; did you mean output_length?`,
	}
	if diff := cmp.Diff(want, set.Doubts()); diff != "" {
		t.Errorf("doubts (-want +got):\n%s", diff)
	}
}

// listed are the formats as an error lists them: those of one family as one.
func listed() string {
	var names []string
	for _, name := range format.Formats() {
		if !strings.HasPrefix(name, "speed_bench_") {
			names = append(names, name)
		}
	}
	return strings.Join(append(names, "speed_bench_*"), ", ")
}

func TestSampler(t *testing.T) {
	t.Parallel()
	cfg := synthetic(5, fixed(4))
	draw := func(strategy string, n int, seed int64) (ids []string) {
		cfg := cfg
		cfg.Sampling = strategy
		s := open(t, cfg, tok(t, "builtin"), 1, "profiling").Sampler(seed)
		for range n {
			ids = append(ids, s.Next().ID)
		}
		return ids
	}
	inOrder := []string{"session_000000", "session_000001", "session_000002", "session_000003", "session_000004"}
	for _, strategy := range []string{"", "sequential"} {
		if diff := cmp.Diff(append(slices.Clone(inOrder), inOrder[0], inOrder[1]), draw(strategy, 7, 1)); diff != "" {
			t.Errorf("strategy %q (-want +got):\n%s", strategy, diff)
		}
	}
	decks := draw("shuffle", 50, 1)
	shuffled := 0
	for deck := range slices.Chunk(decks, 5) {
		if !slices.Equal(deck, inOrder) {
			shuffled++
		}
		if got := slices.Sorted(slices.Values(deck)); !slices.Equal(got, inOrder) {
			t.Errorf("a deck of shuffle deals %q", got)
		}
	}
	if shuffled < 8 {
		t.Errorf("%d of 10 decks are shuffled", shuffled)
	}
	counts := map[string]int{}
	for _, id := range draw("random", 5000, 1) {
		counts[id]++
	}
	for _, id := range inOrder { // binomial(5000, 1/5): 1000 ± 5·28
		if n := counts[id]; n < 860 || n > 1140 {
			t.Errorf("random: %s came %d times of 5000", id, n)
		}
	}
	if !slices.Equal(draw("random", 20, 3), draw("random", 20, 3)) ||
		slices.Equal(draw("random", 20, 3), draw("random", 20, 4)) {
		t.Error("random does not follow its seed")
	}
}

func TestTimedAndTurns(t *testing.T) {
	t.Parallel()
	single := open(t, schema.Dataset{Type: "file", Path: "testdata/single_turn.jsonl"}, nil, 1, "profiling")
	multi := open(t, schema.Dataset{Type: "file", Path: "testdata/multi_turn.jsonl"}, nil, 1, "profiling")
	if !single.Timed() || multi.Timed() {
		t.Errorf("Timed: single_turn %v, multi_turn %v; want true, false", single.Timed(), multi.Timed())
	}
	if single.Turns() != 3 || multi.Turns() != 4 {
		t.Errorf("Turns: single_turn %d, multi_turn %d; want 3, 4", single.Turns(), multi.Turns())
	}
}

// FuzzLines checks that any file gives a usable set or a one-line error.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a"}`, "{\"texts\":[\"a\",{\"contents\":[\"b\"]}]}\n{\"text\":\"c\",\"delay\":5}",
		`{"turns":[{"text":"a"}]}`,
		"\ufeff{\"text\":null}", `{"text":"a","extra":{"x":[1,{"y":null}]}}`, "{\"session_id\":\"s\",\"turns\":[{\"text\":\"a\"}]}\n{\"session_id\":\"s\",\"turns\":[{\"role\":\"system\",\"text\":\"b\"}]}",
		`{"type":"multi_turn","text":"a"}`, "[]", "{", "\x00",
	} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "f.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := dataset.Open(schema.Dataset{Type: "file", Path: path}, nil, 1, "profiling")
		if err != nil {
			if !strings.HasPrefix(err.Error(), path+":") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
			return
		}
		if set.Len() == 0 || set.Digest() == "" {
			t.Error("an empty set")
		}
		for i := range set.Len() {
			if c := set.At(i); c.ID == "" || len(c.Turns) == 0 || len(c.Turns[0].Texts) == 0 {
				t.Errorf("conversation %d: %+v", i, c)
			}
		}
	})
}

// A line of a conversation reads back to the conversation.
func TestLineReadsBack(t *testing.T) {
	n, turns, delay := 24.0, 3.0, 12.5
	tok, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(schema.Dataset{
		Type: "synthetic", Entries: 9, Turns: &schema.Shape{Mean: &turns}, TurnDelay: &schema.Shape{Mean: &delay},
		Prompts: schema.Prompts{ISL: &schema.Shape{Mean: &n}, OSL: &schema.Shape{Mean: &n}}, SystemPrompt: "Be brief.",
	}, tok, 5, "profiling")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "made.jsonl")
	var b []byte
	for i := range set.Len() {
		line, err := format.Line(set.At(i))
		if err != nil {
			t.Fatal(err)
		}
		b = append(append(b, line...), '\n')
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := dataset.Open(schema.Dataset{Type: "file", Path: path}, tok, 6, "profiling")
	if err != nil {
		t.Fatal(err)
	}
	if back.Len() != set.Len() || back.Digest() != set.Digest() {
		t.Errorf("%d conversations %s read back as %d %s", set.Len(), set.Digest(), back.Len(), back.Digest())
	}
	if len(set.At(0).Turns) != 3 || set.At(0).Turns[1].Delay == 0 || set.At(0).Turns[0].MaxTokens == 0 {
		t.Errorf("the set to write has no turns, delays or lengths: %+v", set.At(0))
	}
	if _, err := format.Line(&dataset.Conversation{
		ID:    "a",
		Turns: []dataset.Turn{{Texts: []string{"x"}, Context: "y"}},
	}); err == nil {
		t.Error("a context was written, and lost")
	}
}
