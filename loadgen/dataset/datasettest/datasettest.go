// Package datasettest makes small sets of conversations for tests.
package datasettest

import (
	"encoding/json"
	"fmt"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// Bytes is a tokenizer whose tokens are bytes: enough to tell texts apart. It has
// no vocabulary, so that it decodes nothing.
type Bytes struct{}

func (Bytes) Name() string { return "bytes" }
func (Bytes) Encode(dst []int, text string) []int {
	return append(dst, make([]int, len(text))...)
}
func (Bytes) Decode([]int) string   { return "" }
func (Bytes) Count(text string) int { return len(text) }

// Conversations is a set of conversations with so many turns each: s0 says "c0 t0",
// "c0 t1" and so on.
func Conversations(t testing.TB, turns ...int) *dataset.Set {
	t.Helper()
	var records []any
	for i, n := range turns {
		var list []any
		for k := range n {
			list = append(list, map[string]any{"text": fmt.Sprintf("c%d t%d", i, k)})
		}
		records = append(records, map[string]any{"session_id": fmt.Sprintf("s%d", i), "turns": list})
	}
	return Inline(t, "multi_turn", records)
}

// Inline is a set of records of a format, as an experiment may hold them itself.
func Inline(t testing.TB, format string, records []any) *dataset.Set {
	t.Helper()
	set, err := dataset.Open(schema.Dataset{
		Name: "main", Type: "file", Format: format,
		Records: Records(t, records...),
	}, Bytes{}, 1, "main")
	if err != nil {
		t.Fatalf("dataset.Open: %v", err)
	}
	return set
}

// Records are records as an experiment holds them: each as JSON.
func Records(t testing.TB, records ...any) []json.RawMessage {
	t.Helper()
	out := make([]json.RawMessage, len(records))
	for i, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = text
	}
	return out
}
