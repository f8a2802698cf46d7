package onerun

import (
	"context"

	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
)

// host watches the machine that measures, and samples it each second.
type host struct{ *telemetry.Monitor }

func startHost(_ context.Context, w *Watched) (Observer, error) {
	if w.Client == nil {
		return nil, nil //nolint:nilnil // nothing to observe
	}
	sample := func(s telemetry.Second) {
		w.samples.write([]telemetry.Sample{{
			At: w.Clock.At(s.Ended), Source: "host", Collector: "host", Metric: "client_cpu",
			Unit: "cores", Kind: telemetry.Gauge, Value: s.CPU,
		}})
	}
	return host{telemetry.Start(w.Clock.At, sample)}, nil
}

// Stop says how the machine was.
func (h host) Stop(_ context.Context, out *Result) error {
	if seen := h.Monitor.Stop(); out != nil {
		out.Host = seen
	}
	return nil
}

// live shows the run to whoever sits before the screen, with what servers say beside.
type live struct {
	show  func(loadgen.Snapshot)
	pages *telemetry.Latest
}

func startLive(_ context.Context, w *Watched) (Observer, error) {
	if w.Session.Live == nil || w.Client == nil {
		return nil, nil //nolint:nilnil // nobody watches
	}
	return live{w.Session.Live, &w.samples.latest}, nil
}

// Snapshot shows x.
func (l live) Snapshot(x loadgen.Snapshot) { //nolint:gocritic // as the engine gives it
	l.show(beside(x, l.pages))
}

// beside is a snapshot with what servers said last.
func beside(x loadgen.Snapshot, pages *telemetry.Latest) loadgen.Snapshot { //nolint:gocritic // it is changed
	if now, known := pages.Now(); known {
		x.Server = &loadgen.ServerSnapshot{Running: now.Running, Waiting: now.Waiting, KVUse: now.KVUse}
	}
	return x
}

// Stop has nothing to add.
func (live) Stop(context.Context, *Result) error { return nil }
