package schema

import "aiperf.dev/aiperf/schema/fields"

// FollowAIPerf lets the phases and data sets have the semantics of the AIPerf that is asked for. After 0.13 the cap
// of idle gaps in a trace shortens no recorded time: an agentic replay keeps it for each session while it runs.
func (b *Benchmark) FollowAIPerf() {
	if b.AIPerf != fields.LaterAIPerf || len(b.Datasets) == 0 {
		return
	}
	d := &b.Datasets[0]
	for i := range b.Phases {
		p := &b.Phases[i]
		if t := fields.PhaseNamed(p.Type); t == nil || !t.Primed {
			continue
		}
		p.LaterReplay = true
		if p.Primes == "" {
			p.TreeIdleGapCapSeconds = d.TraceIdleGapCapSeconds
		}
		d.GapsStay = true
	}
}
