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

// family is a metric of a page: a figure under the server's name for it.
type family struct {
	name  string
	label string // more labels
	of    figure
}

// figure is something to tell, whatever it is called. One of value and times is set.
type figure struct {
	kind, help string
	value      func(s *Server, f *figures) float64
	times      func(f *figures) *histogram
	when       func(c *Config) bool // nil: always
}

func speeches() []speech {
	vllmLatency := []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	vllmFirst := []float64{
		.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160,
		640, 2560,
	}
	vllmGap := []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	return []speech{
		{SpeaksVLLM, "/metrics", `engine="0",model_name="%s"`, vllmFamilies(), vllmLatency, vllmFirst, vllmGap},
		{
			SpeaksSGLang, "/metrics", `engine_type="unified",model_name="%s",moe_ep_rank="0",pp_rank="0",tp_rank="0"`,
			sglangFamilies(),
			[]float64{.1, .2, .4, .8, 1, 2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 250, 300, 350, 500, 1000},
			[]float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400},
			[]float64{
				.002, .004, .006, .008, .01, .015, .02, .025, .03, .035, .04, .06, .08, .1, .2, .4, .6, .8, 1, 2,
				4, 6, 8,
			},
		},
		{
			SpeaksTRTLLM, "/prometheus/metrics", `model_name="%s",engine_type="trtllm"`, trtllmFamilies(), vllmLatency,
			vllmFirst, vllmGap,
		},
		{name: SpeaksLlamaCpp, path: "/metrics", families: llamacppFamilies()},
		{name: SpeaksNothing},
	}
}

func hasKV(c *Config) bool    { return c.KVBlocks > 0 }
func hasCache(c *Config) bool { return c.Cache > 0 }

// What there is to tell, in our own words.
var (
	running = figure{kind: "gauge", help: "Requests being worked on.", value: func(s *Server, f *figures) float64 {
		if c := &s.cfg; c.Step == 0 && c.Workers == 0 { // none ever waits
			return float64(f.active)
		}
		return float64(s.counts.running.Load())
	}}
	waiting = figure{
		kind: "gauge", help: "Requests in line.",
		value: func(s *Server, _ *figures) float64 { return float64(s.counts.waiting.Load()) },
	}
	kvUse = figure{
		kind: "gauge", help: "Share of the KV blocks in use, 0 to 1.",
		when: hasKV, value: func(s *Server, f *figures) float64 {
			return float64(f.blocks) / float64(s.cfg.KVBlocks)
		},
	}
	batch = figure{kind: "counter", help: "Sequences in an average step.", value: func(_ *Server, f *figures) float64 {
		return float64(f.stepped) / float64(max(1, f.steps))
	}}

	preemptions = counted("Requests that lost their KV blocks to older ones.",
		func(f *figures) float64 { return float64(f.preempted) }).where(hasKV)
	looked = counted("Prompt tokens looked up in the prefix cache.",
		func(f *figures) float64 { return float64(f.lookedUp) }).where(hasCache)
	found = counted("Prompt tokens found in the prefix cache.",
		func(f *figures) float64 { return float64(f.found) }).where(hasCache)
	prompt = counted("Prompt tokens, those from the cache included.",
		func(f *figures) float64 { return float64(f.prompt) })
	computed = counted("Prompt tokens, those from the cache left out.",
		func(f *figures) float64 { return float64(f.prompt - f.found) })
	generated   = counted("Tokens generated.", func(f *figures) float64 { return float64(f.generated) })
	whole       = counted("Requests answered, by how they ended.", func(f *figures) float64 { return float64(f.whole) })
	aborted     = counted(whole.help, func(f *figures) float64 { return float64(f.aborted) })
	failed      = counted(whole.help, func(f *figures) float64 { return float64(f.failed) })
	steps       = counted("Steps of the engine.", func(f *figures) float64 { return float64(f.steps) })
	prefillTime = counted("Time spent before first tokens, in seconds.",
		func(f *figures) float64 { return f.prefill.sum })
	decodeTime = counted("Time spent from first tokens to last ones, in seconds.",
		func(f *figures) float64 { return f.decode.sum })

	ttft = timed("From a request to its first token, in seconds.", func(f *figures) *histogram { return &f.ttft })
	itl  = timed("From one token to the next, in seconds.", func(f *figures) *histogram { return &f.itl })
	e2e  = timed("From a request to the end of its answer, in seconds.",
		func(f *figures) *histogram { return &f.e2e })
	queued   = timed("How long a request was in line, in seconds.", func(f *figures) *histogram { return &f.queue })
	inferred = timed("From a request's turn to the end of its answer, in seconds.",
		func(f *figures) *histogram { return &f.inferred })
	prefilled = timed("From a request's turn to its first token, in seconds.",
		func(f *figures) *histogram { return &f.prefill })
	decoded = timed("From a request's first token to its last, in seconds.",
		func(f *figures) *histogram { return &f.decode })
)

