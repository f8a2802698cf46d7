package mockserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Speech is whose words /metrics is in.
type Speech string

// The servers whose words there are.
const (
	SpeaksVLLM     Speech = "vllm"
	SpeaksSGLang   Speech = "sglang"
	SpeaksTRTLLM   Speech = "trtllm"
	SpeaksLlamaCpp Speech = "llamacpp"
	SpeaksNothing  Speech = "off" // there is no such page
)

// speech is a row: where the page is, what is on it and how histograms are cut.
type speech struct {
	name     Speech
	path     string
	labels   string // of every series; %s is the model
	families []family
	latency  []float64 // edges of times of requests
	first    []float64 // of the time to first token
	gap      []float64 // of the time between tokens
}

// family is a metric of a page. One of value and times is set.
type family struct {
	name, kind, help string
	label            string // more labels
	value            func(s *Server, f *figures) float64
	times            func(f *figures) *histogram
	when             func(c *Config) bool // nil: always
}

func speeches() []speech {
	vllmLatency := []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	vllmFirst := []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	vllmGap := []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	return []speech{
		{SpeaksVLLM, "/metrics", `engine="0",model_name="%s"`, vllmFamilies(), vllmLatency, vllmFirst, vllmGap},
		{
			SpeaksSGLang, "/metrics", `engine_type="unified",model_name="%s",moe_ep_rank="0",pp_rank="0",tp_rank="0"`, sglangFamilies(),
			[]float64{.1, .2, .4, .8, 1, 2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 250, 300, 350, 500, 1000},
			[]float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400},
			[]float64{.002, .004, .006, .008, .01, .015, .02, .025, .03, .035, .04, .06, .08, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8},
		},
		{SpeaksTRTLLM, "/prometheus/metrics", `model_name="%s",engine_type="trtllm"`, trtllmFamilies(), vllmLatency, vllmFirst, vllmGap},
		{name: SpeaksLlamaCpp, path: "/metrics", families: llamacppFamilies()},
		{name: SpeaksNothing},
	}
}

func hasKV(c *Config) bool    { return c.KVBlocks > 0 }
func hasCache(c *Config) bool { return c.Cache > 0 }

func running(s *Server, f *figures) float64 {
	if c := &s.cfg; c.Step == 0 && c.Workers == 0 { // nobody waits
		return float64(f.active)
	}
	return float64(s.counts.running.Load())
}

func waiting(s *Server, _ *figures) float64 { return float64(s.counts.waiting.Load()) }
func kvUse(s *Server, f *figures) float64 {
	return float64(f.blocks) / float64(s.cfg.KVBlocks)
}
func prompt(_ *Server, f *figures) float64      { return float64(f.prompt) }
func generated(_ *Server, f *figures) float64   { return float64(f.generated) }
func preemptions(_ *Server, f *figures) float64 { return float64(f.preempted) }
func looked(_ *Server, f *figures) float64      { return float64(f.lookedUp) }
func found(_ *Server, f *figures) float64       { return float64(f.found) }
func whole(_ *Server, f *figures) float64       { return float64(f.whole) }

func vllmFamilies() []family {
	return []family{
		{name: "vllm:num_requests_running", kind: "gauge", help: "Number of requests in model execution batches.", value: running},
		{name: "vllm:num_requests_waiting", kind: "gauge", help: "Number of requests waiting to be processed.", value: waiting},
		{name: "vllm:kv_cache_usage_perc", kind: "gauge", help: "KV-cache usage. 1 means 100 percent usage.", value: kvUse, when: hasKV},
		{name: "vllm:prefix_cache_queries_total", kind: "counter", help: "Prefix cache queries, in terms of number of queried tokens.", value: looked, when: hasCache},
		{name: "vllm:prefix_cache_hits_total", kind: "counter", help: "Prefix cache hits, in terms of number of cached tokens.", value: found, when: hasCache},
		{name: "vllm:num_preemptions_total", kind: "counter", help: "Cumulative number of preemption from the engine.", value: preemptions, when: hasKV},
		{name: "vllm:prompt_tokens_total", kind: "counter", help: "Number of prefill tokens processed.", value: prompt},
		{name: "vllm:generation_tokens_total", kind: "counter", help: "Number of generation tokens processed.", value: generated},
		{name: "vllm:request_success_total", kind: "counter", help: "Count of successfully processed requests.", label: `finished_reason="length"`, value: whole},
		{name: "vllm:request_success_total", kind: "counter", help: "Count of successfully processed requests.", label: `finished_reason="abort"`, value: func(_ *Server, f *figures) float64 { return float64(f.aborted) }},
		{name: "vllm:request_success_total", kind: "counter", help: "Count of successfully processed requests.", label: `finished_reason="error"`, value: func(_ *Server, f *figures) float64 { return float64(f.failed) }},
		{name: "vllm:time_to_first_token_seconds", kind: "histogram", help: "Histogram of time to first token in seconds.", times: func(f *figures) *histogram { return &f.ttft }},
		{name: "vllm:inter_token_latency_seconds", kind: "histogram", help: "Histogram of inter-token latency in seconds.", times: func(f *figures) *histogram { return &f.itl }},
		{name: "vllm:e2e_request_latency_seconds", kind: "histogram", help: "Histogram of e2e request latency in seconds.", times: func(f *figures) *histogram { return &f.e2e }},
		{name: "vllm:request_queue_time_seconds", kind: "histogram", help: "Histogram of time spent in WAITING phase for request.", times: func(f *figures) *histogram { return &f.queue }},
		{name: "vllm:request_inference_time_seconds", kind: "histogram", help: "Histogram of time spent in RUNNING phase for request.", times: func(f *figures) *histogram { return &f.inferred }},
		{name: "vllm:request_prefill_time_seconds", kind: "histogram", help: "Histogram of time spent in PREFILL phase for request.", times: func(f *figures) *histogram { return &f.prefill }},
		{name: "vllm:request_decode_time_seconds", kind: "histogram", help: "Histogram of time spent in DECODE phase for request.", times: func(f *figures) *histogram { return &f.decode }},
	}
}

