package metrics

import "aiperf.dev/aiperf/internal/record"

// requestMetrics are the times and lengths of single requests that produce tokens.
var requestMetrics = []Metric{
	{
		Tag: TimeToFirstToken, Header: "Time to First Token", Short: "TTFT", Spoken: []string{"ttft"},
		Headings: []Heading{{Place: 3, Stat: "p50"}, {Place: 4, Stat: "p99"}}, Unit: "ms",
		Formula:   "first content − sent; reasoning counts as content",
		Elsewhere: "TTFT; vLLM's benchmark starts the clock before the connection is opened and stops it at the first event, also one without text",
		Rests:     FirstToken, Group: Main, Order: 100, AIPerf: Place{Head: 4}, Needs: Streaming | Tokens,
		Due: (*record.Record).TTFTFromIntended, Record: (*record.Record).TTFT,
	},
	{
		Tag: TimeToSecondToken, Header: "Time to Second Token", Short: "TTST", Spoken: []string{"ttst"}, Unit: "ms",
		Formula: "second content event − first; 0 when one read carried both", Rests: Gaps, Group: Main, Order: 200,
		AIPerf: Place{Head: 5}, Needs: Streaming | Tokens, Record: secondToken,
	},
	{
		Tag: TimeToFirstOutputToken, Header: "Time to First Output Token", Short: "TTFO", Spoken: []string{"ttfo"},
		Unit: "ms", Formula: "first content that is not reasoning − sent", Rests: FirstToken, Group: Main, Order: 210,
		Needs: Streaming | Tokens, Due: (*record.Record).TTFOFromIntended, Record: (*record.Record).TTFO,
	},
	{
		Tag: RequestLatency, Header: "Request Latency", Short: "latency", Spoken: []string{"e2e", "e2el", "latency"},
		Headings: []Heading{
			{Place: 7, Stat: "p50", Beside: TimeToFirstToken, Narrow: true},
			{Place: 8, Stat: "p99", Beside: TimeToFirstToken},
		}, Unit: "ms",
		Formula:   "last content − sent; the usage event and the end mark do not count; avg of the steady window: Σ time inside / Σ part inside",
		Elsewhere: "E2EL in vLLM's benchmark; GenAI-Perf's ends with the last event of the answer, this one with the last content",
		Rests:     WholeAnswer, Group: Main, Order: 300, AIPerf: Place{Head: 2},
		Due: (*record.Record).LatencyFromIntended, Record: (*record.Record).Latency,
	},
	{
		Tag: DecodeDuration, Header: "Decode Duration", Unit: "ms", Formula: "request_latency − time_to_first_token",
		Rests: WholeAnswer, Group: Main, Order: 350, Needs: Streaming | Tokens, Record: (*record.Record).Decode,
	},
	{
		Tag: InterTokenLatency, Header: "Inter Token Latency", Short: "ITL", Spoken: []string{"itl", "tpot"},
		Headings: []Heading{{Place: 5, Stat: "p50", Wide: true}, {Place: 6, Stat: "p99"}}, Unit: "ms",
		Formula:   "(request_latency − time_to_first_token) / (OSL − 1); absent below two tokens",
		Elsewhere: "TPOT in vLLM's and SGLang's benchmarks; LLMPerf divides the whole latency by all tokens, the first wait included",
		Rests:     Gaps | TokenCounts, Group: Main, Order: 400, AIPerf: Place{Head: 6}, Needs: Streaming | Tokens,
		Record: (*record.Record).ITL,
	},
	{
		Tag: InterChunkLatency, Header: "Inter Chunk Latency", Short: "ICL", Spoken: []string{"icl"}, Unit: "ms",
		Formula:   "gaps between consecutive content events, pooled over all requests",
		Elsewhere: "ITL in vLLM's and SGLang's benchmarks: a gap between events, which may carry several tokens",
		Rests:     Gaps, Group: Hidden, Order: 410, AIPerf: Place{Head: 15}, Needs: Streaming | Tokens,
		List: chunkGaps,
	},
	{
		Tag: OutputTokenThroughputPerUser, Header: "Output Token Throughput Per User", Short: "out tok/s/user",
		Spoken: []string{"tok/s per user", "tok/s/user"}, Unit: "tokens/sec/user",
		Formula:   "1000 / inter_token_latency; absent when that is 0",
		Elsewhere: "1/TPOT; the x axis of most published Pareto charts, called interactivity there",
		Rests:     Gaps | TokenCounts, Group: Main, Order: 500, AIPerf: Place{Head: 8}, Needs: Streaming | Tokens,
		LargerIsBetter: true, Record: perUser,
	},
	{
		Tag: "e2e_output_token_throughput", Header: "E2E Output Token Throughput", Unit: "tokens/sec/user",
		Formula:   "OSL / request_latency in seconds",
		Elsewhere: "AIPerf after 0.13 has its low percentiles as e2e_normalized_interactivity",
		Rests:     WholeAnswer | TokenCounts, Group: Main, Order: 510,
		Needs: Tokens, LargerIsBetter: true, Due: func(r *record.Record) float64 {
			return per(1000*osl(r),
				r.LatencyFromIntended())
		}, Record: endToEnd,
	},
	{
		Tag: OutputSequenceLength, Header: "Output Sequence Length", Short: "OSL", Spoken: []string{"osl"}, Unit: "tokens",
		Formula:   "output_token_count + reasoning_token_count",
		Elsewhere: "OSL or completion tokens; with reasoning here", Rests: TokenCounts, Group: Main, Order: 600,
		Neutral: true,
		AIPerf:  Place{Head: 9}, Needs: Tokens, LargerIsBetter: true, Int: true, Record: osl,
	},
	{
		Tag: InputSequenceLength, Header: "Input Sequence Length", Short: "ISL", Spoken: []string{"isl"}, Unit: "tokens",
		Formula:   "tokens of the prompt: the client's count after the chat template where there is one, else the server's usage",
		Elsewhere: "ISL or prompt tokens; a tool that leaves out the chat template counts fewer", Group: Main,
		Order: 700, Neutral: true, AIPerf: Place{Head: 10}, LargerIsBetter: true, Int: true, Record: isl,
	},
	{
		Tag: OutputTokenCount, Header: "Output Token Count", Unit: "tokens",
		Formula: "tokens of the answer that are not reasoning: the client's count, or the server's usage with --use-server-token-count",
		Rests:   TokenCounts, Group: Hidden, Order: 610, Neutral: true, AIPerf: Place{Head: 13}, Needs: Tokens,
		LargerIsBetter: true, Int: true, Record: outputTokens,
	},
	{
		Tag: ReasoningTokenCount, Header: "Reasoning Token Count", Unit: "tokens",
		Formula: "tokens of the reasoning part of the answer", Rests: TokenCounts, Group: Hidden, Order: 620,
		Neutral: true,
		AIPerf:  Place{Head: 14}, Needs: Tokens, LargerIsBetter: true, Int: true, Record: reasoningTokens,
	},
	{
		Tag: "prefill_throughput_per_user", Header: "Prefill Throughput Per User", Unit: "tokens/sec/user",
		Formula: "ISL / time_to_first_token in seconds", Rests: FirstToken, Group: Hidden, Order: 520,
		Needs: Streaming | Tokens, LargerIsBetter: true, Due: func(r *record.Record) float64 {
			return per(1000*isl(r),
				r.TTFTFromIntended())
		}, Record: prefillPerUser,
	},
	{
		Tag: OSLMismatchDiffPct, Header: "OSL Mismatch Diff %", Unit: "%", Formula: "100 · (OSL − asked) / asked, signed",
		Rests: TokenCounts, Group: Hidden, Order: 630, Over: Signed, Needs: Tokens, Record: oslDiff,
	},
}