func counted(help string, of func(f *figures) float64) figure {
	return figure{kind: "counter", help: help, value: func(_ *Server, f *figures) float64 { return of(f) }}
}

func timed(help string, of func(f *figures) *histogram) figure {
	return figure{kind: "histogram", help: help, times: of}
}

func (f figure) where(has func(c *Config) bool) figure {
	f.when = has
	return f
}

func vllmFamilies() []family {
	return []family{
		{name: "vllm:num_requests_running", of: running},
		{name: "vllm:num_requests_waiting", of: waiting},
		{name: "vllm:kv_cache_usage_perc", of: kvUse},
		{name: "vllm:prefix_cache_queries_total", of: looked},
		{name: "vllm:prefix_cache_hits_total", of: found},
		{name: "vllm:num_preemptions_total", of: preemptions},
		{name: "vllm:prompt_tokens_total", of: prompt},
		{name: "vllm:generation_tokens_total", of: generated},
		{name: "vllm:request_success_total", label: `finished_reason="length"`, of: whole},
		{name: "vllm:request_success_total", label: `finished_reason="abort"`, of: aborted},
		{name: "vllm:request_success_total", label: `finished_reason="error"`, of: failed},
		{name: "vllm:time_to_first_token_seconds", of: ttft},
		{name: "vllm:inter_token_latency_seconds", of: itl},
		{name: "vllm:e2e_request_latency_seconds", of: e2e},
		{name: "vllm:request_queue_time_seconds", of: queued},
		{name: "vllm:request_inference_time_seconds", of: inferred},
		{name: "vllm:request_prefill_time_seconds", of: prefilled},
		{name: "vllm:request_decode_time_seconds", of: decoded},
	}
}

func sglangFamilies() []family {
	return []family{
		{name: "sglang:num_running_reqs", of: running},
		{name: "sglang:num_queue_reqs", of: waiting},
		{name: "sglang:token_usage", of: kvUse},
		{name: "sglang:full_token_usage", of: kvUse},
		{name: "sglang:cached_tokens_total", label: `source="device"`, of: found},
		{name: "sglang:num_retracted_requests_total", of: preemptions},
		{name: "sglang:prompt_tokens_total", of: prompt},
		{name: "sglang:generation_tokens_total", of: generated},
		{name: "sglang:num_requests_total", of: whole},
		{name: "sglang:num_aborted_requests_total", of: aborted},
		{name: "sglang:time_to_first_token_seconds", of: ttft},
		{name: "sglang:inter_token_latency_seconds", of: itl},
		{name: "sglang:e2e_request_latency_seconds", of: e2e},
		{name: "sglang:queue_time_seconds", of: queued},
	}
}

func trtllmFamilies() []family {
	return []family{
		{name: "trtllm_num_requests_running", of: running},
		{name: "trtllm_num_requests_waiting", of: waiting},
		{name: "trtllm_kv_cache_utilization", of: kvUse},
		{name: "trtllm_prompt_cached_tokens_total", of: found},
		{name: "trtllm_prompt_tokens_total", of: prompt},
		{name: "trtllm_generation_tokens_total", of: generated},
		{name: "trtllm_request_success_total", label: `finished_reason="length"`, of: whole},
		{name: "trtllm_time_to_first_token_seconds", of: ttft},
		{name: "trtllm_e2e_request_latency_seconds", of: e2e},
		{name: "trtllm_request_queue_time_seconds", of: queued},
		{name: "trtllm_request_prefill_time_seconds", of: prefilled},
		{name: "trtllm_request_decode_time_seconds", of: decoded},
	}
}

func llamacppFamilies() []family {
	return []family{
		{name: "llamacpp:requests_processing", of: running},
		{name: "llamacpp:requests_deferred", of: waiting},
		{name: "llamacpp:prompt_tokens_total", of: computed},
		{name: "llamacpp:prompt_tokens_cached_total", of: found},
		{name: "llamacpp:prompt_seconds_total", of: prefillTime},
		{name: "llamacpp:tokens_predicted_total", of: generated},
		{name: "llamacpp:tokens_predicted_seconds_total", of: decodeTime},
		{name: "llamacpp:n_decode_total", of: steps},
		{name: "llamacpp:n_busy_slots_per_decode", of: batch},
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
		if m.of.when != nil && !m.of.when(&s.cfg) {
			continue
		}
		if m.name != last {
			b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.of.help, m.name, m.of.kind)
			last = m.name
		}
		if m.of.value != nil {
			b = series(b, m.name, m.of.value(s, f), labels, m.label)
			continue
		}
		h, below := m.of.times(f), int64(0)
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
