package loadgen

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// Merge is what a run did whose workers did all. Counts, levels and rates add up. Who
// begins last and who ends first bound the window in which all workers load together.
// What was not held by one was not held.
func Merge(all []Result) Result {
	var out Result
	for _, r := range all {
		if out.Cancelled == "" {
			out.Cancelled = r.Cancelled
		}
		out.Unreachable = out.Unreachable || r.Unreachable
	}
	for i := 0; ; i++ {
		var parts []PhaseResult
		for _, r := range all {
			if i < len(r.Phases) {
				parts = append(parts, r.Phases[i])
			}
		}
		if len(parts) == 0 {
			return out
		}
		out.Phases = append(out.Phases, mergePhase(parts))
	}
}

// mergePhase is one phase, of all workers that began it.
func mergePhase(parts []PhaseResult) PhaseResult {
	sum := parts[0]
	sum.Skipped, sum.Notes, sum.Gauge = map[string]int64{}, nil, mergeGauge(parts)
	sum.Issued, sum.OK, sum.Failed, sum.CancelledCount, sum.Cut = 0, 0, 0, 0, 0
	sum.Unsent, sum.Due, sum.HeldUp, sum.Target, sum.Rate = 0, 0, 0, 0, 0
	if sum.Branches != nil {
		sum.Branches = &record.Branches{}
	}
	for i := range parts {
		p := &parts[i]
		sum.Start, sum.End = min(sum.Start, p.Start), max(sum.End, p.End)
		sum.Answered = max(sum.Answered, p.Answered) // record.None is the least
		sum.Issued, sum.OK, sum.Failed = sum.Issued+p.Issued, sum.OK+p.OK, sum.Failed+p.Failed
		sum.CancelledCount, sum.Cut = sum.CancelledCount+p.CancelledCount, sum.Cut+p.Cut
		sum.Unsent, sum.Due, sum.HeldUp = sum.Unsent+p.Unsent, sum.Due+p.Due, sum.HeldUp+p.HeldUp
		sum.Target, sum.Rate = sum.Target+p.Target, sum.Rate+p.Rate
		for why, n := range p.Skipped {
			sum.Skipped[why] += n
		}
		for _, note := range p.Notes {
			if !slices.Contains(sum.Notes, note) {
				sum.Notes = append(sum.Notes, note)
			}
		}
		if sum.Branches != nil && p.Branches != nil {
			sum.Branches.Add(p.Branches)
		}
		if slices.Index(endings, p.Stop) < slices.Index(endings, sum.Stop) {
			sum.Stop = p.Stop
		}
	}
	return sum
}

// endings are the reasons for the end of a phase: what one worker did not want comes
// before what all do.
var endings = []string{
	stopInterrupted, stopUnreachable, stopStalled, stopFailures, stopScaled, stopDuration, stopRequests, stopSessions,
	stopSchedule,
}

// mergeGauge is the level of all. Max is that of peaks that came together; where they
// did not, it was lower.
func mergeGauge(parts []PhaseResult) Gauge {
	g := Gauge{HeldShare: math.Inf(1), SteadyStart: math.MinInt64, SteadyEnd: math.MaxInt64}
	var area, filled, aim float64
	start, end := parts[0].Start, parts[0].End
	for i := range parts {
		p := &parts[i]
		start, end = min(start, p.Start), max(end, p.End)
		area += p.Gauge.Mean * float64(p.End-p.Start)
		g.Max, g.Residence = g.Max+p.Gauge.Max, g.Residence+p.Gauge.Residence
		g.HeldShare = min(g.HeldShare, p.Gauge.HeldShare) // NaN stays
		// one that sent each user one request held nothing between two
		if held := p.Gauge.HeldRatio; !math.IsNaN(held) {
			filled, aim = filled+held*float64(p.Target), aim+float64(p.Target)
		}
		if p.Gauge.SteadyStart == record.None || g.SteadyEnd == record.None {
			g.SteadyStart, g.SteadyEnd = record.None, record.None
			continue
		}
		g.SteadyStart, g.SteadyEnd = max(g.SteadyStart, p.Gauge.SteadyStart), min(g.SteadyEnd, p.Gauge.SteadyEnd)
	}
	g.Mean, g.HeldRatio = ratio(area, float64(end-start)), ratio(filled, aim)
	if g.SteadyEnd <= g.SteadyStart {
		g.SteadyStart, g.SteadyEnd = record.None, record.None
	}
	return g
}
