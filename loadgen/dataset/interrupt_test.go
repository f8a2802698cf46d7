package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/chatlog"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// stopping counts by bytes and ends a context at the n-th text.
type stopping struct {
	tokenizer.Tokenizer
	stop  func(error)
	at, n int
}

var errStopped = errors.New("stopped by hand")

func (s *stopping) Count(text string) int {
	if s.n++; s.n == s.at {
		s.stop(errStopped)
	}
	return len(text)
}

func (s *stopping) Encode(dst []int, text string) []int {
	s.Count(text)
	return s.Tokenizer.Encode(dst, text)
}

// Preparation ends with its context, after the record, or the synthetic
// conversation, under way.
func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, "{\"text\": \"prompt %d\"}\n", i)
	}
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	builtin, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	isl := 10.0
	for _, c := range []struct {
		name string
		cfg  schema.Dataset
	}{
		{"file", schema.Dataset{Type: "file", Path: path}},
		{"synthetic", schema.Dataset{Type: "synthetic", Entries: 1000, Prompts: schema.Prompts{ISL: &schema.Shape{Mean: &isl}}}},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		all := &stopping{Tokenizer: builtin}
		if _, err := dataset.OpenSeeds(ctx, c.cfg, all, dataset.Seeds{}, dataset.Wrapping{}, "profiling"); err != nil {
			t.Fatal(err)
		}
		tok := &stopping{Tokenizer: builtin, stop: stop, at: all.n / 2}
		_, err := dataset.OpenSeeds(ctx, c.cfg, tok, dataset.Seeds{}, dataset.Wrapping{}, "profiling")
		if !errors.Is(err, errStopped) {
			t.Errorf("%s: %v, want %v", c.name, err, errStopped)
		}
		if tok.n > tok.at+100 {
			t.Errorf("%s: %d texts of %d were counted, the context ended at %d", c.name, tok.n, all.n, tok.at)
		}
	}
}

// So do the tools that read a trace or a log.
func TestToolsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows, log := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "log.jsonl")
	for path, line := range map[string]string{
		rows: `{"input_length": 10, "output_length": 2, "hash_ids": [1]}`,
		log:  `{"messages": [{"role": "user", "content": "hi"}], "output": "ho"}`,
	} {
		if err := os.WriteFile(path, []byte(strings.Repeat(line+"\n", 3)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errStopped)
	if _, err := format.ReadTrace(ctx, rows, "", 0); !errors.Is(err, errStopped) {
		t.Errorf("ReadTrace: %v, want %v", err, errStopped)
	}
	tok, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chatlog.Anonymize(ctx, log, tok, 16, chatlog.Plainly); !errors.Is(err, errStopped) {
		t.Errorf("Anonymize: %v, want %v", err, errStopped)
	}
}
