package verdict

// precisions ask whether there is enough of it. They mark the number and leave
// the verdict alone.
var precisions = []Check{
	{
		ID: "tail_samples", Limits: "none: it marks percentiles", Try: "more requests per run",
		Kind: Precision, Unit: "requests", Reads: "latencies in order of intended time",
		Doc:  "effective number of answers, against the least that certifies each percentile; below it the percentile is marked",
		Read: perPhase(tailSamples),
	},
	{
		ID: "settling", Limits: "none: it is described", Try: "several trials tell whether that is the rule",
		Kind: Precision, Unit: "ratio", Reads: "latencies in order of intended time",
		Doc:  "described, never judged in one run: how far the latency moved from the first half to the second, and MSER-5's cut",
		Read: perPhase(settling),
	},
}
