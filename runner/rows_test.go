package runner

import (
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// The tables say how an interval was computed, and nothing where there is none.
func TestRowsSayHowIntervalsCame(t *testing.T) {
	t.Parallel()
	cell := &decide.CellResult{Cell: &sweep.Cell{}, Trials: 1}
	for _, c := range []struct {
		values []float64
		method string
	}{
		{[]float64{9, 10, 11}, "log_t"},
		{[]float64{0, 10, 11}, "t"},
		{[]float64{5}, ""},
	} {
		rows := cellMetrics(cell, "full",
			decide.Known(map[decide.Key]stats.Estimate{{Tag: "x", Stat: "avg"}: stats.Level(c.values, .95, 0)}))
		if len(rows) != 1 || rows[0].Method != c.method {
			t.Errorf("%v: rows %+v, want one with method %q", c.values, rows, c.method)
		}
	}
}

// What was not judged, and what rests on no sample, is null.
func TestRowsLeaveOutWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	r, cell := &runner{result: &Result{}}, &decide.CellResult{Cell: &sweep.Cell{}, Trials: 1}
	if row := r.cellRow(cell); row.Pareto != record.None {
		t.Errorf("pareto of a cell that was not judged = %d, want null", row.Pareto)
	}
	cell.Front = decide.Dominated
	if row := r.cellRow(cell); row.Pareto != 0 {
		t.Errorf("pareto of a dominated cell = %d, want 0", row.Pareto)
	}
	sum := &metrics.Summary{Window: "full", Stats: []metrics.Stat{{Tag: "request_throughput", Scalar: true, Avg: 3}}}
	if rows := runMetrics(sinks.Place{}, sum, nil, 0); len(rows) != 1 || rows[0].N != record.None {
		t.Errorf("rows of a throughput = %+v, want one with n null", rows)
	}
}
