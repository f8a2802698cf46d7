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

// newBurst takes the sends for which no answer is needed: as many as the
// smallest limit allows, each when all of its slots have opened.
func newBurst(p *schema.Phase, root int64) *burst {
	b := &burst{}
	for _, l := range []struct {
		slots int
		ramp  *schema.Ramp
		what  string
	}{{slots(p), p.ConcurrencyRamp, "concurrency"}, {p.PrefillConcurrency, p.PrefillRamp, "prefill"}, {p.InFlight, nil, ""}} {
		if l.slots == 0 {
			continue
		}
		steps := limitSteps(l.slots, l.ramp, rampStream(root, p, l.what))
		if b.opens == nil {
			b.opens = steps
			continue
		}
		b.opens = b.opens[:min(len(b.opens), len(steps))]
		for i := range b.opens {
			b.opens[i] = max(b.opens[i], steps[i])
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

// slots is how many sessions a phase may hold at once; 0 is no limit. A closed
// loop that nothing limits has one.
func slots(p *schema.Phase) int {
	unlimited := p.Concurrency == 0 && p.InFlight == 0 && p.PrefillConcurrency == 0
	if unlimited && p.Type == typeConcurrency && len(p.RateSeries) == 0 {
		return 1
	}
	return p.Concurrency
}
