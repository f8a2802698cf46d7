package metrics

import "aiperf.dev/aiperf/internal/record"

// usageMetrics are the counts of tokens that the server claims, and how far they are from the client's own:
// 100 · abs(usage − client) / client.
var usageMetrics = []Metric{
	{
		Tag: UsagePromptTokens, Header: "Usage Prompt Tokens", Unit: "tokens",
		Formula: "usage.prompt_tokens of the answer, or its synonym", Group: Usage, Order: 1000,
		Neutral: true, Int: true,
		Record: func(r *record.Record) float64 { return count(r.UsagePrompt) },
	},
	{
		Tag: "usage_prompt_cache_read_tokens", Header: "Usage Prompt Cache Read Tokens", Unit: "tokens",
		Formula: "usage.prompt_tokens_details.cached_tokens, or its synonym: the part of the prompt served from the prefix cache",
		Group:   Usage, Order: 1010, LargerIsBetter: true, Int: true,
		Record: func(r *record.Record) float64 { return count(r.Cached) },
	},
	{
		Tag: "usage_completion_tokens", Header: "Usage Completion Tokens", Unit: "tokens",
		Formula: "usage.completion_tokens of the answer, or its synonym", Group: Usage, Order: 1100, Neutral: true,
		LargerIsBetter: true, Int: true, Record: func(r *record.Record) float64 { return count(r.UsageCompletion) },
	},
	{
		Tag: "usage_reasoning_tokens", Header: "Usage Reasoning Tokens", Unit: "tokens",
		Formula: "usage.completion_tokens_details.reasoning_tokens, or its synonym", Group: Usage, Order: 1110,
		Neutral:        true,
		LargerIsBetter: true, Int: true, Record: func(r *record.Record) float64 { return count(r.UsageReasoning) },
	},
	{
		Tag: "usage_accepted_prediction_tokens", Header: "Usage Accepted Prediction Tokens", Unit: "tokens",
		Formula: "usage.completion_tokens_details.accepted_prediction_tokens: tokens of a predicted answer that are in the answer",
		Group:   Usage, Order: 1130, LargerIsBetter: true, Int: true, Needs: Tokens,
		Record: func(r *record.Record) float64 { return count(r.UsageAccepted) },
	},
	{
		Tag: "usage_rejected_prediction_tokens", Header: "Usage Rejected Prediction Tokens", Unit: "tokens",
		Formula: "usage.completion_tokens_details.rejected_prediction_tokens: tokens of a predicted answer that are not in the answer",
		Group:   Usage, Order: 1140, Int: true, Needs: Tokens,
		Record: func(r *record.Record) float64 { return count(r.UsageRejected) },
	},
	{
		Tag: "usage_total_tokens", Header: "Usage Total Tokens", Unit: "tokens",
		Formula: "usage.total_tokens of the answer", Group: Usage, Order: 1200,
		Neutral: true, LargerIsBetter: true, Int: true,
		Record: func(r *record.Record) float64 { return count(r.UsageTotal) },
	},
	{
		Tag: "usage_prompt_tokens_diff_pct", Header: "Usage Prompt Diff %", Unit: "%",
		Formula: "100 · abs(usage − client) / client, of prompt tokens", Group: Hidden, Order: 1300, Over: Signed,
		Needs: ClientCount, Record: func(r *record.Record) float64 { return diffPct(r.UsagePrompt, r.ISL) },
	},
	{
		Tag: "usage_completion_tokens_diff_pct", Header: "Usage Completion Diff %", Unit: "%",
		Formula: "100 · abs(usage − client) / client, of output tokens with reasoning", Group: Hidden, Order: 1310,
		Over: Signed, Needs: ClientCount | Tokens,
		Record: func(r *record.Record) float64 { return diffPct(r.UsageCompletion, r.OSL) },
	},
	{
		Tag: "usage_reasoning_tokens_diff_pct", Header: "Usage Reasoning Diff %", Unit: "%",
		Formula: "100 · abs(usage − client) / client, of reasoning tokens", Group: Hidden, Order: 1320, Over: Signed,
		Needs: ClientCount | Tokens, Record: func(r *record.Record) float64 {
			return diffPct(r.UsageReasoning,
				r.ReasoningTokens)
		},
	},
	{
		Tag: UsageDiscrepancyCount, Header: "Usage Discrepancy Count", Unit: "requests",
		Formula: "requests with any of the three above 10 %", Group: Hidden, Order: 1330, Over: Events,
		Needs: ClientCount, Int: true, Derived: total(usageDiscrepancy),
	},
	{
		Tag: "total_usage_prompt_tokens", Header: "Total Usage Prompt Tokens", Unit: "tokens",
		Formula: "Σ usage_prompt_tokens over successes", Group: Usage, Order: 2000, Neutral: true,
		Int: true, Derived: total(UsagePromptTokens),
	},
	{
		Tag: "total_usage_prompt_cache_read_tokens", Header: "Total Usage Prompt Cache Read Tokens", Unit: "tokens",
		Formula: "Σ usage_prompt_cache_read_tokens over successes", Group: Usage, Order: 2010, LargerIsBetter: true,
		Int: true, Derived: total("usage_prompt_cache_read_tokens"),
	},
	{
		Tag: "total_usage_completion_tokens", Header: "Total Usage Completion Tokens", Unit: "tokens",
		Formula: "Σ usage_completion_tokens over successes", Group: Usage, Order: 2100,
		Neutral: true, LargerIsBetter: true,
		Int: true, Derived: total("usage_completion_tokens"),
	},
	{
		Tag: "total_usage_reasoning_tokens", Header: "Total Usage Reasoning Tokens", Unit: "tokens",
		Formula: "Σ usage_reasoning_tokens over successes", Group: Usage, Order: 2110,
		Neutral: true, LargerIsBetter: true,
		Int: true, Derived: total("usage_reasoning_tokens"),
	},
	{
		Tag: "total_usage_accepted_prediction_tokens", Header: "Total Usage Accepted Prediction Tokens", Unit: "tokens",
		Formula: "Σ usage_accepted_prediction_tokens over successes", Group: Usage, Order: 2130, LargerIsBetter: true,
		Int: true, Needs: Tokens, Derived: total("usage_accepted_prediction_tokens"),
	},
	{
		Tag: "total_usage_rejected_prediction_tokens", Header: "Total Usage Rejected Prediction Tokens", Unit: "tokens",
		Formula: "Σ usage_rejected_prediction_tokens over successes", Group: Usage, Order: 2140, Int: true,
		Needs: Tokens, Derived: total("usage_rejected_prediction_tokens"),
	},
	{
		Tag: "total_usage_total_tokens", Header: "Total Usage Total Tokens", Unit: "tokens",
		Formula: "Σ usage_total_tokens over successes", Group: Usage, Order: 2200, Neutral: true, LargerIsBetter: true,
		Int: true, Derived: total("usage_total_tokens"),
	},
	{
		Tag: "overall_usage_prompt_cache_read_pct", Header: "Overall Usage Prompt Cache Read %", Unit: "%",
		Formula: "100 · Σ cached / Σ prompt", Group: Usage, Order: 2012, Over: Share, Per: "total_usage_prompt_tokens",
		LargerIsBetter: true, Derived: func(t *Totals) float64 {
			return 100 * per(t.Sum("usage_prompt_cache_read_tokens"), t.Sum(UsagePromptTokens))
		},
	},
}
