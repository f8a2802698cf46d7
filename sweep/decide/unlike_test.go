package decide_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/sweep/decide"
)

// All that differs is named, what was asked for first, and a cell where there are several.
func TestUnlikeNamesAllDifferences(t *testing.T) {
	t.Parallel()
	arm := func(name, requests, users string, cells int) decide.Arm {
		a := decide.Arm{Name: name}
		for i := range cells {
			a.Cells = append(a.Cells, decide.ArmCell{Label: []string{"base", "other"}[i], Alike: []decide.Fact{
				{Name: "datasets.0.entries", Value: requests},
				{Name: "phases.0.concurrency", Value: users},
				{Name: "phases.0.requests", Value: requests},
			}})
		}
		return a
	}
	for _, x := range []struct {
		cells int
		want  string
	}{
		{1, "a and b did not do the same: phases.0.concurrency is 8 in the first, 9 in the second; phases.0.requests " +
			"is 200 in the first, 230 in the second; datasets.0.entries is 200 in the first, 230 in the second"},
		{2, "a and b did not do the same at base: phases.0.concurrency is 8 in the first, 9 in the second; " +
			"phases.0.requests is 200 in the first, 230 in the second; datasets.0.entries is 200 in the first, 230 in " +
			"the second"},
	} {
		_, err := decide.Compare(arm("a", "200", "8", x.cells), arm("b", "230", "9", x.cells), decide.Terms{})
		if err == nil {
			t.Fatal("unlike arms are compared")
		}
		if got := err.Error(); !strings.HasPrefix(got, x.want) {
			t.Errorf("%q\nwant %q", got, x.want)
		}
	}
}
