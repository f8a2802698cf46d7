package onerun

import (
	"context"

	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/sinks"
)

// host watches the machine that measures, and samples it each second.
type host struct {
	*telemetry.Monitor
	samples *sinks.Stream[sinks.Sample]
}

func startHost(_ context.Context, w *Watched) (Observer, error) {
	if w.Client == nil {
		return nil, nil //nolint:nilnil // nothing to observe
	}
	samples, err := sinks.Telemetry().Open(w.Session.Dir, w.meta())
	if err != nil {
		return nil, &LostError{err}
	}
	sample := func(s telemetry.Second) { // Close tells of what could not be written
		_ = samples.Write(sinks.Sample{
			At: w.Clock.At(s.Ended), Source: "host", Metric: "client_cpu", Unit: "cores", Kind: "gauge", Value: s.CPU,
		})
	}
	return host{telemetry.Start(sample), samples}, nil
}

// Stop says how the machine was.
func (h host) Stop(_ context.Context, out *Result) error {
	seen := h.Monitor.Stop()
	if out == nil {
		return h.samples.Discard()
	}
	out.Host = seen
	out.lose(h.samples.Close())
	return nil
}

// live shows the run to whoever sits before the screen.
type live func(loadgen.Snapshot)

func startLive(_ context.Context, w *Watched) (Observer, error) {
	if w.Session.Live == nil || w.Client == nil {
		return nil, nil //nolint:nilnil // nobody watches
	}
	return live(w.Session.Live), nil
}

// Snapshot shows x.
func (l live) Snapshot(x loadgen.Snapshot) { l(x) }

// Stop has nothing to add.
func (live) Stop(context.Context, *Result) error { return nil }
