package loadgen

import (
	"time"

	"aiperf.dev/aiperf/schema"
)

// burst is the schedule of a closed loop as far as it is known beforehand: one
// arrival for each slot, when the slot opens. All later ones follow the answers.
type burst struct {
	opens []time.Duration
	i     int
}

func newBurst(p *schema.Phase, root int64) *burst {
	return &burst{opens: limitSteps(slots(p), p.ConcurrencyRamp, rampStream(root, p, "concurrency"))}
}

// Next is when the next slot opens.
func (b *burst) Next() (time.Duration, bool) {
	if b.i == len(b.opens) {
		return 0, false
	}
	b.i++
	return b.opens[b.i-1], true
}

// slots is how many sessions a phase may hold at once; 0 is no limit. A closed
// loop that nothing limits has one.
func slots(p *schema.Phase) int {
	unlimited := p.Concurrency == 0 && p.InFlight == 0 && p.PrefillConcurrency == 0
	if unlimited && p.Type == typeConcurrency && len(p.RateSeries) == 0 {
		return 1
	}
	return p.Concurrency
}
