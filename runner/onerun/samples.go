package onerun

import (
	"context"
	"sync"

	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks"
)

// samples is the run's file of samples, which collectors share. It starts before them
// and stops after them.
type samples struct {
	mu     sync.Mutex
	stream *sinks.Stream[sinks.Sample]
	rows   []sinks.Sample // of one call of write; its room is used again
	latest telemetry.Latest
}

func startSamples(_ context.Context, w *Watched) (Observer, error) {
	if w.Client == nil {
		return nil, nil //nolint:nilnil // nobody samples in simulated time
	}
	stream, err := sinks.Telemetry().Open(w.Session.Dir, w.meta())
	if err != nil {
		return nil, &LostError{err}
	}
	w.samples = &samples{stream: stream}
	return w.samples, nil
}

// write adds samples of any collector. It waits for the disk, which delays the collector
// and nobody else. Close tells of what could not be written.
func (s *samples) write(rows []telemetry.Sample) {
	s.latest.Add(rows)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = s.rows[:0]
	for i := range rows {
		s.rows = append(s.rows, sinks.Sample(rows[i]))
	}
	_ = s.stream.Write(s.rows...)
}

// Stop completes the file.
func (s *samples) Stop(_ context.Context, out *Result) error {
	if out == nil {
		return s.stream.Discard()
	}
	out.lose(s.stream.Close())
	return nil
}
