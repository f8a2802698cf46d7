package dataset_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/schema"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// samples are one file or folder per format, and what goes with it.
var samples = map[string]schema.Dataset{
	"dag_jsonl": {Path: "dag_jsonl.jsonl"}, "sagemaker_data_capture": {Path: "sagemaker_data_capture.jsonl"},
	"inputs_json": {Path: "inputs_json.json"}, "bailian_trace": {Path: "bailian_trace.jsonl"}, "weka_trace": {Path: "weka_trace.json"},
	"tracelab": {Path: "tracelab.jsonl"}, "dynamo_trace": {Path: "dynamo_trace.jsonl"}, "burst_gpt_trace": {Path: "burst_gpt_trace.csv"},
	"azure_trace": {Path: "azure_trace.csv"}, "mooncake_trace": {Path: "mooncake_trace.jsonl"}, "raw_payload": {Path: "raw_payload.jsonl"},
	"random_pool": {Path: "random_pool", Entries: 3}, "table": {Path: "table.csv", Columns: map[string]string{"output_length": "answer_tokens"}},
	"single_turn": {Path: "single_turn.jsonl"}, "multi_turn": {Path: "multi_turn.jsonl"},
}

// Every format has a sample that is recognised as what it is and gives the
// conversations that are written down beside it.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, f := range format.Catalogue() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			cfg := samples[f.Name]
			switch {
			case strings.HasPrefix(f.Name, "speed_bench_"):
				cfg.Path = "speed_bench.jsonl"
			case f.Name == "baseten_trace":
				cfg.Path = basetenFile(t)
			}
			if cfg.Path == "" {
				t.Fatal("it has no sample")
			}
			if !filepath.IsAbs(cfg.Path) {
				cfg.Path = filepath.Join("testdata", cfg.Path)
			}
			found, err := format.Detect(cfg.Path)
			if err != nil || found.Format != f.Name && !strings.HasPrefix(f.Name, "speed_bench_") {
				t.Errorf("Detect = %q because %q, %v", found.Format, found.Why, err)
			}
			cfg.Type, cfg.Format = "file", f.Name
			set := open(t, cfg, tok(t, "builtin"), 1, "profiling")
			checkGolden(t, f.Name, dump(set))
			for i := range set.Len() {
				a, b := set.Outline(i), set.At(i)
				if a.ID != b.ID || len(a.Turns) != len(b.Turns) {
					t.Fatalf("outline %d is %s with %d turns, the conversation %s with %d", i, a.ID, len(a.Turns), b.ID,
						len(b.Turns))
				}
			}
		})
	}
}

// dump shows the conversations of a set, a line a turn.
func dump(set *dataset.Set) string {
	var s strings.Builder
	for c := range set.Each() {
		fmt.Fprintf(&s, "%s", c.ID)
		for _, start := range c.Before {
			s.WriteString(" before it " + dumpStart(start))
		}
		if c.System != "" {
			fmt.Fprintf(&s, " system %q", c.System)
		}
		s.WriteString("\n")
		for k := range c.Turns {
			s.WriteString(" " + dumpTurn(&c.Turns[k]) + "\n")
		}
	}
	for _, w := range set.Warnings() {
		fmt.Fprintf(&s, "warning: %s\n", filepath.ToSlash(w))
	}
	for _, n := range set.Notes() {
		fmt.Fprintf(&s, "note: %s\n", filepath.ToSlash(n))
	}
	return s.String()
}

func dumpStart(s dataset.Start) string {
	out := "spawns " + s.ID
	if s.Inherits {
		out = "forks " + s.ID
	}
	if s.JoinAt > 0 {
		out += fmt.Sprintf(" (turn %d waits)", s.JoinAt)
	}
	return out
}

func dumpTurn(t *dataset.Turn) string {
	var s strings.Builder
	show := func(name string, is bool, v any) {
		if is {
			fmt.Fprintf(&s, " %s=%v", name, v)
		}
	}
	show("at", t.Timestamp != nil, t.Timestamp)
	show("delay", t.Delay != 0, t.Delay)
	show("isl", t.ISL != 0, t.ISL)
	show("max", t.MaxTokens != 0, t.MaxTokens)
	show("role", t.Role != "", t.Role)
	show("model", t.Model != "", t.Model)
	show("complete", t.Complete, true)
	show("silent", t.Silent, true)
	for _, c := range t.Starts {
		s.WriteString(" " + dumpStart(c))
	}
	for _, text := range t.Texts {
		if len(text) > 60 {
			text = text[:40] + "..." + text[len(text)-17:]
		}
		fmt.Fprintf(&s, " %q", text)
	}
	show("query", t.Query != "", fmt.Sprintf("%q", t.Query))
	show("passages", len(t.Passages) > 0, fmt.Sprintf("%q", t.Passages))
	show("messages", t.Messages != nil, string(t.Messages))
	show("tools", t.Tools != nil, string(t.Tools))
	show("raw", t.Raw != nil, string(t.Raw))
	show("extra", t.Extra != nil, t.Extra)
	for kind, list := range map[string][]dataset.Media{"image": t.Images, "audio": t.Audios, "video": t.Videos} {
		for i := range list {
			fmt.Fprintf(&s, " %s=%.40s", kind, list[i].Address())
		}
	}
	return strings.TrimPrefix(s.String(), " ")
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
}

// basetenRow has the columns of Baseten's exports that are read.
type basetenRow struct {
	Start    int64    `parquet:"timestamp_start_unix_ms"`
	Prompt   string   `parquet:"prompt"`
	In       int64    `parquet:"input_tokens"`
	Out      int64    `parquet:"output_tokens"`
	Session  *string  `parquet:"provided_session_id,optional"`
	Took     int64    `parquet:"duration_e2e_ms"`
	Hashes   []uint64 `parquet:"total_hashes,list"`
	Block    int64    `parquet:"block_size"`
	Canceled int64    `parquet:"request_canceled"`
}

func basetenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.parquet")
	a := "a"
	err := parquet.WriteFile(path, []basetenRow{
		{Start: 1700000002000, Prompt: "second turn", In: 2, Out: 0, Session: &a, Took: 10, Canceled: 1},
		{Start: 1700000000000, Prompt: "first turn", In: 2, Out: 7, Session: &a, Took: 500, Hashes: []uint64{5, 1 << 63}, Block: 64},
		{Start: 1700000000250, Prompt: "alone", In: 1, Out: 3, Took: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// What would make prompts of recorded ones is refused: they are sent as they were.
func TestBasetenPromptsStay(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]schema.Synthesis{
		"are sent as they were recorded":     {PromptLenMultiplier: 2},
		"their prefixes and lengths stay":    {PrefixRootMultiplier: 2},
		"no row has at most 1 input tokens":  {MaxISL: 1},
		"of the format baseten_trace are se": {PrefixLenMultiplier: 0.5},
	} {
		cfg := schema.Dataset{
			Type: "file", Path: "testdata/aiperf/baseten_trace.jsonl", Format: "baseten_trace",
			Synthesis: &s,
		}
		if _, err := dataset.Open(cfg, tok(t, "builtin"), 1, "profiling"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", s, err, want)
		}
	}
}
