package report

import (
	"testing"

	"aiperf.dev/aiperf/sweep/decide"
)

// Several kinds of work of two parts each are told apart, and one keeps its comma.
func TestWorkOfSeveralParts(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]string{
		"isl 8, osl 2":                {"isl 8, osl 2"},
		"isl 64 and 256":              {"isl 64", "256"},
		"isl 8 · osl 2 and isl 8 · 3": {"isl 8, osl 2", "isl 8, 3"},
		"isl 8 · osl 2, isl 8 · osl 3, isl 8 · osl 4 and 1 more": {
			"isl 8, osl 2", "isl 8, osl 3", "isl 8, osl 4", "isl 8, osl 5",
		},
	} {
		if got := works(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	open := []decide.Best{{Work: "isl 8, osl 2"}, {Work: "isl 8, osl 3"}}
	if got := foldedBest("Best throughput", open); got != "Best throughput at isl 8 · osl 2 and isl 8 · osl 3: " {
		t.Errorf("%q", got)
	}
}
