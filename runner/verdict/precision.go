package verdict

// precisions ask whether there is enough of it. They mark the number and leave
// the verdict alone.
var precisions = []Check{
	{
		ID: "tail_samples", Limits: "none: it marks percentiles", Try: "more requests per run",
		Kind: Precision, Unit: "requests", Of: nothing, Reads: "latencies in order of intended time",
		Doc:  "effective number of answers; a percentile that needs more is marked",
		Read: perPhase(tailSamples),
	},
	{
		ID: "settling", Limits: "none: it is described", Try: "several trials: they show whether this is usual",
		Kind: Precision, Unit: "ratio", Of: nothing, Reads: "latencies in order of intended time",
		Doc:  "change of the median latency from the first half of a run to the second, and the part that MSER-5 would leave out; described, not judged",
		Read: perPhase(settling),
	},
}
