package sweep

import (
	"testing"

	"aiperf.dev/aiperf/internal/race"
)

// A plan has an identity for each of its cells: what is the same for all of them
// is worked out once. The table of flags, made again for each cell, was half of
// the time of a plan.
func TestIdentityOfACellIsCheap(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	body := []byte(`{"endpoint":{"url":"http://h:1","wait_for_model_timeout":3},"datasets":[{"isl":16.0}]}`)
	got, err := canonical(body)
	if want := `{"datasets":[{"isl":16}],"endpoint":{"url":"http://h:1","wait_for_model_timeout":0}}`; err != nil || string(got) != want {
		t.Fatalf("%s %v, want %s", got, err, want)
	}
	n := testing.AllocsPerRun(20, func() {
		if _, err := canonical(body); err != nil {
			t.Fatal(err)
		}
	})
	if n > 100 {
		t.Errorf("%.0f allocations, want a hundred at most", n)
	}
}
