package metrics

// levelMetrics are levels over time, weighted by how long each lasted; spans.go has their formulas.
var levelMetrics = []Metric{
	// requests in [sent, end), failed ones included
	{
		Tag: EffectiveConcurrency, Header: "Effective Concurrency", Unit: "requests",
		Formula:   "requests in [sent, end), failed ones included, weighted by how long each level was held",
		Elsewhere: "achieved concurrency; in flight", Rests: InFlight, Group: Effective,
		Order: 3000, Neutral: true, LargerIsBetter: true, Spans: wholeRequest,
	},
	{
		Tag: "effective_decode_throughput", Header: "Effective Decode Throughput", Unit: "tokens/sec",
		Formula: "(OSL − 1) / number of gaps, over each gap between reads that brought content", Group: Effective,
		Order: 3001, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodeRate,
	},
	{
		Tag: "effective_prefill_throughput", Header: "Effective Prefill Throughput", Unit: "tokens/sec",
		Formula: "ISL / (first content − sent) in [sent, first content)", Group: Effective, Order: 3002,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillRate,
	},
	{
		Tag: "effective_decode_concurrency", Header: "Effective Decode Concurrency", Unit: "requests",
		Formula: "requests in [first content, end)", Rests: InFlight, Group: Effective, Order: 3003, Neutral: true,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodePart,
	},
	{
		Tag: "effective_prefill_concurrency", Header: "Effective Prefill Concurrency", Unit: "requests",
		Formula: "requests in [sent, first content)", Rests: InFlight, Group: Effective, Order: 3004, Neutral: true,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillPart,
	},
	{
		Tag: "effective_total_throughput", Header: "Effective Total Throughput", Unit: "tokens/sec",
		Formula: "prefill rate + (OSL − 1) / (end − first content) in [first content, end)", Group: Effective,
		Order: 3005, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: tokenRate,
	},
	{
		Tag: "effective_decode_throughput_per_user", Header: "Effective Decode Throughput Per User",
		Unit: "tokens/sec/user", Formula: "decode throughput / decode concurrency", Group: Effective, Order: 3006,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodePerSlot,
	},
	{
		Tag: "effective_prefill_throughput_per_user", Header: "Effective Prefill Throughput Per User",
		Unit: "tokens/sec/user", Formula: "prefill throughput / prefill concurrency", Group: Effective, Order: 3007,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillPerSlot,
	},
	{
		Tag: "tokens_in_flight", Header: "Tokens In Flight", Unit: "tokens",
		Formula: "ISL over the whole request + OSL / chunks from each chunk to the end", Rests: InFlight,
		Group: Effective, Order: 3008,
		Neutral: true, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: heldTokens,
	},
	{
		Tag: "effective_latency", Header: "Effective Latency (CO-aware)", Unit: "ms",
		Formula:   "end − intended, successes only; the client's own delays count, too",
		Elsewhere: "latency corrected for coordinated omission in wrk2 and HdrHistogram", Group: Effective, Order: 3009,
		AIPerf: Place{RunOnly: true}, Record: since(intended, end),
	},

	{
		Tag: "metric_duration_coverage", Header: "Metric Duration Coverage", Unit: "ratio",
		Formula: "share of the window during which at least one request was under way, from sent to end; only requests " +
			"that succeeded and have a TTFT count, and those of several tokens need an ITL, too",
		Elsewhere: "AIPerf after 0.13 wants 0.95 of the run of a scenario covered; this definition is our own",
		Rests:     Outcomes | FirstToken, Group: Hidden, Order: 3010, Needs: Streaming | Tokens, LargerIsBetter: true,
		AIPerf: Place{Ours: true}, Spans: toldPart, Derived: coverage,
	},

	// The same levels over the time in which their own concurrency is not 0
	{
		Tag: "active_decode_throughput", Header: "Active Decode Throughput", Unit: "tokens/sec",
		Formula: "effective_decode_throughput over the time in which such requests were there", Group: Active,
		Order: 3100, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodeRate, Active: true,
	},
	{
		Tag: "active_prefill_throughput", Header: "Active Prefill Throughput", Unit: "tokens/sec",
		Formula: "effective_prefill_throughput over the time in which such requests were there", Group: Active,
		Order: 3101, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillRate, Active: true,
	},
	{
		Tag: "active_decode_throughput_per_user", Header: "Active Decode Throughput Per User", Unit: "tokens/sec/user",
		Formula: "effective_decode_throughput_per_user over the time in which such requests were there", Group: Active,
		Order: 3102, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodePerSlot, Active: true,
	},
	{
		Tag: "active_prefill_throughput_per_user", Header: "Active Prefill Throughput Per User", Unit: "tokens/sec/user",
		Formula: "effective_prefill_throughput_per_user over the time in which such requests were there", Group: Active,
		Order: 3103, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillPerSlot, Active: true,
	},
	{
		Tag: "active_total_throughput", Header: "Active Total Throughput", Unit: "tokens/sec",
		Formula: "effective_total_throughput over the time in which such requests were there", Group: Active,
		Order: 3104, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: tokenRate, Active: true,
	},
}

// adjustedMetrics are over the successes and one +Inf for each other attempt; nearest rank.
var adjustedMetrics = []Metric{
	{
		Tag: AdjustedRequestLatency, Header: "Request Latency (error-adjusted)", Unit: "ms",
		Formula: "request_latency of the successes and +∞ for each other attempt; nearest rank", Rests: WholeAnswer,
		Group: Adjusted, Order: 10, Of: RequestLatency,
	},
	{
		Tag: AdjustedTimeToFirstToken, Header: "Time to First Token (error-adjusted)", Unit: "ms",
		Formula: "time_to_first_token of the successes and +∞ for each other attempt; nearest rank", Rests: FirstToken,
		Group: Adjusted, Order: 20, Needs: Streaming | Tokens, Of: TimeToFirstToken,
	},
	{
		Tag: "adj_inter_token_latency", Header: "Inter Token Latency (error-adjusted)", Unit: "ms",
		Formula: "inter_token_latency of the successes and +∞ for each other attempt; nearest rank", Rests: Gaps,
		Group: Adjusted, Order: 30, Needs: Streaming | Tokens, Of: InterTokenLatency,
	},
	{
		Tag: "adj_decode_duration", Header: "Decode Duration (error-adjusted)", Unit: "ms",
		Formula: "decode_duration of the successes and +∞ for each other attempt; nearest rank", Rests: WholeAnswer,
		Group: Adjusted, Order: 40, Needs: Streaming | Tokens, Of: DecodeDuration,
	},
	{
		Tag: "adj_effective_latency", Header: "Effective Latency (CO-aware) (error-adjusted)", Unit: "ms",
		Formula: "effective_latency of the successes and +∞ for each other attempt; nearest rank",
		Group:   Adjusted, Order: 50, Of: "effective_latency",
	},
}
