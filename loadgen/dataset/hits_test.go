package dataset_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// Shares that a person can count: blocks are of 128 bytes.
func TestPrefixHit(t *testing.T) {
	t.Parallel()
	a, b, c := strings.Repeat("a", 1280), strings.Repeat("b", 1280), strings.Repeat("c", 1280)
	for _, x := range []struct {
		what string
		of   []string // conversations of one turn, or several divided by |
		want float64
	}{
		{"nothing in common", []string{a, b, c}, 0},
		{"one text twice", []string{a, a}, 0.5},
		{"a common half", []string{a + b, a + c}, 0.25},
		{"a common end is no prefix", []string{b + a, c + a}, 0},
		{"a second turn repeats the first", []string{a + "|" + b}, 1.0 / 3},
		{"less than a block", []string{"short", "short"}, 0},
	} {
		var records []json.RawMessage
		for _, of := range x.of {
			var turns []map[string]string
			for _, text := range strings.Split(of, "|") {
				turns = append(turns, map[string]string{"text": text})
			}
			record, err := json.Marshal(map[string]any{"turns": turns})
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, record)
		}
		set, err := dataset.Open(schema.Dataset{Name: "main", Type: "file", Format: "multi_turn", Records: records},
			nil, 1, "profiling")
		if err != nil {
			t.Fatal(err)
		}
		if got := set.PrefixHit(); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", x.what, got, x.want)
		}
	}
}
