package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

// profile is the run as AIPerf's files are made of it, but for its Span and its traces.
func (r *runner) profile(run sweep.Run, rep *RunReport) aiperf.Profile {
	a := run.Cell.Resolved.Benchmark.Artifacts
	p := aiperf.Profile{
		Dir: filepath.Join(r.dir.Path, run.Dir), Prefix: a.Prefix, Info: r.runInfo(run, rep),
		Options: metricOptions(run, rep),
		JSON:    contains(a.Summary, "json"), Records: contains(a.Records, "jsonl"), Raw: a.Raw,
		Outputs: a.Outputs, ShowTrace: a.ShowTraceTiming,
		Title: titleOf(&run.Cell.Resolved.Benchmark),
		Log:   shownPath(filepath.Join(r.dir.Path, resultdir.LogDir, resultdir.LogName)),
	}
	if m := &run.Cell.Resolved.Benchmark.ServerMetrics; m.Enabled {
		p.Pages = &aiperf.Pages{Formats: m.Formats, Families: r.pages}
	}
	if n := &run.Cell.Resolved.Benchmark.Network; n.Enabled {
		p.Network = &aiperf.Network{Mean: n.Mean}
	}
	if g := &run.Cell.Resolved.Benchmark.GPUTelemetry; g.Enabled {
		p.GPUs = r.gpus(run)
	}
	p.Samples = func(add func(telemetry.Sample)) error {
		return sinks.Telemetry().Each(p.Dir, func(rows []sinks.Sample) error {
			for i := range rows {
				add(telemetry.Sample(rows[i]))
			}
			return nil
		})
	}
	if run.Cell.Resolved.Benchmark.Accuracy != nil {
		p.Answers = func(add func(*sinks.Answer)) error {
			return sinks.Answers().Each(p.Dir, func(rows []sinks.Answer) error {
				for i := range rows {
					add(&rows[i])
				}
				return nil
			})
		}
	}
	if length, n := slicesOf(&a, rep); n <= schema.MaxSlices {
		p.Slice = length
	}
	return p
}

// titleOf is what AIPerf's tables call the kind of benchmark.
func titleOf(b *schema.Benchmark) string {
	spec, ok := endpoint.Lookup(b.Endpoint.Type)
	if !ok {
		return ""
	}
	return spec.Title
}

// slicesOf is the length of a timeslice, 0 for none, and how many of them the run has.
func slicesOf(a *schema.Artifacts, rep *RunReport) (length time.Duration, n int64) {
	if a.SliceDuration == nil {
		return 0, 0
	}
	length = a.SliceDuration.Go()
	if start, end, ok := rep.window(); ok {
		n = metrics.SliceCount(metrics.Window{Start: start, End: end}, int64(length))
	}
	return length, n
}

// sayOfSlices warns of more slices than are written, of a run whose end was not known before.
func sayOfSlices(a *schema.Artifacts, rep *RunReport) {
	if length, n := slicesOf(a, rep); n > schema.MaxSlices {
		rep.Warnings = append(rep.Warnings,
			fmt.Sprintf("slice_duration %v makes %d slices of this run, more than %d: they were not written", length, n,
				schema.MaxSlices))
	}
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