// fullMetrics are those of decoding up to the end of the answer, not its last content: AIPerf has
// them since schema 1.5, so files of 0.13 do not.
var fullMetrics = []Metric{
	{
		Tag: "full_decode_duration", Header: "Full Decode Duration", Unit: "ms",
		Formula: "end of the answer − first content", Rests: WholeAnswer, Group: Hidden, Order: 355,
		AIPerf: Place{Ours: true, RunOnly: true}, Needs: Streaming | Tokens, Record: (*record.Record).FullDecode,
	},
	{
		Tag: "full_response_inter_token_latency", Header: "Full Response Inter Token Latency", Unit: "ms",
		Formula:   "full_decode_duration / (OSL − 1); absent below two tokens",
		Elsewhere: "TPOT in vLLM's benchmark, which ends with the answer, too",
		Rests:     WholeAnswer | TokenCounts, Group: Hidden, Order: 405, AIPerf: Place{Ours: true, RunOnly: true},
		Needs: Streaming | Tokens, Record: (*record.Record).FullITL,
	},
	{
		Tag:    "full_response_output_token_throughput_per_user",
		Header: "Full Response Output Token Throughput Per User", Unit: "tokens/sec/user",
		Formula: "1000 / full_response_inter_token_latency; absent when that is 0",
		Rests:   WholeAnswer | TokenCounts, Group: Hidden, Order: 505, AIPerf: Place{Ours: true, RunOnly: true},
		Needs: Streaming | Tokens, LargerIsBetter: true,
		Record: func(r *record.Record) float64 { return per(1000, r.FullITL()) },
	},
}

