package dataset_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/chatlog"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// givesUp cannot count texts with an x.
type givesUp struct {
	tokenizer.Tokenizer
	bad error
}

func (g *givesUp) Count(text string) int {
	if strings.Contains(text, "x") {
		g.bad = errors.New("the pattern is hopeless")
	}
	return len(text)
}

func (g *givesUp) Encode(dst []int, text string) []int { return append(dst, g.Count(text)) }
func (g *givesUp) Err() error                          { return g.bad }

// A text that its tokenizer cannot count is an error with the text's place,
// never a count.
func TestUncountedTextIsAnError(t *testing.T) {
	t.Parallel()
	builtin, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "prompts.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	check := func(name string, err error, want string) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	cfg := schema.Dataset{Type: "file", Path: write("{\"text\": \"a\"}\n{\"text\": \"x\"}\n{\"text\": \"b\"}\n")}
	_, err = dataset.Open(cfg, &givesUp{Tokenizer: builtin}, 1, "profiling")
	check("file", err, "prompts.jsonl:2: tokenizer "+builtin.Name()+": the pattern is hopeless")
	isl := 300.0
	_, err = dataset.Open(schema.Dataset{
		Type: "synthetic", Entries: 3,
		Prompts: schema.Prompts{ISL: &schema.Shape{Mean: &isl}},
	}, &givesUp{Tokenizer: builtin}, 1, "profiling")
	check("synthetic", err, "the pattern is hopeless")
	log := write("{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}], \"output\": \"y\"}\n")
	_, err = chatlog.Anonymize(t.Context(), log, &givesUp{Tokenizer: builtin}, 16, chatlog.Plainly)
	check("chat log", err, "prompts.jsonl:1: tokenizer "+builtin.Name()+": the pattern is hopeless")
}