func sglangFamilies() []family {
	return []family{
		{name: "sglang:num_running_reqs", kind: "gauge", help: "The number of running requests.", value: running},
		{name: "sglang:num_queue_reqs", kind: "gauge", help: "The number of requests in the waiting queue.", value: waiting},
		{name: "sglang:token_usage", kind: "gauge", help: "The token usage.", value: kvUse, when: hasKV},
		{name: "sglang:full_token_usage", kind: "gauge", help: "The token usage of the full attention pool.", value: kvUse, when: hasKV},
		{name: "sglang:cached_tokens_total", kind: "counter", help: "Number of cached prompt tokens.", label: `source="device"`, value: found, when: hasCache},
		{name: "sglang:num_retracted_requests_total", kind: "counter", help: "Number of retracted requests.", value: preemptions, when: hasKV},
		{name: "sglang:prompt_tokens_total", kind: "counter", help: "Number of prefill tokens processed.", value: prompt},
		{name: "sglang:generation_tokens_total", kind: "counter", help: "Number of generation tokens processed.", value: generated},
		{name: "sglang:num_requests_total", kind: "counter", help: "Number of requests processed.", value: whole},
		{name: "sglang:num_aborted_requests_total", kind: "counter", help: "Number of requests aborted.", value: func(_ *Server, f *figures) float64 { return float64(f.aborted) }},
		{name: "sglang:time_to_first_token_seconds", kind: "histogram", help: "Histogram of time to first token in seconds.", times: func(f *figures) *histogram { return &f.ttft }},
		{name: "sglang:inter_token_latency_seconds", kind: "histogram", help: "Histogram of inter-token latency in seconds.", times: func(f *figures) *histogram { return &f.itl }},
		{name: "sglang:e2e_request_latency_seconds", kind: "histogram", help: "Histogram of End-to-end request latency in seconds.", times: func(f *figures) *histogram { return &f.e2e }},
		{name: "sglang:queue_time_seconds", kind: "histogram", help: "Histogram of queueing time in seconds.", times: func(f *figures) *histogram { return &f.queue }},
	}
}

func trtllmFamilies() []family {
	return []family{
		{name: "trtllm_num_requests_running", kind: "gauge", help: "Number of requests running.", value: running},
		{name: "trtllm_num_requests_waiting", kind: "gauge", help: "Number of requests waiting.", value: waiting},
		{name: "trtllm_kv_cache_utilization", kind: "gauge", help: "KV cache utilization.", value: kvUse, when: hasKV},
		{name: "trtllm_prompt_cached_tokens_total", kind: "counter", help: "Prompt tokens read from the KV cache.", value: found, when: hasCache},
		{name: "trtllm_prompt_tokens_total", kind: "counter", help: "Prompt tokens processed.", value: prompt},
		{name: "trtllm_generation_tokens_total", kind: "counter", help: "Tokens generated.", value: generated},
		{name: "trtllm_request_success_total", kind: "counter", help: "Count of successfully processed requests.", label: `finished_reason="length"`, value: whole},
		{name: "trtllm_time_to_first_token_seconds", kind: "histogram", help: "Histogram of time to first token in seconds.", times: func(f *figures) *histogram { return &f.ttft }},
		{name: "trtllm_e2e_request_latency_seconds", kind: "histogram", help: "Histogram of end to end request latency in seconds.", times: func(f *figures) *histogram { return &f.e2e }},
		{name: "trtllm_request_queue_time_seconds", kind: "histogram", help: "Histogram of time spent in WAITING phase for request.", times: func(f *figures) *histogram { return &f.queue }},
		{name: "trtllm_request_prefill_time_seconds", kind: "histogram", help: "Histogram of time spent in PREFILL phase for request.", times: func(f *figures) *histogram { return &f.prefill }},
		{name: "trtllm_request_decode_time_seconds", kind: "histogram", help: "Histogram of time spent in DECODE phase for request.", times: func(f *figures) *histogram { return &f.decode }},
	}
}

