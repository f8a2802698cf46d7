package otlp

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
)

// timing counts requests, and says what is under way.
type timing struct {
	sent, completed, cancelled, errors metric.Int64Counter
	sessions, turns                    metric.Int64Counter
	inFlight                           metric.Int64Gauge
	elapsed                            metric.Float64Gauge
	with                               []attribute.KeyValue
}

func newTiming(m metric.Meter) (*timing, error) {
	t := &timing{}
	var err error
	for _, c := range []struct {
		into *metric.Int64Counter
		name string
	}{{&t.sent, "sent"}, {&t.completed, "completed"}, {&t.cancelled, "cancelled"}, {&t.errors, "errors"}} {
		if *c.into, err = m.Int64Counter("aiperf.timing.requests."+c.name, metric.WithUnit("{request}")); err != nil {
			return nil, err
		}
	}
	if t.sessions, err = m.Int64Counter("aiperf.timing.sessions.sent", metric.WithUnit("{session}")); err != nil {
		return nil, err
	}
	if t.turns, err = m.Int64Counter("aiperf.timing.sessions.turns_total", metric.WithUnit("{request}")); err != nil {
		return nil, err
	}
	if t.inFlight, err = m.Int64Gauge("aiperf.timing.requests.in_flight", metric.WithUnit("{request}")); err != nil {
		return nil, err
	}
	t.elapsed, err = m.Float64Gauge("aiperf.timing.phase.elapsed_sec", metric.WithUnit("s"))
	return t, err
}

func (t *timing) begin(run []attribute.KeyValue) { t.with = run }

// record counts a request that is over.
func (t *timing) record(r *record.Record) {
	with := metric.WithAttributeSet(attribute.NewSet(append(t.with[:len(t.with):len(t.with)], phase(r))...))
	ctx := context.Background()
	if r.Sent != record.None {
		t.sent.Add(ctx, 1, with)
		t.turns.Add(ctx, 1, with)
		if r.Turn == 0 {
			t.sessions.Add(ctx, 1, with)
		}
	}
	switch part := r.Part(); {
	case part == record.InOK:
		t.completed.Add(ctx, 1, with)
	case part&(record.InCancelled|record.InCut) != 0:
		t.cancelled.Add(ctx, 1, with)
	case part == record.InFailed:
		t.errors.Add(ctx, 1, with)
	}
}

func (e *exporter) Snapshot(s loadgen.Snapshot) {
	t := e.timing
	word := "profiling"
	if s.Warmup {
		word = "warmup"
	}
	with := metric.WithAttributeSet(
		attribute.NewSet(append(t.with[:len(t.with):len(t.with)], attribute.String("aiperf.benchmark_phase", word))...),
	)
	t.inFlight.Record(context.Background(), int64(s.InFlight), with)
	t.elapsed.Record(context.Background(), float64(s.At-s.Start)/1e9, with)
}
