package mode

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// words counts words.
type words struct{}

func (words) Encode([]int, string) []int { return nil }
func (words) Decode([]int) string        { return "" }
func (words) Name() string               { return "words" }
func (words) Count(s string) int         { return len(strings.Fields(s)) }

// conversations is a set of conversations with so many turns.
func conversations(t *testing.T, turns ...int) *dataset.Set {
	t.Helper()
	var records []any
	for i, n := range turns {
		var list []any
		for k := range n {
			list = append(list, map[string]any{"text": fmt.Sprintf("c%d t%d", i, k)})
		}
		records = append(records, map[string]any{"session_id": fmt.Sprintf("s%d", i), "turns": list})
	}
	return inline(t, "multi_turn", records)
}

func inline(t *testing.T, format string, records []any) *dataset.Set {
	t.Helper()
	set, err := dataset.Open(schema.Dataset{Name: "main", Type: "file", Format: format, Records: records}, words{}, 1, "main")
	if err != nil {
		t.Fatalf("dataset.Open: %v", err)
	}
	return set
}

// offsets is the schedule of a phase that needs no set.
func offsets(t *testing.T, p schema.Phase, root int64, n int) []time.Duration {
	t.Helper()
	due, err := Schedule(&p, root, n, nil)
	if err != nil {
		t.Fatalf("Schedule: %v", err)
	}
	return due
}
