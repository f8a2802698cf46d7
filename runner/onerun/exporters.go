package onerun

import (
	"context"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
)

// Exporter shows others what a run does while it does it. It may miss records where it is
// slow, and is never called concurrently.
type Exporter interface {
	Record(*record.Record)
	Snapshot(loadgen.Snapshot)
}

// exporters are all of a session.
type exporters struct {
	to    []Exporter
	pages *telemetry.Latest
}

func startExporters(_ context.Context, w *Watched) (Observer, error) {
	if len(w.Session.Exporters) == 0 {
		return nil, nil //nolint:nilnil // nobody is shown anything
	}
	pages := &telemetry.Latest{} // in virtual time none is read here
	if w.samples != nil {
		pages = &w.samples.latest
	}
	return exporters{w.Session.Exporters, pages}, nil
}

// Record shows r.
func (e exporters) Record(r *record.Record) {
	for _, to := range e.to {
		to.Record(r)
	}
}

// Snapshot shows x.
func (e exporters) Snapshot(x loadgen.Snapshot) { //nolint:gocritic // as the engine gives it
	x = beside(x, e.pages)
	for _, to := range e.to {
		to.Snapshot(x)
	}
}

// Stop has nothing to add: exporters outlive the run.
func (exporters) Stop(context.Context, *Result) error { return nil }
