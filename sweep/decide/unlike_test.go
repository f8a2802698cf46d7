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
		{1, "a and b did not do the same: --concurrency is 8 in the first, 9 in the second; --request-count " +
			"is 200 in the first, 230 in the second; --num-dataset-entries is 200 in the first, 230 in the second"},
		{2, "a and b did not do the same at base: --concurrency is 8 in the first, 9 in the second; " +
			"--request-count is 200 in the first, 230 in the second; --num-dataset-entries is 200 in the first, 230 in " +
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
	// what no flag is about, and one of several phases, has its key
	phase := func(n, concurrency string) decide.Fact {
		return decide.Fact{Name: "phases." + n + ".concurrency", Value: concurrency}
	}
	several := func(name, users, lengths string) decide.Arm {
		return decide.Arm{Name: name, Cells: []decide.ArmCell{{Alike: []decide.Fact{
			{Name: "datasets.0.prompts.isl.mean", Value: lengths},
			{Name: "datasets.0.unheard", Value: users},
			{Name: "phases.0.kind", Value: "warmup"},
			phase("0", "1"), phase("1", users),
		}}}}
	}
	_, err := decide.Compare(several("a", "2", "64"), several("b", "4", "128"), decide.Terms{})
	want := "a and b did not do the same: --isl is 64 in the first, 128 in the second; datasets.0.unheard is 2 in the " +
		"first, 4 in the second; phases.1.concurrency is 2 in the first, 4 in the second"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v\nwant %q", err, want)
	}
}
