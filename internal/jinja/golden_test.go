package jinja_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/jinja"
)

func read(t *testing.T, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func clock() time.Time { return time.Date(2026, 3, 9, 7, 5, 3, 0, time.UTC) }

func fromJSON(t *testing.T, all map[string]json.RawMessage) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, b := range all {
		v, err := jinja.FromJSON(b)
		if err != nil {
			t.Fatal(name, err)
		}
		out[name] = v
	}
	return out
}

// Small templates render as Jinja2 renders them, in both dialects; what it
// refuses is refused. gen/golden.py asked it.
func TestGoldenCases(t *testing.T) {
	t.Parallel()
	var file struct {
		Names map[string]json.RawMessage
		Cases []struct {
			Template     string
			Strict, Chat *string
			StrictError  string `json:"strict_error"`
			ChatError    string `json:"chat_error"`
		}
	}
	read(t, "testdata/cases.json", &file)
	names := fromJSON(t, file.Names)
	parseChat := func(s string) (*jinja.Template, error) { return jinja.ParseChat(s, clock) }
	for _, c := range file.Cases {
		for _, d := range []struct {
			name  string
			parse func(string) (*jinja.Template, error)
			want  *string
			err   string
		}{{"strict", jinja.Parse, c.Strict, c.StrictError}, {"chat", parseChat, c.Chat, c.ChatError}} {
			got := ""
			tpl, err := d.parse(c.Template)
			if err == nil {
				got, err = tpl.Run(names)
			}
			switch {
			case d.want == nil && err == nil:
				t.Errorf("%s %q = %q, want a mistake (%s)", d.name, c.Template, got, d.err)
			case d.want != nil && err != nil:
				t.Errorf("%s %q: %v, want %q", d.name, c.Template, err, *d.want)
			case d.want != nil && got != *d.want:
				t.Errorf("%s %q = %q, want %q", d.name, c.Template, got, *d.want)
			}
		}
	}
}

// Published chat templates render as transformers renders them. They belong to
// their makers and are not kept here; those that lie in build/ and that
// testdata/published.json knows are tried.
func TestGoldenPublished(t *testing.T) {
	t.Parallel()
	var file struct {
		Scenes    map[string]map[string]json.RawMessage
		Templates map[string]map[string]string
	}
	read(t, "testdata/published.json", &file)
	tried := 0
	for path, text := range published(t) {
		sum := sha256.Sum256([]byte(text))
		want, known := file.Templates[hex.EncodeToString(sum[:])]
		if !known {
			continue
		}
		tried++
		tpl, err := jinja.ParseChat(text, clock)
		for scene, w := range want {
			got := "err"
			if err == nil {
				values := map[string]any{
					"add_generation_prompt": true, "tools": nil, "documents": nil,
					"bos_token": "<BOS>", "eos_token": "<EOS>", "unk_token": "<UNK>", "pad_token": "<PAD>",
				}
				for name, v := range fromJSON(t, file.Scenes[scene]) {
					values[name] = v
				}
				if made, err := tpl.Run(values); err == nil {
					got = summary(made)
				}
			}
			if got != w {
				t.Errorf("%s, %s: %s, want %s", path, scene, got, w)
			}
		}
	}
	if tried == 0 {
		t.Skip("no published chat template in build/; see gen/golden.py")
	}
	t.Logf("%d templates in %d scenes each", tried, len(file.Scenes))
}

// published are the templates in build/chat_templates and in the
// configurations of build/tokenizers.
func published(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	plain, _ := filepath.Glob("../../build/chat_templates/*.jinja")
	for _, path := range plain {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(b)
	}
	configs, _ := filepath.Glob("../../build/tokenizers/*/tokenizer_config.json")
	for _, path := range configs {
		var c struct {
			Template any `json:"chat_template"`
		}
		read(t, path, &c)
		if s, ok := c.Template.(string); ok {
			out[path] = s
		}
	}
	return out
}

// summary is the length of a text and its hash.
func summary(s string) string {
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%d %08x", len(s), h.Sum32())
}
