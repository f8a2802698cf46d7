package loadgen

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// Left is what is known by its records of a part of a run whose worker was lost, by the name of
// the phase.
type Left map[string]*PhaseResult

// Add counts a record.
func (l Left) Add(r *record.Record) {
	p := l[r.Phase]
	if p == nil {
		p = &PhaseResult{End: math.MinInt64, Answered: record.None, Skipped: map[string]int64{}}
		l[r.Phase] = p
	}
	switch part := r.Part(); {
	case part&record.InUnsent != 0:
		p.Unsent++
		p.Skipped[r.ErrorKind]++
		return
	case part&record.InCut != 0:
		p.Cut++
	case part&record.InCancelled != 0:
		p.CancelledCount++
	case part&record.InFailed != 0:
		p.Failed++
	default:
		p.OK++
	}
	p.Issued++
	if p.End = max(p.End, r.End); r.Part()&record.InCut == 0 {
		p.Answered = max(p.Answered, r.End)
	}
	if r.Sent != record.None {
		p.Gauge.Residence += r.End - r.Sent
	}
}

// Result is what that worker did until it was lost, at a time in ns since T0. It was asked for as
// much as another one, which did like. The load that all hold together ends with it.
func (l Left) Result(like Result, lost int64) Result {
	var out Result
	for _, p := range like.Phases {
		own := l[p.Name]
		if own == nil {
			own = &PhaseResult{End: p.Start, Answered: record.None}
		}
		share := max(0, min(1, ratio(float64(lost-p.Start), float64(p.End-p.Start))))
		p.End, p.Answered, p.Skipped = max(own.End, p.Start), own.Answered, own.Skipped
		p.Notes, p.Branches, p.Scale = nil, nil, nil
		p.Issued, p.OK, p.Failed, p.CancelledCount, p.Cut = own.Issued, own.OK, own.Failed, own.CancelledCount, own.Cut
		p.Unsent, p.HeldUp = own.Unsent, 0
		if p.Due > 0 {
			p.Due = own.Issued + own.Unsent
		}
		g := &p.Gauge
		g.Residence, g.Mean = own.Gauge.Residence, ratio(float64(own.Gauge.Residence), float64(p.End-p.Start))
		g.HeldShare, g.HeldRatio = g.HeldShare*share, g.HeldRatio*share // NaN stays
		if g.SteadyEnd = min(g.SteadyEnd, lost); g.SteadyStart == record.None || g.SteadyEnd <= g.SteadyStart {
			g.SteadyStart, g.SteadyEnd = record.None, record.None
		}
		out.Phases = append(out.Phases, p)
	}
	return out
}
