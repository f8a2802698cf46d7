package metrics

// Tags of the metrics that code names one by one: a check, a chart or a table is
// about these. They are spelled here and nowhere else; what they mean stands in the
// catalogue.
const (
	TimeToFirstToken             = "time_to_first_token"
	TimeToSecondToken            = "time_to_second_token"
	TimeToFirstOutputToken       = "time_to_first_output_token"
	RequestLatency               = "request_latency"
	DecodeDuration               = "decode_duration"
	InterTokenLatency            = "inter_token_latency"
	InterChunkLatency            = "inter_chunk_latency"
	OutputTokenThroughputPerUser = "output_token_throughput_per_user"
	OutputSequenceLength         = "output_sequence_length"
	InputSequenceLength          = "input_sequence_length"
	OutputTokenCount             = "output_token_count"
	ReasoningTokenCount          = "reasoning_token_count"
	OSLMismatchDiffPct           = "osl_mismatch_diff_pct"
	OutputTokenThroughput        = "output_token_throughput"
	RequestThroughput            = "request_throughput"
	Goodput                      = "goodput"
	GoodRequestFraction          = "good_request_fraction"
	ErrorRate                    = "error_rate"
	RequestCount                 = "request_count"
	ErrorRequestCount            = "error_request_count"
	BenchmarkDuration            = "benchmark_duration"
	OSLMismatchCount             = "osl_mismatch_count"
	TimeToFirstTokenFromIntended = "time_to_first_token_from_intended"
	RequestLatencyFromIntended   = "request_latency_from_intended"
	DispatchLateness             = "dispatch_lateness"
	AdmissionWait                = "admission_wait"
	UsagePromptTokens            = "usage_prompt_tokens"
	UsageDiscrepancyCount        = "usage_discrepancy_count"
	AdjustedRequestLatency       = "adj_request_latency"
	AdjustedTimeToFirstToken     = "adj_time_to_first_token"
)
