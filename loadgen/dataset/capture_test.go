package dataset_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/schema"
)

// captureFile is a trace of these lines.
func captureFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The rows of a capture say how their blocks were cut, and each has its whole history, however
// short its prompts are: no answer is put before the next one.
func TestCapturedRows(t *testing.T) {
	t.Parallel()
	path := captureFile(t,
		`{"timestamp":0,"session_id":"a","input_length":3,"output_length":5,"hash_ids":[11],"capture":{"api":"chat","block_size":16,"latency_ms":4}}`,
		`{"timestamp":9.5,"session_id":"a","input_length":20,"output_length":5,"hash_ids":[12,13],"capture":{"api":"chat","block_size":16,"latency_ms":4}}`,
		`{"timestamp":12,"session_id":"b","messages":[{"role":"user","content":"Hello"}],"output_length":2,"capture":{"api":"chat","block_size":16,"input_tokens":17,"hash_ids":[12,14],"latency_ms":4}}`,
	)
	set := open(t, schema.Dataset{Type: "file", Path: path}, tok(t, "builtin"), 1, "profiling")
	if notes := append(set.Doubts(), set.Warnings()...); len(notes) > 0 {
		t.Errorf("notes %q, want none: nothing of a capture is unknown", notes)
	}
	a, b := set.At(0), set.At(1)
	if len(a.Turns) != 2 || !a.Turns[0].Complete || !a.Turns[1].Complete || a.Turns[1].ISL != 20 ||
		a.Turns[1].MaxTokens != 5 {
		t.Errorf("conversation a: %+v", a)
	}
	if string(b.Turns[0].Messages) != `[{"role":"user","content":"Hello"}]` || b.Turns[0].MaxTokens != 2 {
		t.Errorf("conversation b: %+v", b)
	}
	r, _ := set.Recording()
	if row := r.Sessions.Rows[2]; r.Block != 16 || row.In != 17 || len(row.Blocks) != 2 ||
		row.Blocks[0] != r.Sessions.Rows[1].Blocks[0] {
		t.Errorf("blocks of %d, the row with texts is %+v", r.Block, row)
	}
}

func TestCapturedRowsThatAreWrong(t *testing.T) {
	t.Parallel()
	row := func(block string) string {
		return `{"timestamp":0,"input_length":5,"hash_ids":[1],"capture":` + block + `}`
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{row(`"chat"`)}, "capture: want an object as aiperf capture writes it"},
		{[]string{row(`{"block_size":-1}`)}, "capture.block_size: -1 is not a number of tokens"},
		{[]string{row(`{"block_size":16}`), row(`{"block_size":12}`)}, "capture.block_size: 12, the rows before have 16"},
		{[]string{row(`{"block_size":512}`), row(`{"block_size":16}`)}, "capture.block_size: 16, the rows before have 512"},
	} {
		_, err := format.ReadTrace(t.Context(), captureFile(t, c.lines...), "mooncake_trace", 0)
		if !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", c.lines, err, c.want)
		}
	}
}