func llamacppFamilies() []family {
	return []family{
		{name: "llamacpp:requests_processing", kind: "gauge", help: "Number of requests processing.", value: running},
		{name: "llamacpp:requests_deferred", kind: "gauge", help: "Number of requests deferred.", value: waiting},
		{name: "llamacpp:prompt_tokens_total", kind: "counter", help: "Number of prompt tokens processed.", value: func(s *Server, f *figures) float64 { return float64(f.prompt - f.found) }},
		{name: "llamacpp:prompt_tokens_cached_total", kind: "counter", help: "Number of prompt tokens found in the cache.", value: found, when: hasCache},
		{name: "llamacpp:prompt_seconds_total", kind: "counter", help: "Prompt process time", value: func(_ *Server, f *figures) float64 { return f.prefill.sum }},
		{name: "llamacpp:tokens_predicted_total", kind: "counter", help: "Number of generation tokens processed.", value: generated},
		{name: "llamacpp:tokens_predicted_seconds_total", kind: "counter", help: "Predict process time", value: func(_ *Server, f *figures) float64 { return f.decode.sum }},
		{name: "llamacpp:n_decode_total", kind: "counter", help: "Total number of llama_decode() calls", value: func(_ *Server, f *figures) float64 { return float64(f.steps) }},
		{name: "llamacpp:n_busy_slots_per_decode", kind: "counter", help: "Average number of busy slots per llama_decode() call", value: func(_ *Server, f *figures) float64 {
			return float64(f.stepped) / float64(max(1, f.steps))
		}},
	}
}

// speaks is the row of a server's words.
func (c *Config) speaks() speech {
	for _, s := range speeches() {
		if s.name == c.Metrics {
			return s
		}
	}
	return speech{}
}

// cut gives the histograms the edges of the words they are told in.
func (f *figures) cut(sp speech) {
	f.ttft.edges, f.itl.edges = sp.first, sp.gap
	for _, h := range []*histogram{&f.e2e, &f.queue, &f.prefill, &f.decode, &f.inferred} {
		h.edges = sp.latency
	}
}

// exposition is a page in Prometheus' text format; nil where there is none.
func (s *Server) exposition(path string) (b []byte) {
	sp := s.cfg.speaks()
	if sp.path == "" || sp.path != path {
		return nil
	}
	labels := sp.labels
	if labels != "" {
		labels = fmt.Sprintf(labels, escaped(s.models()[0]))
	}
	f := &s.figures
	f.mu.Lock()
	defer f.mu.Unlock()
	last := ""
	for _, m := range sp.families {
		if m.when != nil && !m.when(&s.cfg) {
			continue
		}
		if m.name != last {
			b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
			last = m.name
		}
		if m.value != nil {
			b = series(b, m.name, m.value(s, f), labels, m.label)
			continue
		}
		h, below := m.times(f), int64(0)
		for i, edge := range h.edges {
			if h.counts != nil {
				below += h.counts[i]
			}
			b = series(b, m.name+"_bucket", float64(below), labels, `le="`+float(edge)+`"`)
		}
		b = series(b, m.name+"_bucket", float64(h.n), labels, `le="+Inf"`)
		b = series(b, m.name+"_count", float64(h.n), labels)
		b = series(b, m.name+"_sum", h.sum, labels)
	}
	return b
}

// series is one line.
func series(b []byte, name string, v float64, labels ...string) []byte {
	b = append(b, name...)
	labels = slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return l == "" })
	if len(labels) > 0 {
		b = append(append(append(b, '{'), strings.Join(labels, ",")...), '}')
	}
	return append(append(append(b, ' '), float(v)...), '\n')
}

// float is v as Python's client writes it.
func float(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// escaped is a label's value.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}
