package results

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// recheckTables holds the runs' rows of the table metrics against the records that a
// directory of ours keeps. One that keeps none, or has no such table, has nothing to check.
func recheckTables(dir string) (checked, runs int, bad []string, err error) {
	a, err := sinks.OpenArchive(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil, nil
	}
	if err != nil {
		return 0, 0, nil, err
	}
	defer a.Close()
	kept, err := aiperf.ReadKept(a.About)
	if err != nil {
		return 0, 0, nil, fmt.Errorf("%s: %w", filepath.Join(dir, resultdir.RecordsKept), err)
	}
	rows, err := rowsOfRuns(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil, nil
	}
	if err != nil {
		return 0, 0, nil, err
	}
	tmp, err := os.MkdirTemp("", "aiperf-")
	if err != nil {
		return 0, 0, nil, err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // copies
	for _, run := range kept.Runs {
		journal, err := a.Journal(run.Dir, tmp)
		if err != nil {
			return 0, 0, nil, err
		}
		summaries, err := run.Summaries(journal)
		if err != nil {
			return 0, 0, nil, err
		}
		runs++
		for _, want := range rows[[2]int{run.Profile.Info.VariationIndex, run.Profile.Info.Trial}] {
			checked++
			if got := want.in(summaries); got != want.value {
				bad = append(bad, fmt.Sprintf("%s: metrics: %s %s of run %s is %v, the records say %v", dir,
					want.metric, want.stat, run.ID, want.value, got))
			}
		}
	}
	return checked, runs, bad, nil
}

// metricValue is one row of the table metrics.
type metricValue struct {
	span, metric, stat string
	value              float64
}

// in is the value that summaries have; NaN for none.
func (v metricValue) in(summaries []metrics.Summary) float64 {
	for i := range summaries {
		if s, ok := summaries[i].Get(v.metric); ok && summaries[i].Window == v.span {
			return s.Value(v.stat)
		}
	}
	return math.NaN()
}

// rowsOfRuns are the rows of whole runs, by cell and trial, without what servers said of
// themselves, which is in no record.
func rowsOfRuns(dir string) (map[[2]int][]metricValue, error) {
	t, err := sinks.ReadTable(dir, "metrics", among("cell_index", "trial", "level", "span", "metric", "stat", "value"))
	if err != nil {
		return nil, err
	}
	rows := map[[2]int][]metricValue{}
	for i := range t.N {
		if _, known := metrics.Lookup(text(t, "metric", i)); known && text(t, "level", i) == "run" {
			at := [2]int{number(t, "cell_index", i), number(t, "trial", i)}
			rows[at] = append(rows[at], metricValue{
				text(t, "span", i), text(t, "metric", i), text(t, "stat", i),
				float(t, "value", i),
			})
		}
	}
	return rows, nil
}
