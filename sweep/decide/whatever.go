package decide

import "aiperf.dev/aiperf/internal/validity"

// whole is the same of whole runs.
func (d *duel) whole() *duel {
	all := *d
	all.window, all.base, all.candidate = Full, d.base.over(Full), d.candidate.over(Full)
	return &all
}

// whatever judges a metric in doubt wherever its numbers may lie, and reports whether it is
// decided: whether the outcome is the same at both ends, which the interval then spans.
func (d *duel) whatever(r *Row) bool {
	lowBase, highBase, known := d.base.possible(r.Key)
	lowCandidate, highCandidate, too := d.candidate.possible(r.Key)
	if !known || !too {
		return false
	}
	out := d.settle(*r, d.evidence(r.Key))
	for _, end := range []Row{
		d.settle(*r, d.proofOf(r.Key, highBase, lowCandidate)),
		d.settle(*r, d.proofOf(r.Key, lowBase, highCandidate)),
	} {
		if end.Outcome != out.Outcome || end.Outcome == Unclear && !end.Harmless || end.Undecidable {
			return false
		}
		out.Low, out.High = min(out.Low, end.Low), max(out.High, end.High)
		out.EqualLow, out.EqualHigh = min(out.EqualLow, end.EqualLow), max(out.EqualHigh, end.EqualHigh)
		out.P, out.Detectable = max(out.P, end.P), max(out.Detectable, end.Detectable)
		out.BeyondMargin, out.Harmless = out.BeyondMargin && end.BeyondMargin, out.Harmless && end.Harmless
	}
	if out.Outcome == Unclear && !out.Harmless || out.Undecidable {
		return false
	}
	out.Whatever, out.Note = true, "in doubt (check "+r.Check+"), but the outcome is the same either way"
	if r.Check == validity.Errors {
		out.Note = "of the requests that succeeded; the outcome stays the same " +
			"if all that failed had been the fastest on their side, and if all had been the slowest"
	}
	*r = out
	return true
}
