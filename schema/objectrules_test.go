package schema

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// ruleCases break one rule each: an object, by its path in the schema, and the
// field and words the rule must answer with.
var ruleCases = []struct{ path, object, field, words string }{
	{"benchmark", `{endpoint: {}, models: "a", model: "b"}`, "model", "cannot be combined with models"},
	{"benchmark", `{endpoint: {}, datasets: [{name: "a"}], dataset: {name: "b"}}`, "dataset", "cannot be combined with datasets"},
	{"benchmark", `{endpoint: {}, phases: [{name: "profiling"}], warmup: {name: "warmup"}}`, "warmup", "cannot be combined with phases"},
	{"benchmark", `{endpoint: {}, phases: [{name: "profiling"}], profiling: {name: "profiling"}}`, "profiling", "cannot be combined with phases"},

	{"benchmark.endpoint", `{url: "mock:", urls: ["mock:"]}`, "url", "cannot be combined with urls"},
	{"benchmark.endpoint", `{client_cert: "c.pem"}`, "client_cert", "needs client_key"},
	{"benchmark.endpoint", `{client_key: "k.pem"}`, "client_key", "needs client_cert"},
	{"benchmark.endpoint.flip", `{call: "/x", command: ["y"]}`, "command", "cannot be combined with call"},

	{"benchmark.server.before_run.*", `{action: "sleep", call: "/x"}`, "call", "cannot be combined with action"},
	{"benchmark.server.before_run.*", `{action: "sleep", command: ["y"]}`, "command", "cannot be combined with action"},
	{"benchmark.server.after_run.*", `{call: "/x", command: ["y"]}`, "command", "cannot be combined with call"},

	{"benchmark.datasets.*", `{name: "d", type: "file", path: "a", records: [{text: "a"}]}`, "records", "cannot be combined with path"},
	{"benchmark.datasets.*", `{name: "d", type: "file"}`, "path", "required by type: file"},
	{"benchmark.datasets.*", `{name: "d", path: "a"}`, "path", "needs type: file"},
	{"benchmark.datasets.*", `{name: "d", records: [{text: "a"}]}`, "records", "needs type: file"},
	{"benchmark.datasets.*", `{name: "d", format: "single_turn"}`, "format", "needs type: file"},
	{"benchmark.datasets.*", `{name: "d", type: "public"}`, "dataset", "required by type: public"},
	{"benchmark.datasets.*", `{name: "d", dataset: "sharegpt"}`, "dataset", "needs type: public"},
	{"benchmark.datasets.*", `{name: "d", hf_subset: "x"}`, "hf_subset", "needs type: public"},
	{"benchmark.datasets.*", `{name: "d", filters: {a: 1}}`, "filters", "needs type: public"},
	{"benchmark.datasets.*", `{name: "d", folder: "x"}`, "folder", "needs type: public"},
	{"benchmark.datasets.*", `{name: "d", type: "file", path: "a", turns: 3}`, "turns", "cannot be combined with type: file"},
	{"benchmark.datasets.*", `{name: "d", type: "file", path: "a", prefix_prompts: {length: 3}}`, "prefix_prompts", "needs type: synthetic"},
	{"benchmark.datasets.*", `{name: "d", type: "file", path: "a", rankings: {}}`, "rankings", "needs type: synthetic"},
	{"benchmark.datasets.*", `{name: "d", type: "file", path: "a", open_loop_replay: false, open_loop_strict: true}`, "open_loop_strict", "needs open_loop_replay"},
	{"benchmark.datasets.*", `{name: "d", ignore_trace_delays: true, use_think_time_only: true}`, "use_think_time_only", "cannot be combined with ignore_trace_delays"},

	{"benchmark.datasets.*.prefix_prompts", `{length: 1, shared_system_length: 1}`, "length", "cannot be combined with shared_system_length"},
	{"benchmark.datasets.*.prefix_prompts", `{length: 1, user_context_length: 1}`, "length", "cannot be combined with user_context_length"},
	{"benchmark.datasets.*.prefix_prompts", `{pool_size: 1, shared_system_length: 1}`, "pool_size", "cannot be combined with shared_system_length"},
	{"benchmark.datasets.*.prefix_prompts", `{pool_size: 1, user_context_length: 1}`, "pool_size", "cannot be combined with user_context_length"},

	{"benchmark.datasets.*.turns", `{p50: 3}`, "p99", "required beside p50"},
	{"benchmark.datasets.*.turns", `{p99: 3}`, "p50", "required beside p99"},
	{"benchmark.datasets.*.turns", `{p50: 3, p99: 3}`, "p99", "must be above p50"},
	{"benchmark.datasets.*.turns", `{median: 3}`, "mean", "required beside median"},
	{"benchmark.datasets.*.turns", `{median: 3, mean: 2}`, "mean", "must be at least the median"},
	{"benchmark.datasets.*.turns", `{mean: 3, min: 5, max: 4}`, "min", "must not be above max"},
	{"benchmark.datasets.*.turns", `{stddev: 1}`, "mean", "required beside stddev"},
	{"benchmark.datasets.*.turns", `{type: "fixed", mean: 1}`, "value", "required by type: fixed"},
	{"benchmark.datasets.*.turns", `{type: "normal", value: 1}`, "mean", "required by type: normal"},
	{"benchmark.datasets.*.turns", `{type: "lognormal", mean: 1}`, "median", "required by type: lognormal"},
	{"benchmark.datasets.*.turns", `{type: "percentile", mean: 1}`, "p50", "required by type: percentile"},
	{"benchmark.datasets.*.turns", `{type: "multimodal", mean: 1}`, "peaks", "required by type: multimodal"},
	{"benchmark.datasets.*.turns", `{type: "empirical", mean: 1}`, "points", "required by type: empirical"},

	{"benchmark.datasets.*", `{turns: 0}`, "turns", "must be at least 1"},
	{"benchmark.datasets.*.rankings", `{passages: {mean: 0}}`, "passages", "must be at least 1"},
	{"benchmark.datasets.*.rankings", `{passage_tokens: {mean: 0}}`, "passage_tokens", "must be at least 1"},
	{"benchmark.datasets.*.rankings", `{query_tokens: {mean: 0}}`, "query_tokens", "must be at least 1"},
	{"benchmark.datasets.*.video", `{width: 3}`, "width", "needs height"},
	{"benchmark.datasets.*.video", `{height: 3}`, "height", "needs width"},

	{"benchmark.phases.*", `{name: "steady"}`, "kind", "required unless the phase is called warmup or profiling"},
	{"benchmark.phases.*", `{name: "profiling", type: "concurrency", rate: 3}`, "rate", "cannot be combined with type: concurrency"},
	{"benchmark.phases.*", `{name: "profiling", type: "concurrency", rate_series: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}`, "rate_series", "cannot be combined with type: concurrency"},
	{"benchmark.phases.*", `{name: "profiling", type: "concurrency", rate_ramp: 3}`, "rate_ramp", "cannot be combined with type: concurrency"},
	{"benchmark.phases.*", `{name: "profiling", type: "poisson"}`, "rate", "required by type: poisson"},
	{"benchmark.phases.*", `{name: "profiling", type: "user_centric", users: 3}`, "rate", "required by type: user_centric"},
	{"benchmark.phases.*", `{name: "profiling", type: "user_centric", rate: 3}`, "users", "required by type: user_centric"},
	{"benchmark.phases.*", `{name: "profiling", type: "user_centric", users: 3, rate_series: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}`, "rate_series", "cannot be combined with type: user_centric"},
	{"benchmark.phases.*", `{name: "profiling", type: "user_centric", users: 3, rate: 3, rate_ramp: 3}`, "rate_ramp", "cannot be combined with type: user_centric"},
	{"benchmark.phases.*", `{name: "profiling", type: "poisson", rate: 3, users: 3}`, "users", "needs type: user_centric"},
	{"benchmark.phases.*", `{name: "profiling", type: "poisson", rate: 3, smoothness: 2}`, "smoothness", "needs type: gamma"},
	{"benchmark.phases.*", `{name: "profiling", type: "fixed_schedule", rate: 3}`, "rate", "cannot be combined with type: fixed_schedule"},
	{"benchmark.phases.*", `{name: "profiling", type: "fixed_schedule", rate_series: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}`, "rate_series", "cannot be combined with type: fixed_schedule"},
	{"benchmark.phases.*", `{name: "profiling", type: "fixed_schedule", rate_ramp: 3}`, "rate_ramp", "cannot be combined with type: fixed_schedule"},
	{"benchmark.phases.*", `{name: "profiling", type: "constant", rate: 3, auto_offset: true}`, "auto_offset", "needs type: fixed_schedule"},
	{"benchmark.phases.*", `{name: "profiling", type: "constant", rate: 3, start_offset: 1}`, "start_offset", "needs type: fixed_schedule"},
	{"benchmark.phases.*", `{name: "profiling", type: "constant", rate: 3, end_offset: 1}`, "end_offset", "needs type: fixed_schedule"},
	{"benchmark.phases.*", `{name: "profiling", type: "constant", rate: 3, rate_series: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}`, "rate_series", "cannot be combined with rate"},
	{"benchmark.phases.*", `{name: "profiling", type: "fixed_schedule", auto_offset: true, start_offset: 1}`, "start_offset", "cannot be combined with auto_offset"},
	{"benchmark.phases.*", `{name: "profiling", type: "fixed_schedule", start_offset: 9, end_offset: 3}`, "start_offset", "must not be above end_offset"},
	{"benchmark.phases.*", `{name: "profiling", requests: 3, grace_period: 3}`, "grace_period", "needs duration"},
	{"benchmark.phases.*", `{name: "profiling", concurrency: 3, prefill_concurrency: 4}`, "prefill_concurrency", "must not be above concurrency"},
	{"benchmark.phases.*", `{name: "profiling", type: "user_centric", rate: 1, users: 3, requests: 2}`, "requests", "must be at least users"},
	{"benchmark.phases.*", `{name: "profiling", type: "user_centric", rate: 1, users: 3, sessions: 2}`, "sessions", "must be at least users"},
	{"benchmark.phases.*", `{name: "warmup", kind: "warmup", seamless: true}`, "seamless", "cannot be combined with kind: warmup"},
	{"benchmark.phases.*", `{name: "warmup", kind: "warmup", cancellation: rate: 3}`, "cancellation", "cannot be combined with kind: warmup"},
	{"benchmark.phases.*", `{name: "profiling", requests: 3, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "duration", "required by adaptive_scale"},
	{"benchmark.phases.*", `{name: "profiling", duration: 3, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "duration", "must not be below adaptive_scale.assessment_period"},
	{"benchmark.phases.*", `{name: "profiling", type: "concurrency", duration: 60, adaptive_scale: {control: {variable: "request_rate", max: 3}, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "adaptive_scale", "control.variable: request_rate needs a type with a rate"},
	{"benchmark.phases.*", `{name: "profiling", type: "user_centric", users: 3, rate: 3, duration: 60, adaptive_scale: {control: {variable: "request_rate", max: 3}, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "adaptive_scale", "control.variable: request_rate cannot be combined with type: user_centric"},
	{"benchmark.phases.*", `{name: "profiling", type: "poisson", rate_series: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}], duration: 60, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "rate_series", "cannot be combined with adaptive_scale"},
	{"benchmark.phases.*", `{name: "profiling", type: "poisson", rate: 3, rate_ramp: 3, duration: 60, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "rate_ramp", "cannot be combined with adaptive_scale"},
	{"benchmark.phases.*", `{name: "profiling", concurrency: 3, concurrency_ramp: 3, duration: 60, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "concurrency_ramp", "cannot be combined with adaptive_scale"},
	{"benchmark.phases.*", `{name: "profiling", prefill_concurrency: 3, prefill_ramp: 3, duration: 60, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "prefill_ramp", "cannot be combined with adaptive_scale"},
	{"benchmark.phases.*", `{name: "warmup", kind: "warmup", duration: 60, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "adaptive_scale", "cannot be combined with kind: warmup"},
	{"benchmark.phases.*", `{name: "profiling", type: "fixed_schedule", duration: 60, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "adaptive_scale", "cannot be combined with type: fixed_schedule"},
	{"benchmark.phases.*", `{name: "profiling", type: "agentic_replay", concurrency: 2, duration: 60, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "adaptive_scale", "cannot be combined with type: agentic_replay"},
	{"benchmark.phases.*", `{name: "profiling", type: "concurrency", stability: {}}`, "duration", "required by stability"},
	{"benchmark.phases.*", `{name: "profiling", type: "concurrency", duration: 60, requests: 3, stability: {}}`, "stability", "cannot be combined with requests"},
	{"benchmark.phases.*", `{name: "profiling", type: "concurrency", duration: 60, sessions: 3, stability: {}}`, "stability", "cannot be combined with sessions"},
	{"benchmark.phases.*", `{name: "profiling", type: "concurrency", duration: 60, stability: {}, adaptive_scale: {control: max: 3, sla: [{metric_tag: "request_latency", op: "lt", threshold: 1}]}}`, "stability", "cannot be combined with adaptive_scale"},
	{"benchmark.phases.*", `{name: "warmup", kind: "warmup", type: "concurrency", duration: 60, stability: {}}`, "stability", "cannot be combined with kind: warmup"},
	{"benchmark.phases.*", `{name: "profiling", type: "fixed_schedule", duration: 60, stability: {}}`, "stability", "cannot be combined with type: fixed_schedule"},
	{"benchmark.phases.*", `{name: "profiling", type: "agentic_replay", concurrency: 2, duration: 60, stability: {}}`, "stability", "cannot be combined with type: agentic_replay"},
	{"benchmark.phases.*.adaptive_scale.control", `{min: 0.5, max: 3}`, "min", "must be at least 1: it is a count"},
	{"benchmark.phases.*.adaptive_scale.control", `{min: 5, max: 3}`, "max", "must not be below min"},
	{"benchmark.phases.*.rate_series", `{path: "a", points: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}`, "points", "cannot be combined with path"},

	{"sweep", `{type: "grid"}`, "parameters", "required by type: grid"},
	{"sweep", `{type: "scenarios"}`, "runs", "required by type: scenarios"},
	{"sweep", `{type: "grid", parameters: a: [1], runs: [{}]}`, "runs", "needs type: scenarios"},
	{"sweep", `{type: "sobol", dimensions: [{path: "a", lo: 1, hi: 2}]}`, "samples", "required by type: sobol"},
	{"sweep", `{type: "sobol", samples: 4}`, "dimensions", "required by type: sobol"},
	{"sweep", `{type: "grid", parameters: a: [1], dimensions: [{path: "a", lo: 1, hi: 2}]}`, "dimensions", "cannot be combined with type: grid"},
	{"sweep", `{type: "scenarios", runs: [{}], parameters: a: [1]}`, "parameters", "cannot be combined with type: scenarios"},
	{"benchmark.accuracy", `{benchmark: "gsm8k", grader: "plugin"}`, "grader", "needs plugin"},
	{"sweep.axes.*", `{grid: a: [1], zip: b: [1]}`, "zip", "cannot be combined with grid"},
	{"sweep.dimensions.*", `{path: "a", hi: 2}`, "lo", "required unless choices are given"},
	{"sweep.dimensions.*", `{path: "a", lo: 2}`, "hi", "required unless choices are given"},
	{"sweep.dimensions.*", `{path: "a", lo: 2, hi: 2}`, "lo", "must be below hi"},
	{"sweep.dimensions.*", `{path: "a", lo: 0, hi: 2, scale: "log"}`, "lo", "must be above 0 on a logarithmic scale"},
	{"sweep.dimensions.*", `{path: "a", lo: 1, hi: 2, choices: [1]}`, "choices", "cannot be combined with lo and hi"},
}

// Each case breaks its rule and no other.
func TestObjectRules(t *testing.T) {
	t.Parallel()
	s, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ruleCases {
		object := s.ctx.CompileString(c.object)
		if object.Err() != nil {
			t.Fatalf("%s: %v", c.object, object.Err())
		}
		var said []string
		for _, e := range errors.Errors(arm(s.part(c.path), cue.StructKind).Unify(object).Validate(cue.Final())) {
			format, args := e.Msg()
			if path := e.Path(); len(path) > 1 && path[len(path)-2] == "#rules" {
				said = append(said, path[len(path)-1]+": "+fmt.Sprintf(format, args...))
			}
		}
		if len(said) != 1 || !strings.HasPrefix(said[0], c.field+": ") || !strings.Contains(said[0], c.words) {
			t.Errorf("%s & %s\n got %q\nwant %s: …%s…", c.path, c.object, said, c.field, c.words)
		}
	}
}

var ruleText = regexp.MustCompile(`(\w+): error\("([^";(\\]*)`)

var generatedRules = regexp.MustCompile(`(?s)// begin: generated from the catalogues.*?// end\n`)

// Every rule of the schema has a case that breaks it. Those that are generated from
// the catalogues have theirs beside the generator.
func TestObjectRulesAllHaveACase(t *testing.T) {
	t.Parallel()
	for _, name := range sourceFiles() {
		for _, m := range ruleText.FindAllStringSubmatch(generatedRules.ReplaceAllString(string(sourceFile(name)), ""),
			-1) {
			found := false
			for _, c := range ruleCases {
				words := strings.TrimSpace(m[2])
				found = found || c.field == m[1] &&
					(strings.Contains(words, c.words) || strings.Contains(c.words, words))
			}
			if !found {
				t.Errorf("%s: no case breaks %s: %q", name, m[1], m[2])
			}
		}
	}
}
