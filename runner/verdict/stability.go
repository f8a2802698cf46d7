package verdict

import (
	"math"

	"aiperf.dev/aiperf/loadgen/stable"
)

const stableTry = "more time (--benchmark-duration), longer windows (--measurement-interval), or a larger --stability-percentage"

// stability is about a load that was to go on until it is stable. Where its windows cannot be
// compared, what is missing is told in place of how far they differ.
func stability(p *PhaseEvidence) (Reading, bool) {
	s := p.Result.Stability
	if s == nil {
		return Reading{}, false
	}
	r := Reading{Fail: never, Detail: s.Found(), Try: stableTry}
	switch rate, latency := s.Spread(); {
	case len(s.Windows) < stable.Agreeing:
		r.Value, r.Unit, r.Warn, r.Below = float64(len(s.Windows)), "windows", stable.Agreeing, true
	case math.IsInf(rate, 1):
		r.Value, r.Unit, r.Warn, r.Below = float64(s.Answered()), "windows", stable.Agreeing, true
	default:
		r.Value, r.Warn = max(rate, latency)/100, s.Percentage/100
		if s.Stable { // rounding puts nothing over the limit that the load itself went by
			r.Value = min(r.Value, r.Warn)
		}
	}
	return r, true
}
