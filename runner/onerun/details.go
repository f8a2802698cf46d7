package onerun

import (
	"context"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// details keeps what records leave out, in files of AIPerf's, for runs that ask for
// it.
type details struct {
	sinks  *aiperf.Details
	client *transport.Client
}

func startDetails(_ context.Context, w *Watched) (Observer, error) {
	a := w.Run.Benchmark.Artifacts
	want := aiperf.DetailOptions{
		Raw: a.Raw, Outputs: a.Outputs, Trace: a.Trace && len(a.Records) > 0,
		Hide: w.Session.Hide,
	}
	if !want.Any() || w.Client == nil && !w.Over {
		return nil, nil //nolint:nilnil // nothing is wanted
	}
	info := &aiperf.RunInfo{T0: w.Clock.Wall(0)}
	if s := w.Session.Worker; s != nil {
		info.T0 = s.T0
	}
	for _, p := range w.Run.Benchmark.Phases {
		info.Phases = append(info.Phases, aiperf.PhaseName{Name: p.Name, Warmup: p.Kind == "warmup"})
	}
	d, err := aiperf.NewDetails(w.Session.Dir, a.Prefix, want, info)
	if err != nil {
		return nil, err
	}
	return &details{d, w.Client}, nil
}

// Render is the exchange as the files have it.
func (d *details) Render(rec *record.Record, x *transport.Exchange, said loadgen.Said) any {
	return d.sinks.Render(rec, exchange(d.client, x, said))
}

// Keep writes it.
func (d *details) Keep(rec *record.Record, rendered any) { d.sinks.Keep(rec, rendered) }

// Blank is what Render gives.
func (d *details) Blank() any { return d.sinks.Blank() }

// Stop completes the files.
func (d *details) Stop(_ context.Context, out *Result) error {
	_, err := d.sinks.Close()
	if out == nil {
		return err
	}
	out.lose(err)
	return nil
}

// exchange is x in the words of the sinks.
func exchange(client *transport.Client, x *transport.Exchange, said loadgen.Said) *aiperf.RawRequest {
	out := &aiperf.RawRequest{
		RequestHeader: client.RequestHeader(x), ResponseHeader: x.ResponseHeader, Body: x.Body, Status: x.HTTPStatus,
		Reason:      x.Reason,
		ContentType: x.ContentType, Local: x.Local, Remote: x.Remote, Streamed: x.Streamed,
		Text: slices.Concat(said.Text, said.Tool), Reasoning: said.Reasoning,
	}
	for i, e := range x.Events {
		out.Events = append(out.Events, aiperf.RawEvent{At: e.At, Data: x.Data(i), Error: e.Error})
	}
	if len(x.Events) == 0 && len(x.Payload) > 0 { // an error's body
		out.Events = append(out.Events, aiperf.RawEvent{At: x.End, Data: x.Payload})
	}
	return out
}
