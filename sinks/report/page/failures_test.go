package page

import (
	"testing"

	"aiperf.dev/aiperf/sinks/report/chart"
)

// Failures are counted of each system that is compared, and of nothing else.
func TestFailuresOfSystems(t *testing.T) {
	t.Parallel()
	cell := func(name string) *chart.Cell {
		return &chart.Cell{Values: map[string]chart.Value{"endpoint": {Text: name}}}
	}
	before, after := cell("before"), cell("after")
	d := &chart.Data{Axes: []string{"endpoint"}, Cells: []*chart.Cell{before, after}}
	d.Requests = &chart.Requests{Total: 1920, Each: map[*chart.Cell]int{before: 960, after: 960}}
	d.Decided = []chart.Change{{Metric: "TTFT p50"}}
	list := []failed{{Failure: Failure{31, "http_500", ""}, cell: after, measured: 31}}
	for name, x := range map[string]struct {
		more      []failed
		elsewhere int
		want      string
	}{
		"of one":      {nil, 0, "31 of 960 requests of after failed, none of before: http_500"},
		"of both":     {[]failed{{cell: before, measured: 40}}, 0, "40 of 960 requests of before failed, 31 of 960 of after: "},
		"not of each": {nil, 80, "31 of 2,000 requests failed: http_500"},
	} {
		d.Requests.Total = 1920 + x.elsewhere
		all := append(list[:1:1], x.more...)
		got := failures(all, ofSystems(d, all, "%s of %s requests of %s failed"), d.Requests.Total, false)
		if len(got) < len(x.want) || got[:len(x.want)] != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
	if got := failuresOf(d, list, after); got != "31 of 960 requests failed: http_500" {
		t.Errorf("of a cell: %q", got)
	}
}
