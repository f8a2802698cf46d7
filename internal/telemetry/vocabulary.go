package telemetry

import (
	"slices"
	"strings"
	"sync"
)

// Word is what a figure of a server means, whatever the server calls it.
type Word struct {
	Name, Unit string
	Type       string // gauge, counter or histogram
	Doc        string
}

// Words are the vocabulary, in the order in which it is shown.
func Words() []Word {
	return []Word{
		{"running", "requests", Gauge, "requests being worked on"},
		{"waiting", "requests", Gauge, "requests waiting for their turn"},
		{"kv_use", "ratio", Gauge, "share of the KV cache in use"},
		{"swapped", "requests", Gauge, "requests whose KV cache was moved out of the way"},
		{"preemptions", "", Counter, "how often a request lost its place in the KV cache"},
		{"prefix_hits", "tokens", Counter, "prompt tokens found in the prefix cache"},
		{"prefix_queries", "tokens", Counter, "prompt tokens looked up in the prefix cache"},
		{"prompt_tokens", "tokens", Counter, "prompt tokens read"},
		{"generated_tokens", "tokens", Counter, "tokens generated"},
		{"spec_accepted", "tokens", Counter, "draft tokens that were accepted"},
		{"spec_drafted", "tokens", Counter, "draft tokens"},
		{"queue_time", "seconds", Histogram, "time a request waited for its turn"},
		{"prefill_time", "seconds", Histogram, "time from its turn to the first token"},
		{"decode_time", "seconds", Histogram, "time from the first token to the last"},
		{"ttft", "seconds", Histogram, "time to first token, as the server measures it"},
		{"itl", "seconds", Histogram, "time between tokens"},
		{"e2e", "seconds", Histogram, "time from a request to the end of its answer"},
	}
}

// Ratio is a word that follows from two others: Part ÷ Whole, both as they grew over a
// window.
type Ratio struct {
	Word
	Part, Whole string
}

// Ratios are the words that no server needs to say.
func Ratios() []Ratio {
	share := func(name, part, whole, doc string) Ratio {
		return Ratio{Word{name, "ratio", Gauge, doc}, part, whole}
	}
	return []Ratio{
		share("prefix_hit_rate", "prefix_hits", "prefix_queries",
			"share of the prompt tokens that the prefix cache had"),
		share("spec_accept", "spec_accepted", "spec_drafted", "share of the drafted tokens that were accepted"),
		share("queue_share", "queue_time", "e2e",
			"of a request's time at the server, the part in which it waits for its turn"),
		share("prefill_share", "prefill_time", "e2e",
			"of a request's time at the server, the part in which its prompt is read"),
		share("decode_share", "decode_time", "e2e",
			"of a request's time at the server, the part in which tokens are made"),
	}
}

// AllWords are the vocabulary with what follows from it.
func AllWords() []Word {
	all := Words()
	for _, r := range Ratios() {
		all = append(all, r.Word)
	}
	return all
}

// Tag is what tables call a word of the vocabulary.
func Tag(word string) string { return "server_" + word }

// Stats are the statistics that a figure of the word has over a window.
func (w *Word) Stats() []string {
	switch {
	case slices.ContainsFunc(Ratios(), func(r Ratio) bool { return r.Name == w.Name }):
		return []string{"avg"}
	case w.Type == Counter:
		return []string{"sum", "rate"}
	case w.Type == Histogram:
		return []string{"count", "sum", "avg", "p50", "p90", "p99"}
	}
	return []string{"avg", "min", "max", "p50", "p90", "p99"}
}

// Fold is how the values of one metric are made one figure of a server.
type Fold string

// The folds.
const (
	Add  Fold = "add"  // each is a part of the whole: requests of engines, tokens
	Mean Fold = "mean" // each is a share of something of its own: the use of caches
)

// Meaning says which metric of which server means a word.
type Meaning struct {
	Server, Metric, Word string
	Fold                 Fold
	// labels over which one value is repeated, such as ranks of an engine: the largest counts
	Same  string
	Only  [2]string // the label and value of the series that are meant; any without
	Kind  string    // the kind of sample that is meant, where it is not the word's
	Scale float64   // to the word's unit; 0 for 1
}

// sglangRanks are ranks of one scheduler: each of them says the same. dp_rank tells
// schedulers apart.
const sglangRanks = "tp_rank pp_rank moe_ep_rank"

