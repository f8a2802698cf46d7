package decide

// PartResult is one of several targets, or of several models, of a cell over its
// trials.
type PartResult struct {
	Kind, Name   string    // as metrics.Part has them
	Full, Steady Estimates // over the trials in which it had requests
}

// partsOf are the parts of the runs of a cell in the order in which the first of them that has
// one lists it.
func partsOf(whole Estimates) []PartResult {
	var out []PartResult
	place := map[[2]string]int{}
	for _, o := range whole.runs {
		for _, p := range o.Parts {
			key := [2]string{p.Kind, p.Name}
			i, known := place[key]
			if !known {
				i = len(out)
				place[key] = i
				out = append(out, PartResult{p.Kind, p.Name, whole.of(nil), whole.of(nil).over(Steady)})
			}
			one := &Outcome{Run: o.Run, Summaries: p.Summaries, Verdict: o.Verdict, Taints: o.Taints}
			out[i].Full.runs = append(out[i].Full.runs, one)
			out[i].Steady.runs = append(out[i].Steady.runs, one)
		}
	}
	return out
}
