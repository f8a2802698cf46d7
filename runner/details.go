package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// profile is the run as AIPerf's files are made of it.
func (r *runner) profile(m *measured, rep *RunReport) aiperf.Profile {
	a := m.Benchmark.Artifacts
	dir := filepath.Join(r.dir.Path, m.run.Dir)
	p := aiperf.Profile{
		Dir: dir, Prefix: a.Prefix, Info: r.runInfo(m, rep), Options: metricOptions(m.run, rep), Span: m.Span,
		JSON: contains(a.Summary, "json"), Records: contains(a.Records, "jsonl"), Raw: a.Raw, Outputs: a.Outputs, ShowTrace: a.ShowTraceTiming,
		Title: m.API.Title, Log: filepath.Join(r.dir.Path, resultdir.LogDir, resultdir.LogName),
	}
	if a.Trace && p.Records {
		p.Trace = filepath.Join(dir, aiperf.TraceName)
	}
	p.Slice = sliceLength(&a, rep)
	return p
}

// sliceLength is the length of a timeslice, 0 for none. Too many, of a run whose end was
// not known before, are not written, and said.
func sliceLength(a *schema.Artifacts, rep *RunReport) time.Duration {
	if a.SliceDuration == nil {
		return 0
	}
	length := a.SliceDuration.Go()
	start, end, ok := rep.window()
	if n := metrics.SliceCount(metrics.Window{Start: start, End: end}, int64(length)); ok && n > schema.MaxSlices {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("slice_duration %v makes %d slices of this run, more than %d: they were not written", length, n, schema.MaxSlices))
		return 0
	}
	return length
}

// removeTraces takes away what only waited for the records to be written.
func removeTraces(dir string) error {
	err := os.Remove(filepath.Join(dir, aiperf.TraceName))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}
