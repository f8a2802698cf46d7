package otlp

import (
	common "go.opentelemetry.io/proto/otlp/common/v1"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
)

// timing counts requests, and says what is under way.
type timing struct {
	meter                              *meter
	sent, completed, cancelled, errors *instrument
	sessions, turns                    *instrument
	inFlight, elapsed                  *instrument
	run                                []*common.KeyValue
}

func newTiming(m *meter, s *scope) *timing {
	requests := func(name string) *instrument {
		return s.instrument(sum, "aiperf.timing.requests."+name, "{request}", "")
	}
	return &timing{
		meter: m,
		sent:  requests("sent"), completed: requests("completed"),
		cancelled: requests("cancelled"), errors: requests("errors"),
		sessions: s.instrument(sum, "aiperf.timing.sessions.sent", "{session}", ""),
		turns:    s.instrument(sum, "aiperf.timing.sessions.turns_total", "{request}", ""),
		inFlight: s.instrument(wholes, "aiperf.timing.requests.in_flight", "{request}", ""),
		elapsed:  s.instrument(gauge, "aiperf.timing.phase.elapsed_sec", "s", ""),
	}
}

// record counts a request that is over.
func (t *timing) record(r *record.Record) {
	of := t.meter.set(append(t.run[:len(t.run):len(t.run)], phase(r.Warmup))...)
	if r.Sent != record.None {
		t.sent.add(of, 1)
		t.turns.add(of, 1)
		if r.Turn == 0 {
			t.sessions.add(of, 1)
		}
	}
	switch part := r.Part(); {
	case part == record.InOK:
		t.completed.add(of, 1)
	case part&(record.InCancelled|record.InCut) != 0:
		t.cancelled.add(of, 1)
	case part == record.InFailed:
		t.errors.add(of, 1)
	}
}

func (t *timing) snapshot(s loadgen.Snapshot) {
	of := t.meter.set(append(t.run[:len(t.run):len(t.run)], phase(s.Warmup))...)
	t.inFlight.add(of, float64(s.InFlight))
	t.elapsed.add(of, float64(s.At-s.Start)/1e9)
}
