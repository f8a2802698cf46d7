package dataset_test

import (
	"encoding/base64"
	"encoding/json"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/dataset/public"
	"aiperf.dev/aiperf/schema"
)

const snapshot = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// cached files a data set under its place in the hub's cache.
func cached(t *testing.T, home string, s *public.Set, name string, write func(path string) error) {
	t.Helper()
	commit := snapshot
	if s.Revision != "" {
		commit = s.Revision
	}
	dir := s.Hub().Folder(home)
	path := filepath.Join(dir, "snapshots", commit, filepath.FromSlash(name))
	for _, d := range []string{filepath.Dir(path), filepath.Join(dir, "refs")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "refs", "main"), []byte(commit), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(path); err != nil {
		t.Fatal(err)
	}
}

func text(s string) func(string) error {
	return func(path string) error { return os.WriteFile(path, []byte(s), 0o600) }
}

func rows[T any](list ...T) func(string) error {
	return func(path string) error { return parquet.WriteFile(path, list) }
}

// mediaCell is how Parquet files of the hub hold images and sounds.
type mediaCell struct {
	Bytes []byte  `parquet:"bytes,optional"`
	Path  *string `parquet:"path,optional"`
}

func pngBytes(t *testing.T) []byte {
	t.Helper()
	it, err := media.EncodeImage(image.NewRGBA(image.Rect(0, 0, 2, 3)), "png")
	if err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(it.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wavBytes(t *testing.T, seconds float64) []byte {
	t.Helper()
	b, err := media.Sound{Seconds: seconds, Rate: 8000, Depth: 8, Channels: 1}.WAV(rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type (
	textRow struct {
		Problem     string  `parquet:"problem"`
		Question    string  `parquet:"question"`
		Prompt      string  `parquet:"prompt"`
		Text        string  `parquet:"text"`
		Instruction string  `parquet:"instruction"`
		Code        string  `parquet:"code"`
		Change      string  `parquet:"change_request"`
		Answer      float64 `parquet:"answer"`
	}
	promptsRow struct {
		ID     int64    `parquet:"prompt_id"`
		Prompt []string `parquet:"prompt,list"`
	}
	imageRow struct {
		Question string    `parquet:"question"`
		Image    mediaCell `parquet:"image"`
	}
	choice   struct{ A, B, C *string }
	videoRow struct {
		Question string `parquet:"question"`
		Choices  choice `parquet:"choices"`
		Video    string `parquet:"video"`
	}
	audioRow struct {
		Audio mediaCell `parquet:"audio"`
		Text  string    `parquet:"text"`
	}
	message struct {
		From  string `parquet:"from"`
		Value string `parquet:"value"`
	}
	llavaRow struct {
		Image         mediaCell `parquet:"image"`
		Conversations []message `parquet:"conversations,list"`
	}
)

// samples of published sets in the layout that their repositories have, and
// what becomes of them.
func publicSample(t *testing.T, s *public.Set) (name string, write func(string) error, want string) {
	t.Helper()
	some := "One"
	long := wavBytes(t, 31)
	switch {
	case s.Spans:
		b, err := os.ReadFile("testdata/exgentic.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		return "data/train-00000-of-00001.jsonl", text(string(b)), `s-1
 at=0s max=7 complete=true messages=[{"role":"system","content":"Be an agent."},{"role":"user","content":"List files."}] tools=[{"type":"function","function":{"name":"ls","description":"lists","parameters":{"type":"object"}}}]
 at=3s delay=1.5s max=9 complete=true messages=[{"role":"user","content":"List files."},{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"a.txt"},{"role":"user","content":"And then?"}]
s-2
 at=0s max=2 complete=true messages=[{"role":"user","content":"x"}]
`
	case s.Name == "sharegpt":
		return s.File, text(`[{"id":"a","conversations":[{"from":"human","value":"Tell me about rivers in the mountains."},{"from":"gpt","value":"They are cold and clear, mostly."},{"from":"human","value":"Name one of them in Norway please."},{"from":"gpt","value":"The Glomma is the longest one."}]},` +
				`{"id":"b","conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Hello, how can I help you today?"}]},{"id":"c","conversations":[]}]`), `session_000000
 isl=8 max=8 "Tell me about rivers in the mountains."
 isl=8 max=9 "Name one of them in Norway please."
warning: ` + s.Repo + `: 2 rows cannot be sent and left out
`
	case s.Say != "":
		return s.Subset + "/" + s.Split + "/0000.parquet", rows(audioRow{Audio: mediaCell{Bytes: wavBytes(t, 0.5)}},
				audioRow{Audio: mediaCell{Bytes: long}}, audioRow{}),
			"session_000000\n isl=5 \"Transcribe this audio.\" audio=data:audio/wav;base64,UklGRsQPAABXQVZFZm\nwarning: " + s.Repo + ": 2 rows cannot be sent and left out\n"
	case s.Name == "vision_arena":
		b64 := base64.StdEncoding.EncodeToString(pngBytes(t))
		return "data/train-0.jsonl", text(`{"conversation":[[{"role":"user","content":"What is this?"}],[{"role":"assistant","content":"A square."}]],"images":[{"bytes":{"$base64":"` + b64 + `"},"path":null}]}` + "\n"),
			"session_000000\n isl=4 \"What is this?\" image=data:image/png;base64,iVBORw0KGgoAAAANSU\n"
	case s.Name == "llava_onevision":
		return s.Subset + "/train-00000-of-00001.parquet", rows(llavaRow{
				Image:         mediaCell{Bytes: pngBytes(t)},
				Conversations: []message{{"human", "<image>\nDescribe it."}, {"gpt", "A square."}},
			}),
			"session_000000\n isl=3 \"Describe it.\" image=data:image/png;base64,iVBORw0KGgoAAAANSU\n"
	case s.Name == "mmstar":
		return "mmstar.parquet/val-0.parquet", rows(imageRow{"What is it?", mediaCell{Bytes: pngBytes(t)}}),
			"session_000000\n isl=4 \"What is it?\" image=data:image/png;base64,iVBORw0KGgoAAAANSU\n"
	case s.Name == "mmvu":
		return "validation.parquet", rows(videoRow{
			"Which?",
			choice{A: &some, C: &some},
			"https://example.org/v/1.mp4",
		}), "session_000000\n isl=6 \"Which? A.One C.One\" video=https://example.org/v/1.mp4\n"
	case s.Turns > 1:
		return "data/train.parquet", rows(promptsRow{1, []string{"First.", "Second."}},
				promptsRow{2, []string{"Only."}}),
			"session_000000\n isl=2 \"First.\"\n isl=2 \"Second.\"\nsession_000001\n isl=2 \"Only.\"\n"
	case s.Template != "":
		return "data/train-0.parquet", rows(textRow{Code: "x = {1}", Change: "Say 2."}),
			"session_000000\n isl=51 \"Given a code file, please apply the chan...e\\\" section below.\"\n"
	}
	dir := ""
	if s.Subset != "" {
		dir = s.Subset + "/"
	}
	row := textRow{Problem: "p q", Question: "p q", Prompt: "p q", Text: "p q", Instruction: "p q"}
	return dir + s.Split + "-00000-of-00001.parquet",
		rows(row, textRow{Problem: " ", Question: "", Prompt: "\n", Text: " ", Instruction: " "}),
		"session_000000\n isl=2 \"p q\"\nwarning: " + s.Repo + ": 1 row cannot be sent and left out\n"
}

// Every published set gives its conversations from files in the layout of its
// repository, and says where they came from.
func TestPublishedSets(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HF_HUB_CACHE", home)
	weka, err := os.ReadFile("testdata/weka_trace.json")
	if err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	if err := json.Unmarshal(weka, &line); err != nil {
		t.Fatal(err)
	}
	oneLine, _ := json.Marshal(line)
	golden, err := os.ReadFile("testdata/weka_trace.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range public.Catalogue() {
		cfg := schema.Dataset{Name: "main", Type: "public", Dataset: s.Name}
		var want string
		switch {
		case s.Address != "":
			cfg.Folder = filepath.Join(t.TempDir(), s.File)
			if err := text(`{"question_id":1,"category":"writing","turns":["Write a poem.","Another."]}` +
				"\n")(cfg.Folder); err != nil {
				t.Fatal(err)
			}
			want = "session_000000\n isl=4 \"Write a poem.\"\n"
		case s.Format == "weka_trace":
			if s.Name == "weka_hf" {
				s.Repo, cfg.HFWekaDataset = "me/traces", "me/traces"
			}
			cached(t, home, &s, "data/train.jsonl", text(string(oneLine)+"\n"))
			want = string(golden)
			cfg.Prompts.Corpus = "sonnet" // as the file beside it was made
		default:
			name, write, expected := publicSample(t, &s)
			cached(t, home, &s, name, write)
			want = expected
		}
		set, err := dataset.Open(cfg, tok(t, "builtin"), 1, "profiling")
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		got, notes := dump(set), ""
		if i := strings.Index(got, "note: "); i >= 0 {
			got, notes = got[:i], got[i:]
		}
		want, _, _ = strings.Cut(want, "note: ")
		want = strings.ReplaceAll(want, "testdata/weka_trace.json", s.Repo)
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", s.Name, got, want)
		}
		if !strings.Contains(notes, "licence: ") || s.Repo != "" && !strings.Contains(notes, s.Repo+" at ") {
			t.Errorf("%s: notes %q", s.Name, notes)
		}
	}
}

func TestPublishedFilters(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HF_HUB_CACHE", home)
	s, _ := public.Named("exgentic")
	name, write, _ := publicSample(t, &s)
	cached(t, home, &s, name, write)
	ids := func(filters map[string]any, entries int) (string, error) {
		set, err := dataset.Open(schema.Dataset{Type: "public", Dataset: s.Name, Filters: filters, Entries: entries},
			tok(t, "builtin"), 1, "profiling")
		if err != nil {
			return "", err
		}
		var out []string
		for i := range set.Len() {
			out = append(out, set.At(i).ID)
		}
		return strings.Join(out, " "), nil
	}
	for _, c := range []struct {
		filters map[string]any
		entries int
		want    string
	}{
		{nil, 0, "s-1 s-2"},
		{nil, 1, "s-1"},
		{map[string]any{"harness": "tool_calling"}, 0, "s-2"},
		{map[string]any{"harness": "Claude_Code"}, 0, "s-1"},
		{map[string]any{"source_model": "gpt-4.1"}, 0, "s-2"},
		{map[string]any{"source_model": "openai/azure/GPT-4.1"}, 0, "s-2"},
	} {
		if got, err := ids(c.filters, c.entries); got != c.want || err != nil {
			t.Errorf("%v: %q, %v; want %q", c.filters, got, err, c.want)
		}
	}
	for _, c := range []struct {
		filters map[string]any
		want    string
	}{
		{map[string]any{"colour": "red"}, "filters.colour: the data set has no such column; its columns are harness, models, session_id, spans"},
		{map[string]any{"harness": "none"}, "exgentic: no record can be sent"},
	} {
		if _, err := ids(c.filters, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.filters, err, c.want)
		}
	}
	if _, err := dataset.Open(schema.Dataset{Type: "public", Dataset: "nothing"}, nil, 1, "profiling"); err == nil ||
		!strings.Contains(err.Error(), `"nothing": no published set of that name`) {
		t.Errorf("an unknown set: %v", err)
	}
}

// A sound's length decides whether it is sent, and travels with the turn.
func TestPublishedSoundsHaveLengths(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HF_HUB_CACHE", home)
	s, _ := public.Named("librispeech")
	// STREAMINFO of 16,000 samples a second and 40,000 samples
	flac := append([]byte("fLaC\x80\x00\x00\x22"), make([]byte, 34)...)
	flac[8+10], flac[8+11], flac[8+12] = 0x03, 0xe8, 0x00
	flac[8+16], flac[8+17] = 0x9c, 0x40
	cached(t, home, &s, "clean/test/0000.parquet", rows(audioRow{Audio: mediaCell{Bytes: wavBytes(t, 2.5)}},
		audioRow{Audio: mediaCell{Bytes: flac}}))
	set := open(t, schema.Dataset{Type: "public", Dataset: s.Name}, tok(t, "builtin"), 1, "profiling")
	if set.Len() != 2 {
		t.Fatalf("%d conversations", set.Len())
	}
	for i, want := range []string{"wav", "flac"} {
		if a := set.At(i).Turns[0].Audios[0]; a.Length != 2500*time.Millisecond || a.Format != want {
			t.Errorf("sound %d: %s of %s", i, a.Format, a.Length)
		}
	}
}
