package metrics

import "aiperf.dev/aiperf/internal/record"

// runMetrics are the rates and the counts of a whole run.
var runMetrics = []Metric{
	{
		Tag: OutputTokenThroughput, Header: "Output Token Throughput", Short: "out tok/s",
		Spoken: []string{"tps", "tok/s"}, Headings: []Heading{{Place: 1, Stat: "avg"}}, Unit: "tokens/sec",
		Formula:   "total_osl / window; in the steady window Σ OSL × part inside, and what came inside of requests that were cut off, by the stamps of their chunks",
		Elsewhere: "output token throughput in vLLM's benchmark, whose window ends with the last answer",
		Rests:     PerSecond | TokenCounts, Group: Main, Order: 800, AIPerf: Place{Head: 7},
		Needs: Tokens, LargerIsBetter: true, Derived: outputRate,
	},
	{
		Tag: "input_token_throughput", Header: "Input Token Throughput", Unit: "tokens/sec",
		Formula: "total_isl / window; in the steady window Σ ISL × part inside", Rests: PerSecond, Group: Main,
		Order: 805, LargerIsBetter: true, Derived: inputRate,
	},
	{
		Tag: TotalTokenThroughput, Header: "Total Token Throughput", Unit: "tokens/sec",
		Formula: "input_token_throughput + output_token_throughput", Rests: PerSecond | TokenCounts, Group: Hidden,
		Order: 810, Needs: Tokens, LargerIsBetter: true, Derived: totalRate,
	},
	{
		Tag: RequestThroughput, Header: "Request Throughput", Short: "req/s", Spoken: []string{"rps", "throughput"},
		Headings: []Heading{{Place: 2, Stat: "avg", Beside: OutputTokenThroughput}}, Unit: "requests/sec",
		Formula:   "request_count / window; in the steady window Σ part inside",
		Elsewhere: "QPS or RPS; what was completed, never what was offered", Rests: PerSecond, Group: Main, Order: 900,
		AIPerf: Place{Head: 1}, LargerIsBetter: true, Derived: requestRate,
	},
	{
		Tag: Goodput, Header: "Goodput", Unit: "requests/sec",
		Formula:   "good_request_count / window; in the steady window Σ part inside, of those that met every SLO",
		Elsewhere: "good requests a second at this load, as in vLLM's benchmark; in DistServe's sense it is the highest rate at which 90 % meet the SLOs: that is a sweep's answer, not a run's",
		Rests:     PerSecond, Group: Main, Order: 1000, Needs: Limits, AIPerf: Place{Head: 11}, LargerIsBetter: true,
		undecided: func(t *Totals) float64 { return per(float64(t.Cut-t.CutBad), t.Seconds) },
		theirs:    func(t *Totals) float64 { return per(t.ifJudged(float64(t.GoodSent), true), t.Seconds) },
		Derived:   goodRate,
	},
	{
		Tag: GoodputFromSent, Header: "Goodput From Sent", Unit: "requests/sec",
		Formula:   "goodput judged from sending, in an open loop or a replay",
		Elsewhere: "goodput in tools without a clock for arrivals", Rests: PerSecond, Group: Hidden, Order: 1011,
		Needs: Limits, AIPerf: Place{Ours: true}, LargerIsBetter: true, Derived: goodSentRate,
	},
	{
		Tag: "good_request_count", Header: "Good Request Count", Unit: "requests",
		Formula: "requests that met every SLO: from intended in an open loop and in a replay, from sending in a closed loop",
		Rests:   Outcomes, Group: Hidden, Order: 1010, Needs: Limits,
		AIPerf: Place{Counts: Counting{Of: record.InOK, Good: true}, Head: 12}, LargerIsBetter: true, Int: true,
		Record: goodOne, Counts: Counting{Of: record.InOK, Good: true},
		theirs: func(t *Totals) float64 { return t.ifJudged(float64(t.GoodSent), true) }, Derived: (*Totals).good,
	},
	{
		Tag: GoodRequestFraction, Header: "GoodRequestFraction", Short: "goodput %",
		Headings: []Heading{{Place: 9, Stat: "avg"}}, Unit: "ratio",
		Formula:   "good_request_count / attempts; one that was cut off is bad when it was as old as its SLO, and else undecided, so that the share is a range",
		Elsewhere: "SLO attainment; AIPerf divides by successes and failures only", Rests: Outcomes, Group: Hidden,
		Order: 1020, Needs: Limits, Counts: Counting{Of: record.InOK, Good: true, Among: record.Attempted},
		undecided: func(t *Totals) float64 { return t.undecided(t.CutBad) },
		AIPerf:    Place{Counts: Counting{Of: record.InOK, Good: true, Among: theirAttempts}},
		theirs:    (*Totals).theirGoodShare, Over: Share, LargerIsBetter: true, Derived: (*Totals).goodShare,
	},
	{
		Tag: GoodRequestFractionFromSent, Header: "GoodRequestFraction From Sent", Short: "goodput % from sending",
		Unit: "ratio", Formula: "good_request_fraction judged from sending, in an open loop or a replay",
		Rests: Outcomes, Group: Hidden, Order: 1021, Needs: Limits, Counts: Counting{
			Of: record.InOK, Good: true,
			Among: record.Attempted,
		}, undecided: func(t *Totals) float64 { return t.undecided(t.CutBadSent) },
		Over: Share, AIPerf: Place{Ours: true}, LargerIsBetter: true, Derived: (*Totals).goodSentShare,
	},
	{
		Tag: Accuracy, Header: "Accuracy", Short: "right %", Spoken: []string{"correct", "right"},
		Headings: []Heading{{Place: 2, Stat: "avg"}}, Unit: "ratio",
		Formula:   "right answers / judged_answer_count; of one request 1 where its answer is right, 0 where it is wrong",
		Elsewhere: "accuracy in evaluation harnesses, which count what cannot be judged as wrong, and AIPerf failed requests, too",
		Rests:     Outcomes, Group: Hidden, Order: 1030, Needs: Answers, AIPerf: Place{Ours: true},
		LargerIsBetter: true, Over: Share, Per: JudgedAnswerCount, Record: rightOne,
		Derived: func(t *Totals) float64 { return per(float64(t.Right), t.judged()) },
	},
	{
		Tag: RightAnswerThroughput, Header: "Right Answer Throughput", Unit: "requests/sec",
		Formula: "request_throughput × right answers / successes",
		Rests:   PerSecond | Outcomes, Group: Hidden, Order: 1031, Needs: Answers, AIPerf: Place{Ours: true},
		LargerIsBetter: true,
		Derived:        func(t *Totals) float64 { return requestRate(t) * per(float64(t.Right), float64(t.OK)) },
	},
	{
		Tag: NotJudgedShare, Header: "Answers Not Judged", Short: "not judged %", Unit: "ratio",
		Formula: "answers that are neither right nor wrong (empty, cut off at the token limit, without a result, not comparable) / answer_count",
		Rests:   Outcomes, Group: Hidden, Order: 1032, Needs: Answers, AIPerf: Place{Ours: true}, Over: Share,
		Per: AnswerCount, Record: notJudged,
		Derived: func(t *Totals) float64 { return per(float64(t.NotJudged), t.answered()) },
	},
	{
		Tag: JudgedAnswerCount, Header: "Judged Answer Count", Unit: "requests",
		Formula: "answers to questions with known answers that are right or wrong", Group: Hidden, Order: 1033,
		Needs: Answers, AIPerf: Place{Ours: true}, LargerIsBetter: true, Int: true, Record: judgedOne,
		Derived: (*Totals).judged,
	},
	{
		Tag: AnswerCount, Header: "Answer Count", Unit: "requests",
		Formula: "answers to questions with known answers", Group: Hidden, Order: 1034,
		Needs: Answers, AIPerf: Place{Ours: true}, LargerIsBetter: true, Int: true, Record: answeredOne,
		Derived: (*Totals).answered,
	},
	{
		Tag: CompletedRequestCount, Header: "Completed Requests (Success + Error)", Unit: "requests",
		Formula: "successes + failures", Group: Main, Order: 1075, Counts: Counting{Of: record.Answered},
		AIPerf: Place{NoZero: true, Counts: Counting{Of: theirAttempts}}, LargerIsBetter: true, Int: true,
	},
	{
		Tag: CancelledRequestCount, Header: "Cancelled Request Count", Unit: "requests",
		Formula:   "requests that were cancelled as the experiment asked",
		Elsewhere: "AIPerf counts what the end of a phase cut off, too", Group: Hidden, Order: 1076,
		Counts: Counting{Of: record.InCancelled}, AIPerf: Place{
			NoZero: true,
			Counts: Counting{Of: record.InCancelled | record.InCut},
		},
		theirs: func(t *Totals) float64 { return float64(t.stopped) }, Over: Events, Int: true,
	},
	{
		Tag: CutRequestCount, Header: "Cut Request Count", Unit: "requests",
		Formula: "requests that the end of their phase cut off", Group: Hidden, Order: 1077,
		Counts: Counting{Of: record.InCut}, Over: Events, AIPerf: Place{Ours: true}, Int: true,
	},
	{
		Tag: UnsentRequestCount, Header: "Unsent Request Count", Unit: "requests",
		Formula: "requests that were due and never sent", Elsewhere: "dropped iterations in k6", Group: Hidden,
		Order: 1078, Counts: Counting{Of: record.InUnsent}, Over: Events, AIPerf: Place{Ours: true}, Int: true,
	},
	{
		Tag: "request_error_rate", Header: "Request Error Rate", Unit: "%",
		Formula: "100 · failures / (successes + failures)", Rests: Outcomes, Group: Main, Order: 1080, Over: Share,
		Counts: Counting{Of: record.InFailed, Among: record.Answered},
		AIPerf: Place{Counts: Counting{Of: theirErrors, Among: theirAttempts}},
	},
	{
		Tag: ErrorRate, Header: "Error Rate", Short: "errors %", Spoken: []string{"errors"},
		Headings: []Heading{{Place: 10, Stat: "avg", Wide: true}},
		Unit:     "ratio", Formula: "failures / (successes + failures), a share in 0..1", Rests: Outcomes, Group: Hidden,
		Order: 1081, Counts: Counting{Of: record.InFailed, Among: record.Answered}, Over: Share,
		AIPerf: Place{Unknown: true, Counts: Counting{Of: theirErrors, Among: theirAttempts}},
	},
	{
		Tag: RequestCount, Header: "Request Count", Unit: "requests", Formula: "successes", Group: Main, Order: 1100,
		AIPerf: Place{Head: 3, NoZero: true}, LargerIsBetter: true, Int: true, Counts: Counting{Of: record.InOK},
	},
	{
		Tag: "streamed_request_count", Header: "Streamed Request Count", Unit: "requests",
		Formula: "successes whose answer came as a stream of events", Group: Hidden, Order: 1101,
		AIPerf: Place{Unknown: true, NoZero: true}, Needs: Streaming, LargerIsBetter: true, Int: true,
		Derived: func(t *Totals) float64 { return float64(t.Streamed) },
	},
	{
		Tag: ErrorRequestCount, Header: "Error Request Count", Unit: "requests", Formula: "failures", Group: Main,
		Order: 1110, Over: Events, AIPerf: Place{Head: 21, NoZero: true, Counts: Counting{Of: theirErrors}},
		Int: true, Counts: Counting{Of: record.InFailed},
	},
	{
		Tag: "total_isl", Header: "Total Input Sequence Length", Unit: "tokens",
		Formula: "Σ input_sequence_length over successes", Group: Hidden, Order: 1120, AIPerf: Place{Head: 19},
		LargerIsBetter: true, Int: true, Derived: total(InputSequenceLength),
	},
	{
		Tag: "total_osl", Header: "Total Output Sequence Length", Unit: "tokens",
		Formula: "Σ output_sequence_length over successes", Rests: TokenCounts, Group: Hidden, Order: 1121,
		AIPerf: Place{Head: 20}, Needs: Tokens, LargerIsBetter: true, Int: true, Derived: total(OutputSequenceLength),
	},
	{
		Tag: "total_output_tokens", Header: "Total Output Tokens", Unit: "tokens",
		Formula: "Σ output_token_count over successes", Rests: TokenCounts, Group: Hidden, Order: 1122,
		AIPerf: Place{Head: 16}, Needs: Tokens, LargerIsBetter: true, Int: true, Derived: total(OutputTokenCount),
	},
	{
		Tag: "total_reasoning_tokens", Header: "Total Reasoning Tokens", Unit: "tokens",
		Formula: "Σ reasoning_token_count over successes", Rests: TokenCounts, Group: Hidden, Order: 1123,
		AIPerf: Place{Head: 17}, Needs: Tokens, LargerIsBetter: true, Int: true, Derived: total(ReasoningTokenCount),
	},
	{
		Tag: BenchmarkDuration, Header: "Benchmark Duration", Unit: "sec",
		Formula: "last content of the last success − sent of the first", Group: Hidden, Order: 1130,
		AIPerf: Place{Head: 18}, Derived: func(t *Totals) float64 { return t.Duration },
	},
	{
		Tag: OSLMismatchCount, Header: "OSL Mismatch Count", Unit: "requests",
		Formula: "requests with abs(OSL − asked) > min(5 % of asked, 50 tokens)", Rests: TokenCounts, Group: Hidden,
		Order: 1140, Over: Events, Needs: Tokens, Int: true, Derived: total(oslMismatch),
	},
	{
		Tag: "context_overflow_count", Header: "Context Overflow Count", Unit: "requests",
		Formula: "failures because the input was too long for the model", Group: Main, Order: 1145, Over: Events,
		AIPerf: Place{Failing: true}, Int: true, Derived: (*Totals).overflows,
	},
	{
		Tag: "error_isl", Header: "Error Input Sequence Length", Unit: "tokens",
		Formula: "input_sequence_length of failures", Group: Hidden, Order: 1150,
		AIPerf: Place{Head: 22}, Needs: FailedOnly, Int: true, Record: isl,
	},
	{
		Tag: "total_error_isl", Header: "Total Error Input Sequence Length", Unit: "tokens",
		Formula: "Σ input_sequence_length over failures", Group: Hidden, Order: 1151, Over: Events,
		AIPerf: Place{Head: 23, NoZero: true}, Int: true, theirs: total(withCancelled + "error_isl"),
		Derived: total("error_isl"),
	},
}