// Meanings are what is known of servers' metrics. Of several rows of a word the first that a page has is
// taken: an engine's own before that of what stands in front of it, today's name before
// an older one.
func Meanings() []Meaning {
	return []Meaning{
		{Server: "vLLM", Metric: "vllm:num_requests_running", Word: "running", Fold: Add},
		{Server: "vLLM", Metric: "vllm:num_requests_waiting", Word: "waiting", Fold: Add},
		{Server: "vLLM", Metric: "vllm:num_requests_swapped", Word: "swapped", Fold: Add},
		{Server: "vLLM", Metric: "vllm:kv_cache_usage_perc", Word: "kv_use", Fold: Mean},
		{Server: "vLLM", Metric: "vllm:gpu_cache_usage_perc", Word: "kv_use", Fold: Mean},
		{Server: "vLLM", Metric: "vllm:num_preemptions_total", Word: "preemptions", Fold: Add},
		{Server: "vLLM", Metric: "vllm:prefix_cache_hits_total", Word: "prefix_hits", Fold: Add},
		{Server: "vLLM", Metric: "vllm:gpu_prefix_cache_hits_total", Word: "prefix_hits", Fold: Add},
		{Server: "vLLM", Metric: "vllm:prefix_cache_queries_total", Word: "prefix_queries", Fold: Add},
		{Server: "vLLM", Metric: "vllm:gpu_prefix_cache_queries_total", Word: "prefix_queries", Fold: Add},
		{Server: "vLLM", Metric: "vllm:prompt_tokens_total", Word: "prompt_tokens", Fold: Add},
		{Server: "vLLM", Metric: "vllm:generation_tokens_total", Word: "generated_tokens", Fold: Add},
		{Server: "vLLM", Metric: "vllm:spec_decode_num_accepted_tokens_total", Word: "spec_accepted", Fold: Add},
		{Server: "vLLM", Metric: "vllm:spec_decode_num_draft_tokens_total", Word: "spec_drafted", Fold: Add},
		{Server: "vLLM", Metric: "vllm:request_queue_time_seconds", Word: "queue_time", Fold: Add},
		{Server: "vLLM", Metric: "vllm:request_prefill_time_seconds", Word: "prefill_time", Fold: Add},
		{Server: "vLLM", Metric: "vllm:request_decode_time_seconds", Word: "decode_time", Fold: Add},
		{Server: "vLLM", Metric: "vllm:time_to_first_token_seconds", Word: "ttft", Fold: Add},
		{Server: "vLLM", Metric: "vllm:inter_token_latency_seconds", Word: "itl", Fold: Add},
		{Server: "vLLM", Metric: "vllm:time_per_output_token_seconds", Word: "itl", Fold: Add},
		{Server: "vLLM", Metric: "vllm:e2e_request_latency_seconds", Word: "e2e", Fold: Add},

		{Server: "SGLang", Metric: "sglang:num_running_reqs", Word: "running", Fold: Add, Same: sglangRanks},
		{Server: "SGLang", Metric: "sglang:num_queue_reqs", Word: "waiting", Fold: Add, Same: sglangRanks},
		{Server: "SGLang", Metric: "sglang:full_token_usage", Word: "kv_use", Fold: Mean, Same: sglangRanks},
		{Server: "SGLang", Metric: "sglang:token_usage", Word: "kv_use", Fold: Mean, Same: sglangRanks},
		{
			Server: "SGLang", Metric: "sglang:num_retracted_requests_total", Word: "preemptions", Fold: Add,
			Same: sglangRanks,
		},
		{Server: "SGLang", Metric: "sglang:cached_tokens_total", Word: "prefix_hits", Fold: Add, Same: sglangRanks},
		{Server: "SGLang", Metric: "sglang:prompt_tokens_total", Word: "prefix_queries", Fold: Add, Same: sglangRanks},
		{Server: "SGLang", Metric: "sglang:prompt_tokens_total", Word: "prompt_tokens", Fold: Add, Same: sglangRanks},
		{
			Server: "SGLang", Metric: "sglang:generation_tokens_total", Word: "generated_tokens", Fold: Add,
			Same: sglangRanks,
		},
		{Server: "SGLang", Metric: "sglang:queue_time_seconds", Word: "queue_time", Fold: Add, Same: sglangRanks},
		{Server: "SGLang", Metric: "sglang:time_to_first_token_seconds", Word: "ttft", Fold: Add, Same: sglangRanks},
		{Server: "SGLang", Metric: "sglang:inter_token_latency_seconds", Word: "itl", Fold: Add, Same: sglangRanks},
		{Server: "SGLang", Metric: "sglang:e2e_request_latency_seconds", Word: "e2e", Fold: Add, Same: sglangRanks},

		{Server: "TensorRT-LLM", Metric: "trtllm_num_requests_running", Word: "running", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_num_requests_waiting", Word: "waiting", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_num_paused_requests", Word: "swapped", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_kv_cache_utilization", Word: "kv_use", Fold: Mean},
		{Server: "TensorRT-LLM", Metric: "trtllm_prompt_cached_tokens_total", Word: "prefix_hits", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_prompt_tokens_total", Word: "prefix_queries", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_prompt_tokens_total", Word: "prompt_tokens", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_generation_tokens_total", Word: "generated_tokens", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_spec_decode_accepted_tokens_total", Word: "spec_accepted", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_spec_decode_drafted_tokens_total", Word: "spec_drafted", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_request_queue_time_seconds", Word: "queue_time", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_request_prefill_time_seconds", Word: "prefill_time", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_request_decode_time_seconds", Word: "decode_time", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_time_to_first_token_seconds", Word: "ttft", Fold: Add},
		{Server: "TensorRT-LLM", Metric: "trtllm_e2e_request_latency_seconds", Word: "e2e", Fold: Add},

		{Server: "llama.cpp", Metric: "llamacpp:requests_processing", Word: "running", Fold: Add},
		{Server: "llama.cpp", Metric: "llamacpp:requests_deferred", Word: "waiting", Fold: Add},
		{Server: "llama.cpp", Metric: "llamacpp:kv_cache_usage_ratio", Word: "kv_use", Fold: Mean},
		{Server: "llama.cpp", Metric: "llamacpp:prompt_tokens_cached_total", Word: "prefix_hits", Fold: Add},
		{Server: "llama.cpp", Metric: "llamacpp:prompt_tokens_total", Word: "prompt_tokens", Fold: Add},
		{Server: "llama.cpp", Metric: "llamacpp:tokens_predicted_total", Word: "generated_tokens", Fold: Add},
		{
			Server: "llama.cpp", Metric: "llamacpp:spec_decode_num_accepted_tokens_total", Word: "spec_accepted",
			Fold: Add,
		},
		{Server: "llama.cpp", Metric: "llamacpp:spec_decode_num_draft_tokens_total", Word: "spec_drafted", Fold: Add},
		{Server: "llama.cpp", Metric: "llamacpp:prompt_seconds_total", Word: "prefill_time", Fold: Add, Kind: Counter},
		{
			Server: "llama.cpp", Metric: "llamacpp:tokens_predicted_seconds_total", Word: "decode_time", Fold: Add,
			Kind: Counter,
		},

		{Server: "TGI", Metric: "tgi_batch_current_size", Word: "running", Fold: Add},
		{Server: "TGI", Metric: "tgi_queue_size", Word: "waiting", Fold: Add},
		{Server: "TGI", Metric: "tgi_request_input_length", Word: "prompt_tokens", Fold: Add, Kind: Sum},
		{Server: "TGI", Metric: "tgi_request_generated_tokens", Word: "generated_tokens", Fold: Add, Kind: Sum},
		{Server: "TGI", Metric: "tgi_request_queue_duration", Word: "queue_time", Fold: Add},
		{Server: "TGI", Metric: "tgi_request_duration", Word: "e2e", Fold: Add},

		{
			Server: "Triton", Metric: "nv_trt_llm_request_metrics", Word: "running", Fold: Add,
			Only: [2]string{"request_type", "scheduled"},
		},
		{
			Server: "Triton", Metric: "nv_trt_llm_request_metrics", Word: "waiting",
			Fold: Add, Only: [2]string{"request_type", "waiting"},
		},
		{
			Server: "Triton", Metric: "nv_trt_llm_kv_cache_block_metrics", Word: "kv_use", Fold: Mean,
			Only: [2]string{"kv_cache_block_type", "fraction"},
		},
		{
			Server: "Triton", Metric: "nv_inference_queue_duration_us", Word: "queue_time", Fold: Add, Kind: Counter,
			Scale: 1e-6,
		},
		{
			Server: "Triton", Metric: "nv_inference_request_duration_us", Word: "e2e", Fold: Add, Kind: Counter,
			Scale: 1e-6,
		},

		// In front of engines, whose own metrics it passes on. Its queue holds a request
		// until the first token.
		{Server: "Dynamo", Metric: "dynamo_frontend_inflight_requests", Word: "running", Fold: Add},
		{Server: "Dynamo", Metric: "dynamo_frontend_queued_requests", Word: "waiting", Fold: Add},
		{Server: "Dynamo", Metric: "dynamo_component_kvstats_gpu_cache_usage_percent", Word: "kv_use", Fold: Mean},
		{Server: "Dynamo", Metric: "dynamo_frontend_output_tokens_total", Word: "generated_tokens", Fold: Add},
		{Server: "Dynamo", Metric: "dynamo_frontend_time_to_first_token_seconds", Word: "ttft", Fold: Add},
		{Server: "Dynamo", Metric: "dynamo_frontend_inter_token_latency_seconds", Word: "itl", Fold: Add},
		{Server: "Dynamo", Metric: "dynamo_frontend_request_duration_seconds", Word: "e2e", Fold: Add},
	}
}

// byMetric are the rows of each name. A sample asks for its own, so it is made once.
var byMetric = sync.OnceValue(func() map[string][]Meaning {
	rows := map[string][]Meaning{}
	for _, m := range Meanings() {
		rows[m.Metric] = append(rows[m.Metric], m)
		if bare, total := strings.CutSuffix(m.Metric, "_total"); total {
			rows[bare] = append(rows[bare], m)
		}
	}
	return rows
})

// byWord are the rows of each word, in their order. The screen asks for some of them each time it is drawn.
var byWord = sync.OnceValue(func() map[string][]Meaning {
	rows := map[string][]Meaning{}
	for _, m := range Meanings() {
		rows[m.Word] = append(rows[m.Word], m)
	}
	return rows
})

// Means are the rows of a metric, whose name may lack the _total of a counter. They
// belong to the vocabulary.
func Means(metric string) []Meaning { return byMetric()[metric] }
