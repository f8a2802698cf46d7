package loadgen

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/schema"
)

// readAs is what was read of an answer: its output, prose and calls together.
type readAs struct {
	Text, Reasoning string
	Items           int64
	OK              bool // there was an answer in it
}

// What AIPerf 0.13 reads of an answer is what is read here, but where a line of
// the file says why not.
func TestAnswersBesideAIPerf(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("testdata", "aiperf_answers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var c struct {
			Type, Name, Why string
			Stream          bool
			Events          []string
			AIPerf          readAs
			Ours            *readAs
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		spec, err := endpoint.Open(&schema.Endpoint{Type: c.Type, Streaming: c.Stream})
		if err != nil {
			t.Fatal(err)
		}
		var a answer
		readAnswer(&a, arrived(c.Stream, c.Events...), spec)
		want := c.AIPerf
		if c.Ours != nil {
			want = *c.Ours
			if *c.Ours == c.AIPerf || c.Why == "" {
				t.Errorf("%s, %s: a difference that is none, or without a reason", c.Type, c.Name)
			}
		}
		got := readAs{string(a.output()), string(a.reasoning), a.items, a.content > 0 && a.errKind == ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.Type, c.Name, diff)
		}
	}
}
