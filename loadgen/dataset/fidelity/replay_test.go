package fidelity_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/fidelity"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

func open(t *testing.T, cfg schema.Dataset) *dataset.Set {
	t.Helper()
	tk, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(cfg, tk, 1, "profiling")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestReplayOfSessions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	text := `{"session_id":"a","timestamp":0,"input_length":100,"output_length":5}
{"session_id":"b","timestamp":50,"input_length":40,"output_length":5}
{"session_id":"a","delay":20,"input_length":30,"output_length":5}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set := open(t, schema.Dataset{Type: "file", Path: path, Format: "mooncake_trace"})
	ms := time.Millisecond
	replay := fidelity.New(set, true)
	replay.Add(fidelity.Played{Conversation: "a", Turn: 0, Intended: 10 * ms, Ended: 40 * ms},
		trace.Sent{At: 10 * ms, In: 100, Out: 5, Known: -1})
	replay.Add(fidelity.Played{Conversation: "a", Turn: 1, Intended: 60 * ms, Ended: 70 * ms},
		trace.Sent{At: 35 * ms, In: 135, Out: 4, Known: 100}) // early, with the history on top
	replay.Add(fidelity.Played{Conversation: "b", Turn: 0, Intended: 60 * ms, Ended: 70 * ms},
		trace.Sent{At: 90 * ms, In: 40, Out: 5, Known: -1}) // 30 ms late
	replay.Add(fidelity.Played{Conversation: "b", Turn: 0, Intended: 0, Ended: 0},
		trace.Sent{At: 500 * ms, In: 9, Out: 9, Known: -1}) // the second play is no part of it
	replay.Add(fidelity.Played{Conversation: "c", Turn: 0, Intended: 0, Ended: 0},
		trace.Sent{At: 500 * ms, In: 9, Out: 9, Known: -1})
	f := replay.Fidelity()
	if f.Rows != 3 || f.Missing != 0 || f.Timed != 2 || f.OnTime != 0.5 || f.Dependencies != 0 || f.InputLength != 1 ||
		f.OutputLength != 14.0/15 || !math.IsNaN(f.Reached) || f.Score != 0 {
		t.Errorf("%+v", f)
	}
	if loose := fidelity.New(set, false); loose == nil {
		t.Error("a trace without its schedule is no trace")
	} else if loose.Add(fidelity.Played{Conversation: "b", Turn: 0, Intended: 0, Ended: 0},
		trace.Sent{At: 500 * ms, In: 40, Out: 5, Known: -1}); loose.Fidelity().Timed != 0 {
		t.Error("without a schedule times are held against the trace")
	}
	plain := open(t, schema.Dataset{Name: "main", Type: "synthetic", Entries: 3})
	stamped := open(t, schema.Dataset{Type: "file", Path: "../testdata/single_turn.jsonl"})
	if fidelity.New(plain, true) != nil || fidelity.New(stamped, false) != nil || fidelity.New(stamped, true) == nil {
		t.Error("what is a replay and what is not")
	}
}
