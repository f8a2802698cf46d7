package pyrandom_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/pyrandom"
)

// The vectors were recorded from CPython.
func TestDrawsAsCPython(t *testing.T) {
	t.Parallel()
	var want struct {
		Next    []uint32 `json:"seed0_next32"`
		Shuffle []int    `json:"seed0_shuffle_10"`
		Then    []int    `json:"then_randrange5"`
		GPQA    []struct {
			Seed  uint32
			Order []int
		} `json:"gpqa_permutations"`
	}
	b, err := os.ReadFile("testdata/python_random_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &want); err != nil || len(want.Next) == 0 || len(want.GPQA) == 0 {
		t.Fatal(err, want)
	}
	r := pyrandom.New(0)
	for i, w := range want.Next {
		if got := r.Next(); got != w {
			t.Errorf("number %d of seed 0: %d, want %d", i, got, w)
		}
	}
	r = pyrandom.New(0)
	if got := shuffled(r, 10); !slices.Equal(got, want.Shuffle) {
		t.Errorf("shuffle of 10 with seed 0: %v, want %v", got, want.Shuffle)
	}
	for i, w := range want.Then {
		if got := r.Below(5); got != w {
			t.Errorf("randrange %d behind it: %d, want %d", i, got, w)
		}
	}
	for _, c := range want.GPQA {
		if got := shuffled(pyrandom.New(c.Seed), 4); !slices.Equal(got, c.Order) {
			t.Errorf("shuffle of 4 with seed %d: %v, want %v", c.Seed, got, c.Order)
		}
	}
}

func shuffled(r *pyrandom.Random, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	r.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
