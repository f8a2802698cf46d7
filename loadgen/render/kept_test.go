package render

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/tokenizer/chat"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// counting counts how often it is asked.
type counting struct {
	datasettest.Bytes
	asked *int
}

func (c counting) Count(text string) int { *c.asked++; return c.Bytes.Count(text) }

// However often conversations are played, of what was counted there is no more
// left than there are conversations, and those that stay are counted once.
func TestCountsOfPlaysAreNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tokenizer_config.json"),
		[]byte(`{"chat_template":"{% for m in messages %}<{{ m.content }}>{% endfor %}"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	template, err := chat.Open(dir)
	if err != nil || template == nil {
		t.Fatalf("%v %v", template, err)
	}
	messages := []any{map[string]any{"role": "user", "content": "hello there"}}
	recorded := []any{
		map[string]any{"timestamp": 0, "messages": messages, "output_length": 3},
		map[string]any{"timestamp": 5, "messages": messages, "output_length": 3},
	}
	lengths := []any{
		map[string]any{"timestamp": 0, "input_length": 30, "output_length": 3},
		map[string]any{"timestamp": 5, "input_length": 20, "output_length": 3},
	}
	said := []any{map[string]any{"text": "one"}, map[string]any{"text": "two"}}
	for _, c := range []struct {
		name   string
		cfg    schema.Dataset
		chat   *chat.Template
		counts int // 0: every play is counted
	}{
		{"a trace of messages", schema.Dataset{Format: "mooncake_trace", Records: datasettest.Records(t, recorded...)}, nil, 0},
		{"a trace of lengths in a chat template", schema.Dataset{Format: "mooncake_trace", Records: datasettest.Records(t, lengths...)}, template, 0},
		{"marked conversations", schema.Dataset{Format: "single_turn", Records: datasettest.Records(t, said...), CacheBust: &schema.CacheBust{Target: "first_turn_prefix"}}, template, 0},
		{"conversations that stay", schema.Dataset{Format: "single_turn", Records: datasettest.Records(t, said...)}, template, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.cfg.Type = "file"
			asked := 0
			tok := counting{asked: &asked}
			set, err := dataset.Open(c.cfg, tok, 1, "profiling")
			if err != nil {
				t.Fatal(err)
			}
			r := renderer(t, nil)
			r.Tokenizer, r.Chat = tok, c.chat
			k, sampler := NewKeys(7, 7, "profiling"), set.Sampler(1)
			var x transport.Exchange
			const plays = 500
			asked = 0
			for i := range int64(plays) {
				s := r.Open(k, sampler.Next(), i)
				if turn := r.Render(k, &s, 0, &x); turn.Err != nil || turn.ISL < 1 {
					t.Fatalf("%+v", turn)
				}
			}
			if c.counts > 0 && asked != c.counts {
				t.Errorf("%d plays of %d conversations were counted %d times", plays, set.Len(), asked)
			}
			kept := plays
			for try := 0; try < 1000 && kept > set.Len(); try++ {
				runtime.GC()
				kept = 0
				r.isl.Range(func(any, any) bool { kept++; return true })
			}
			if kept > set.Len() {
				t.Errorf("%d counts are kept after %d plays of %d conversations", kept, plays, set.Len())
			}
			runtime.KeepAlive(set)
		})
	}
}
