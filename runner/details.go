package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// details keeps what records leave out, for runs that ask for it. A nil one
// keeps nothing and costs nothing.
type details struct {
	sinks *sinks.Details
}

// openDetails prepares the files that m asks for, nil when it asks for none.
func (r *runner) openDetails(m *measurement, dir string, clock record.Clock) (*details, error) {
	a := m.bench.Artifacts
	want := sinks.DetailOptions{Raw: a.Raw, Outputs: a.Outputs || a.Raw, Trace: a.Trace && len(a.Records) > 0}
	if !want.Any() {
		return nil, nil
	}
	if s := secretsOf(r.plan); len(s) > 0 {
		want.Mask = s.mask
	}
	info := &sinks.RunInfo{T0: clock.Wall(0)}
	for _, p := range m.bench.Phases {
		info.Phases = append(info.Phases, sinks.PhaseName{Name: p.Name, Warmup: p.Kind == "warmup"})
	}
	d, err := sinks.NewDetails(dir, a.Prefix, want, info)
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
func exchange(client *transport.Client, x *transport.Exchange, said loadgen.Said) *sinks.Exchange {
	out := &sinks.Exchange{
		RequestHeader: client.RequestHeader(x), ResponseHeader: x.ResponseHeader, Body: x.Body, Status: x.HTTPStatus, Reason: x.Reason,
		ContentType: x.ContentType, Local: x.Local, Remote: x.Remote, Streamed: x.Streamed, Text: said.Text, Reasoning: said.Reasoning,
	}
	if len(said.Text) == 0 {
		out.Text = said.Tool
	}
	for i, e := range x.Events {
		out.Events = append(out.Events, sinks.ExchangeEvent{At: e.At, Data: x.Data(i), Error: e.Error})
	}
	if len(x.Events) == 0 && len(x.Payload) > 0 { // an error's body
		out.Events = append(out.Events, sinks.ExchangeEvent{At: x.End, Data: x.Payload})
	}
	return out
}

// profile is the run as AIPerf's files are made of it.
func (r *runner) profile(m *measurement, rep *RunReport, full *metrics.Summary) *sinks.Profile {
	a := m.bench.Artifacts
	dir := filepath.Join(r.dir.path, m.run.Dir)
	p := &sinks.Profile{
		Dir: dir, Prefix: a.Prefix, Journal: r.journalPath(m.run), Info: r.runInfo(m, rep), Summary: full,
		Options: metrics.Options{
			Streaming: m.bench.Endpoint.Streaming, Tokens: m.spec.ProducesTokens, ServerCount: m.bench.Endpoint.UseServerTokenCount,
			SLOs: m.bench.SLOs,
		},
		JSON: contains(a.Summary, "json"), Records: contains(a.Records, "jsonl"), ShowTrace: a.ShowTraceTiming,
		Title: titles(m.bench.Endpoint.Type), Log: filepath.Join(r.dir.path, logDir, logName),
	}
	if a.Trace && p.Records {
		p.Trace = filepath.Join(dir, sinks.TraceName)
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
	err := os.Remove(filepath.Join(dir, sinks.TraceName))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// titles is what the console's tables of an endpoint type are about.
func titles(endpointType string) string {
	switch endpointType {
	case "embeddings", "nim_embeddings", "chat_embeddings":
		return "Embeddings"
	case "nim_rankings", "cohere_rankings", "hf_tei_rankings":
		return "Rankings"
	case "image_generation", "image_edit":
		return "Image Generation"
	}
	return "LLM"
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}
