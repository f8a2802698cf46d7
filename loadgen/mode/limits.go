package mode

import (
	"cmp"
	"math/rand/v2"
	"time"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/schema"
)

// Limit is a cap on what goes on at once: N slots (0: no limit) of which slot i
// opens at Opens[i], counted from the phase's start.
type Limit struct {
	Name  string
	N     int
	Opens []time.Duration
}

// The limits of a phase, by their place in Limits.
const (
	SessionSlots int = iota // sessions under way, think time included
	WireSlots               // requests on the wire
	PrefillSlots            // requests without their first content
)

// Limits are those of p, from the outermost to the innermost.
func (m *Mode) Limits(p *schema.Phase, root int64) [3]Limit {
	limit := func(name string, n int, r *schema.Ramp) Limit {
		return Limit{name, n, limitSteps(n, r, rampStream(root, p, name))}
	}
	begins := func(variable string, n int) int {
		if a := p.Scales(variable); a != nil {
			return int(a.Control.Min)
		}
		return n
	}
	return [...]Limit{
		SessionSlots: limit("concurrency", begins(schema.ScaleConcurrency, m.slots(p)), p.ConcurrencyRamp),
		WireSlots:    limit("in_flight", p.InFlight, nil),
		PrefillSlots: limit("prefill", begins(schema.ScalePrefill, p.PrefillConcurrency), p.PrefillRamp),
	}
}

// slots is how many sessions p may hold at once, at most; 0 is no limit. A closed loop
// that nothing limits has one.
func (m *Mode) slots(p *schema.Phase) int {
	if a := p.Scales(schema.ScaleConcurrency); a != nil {
		return int(a.Control.Max)
	}
	if m.Closed && p.Concurrency == 0 && p.InFlight == 0 && p.PrefillConcurrency == 0 {
		return 1
	}
	return p.Concurrency
}

// Target is how many requests a closed loop wants under way at once; 0 in other
// modes, and where prefills alone are limited.
func (m *Mode) Target(p *schema.Phase) int {
	if !m.Closed {
		return 0
	}
	return smallest(m.slots(p), p.InFlight)
}

// Opening is the number of slots that open together in a closed loop.
func (m *Mode) Opening(p *schema.Phase) int {
	return cmp.Or(m.slots(p), p.InFlight, p.PrefillConcurrency)
}

// Connections is the largest number of connections that p can need at once; 0
// when nothing bounds it.
func (m *Mode) Connections(p *schema.Phase) int {
	n := smallest(m.slots(p), p.InFlight)
	if n == 0 {
		return 0
	}
	return smallest(n, int(min(p.Requests, 1<<30)))
}

// Connections is the largest number that some phase is known to need at once,
// 0 when none is bounded, and whether it bounds them all.
func Connections(phases []schema.Phase) (most int, bounded bool) {
	bounded = true
	for i := range phases {
		n := 0
		if m, err := Of(&phases[i]); err == nil {
			n = m.Connections(&phases[i])
		}
		most, bounded = max(most, n), bounded && n > 0
	}
	return most, bounded
}

// smallest is the smallest of those that are limits, 0 when none is.
func smallest(limits ...int) int {
	n := 0
	for _, l := range limits {
		if l > 0 && (n == 0 || l < n) {
			n = l
		}
	}
	return n
}

// rampStream is the randomness of one ramp of p.
func rampStream(root int64, p *schema.Phase, what string) *rand.Rand {
	return seed.Stream(root, "ramp/"+what+"/"+p.Name)
}
