package aiperf

import "aiperf.dev/aiperf/internal/metrics"

// Difference is one way in which a run's files differ from AIPerf 0.13's, on
// purpose. What is a metric's tag, a key or a file.
type Difference struct {
	Kind DifferenceKind
	What string
	Why  string
}

// DifferenceKind says what differs.
type DifferenceKind string

// The kinds.
const (
	Added   DifferenceKind = "added"   // ours has it, AIPerf's has not
	Absent  DifferenceKind = "absent"  // AIPerf's has it, ours has not
	Counted DifferenceKind = "counted" // both have it and count something else
	Valued  DifferenceKind = "valued"  // both have it and mean another number
)

// Differences are all of them. A test runs AIPerf's recorded scenarios and
// finds no other.
func Differences() []Difference {
	const (
		extra    = "an additional metric: readers take keys they do not know"
		lateness = "of a replay; dispatch_lateness has it, in every mode"
		nothing  = "nothing was streamed, so there is nothing to weigh; AIPerf writes zeros"
		jitter   = "AIPerf's chunks of one read share a stamp, which makes an inter-token latency of 0 and the request drop out"
	)
	var out []Difference
	for _, m := range metrics.Catalogue() {
		if m.AIPerf.Unknown {
			out = append(out, Difference{Added, m.Tag, extra})
		}
	}
	for _, tag := range rates() {
		out = append(out, Difference{Added, tag, "in profile_export_aiperf.json, which in AIPerf has counts of right answers and no rate"})
	}
	return append(out, []Difference{
		{Added, "adj_effective_latency", "AIPerf's documentation promises it"},
		{Added, "usage_prompt_tokens", "AIPerf leaves the usage of embeddings out"},
		{Added, "usage_total_tokens", "AIPerf leaves the usage of embeddings out"},
		{Added, "usage_prompt_tokens_diff_pct", "AIPerf leaves the usage of embeddings out"},
		{Added, "usage_discrepancy_count", "AIPerf leaves the usage of embeddings out"},
		{Added, "total_usage_prompt_tokens", "AIPerf leaves the usage of embeddings out"},
		{Added, "total_usage_total_tokens", "AIPerf leaves the usage of embeddings out"},
		{Added, "cancelled_request_count", "AIPerf's documentation promises it"},
		{Added, "request_ack_ns", "a request that was refused with a status was answered all the same"},
		{Added, "connection_reused_ns", "connections are opened before the first request, so it reuses one"},
		{Added, "cause", "what kind of failure it was to the client"},
		{Added, "response_headers", "AIPerf leaves it out of failed requests"},

		{Counted, "accuracy_export.jsonl", "answers alone: AIPerf grades a request that failed, or that came back without a text, as an empty, wrong answer, and counts it in accuracy_results.csv and accuracy.overall"},
		{Absent, "replay_sched_lag_p50", lateness},
		{Absent, "replay_sched_lag_p90", lateness},
		{Absent, "replay_sched_lag_p99", lateness},
		{Absent, "replay_sched_degraded", lateness},
		{Absent, "output_sequence_length", "embeddings produce no tokens; AIPerf writes 0"},
		{Absent, "effective_decode_throughput", nothing},
		{Absent, "effective_prefill_throughput", nothing},
		{Absent, "effective_decode_concurrency", nothing},
		{Absent, "effective_prefill_concurrency", nothing},
		{Absent, "effective_total_throughput", nothing},
		{Absent, "effective_decode_throughput_per_user", nothing},
		{Absent, "effective_prefill_throughput_per_user", nothing},
		{Absent, "tokens_in_flight", nothing},
		{Absent, "active_decode_throughput", nothing},
		{Absent, "active_prefill_throughput", nothing},
		{Absent, "active_decode_throughput_per_user", nothing},
		{Absent, "active_prefill_throughput_per_user", nothing},
		{Absent, "active_total_throughput", nothing},
		{Absent, "output_token_throughput_per_user", jitter},
		{
			Absent, "server_metrics.json",
			"of one phase; server_metrics_export.jsonl and .parquet have every sample with its time",
		},
		{
			Absent, "tcp_connect_start_ns",
			"connections are opened before the first request; connecting_ns is there when a request waited for one",
		},
		{Absent, "tcp_connect_end_ns", "connections are opened before the first request"},
		{Absent, "connecting_ns", "connections are opened before the first request"},
		{Absent, "cause", "no text of another program's exceptions"},

		{Counted, "output_token_throughput_per_user", jitter},
		{
			Counted, "credit_to_start_latency",
			"successes only; AIPerf counts failures, which it records as taking no time",
		},
		{Counted, "effective_latency", "successes only; AIPerf counts failures, which it records as taking no time"},
		{Counted, "usage_discrepancy_count", "depends on the tokens of the prompt, and so on the tokenizer"},

		{Valued, "request_end_ns", "a refused request took the time until its answer; AIPerf writes the start"},
		{Valued, "session_num", "numbers the plays of conversations, as its name says; AIPerf's numbers the requests of a phase"},
		{Valued, "http_req_sending", "AIPerf's includes connecting"},
		{Valued, "http_req_duration", "AIPerf's includes connecting"},
		{Valued, "http_req_total", "AIPerf counts connecting twice"},
		{Valued, "http_req_data_sent", "header and body; AIPerf's is the body"},
		{Valued, "http_req_data_received", "header, framing and body; AIPerf's is the body"},
		{
			Valued, "effective_decode_throughput",
			"a request whose content came in one read counts; AIPerf drops its tokens",
		},
		{Valued, "start_ns", "exact; AIPerf's slices begin and end at multiples of 256 ns"},
		{Valued, "end_ns", "exact; AIPerf's slices begin and end at multiples of 256 ns"},
		{Valued, "error_summary", "an error inside a stream keeps the server's words; AIPerf loses them"},
		{Valued, "cli_command", "values as they were given: AIPerf writes --ui None for none, which it does not take back"},
		{Valued, "variation_values", "with `multi_run.seeds: fixed` they are AIPerf's; else cells share what is drawn of a trial, and AIPerf's differ by cell (seed + index)"},
	}...)
}