// normalizedMetrics are of a whole answer, the first wait included, by the number of its tokens. AIPerf
// has the two run-wide ones since schema 1.5.
var normalizedMetrics = []Metric{
	{
		Tag: LatencyPerOutputToken, Header: "Latency Per Output Token", Unit: "ms",
		Formula:   "request_latency / OSL; absent where TTFT, ISL or OSL is not above 0",
		Elsewhere: "normalized latency in the papers on Orca and vLLM; the inter-token latency of LLMPerf",
		Rests:     WholeAnswer | TokenCounts, Group: Hidden, Order: 512, AIPerf: Place{Ours: true, RunOnly: true},
		Needs: Streaming | Tokens, Record: latencyPerToken,
	},
	{
		Tag: "e2e_normalized_interactivity_p75", Header: "E2E Normalized Interactivity P75", Unit: "tokens/sec/user",
		Formula: "1000 / p75 of latency_per_output_token: three quarters of the requests were at least that fast",
		Rests:   WholeAnswer | TokenCounts, Group: Hidden, Order: 513, AIPerf: Place{Ours: true},
		Needs: Streaming | Tokens, LargerIsBetter: true,
		Derived: interactivity("p75"),
	},
	{
		Tag: "e2e_normalized_interactivity_p90", Header: "E2E Normalized Interactivity P90", Unit: "tokens/sec/user",
		Formula:   "1000 / p90 of latency_per_output_token: nine of ten requests were at least that fast",
		Elsewhere: "the interactivity axis of InferenceX for agents",
		Rests:     WholeAnswer | TokenCounts, Group: Hidden, Order: 514, AIPerf: Place{Ours: true},
		Needs: Streaming | Tokens, LargerIsBetter: true,
		Derived: interactivity("p90"),
	},
}

// scheduleMetrics are times of single requests as the schedule saw them.
var scheduleMetrics = []Metric{
	{
		Tag: "credit_to_start_latency", Header: "Credit-to-Start Latency", Unit: "ms", Formula: "sent − intended",
		Elsewhere: "AIPerf's word; schedule delay elsewhere", Group: Hidden, Order: 3010, AIPerf: Place{RunOnly: true},
		Record: since(intended, sent),
	},
	{
		Tag: TimeToFirstTokenFromIntended, Header: "Time to First Token from Intended", Unit: "ms",
		Formula: "first content − intended", Rests: SinceIntended, Group: Trust, Order: 110,
		AIPerf: Place{Unknown: true}, Needs: Streaming | Tokens, Record: (*record.Record).TTFTFromIntended,
	},
	{
		Tag: RequestLatencyFromIntended, Header: "Request Latency from Intended", Unit: "ms",
		Formula:   "last content − intended",
		Elsewhere: "latency corrected for coordinated omission in wrk2 and HdrHistogram", Rests: SinceIntended,
		Group: Trust, Order: 310, AIPerf: Place{Unknown: true}, Record: (*record.Record).LatencyFromIntended,
	},
	{
		Tag: DispatchLateness, Header: "Dispatch Lateness", Unit: "ms",
		Formula: "sent − max(intended, admitted) − connecting: the client's own fault, also where it waited for a slot behind a backlog of the client",
		Group:   Trust, Order: 320, AIPerf: Place{Unknown: true}, Record: (*record.Record).DispatchLateness,
	},
	{
		Tag: AdmissionWait, Header: "Admission Wait", Unit: "ms",
		Formula: "admitted − intended: waiting for a slot, as a client would that never stands still", Group: Trust,
		Order: 330, AIPerf: Place{Unknown: true}, Record: (*record.Record).AdmissionWait,
	},
}
