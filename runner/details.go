package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// details keeps what records leave out, for runs that ask for it. A nil one
// keeps nothing and costs nothing.
type details struct {
	sinks *aiperf.Details
}

// openDetails prepares the files that m asks for, nil when it asks for none.
func (r *runner) openDetails(m *measurement, dir string, clock record.Clock) (*details, error) {
	a := m.bench.Artifacts
	want := aiperf.DetailOptions{Raw: a.Raw, Outputs: a.Outputs, Trace: a.Trace && len(a.Records) > 0}
	if !want.Any() {
		return nil, nil
	}
	want.Hide = r.hide
	info := &aiperf.RunInfo{T0: clock.Wall(0)}
	for _, p := range m.bench.Phases {
		info.Phases = append(info.Phases, aiperf.PhaseName{Name: p.Name, Warmup: p.Kind == "warmup"})
	}
	d, err := aiperf.NewDetails(dir, a.Prefix, want, info)
	if err != nil {
		return nil, err
	}
	return &details{d}, nil
}

// attach asks the engine for what is wanted.
func (d *details) attach(job *loadgen.Job) {
	if d == nil {
		return
	}
	client := job.Client
	job.Detail = func(rec *record.Record, x *transport.Exchange, said loadgen.Said) any {
		return d.sinks.Render(rec, exchange(client, x, said))
	}
	job.Keep = d.sinks.Keep
}

// close completes the files.
func (d *details) close() error {
	if d == nil {
		return nil
	}
	_, err := d.sinks.Close()
	return err
}

// exchange is x in the words of the sinks.
func exchange(client *transport.Client, x *transport.Exchange, said loadgen.Said) *aiperf.RawRequest {
	out := &aiperf.RawRequest{
		RequestHeader: client.RequestHeader(x), ResponseHeader: x.ResponseHeader, Body: x.Body, Status: x.HTTPStatus, Reason: x.Reason,
		ContentType: x.ContentType, Local: x.Local, Remote: x.Remote, Streamed: x.Streamed, Text: slices.Concat(said.Text, said.Tool), Reasoning: said.Reasoning,
	}
	for i, e := range x.Events {
		out.Events = append(out.Events, aiperf.RawEvent{At: e.At, Data: x.Data(i), Error: e.Error})
	}
	if len(x.Events) == 0 && len(x.Payload) > 0 { // an error's body
		out.Events = append(out.Events, aiperf.RawEvent{At: x.End, Data: x.Payload})
	}
	return out
}

// profile is the run as AIPerf's files are made of it.
func (r *runner) profile(m *measurement, rep *RunReport, span metrics.Window) aiperf.Profile {
	a := m.bench.Artifacts
	dir := filepath.Join(r.dir.Path, m.run.Dir)
	p := aiperf.Profile{
		Dir: dir, Prefix: a.Prefix, Info: r.runInfo(m, rep), Options: metricOptions(m.run, rep), Span: span,
		JSON: contains(a.Summary, "json"), Records: contains(a.Records, "jsonl"), Raw: a.Raw, Outputs: a.Outputs, ShowTrace: a.ShowTraceTiming,
		Title: m.spec.Title, Log: filepath.Join(r.dir.Path, resultdir.LogDir, resultdir.LogName),
	}
	if a.Trace && p.Records {
		p.Trace = filepath.Join(dir, aiperf.TraceName)
	}
	p.Slice = sliceLength(&a, rep)
	return p
}

// maxSlices bounds the timeslices of one run: each holds its own statistics.
const maxSlices = 10_000

// sliceLength is the length of a timeslice, 0 for none. Too many are not
// written, and said.
func sliceLength(a *schema.Artifacts, rep *RunReport) time.Duration {
	if a.SliceDuration == nil {
		return 0
	}
	length := a.SliceDuration.Go()
	start, end, ok := rep.window()
	if n := metrics.SliceCount(metrics.Window{Start: start, End: end}, int64(length)); ok && n > maxSlices {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("slice_duration %v makes %d slices of this run, more than %d: they were not written", length, n, maxSlices))
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
