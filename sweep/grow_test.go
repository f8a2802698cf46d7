package sweep_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/sweep"
)

// A plan grows by the cells that are asked for: each is as if the plan had listed it,
// equal ones are one cell, and the identity of the plan stays.
func TestGrow(t *testing.T) {
	t.Parallel()
	listed := expand(t, grid(2, axis(concurrency, "concurrency", 1, 2, 4)))
	grown := expand(t, grid(2, axis(concurrency, "concurrency", 1)))
	hash := grown.Hash
	for _, n := range []int64{2, 1, 4, 2} {
		if _, err := grown.Grow(map[string]any{concurrency: n}); err != nil {
			t.Fatal(err)
		}
	}
	if len(grown.Cells) != 3 || grown.Hash != hash {
		t.Fatalf("%d cells, want 3; hash %s, want %s", len(grown.Cells), grown.Hash, hash)
	}
	for i, want := range listed.Cells {
		got := grown.Cells[i]
		if got.ID != want.ID || got.Index != i || got.Seed != want.Seed || got.Label != want.Label ||
			got.DirName != want.DirName || got.Short() != want.Short() {
			t.Errorf("cell %d: %+v, want %+v", i, got, want)
		}
		a, b := grown.RunOf(got, 1), listed.RunOf(want, 1)
		if a.Cell, b.Cell = nil, nil; a != b {
			t.Errorf("its second trial: %+v, want %+v", a, b)
		}
	}
	alike, err := grown.Grow(map[string]any{concurrency: "../" + strings.Repeat("x", 300)})
	if err != nil || sweep.FolderName(alike.DirName) != alike.DirName ||
		!strings.HasSuffix(alike.DirName, "__"+alike.ID) {
		t.Errorf("folder %q, %v", alike.DirName, err)
	}
	if _, err := grown.Grow(map[string]any{"benchmark.models": "m"}); err == nil {
		t.Error("a cell without a value for the plan's axis was made")
	}
}
