package mode

import (
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// atARate is what to do about settings of a rate in a closed loop.
const atARate = "use type: poisson, gamma or constant"

var closedLoop = Mode{
	Name: "concurrency", Title: "closed loop, the next request when one is answered",
	Doc:    "A closed loop: each slot sends its next request when its last one is answered.",
	Closed: true, Pattern: "concurrency_burst",
	Instead: map[string]string{"rate": atARate, "rate_ramp": atARate, "rate_series": atARate},
	// So that every slot is used twice. AIPerf 0.13 takes 10 everywhere and so
	// cuts high concurrencies short.
	Requests: 10, PerSlot: 2,
	open: func(m *Mode, p *schema.Phase, root int64, _ *dataset.Set) (Load, error) {
		return Load{Arrivals: newBurst(m, p, root)}, nil
	},
}

// burst is the schedule of a closed loop as far as it is known beforehand: one
// arrival for each slot, when the slot opens. All later ones follow the answers.
type burst struct {
	opens []time.Duration
	i     int
}

// newBurst takes the sends for which no answer is needed: as many as the
// smallest limit allows, each when all of its slots have opened.
func newBurst(m *Mode, p *schema.Phase, root int64) *burst {
	b := &burst{}
	for _, l := range m.Limits(p, root) {
		if l.N == 0 {
			continue
		}
		if b.opens == nil {
			b.opens = l.Opens
			continue
		}
		b.opens = b.opens[:min(len(b.opens), l.N)]
		for i := range b.opens {
			b.opens[i] = max(b.opens[i], l.Opens[i])
		}
	}
	return b
}

// Next is when the next slot opens.
func (b *burst) Next() (time.Duration, bool) {
	if b.i == len(b.opens) {
		return 0, false
	}
	b.i++
	return b.opens[b.i-1], true
}
