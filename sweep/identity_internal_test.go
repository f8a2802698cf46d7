package sweep

import (
	"testing"

	"aiperf.dev/aiperf/internal/race"
)

// Numbers have one spelling, but for those of extra inputs: these are sent as they are
// spelled, so that 1.0 and 1 are two cells.
func TestExtraInputsKeepTheirSpelling(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for _, body := range []string{
		`{"endpoint":{"url":"h","extra":{"a":1.0}},"x":2}`, `{"endpoint":{"url":"h","extra":{"a":1}},"x":2.0}`,
		`{"endpoint":{"url":"h"},"x":2}`,
	} {
		b, err := canonical([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if first, twice := ids[string(b)]; twice {
			t.Errorf("%s and %s are the same: %s", body, first, b)
		}
		ids[string(b)] = body
	}
	if a, _ := canonical([]byte(`{"endpoint":{"extra":{"a":1.0}},"x":2.0}`)); string(a) != `{"endpoint":{"extra":{"a":1.0}},"x":2}` {
		t.Errorf("%s", a)
	}
}

// A plan has an identity for each of its cells: what is the same for all of them
// is worked out once. The table of flags, made again for each cell, was half of
// the time of a plan.
func TestIdentityOfACellIsCheap(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	body := []byte(`{"endpoint":{"url":"http://h:1","wait_for_model_timeout":3},"datasets":[{"isl":16.0}]}`)
	got, err := canonical(body)
	if want := `{"datasets":[{"isl":16}],"endpoint":{"url":"http://h:1","wait_for_model_timeout":0}}`; err != nil ||
		string(got) != want {
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
