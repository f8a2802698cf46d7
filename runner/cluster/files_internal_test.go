package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
)

// word is a small tokenizer file.
const word = `{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
	"model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "hello": 1, "world": 2}, "unk_token": "[UNK]"}}`

// A run goes on where none of its files is: they are read, and played, as they were sent.
func TestFilesTravel(t *testing.T) {
	t.Parallel()
	b, err := openBus("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	here := t.TempDir()
	for name, text := range map[string]string{
		"data.jsonl": `{"text": "hello world", "image": "pictures/a.png"}` + "\n", "system.txt": "hello",
		"words.txt": "hello world", "body.jinja": `{"text": {{ text|tojson }}}`,
		"model/tokenizer.json": word, "model/tokenizer_config.json": `{"chat_template": "{{ messages[0].content }}"}`,
		"pictures/a.png": "\x89PNG\r\n\x1a\n" + "0000IEND\xaeB`\x82", "pictures/secret.key": "of no use",
	} {
		path := filepath.Join(here, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(here, name) }
	runs := map[string]schema.Benchmark{
		"records": {
			Endpoint: schema.Endpoint{URLs: []string{"http://127.0.0.1:1"}, Type: "chat"},
			Datasets: []schema.Dataset{{
				Name: "default", Path: at("data.jsonl"), Format: "single_turn", SystemFile: at("system.txt"),
				MediaRoots: []string{at("pictures")},
			}},
		},
		"words": {
			Endpoint: schema.Endpoint{
				URLs: []string{"http://127.0.0.1:1"}, Type: "template", Template: &schema.BodyTemplate{Body: at("body.jinja")},
			},
			Datasets: []schema.Dataset{{
				Name: "default", Entries: 4,
				Prompts: schema.Prompts{CorpusFile: at("words.txt"), ISL: &schema.Shape{Mean: new(4.0)}},
			}},
		},
	}
	lend, specs, lists, digests := newLender(b.js), map[string]onerun.Spec{}, map[string]string{}, map[string]string{}
	for name, body := range runs {
		body.Models = schema.Models{Items: []schema.Model{{Name: "demo"}}}
		body.Tokenizer = schema.Tokenizer{Name: at("model")}
		body.Phases = []schema.Phase{{Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 1, Requests: 4}}
		spec := onerun.Spec{Seed: 1, Text: 1, Benchmark: body}
		open, err := onerun.NewLoader().Open(t.Context(), t.Context(), spec)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		digests[name] = open.Set.Digest()
		if specs[name], lists[name], err = lend.lend(t.Context(), &spec); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if spec.Benchmark.Datasets[0].Path != body.Datasets[0].Path {
			t.Errorf("%s: the coordinator's own run was changed", name)
		}
	}
	if err := os.RemoveAll(here); err != nil {
		t.Fatal(err)
	}
	borrow := borrower{b.js, filepath.Join(t.TempDir(), "files"), map[string]string{}}
	for name, spec := range specs {
		placed, err := borrow.place(t.Context(), spec, lists[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		open, err := onerun.NewLoader().Open(t.Context(), t.Context(), placed)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := open.Set.Digest(); got != digests[name] {
			t.Errorf("%s: other requests: %s, want %s", name, got, digests[name])
		}
		for _, path := range []string{"/etc/hostname", "../x", "/../../etc/hostname"} {
			other := spec
			other.Benchmark.Datasets = []schema.Dataset{{Name: "default", Path: path}}
			_, err := borrow.place(t.Context(), other, lists[name])
			if err == nil || !strings.Contains(err.Error(), path) || diag.Of(err).Hint == "" {
				t.Errorf("a run with %s, which was not sent: %v", path, err)
			}
		}
	}
	for name, f := range map[string]sentFile{
		"outside": {Path: "/a/../../b", Digest: lists["words"]},
		"unknown": {Path: "/a", Digest: strings.Repeat("0", 64)},
	} {
		store, err := b.js.ObjectStore(t.Context(), storeName)
		if err != nil {
			t.Fatal(err)
		}
		if err := borrow.get(t.Context(), store, f); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}
