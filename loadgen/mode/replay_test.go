package mode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// Four requests at 1, 2, 3 and 5 s: three share prefixes, in blocks of 512.
const recorded = `{"timestamp": 1000, "input_length": 512, "output_length": 10, "hash_ids": [1]}
{"timestamp": 2000, "input_length": 1024, "output_length": 20, "hash_ids": [1, 2]}
{"timestamp": 3000, "input_length": 1100, "output_length": 40, "hash_ids": [1, 2, 3]}
{"timestamp": 5000, "input_length": 300, "output_length": 5, "hash_ids": [4]}
`

// Every option of a replay changes what AIPerf says that it changes: when
// requests go, how long they are, what is asked for. Each request stands as
// "seconds input/output".
func TestOptionsOfAReplay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag  string
		data  schema.Dataset
		phase schema.Phase
		want  string
	}{
		{"--fixed-schedule", schema.Dataset{}, schema.Phase{}, "1 512/10, 2 1024/20, 3 1100/40, 5 300/5"},
		{"--fixed-schedule-auto-offset", schema.Dataset{}, schema.Phase{AutoOffset: ptr(true)}, "0 512/10, 1 1024/20, 2 1100/40, 4 300/5"},
		{"--fixed-schedule-start-offset", schema.Dataset{}, schema.Phase{StartOffset: ptr(int64(2000))}, "0 1024/20, 1 1100/40, 3 300/5"},
		{"--fixed-schedule-end-offset", schema.Dataset{}, schema.Phase{EndOffset: ptr(int64(3000))}, "1 512/10, 2 1024/20, 3 1100/40"},
		{"both offsets, one row", schema.Dataset{}, schema.Phase{StartOffset: ptr(int64(3000)), EndOffset: ptr(int64(3000))}, "0 1100/40"},
		{"--synthesis-speedup-ratio 2", schema.Dataset{Synthesis: &schema.Synthesis{SpeedupRatio: 2}}, schema.Phase{}, "0.5 512/10, 1 1024/20, 1.5 1100/40, 2.5 300/5"},
		{"--synthesis-speedup-ratio 0.5", schema.Dataset{Synthesis: &schema.Synthesis{SpeedupRatio: 0.5}}, schema.Phase{}, "2 512/10, 4 1024/20, 6 1100/40, 10 300/5"},
		{"replay_speedup 4", schema.Dataset{ReplaySpeedup: 4}, schema.Phase{}, "0.25 512/10, 0.5 1024/20, 0.75 1100/40, 1.25 300/5"},
		{"--synthesis-max-isl drops rows", schema.Dataset{Synthesis: &schema.Synthesis{MaxISL: 1024}}, schema.Phase{}, "1 512/10, 2 1024/20, 5 300/5"},
		{"--synthesis-max-osl caps them", schema.Dataset{Synthesis: &schema.Synthesis{MaxOSL: 15}}, schema.Phase{}, "1 512/10, 2 1024/15, 3 1100/15, 5 300/5"},
		{"--synthesis-output-len-multiplier", schema.Dataset{Synthesis: &schema.Synthesis{OutputLenMultiplier: ptr(0.5)}}, schema.Phase{}, "1 512/5, 2 1024/10, 3 1100/20, 5 300/2"},
		{"--synthesis-prompt-len-multiplier: what is not shared", schema.Dataset{Synthesis: &schema.Synthesis{PromptLenMultiplier: 2}}, schema.Phase{}, "1 512/10, 2 1024/20, 3 1176/40, 5 600/5"},
		{"--synthesis-prefix-len-multiplier: what is shared", schema.Dataset{Synthesis: &schema.Synthesis{PrefixLenMultiplier: 2}}, schema.Phase{}, "1 1024/10, 2 2048/20, 3 2124/40, 5 300/5"},
		{"--synthesis-prefix-len-multiplier 0.5", schema.Dataset{Synthesis: &schema.Synthesis{PrefixLenMultiplier: 0.5}}, schema.Phase{}, "1 512/10, 2 512/20, 3 588/40, 5 300/5"},
		{"--synthesis-prefix-root-multiplier: other trees, same lengths", schema.Dataset{Synthesis: &schema.Synthesis{PrefixRootMultiplier: 3}}, schema.Phase{}, "1 512/10, 2 1024/20, 3 1100/40, 5 300/5"},
		{"--num-sessions 2", schema.Dataset{}, schema.Phase{Sessions: 2}, "1 512/10, 2 1024/20"},
		{"--benchmark-duration 2.5", schema.Dataset{}, schema.Phase{Duration: schema.Seconds(2.5)}, "1 512/10, 2 1024/20"},
	} {
		c.data.Type, c.data.Path, c.data.Format = "file", path, "mooncake_trace"
		c.phase.Name, c.phase.Kind, c.phase.Type = "profiling", "profiling", "fixed_schedule"
		set, err := dataset.Open(c.data, tok, 1, "profiling")
		if err != nil {
			t.Errorf("%s: %v", c.flag, err)
			continue
		}
		offsets, err := mode.Schedule(&c.phase, 1, 100, set)
		if err != nil {
			t.Errorf("%s: %v", c.flag, err)
			continue
		}
		l, err := mode.Open(&c.phase, 1, set)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range offsets {
			_, conv, _, ok := l.Sessions.Next()
			if !ok {
				t.Fatalf("%s: %d sends and fewer sessions", c.flag, len(offsets))
			}
			turn := &conv.Turns[0]
			if n := tok.Count(strings.Join(turn.Texts, " ")); int64(n) != turn.ISL {
				t.Errorf("%s: a prompt of %d tokens says that it has %d", c.flag, n, turn.ISL)
			}
			got = append(got, fmt.Sprintf("%g %d/%d", float64(at)/float64(time.Second), turn.ISL, turn.MaxTokens))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.flag, diff)
		}
	}
}

func ptr[T any](v T) *T { return &v }
