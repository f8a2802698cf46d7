package aiperf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
)

// writeSlices writes profile_export_aiperf_timeslices.json and .csv.
func (w *Writer) writeSlices() error {
	if w.slicer == nil {
		return nil
	}
	all := w.slicer.Slices()
	t0 := w.Info.T0.UnixNano()
	input, err := w.Info.Config.json()
	if err != nil {
		return err
	}
	rows := []object{}
	csv := csvLine(nil, "Timeslice", "Start_NS", "End_NS", "Metric", "Unit", "Stat", "Value")
	for i, s := range all {
		o := object{}.with("start_ns", t0+s.Window.Start).with("end_ns", t0+s.Window.End)
		if !s.Whole {
			o = o.with("is_complete", false)
		}
		lead := []string{
			strconv.Itoa(i), strconv.FormatInt(t0+s.Window.Start, 10),
			strconv.FormatInt(t0+s.Window.End, 10),
		}
		for _, st := range sliceStats(&s.Summary) {
			o = o.with(st.Tag, statJSON(st))
		}
		for _, st := range sortedByTag(sliceStats(&s.Summary)) {
			csv = sliceRows(csv, lead, st)
		}
		rows = append(rows, o)
	}
	b, err := indented(object{}.with("timeslices", rows).with("input_config", input))
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(w.Dir, w.names.SlicesJSON), err)
	}
	if err := w.put(w.Dir, w.names.SlicesJSON, "timeslices", b); err != nil {
		return err
	}
	return w.put(w.Dir, w.names.SlicesCSV, "timeslices", csv)
}

// sliceStats are the metrics of a slice: not those that look at the schedule.
func sliceStats(sum *metrics.Summary) []metrics.Stat {
	var out []metrics.Stat
	for _, s := range told(sum) {
		if !place(s).RunOnly {
			out = append(out, s)
		}
	}
	return out
}

func sortedByTag(stats []metrics.Stat) []metrics.Stat {
	out := slices.Clone(stats)
	slices.SortFunc(out, func(a, b metrics.Stat) int { return strings.Compare(a.Tag, b.Tag) })
	return out
}

// sliceRows adds a row per statistic that the metric has.
func sliceRows(b []byte, lead []string, s metrics.Stat) []byte {
	names := csvStats()
	if s.Scalar {
		names = names[:1]
	}
	for _, name := range names {
		if v := decimals(s.Value(name), 2); v != "" {
			b = csvLine(b, append(slices.Clone(lead), s.Header, s.Unit, name, v)...)
		}
	}
	return b
}
