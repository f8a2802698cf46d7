package aiperf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// InputConfig is the configuration as AIPerf's files show it; it holds nothing
// that AIPerf does not know. All is the resolved body with every default; Said is what somebody said of it, nil for
// a cell of a sweep or one of several runs, which show every default. Flags
// says that the experiment came from flags alone: AIPerf sets some members then
// that it leaves out for a file.
type InputConfig struct {
	All, Said []byte
	Flags     bool
	Dir       string // of the run's files
	// Fraction tells of a member of the body, by its path, whether it takes numbers
	// that need not be whole: AIPerf keeps those as floats, 40.0 and not 40. nil:
	// none does.
	Fraction func(path string) bool `json:"-"`
}

// json is the member input_config: AIPerf's keys in its order, numbers that it
// keeps as floats written so.
func (c InputConfig) json() (json.RawMessage, error) {
	all, err := c.object(c.All)
	if err != nil {
		return nil, err
	}
	shown := all
	if c.Said != nil {
		if shown, err = c.object(c.Said); err != nil {
			return nil, err
		}
		shown = c.said(shown, all)
	}
	withTemplate(shown)
	if sets := asDatasets(shown.get("datasets"), all.get("datasets")); len(sets) > 0 {
		shown = shown.set("datasets", sets)
	}
	if a, ok := shown.get("artifacts").(object); ok {
		if prefix, ok := a.get("prefix").(string); ok {
			a = a.set("prefix", ownPrefix(prefix))
		}
		if c.Dir != "" {
			a = a.set("dir", c.Dir)
		}
		shown = shown.set("artifacts", a)
	}
	return appendJSON(nil, arranged("", shown))
}

// withTemplate shows a body template that came as an extra input where AIPerf
// has it: its reader refuses the endpoint without.
func withTemplate(shown object) {
	endpoint, _ := shown.get("endpoint").(object)
	extra, _ := endpoint.get("extra").(object)
	body := extra.get("payload_template")
	if body == nil || endpoint.get("type") != "template" || endpoint.get("template") != nil {
		return
	}
	var field any = "text"
	if said := extra.get("response_field"); said != nil {
		field = said
	}
	rest := object{} // written as {} also where nothing is left
	for _, m := range extra {
		if m.key != "payload_template" && m.key != "response_field" {
			rest = append(rest, m)
		}
	}
	shown.set("endpoint", endpoint.set("extra", rest).with("template",
		object{}.with("body", body).with("response_field", field)))
}

// object is a body with the numbers as AIPerf keeps them.
func (c InputConfig) object(raw []byte) (object, error) {
	if len(raw) == 0 {
		return object{}, nil
	}
	v, err := parseOrdered(raw)
	if err != nil {
		return nil, fmt.Errorf("input_config: %w", err)
	}
	o, ok := v.(object)
	if !ok {
		return nil, fmt.Errorf("input_config: it is not an object")
	}
	if c.Fraction == nil {
		return o, nil
	}
	return c.floats("", o).(object), nil
}

// floats is v with the numbers as floats that need not be whole.
func (c InputConfig) floats(path string, v any) any {
	switch v := v.(type) {
	case object:
		for i := range v {
			v[i].value = c.floats(strings.TrimPrefix(path+"."+v[i].key, "."), v[i].value)
		}
	case []any:
		for i := range v {
			v[i] = c.floats(path+".*", v[i])
		}
	case json.Number:
		if c.Fraction(path) {
			return asFloat(v)
		}
	}
	return v
}

// said adds what AIPerf says although nobody said it.
func (c InputConfig) said(shown, all object) object {
	paths := alwaysSaid()
	if c.Flags {
		paths = append(paths, saidByFlags()...)
		if counted(shown) {
			paths = append(paths, "datasets.*.entries") // as many as requests, or sessions
		}
		if a, ok := shown.get("artifacts").(object); ok && (a.get("raw") != nil || a.get("records") != nil) {
			paths = append(paths, "artifacts.records", "artifacts.raw") // one flag sets both
		}
	}
	for _, p := range paths {
		shown = copied(shown, all, strings.Split(p, "."))
	}
	phases, _ := shown.get("phases").([]any)
	for i, p := range phases {
		if p, ok := p.(object); ok && p.get("kind") == "warmup" {
			phases[i] = p.set("exclude_from_results", true)
			if f, ok := memberAt(all, "phases", i); ok && c.Flags {
				phases[i] = copied(phases[i].(object), f, []string{"concurrency"})
			}
		}
	}
	if c.Flags {
		withLengths(shown)
		withGrace(shown, all)
		if sets, ok := withoutEmpty(shown.get("datasets")).([]any); ok {
			shown = shown.set("datasets", sets)
		}
		if m, ok := shown.get("server_metrics").(object); ok && m.get("enabled") == false {
			shown = shown.set("server_metrics", slices.DeleteFunc(m, func(m member) bool { return m.key != "enabled" }))
		}
		for _, empty := range []string{"tokenizer", "otel", "mlflow", "wandb"} {
			if shown.get(empty) == nil {
				shown = shown.with(empty, object{})
			}
		}
	}
	return shown
}

// bounds is a phase's sla as AIPerf lists it: metric, statistic and comparison of
// each threshold.
func bounds(sla object) []any {
	list := []any{}
	for _, metric := range sla {
		of, _ := metric.value.(object)
		for _, stat := range of {
			than, _ := stat.value.(object)
			for _, op := range than {
				list = append(list, object{
					{"metric_tag", metric.key},
					{"stat", stat.key},
					{"op", op.key},
					{"threshold", asFloat(op.value)},
				})
			}
		}
	}
	return list
}

// asFloat is a number as AIPerf writes those that need not be whole.
func asFloat(v any) any {
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil {
			return number(f)
		}
	}
	return v
}

// memberAt is item i of a list of objects.
func memberAt(o object, list string, i int) (object, bool) {
	items, _ := o.get(list).([]any)
	if i >= len(items) {
		return nil, false
	}
	m, ok := items[i].(object)
	return m, ok
}

// withoutEmpty takes objects out that say nothing.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for _, m := range v {
			if m.value = withoutEmpty(m.value); !isEmpty(m.value) {
				out = append(out, m)
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	}
	return v
}

func isEmpty(v any) bool {
	o, ok := v.(object)
	return ok && len(o) == 0
}

// counted tells whether somebody said how many requests or sessions there are.
func counted(shown object) bool {
	phases, _ := shown.get("phases").([]any)
	return slices.ContainsFunc(phases, func(p any) bool {
		o, _ := p.(object)
		return o.get("kind") != "warmup" && (o.get("requests") != nil || o.get("sessions") != nil)
	})
}

// withGrace gives phases of a said length their grace.
func withGrace(shown, all object) {
	phases, _ := shown.get("phases").([]any)
	for i := range phases {
		p, _ := phases[i].(object)
		if f, ok := memberAt(all, "phases", i); ok && p.get("duration") != nil {
			phases[i] = copied(p, f, []string{"grace_period"})
		}
	}
}

// usualISL is the input length that AIPerf's flags stand for when none is said;
// its reader refuses a length without a mean.
const usualISL = 550

// withLengths gives the input lengths that only have a spread, or nothing,
// their mean.
func withLengths(shown object) {
	sets, _ := shown.get("datasets").([]any)
	for _, d := range sets {
		set, _ := d.(object)
		prompts, _ := set.get("prompts").(object)
		for i := range prompts {
			isl, ok := prompts[i].value.(object)
			if prompts[i].key != "isl" || !ok || isl.get("type") != nil || isl.get("value") != nil ||
				isl.get("mean") != nil {
				continue
			}
			prompts[i].value = append(object{{"mean", number(usualISL)}}, isl...)
		}
	}
}

func alwaysSaid() []string {
	return []string{"artifacts.dir", "phases.*.kind", "network_latency.enabled"}
}

func saidByFlags() []string {
	return []string{
		"datasets.*.name", "datasets.*.type", "datasets.*.random_seed", "datasets.*.turns.stddev",
		"datasets.*.turns.mean",
		"datasets.*.turn_delay.stddev", "datasets.*.turn_delay.mean", "phases.*.name",
		"phases.*.type", "phases.*.requests", "phases.*.sessions",
		"artifacts.auto_plot", "artifacts.plot_required", "gpu_telemetry.enabled",
		"server_metrics.enabled", "server_metrics.urls", "server_metrics.formats",
		"runtime.ui", "endpoint.request_content_type",
	}
}

// copied puts the members of from that a path means into the same place of to.
func copied(to, from object, path []string) object {
	key := path[0]
	v := from.get(key)
	if v == nil {
		return to
	}
	if len(path) == 1 {
		if to.get(key) == nil {
			return to.with(key, v)
		}
		return to
	}
	if path[1] == "*" {
		items, _ := to.get(key).([]any)
		others, _ := v.([]any)
		for i := range min(len(items), len(others)) {
			a, isObject := items[i].(object)
			b, areObjects := others[i].(object)
			if isObject && areObjects {
				items[i] = copied(a, b, path[2:])
			}
		}
		return to
	}
	sub, ok := v.(object)
	if !ok {
		return to
	}
	mine, there := to.get(key).(object)
	if last := path[len(path)-1]; !there && (last == "stddev" || last == "mean") {
		return to // of a distribution that nobody gave
	}
	return to.set(key, copied(mine, sub, path[1:]))
}

// arranged is v in AIPerf's order.
func arranged(path string, v any) any {
	switch v := v.(type) {
	case object:
		if path == "phases.*.sla" {
			return arranged(path, bounds(v))
		}
		out := object{}
		for _, m := range v {
			at := strings.TrimPrefix(path+"."+m.key, ".")
			out = append(out, member{m.key, arranged(at, m.value)})
		}
		if order := configOrder(path); order != nil {
			slices.SortStableFunc(out, func(a, b member) int { return standing(order, a.key) - standing(order, b.key) })
		}
		return out
	case []any:
		for i := range v {
			v[i] = arranged(path+".*", v[i])
		}
		return v
	}
	return v
}

// standing is where a key stands; unknown ones keep behind.
func standing(order []string, key string) int {
	if i := slices.Index(order, key); i >= 0 {
		return i
	}
	return len(order)
}

// configOrder is the order of an object's members where AIPerf's is not the
// schema's.
func configOrder(path string) []string {
	switch path {
	case "":
		return []string{
			"models", "endpoint", "datasets", "phases", "artifacts", "slos", "tokenizer", "gpu_telemetry",
			"server_metrics",
			"network_latency", "otel", "mlflow", "wandb", "runtime", "logging", "accuracy", "metrics", "scenario",
			"unsafe_override",
		}
	case "endpoint":
		return []string{
			"urls", "url_strategy", "type", "path", "api_key", "timeout", "streaming", "connection_reuse",
			"use_legacy_max_tokens",
			"use_server_token_count", "per_chunk_usage", "template", "headers", "extra", "download_video_content",
			"request_content_type", "session_header", "uuid_and_strip", "wait_for_model_timeout",
			"wait_for_model_interval",
			"wait_for_model_mode", "reset_kv_cache", "server_profiler", "transport",
		}
	case "datasets.*":
		return []string{
			"name", "type", "path", "records", "format", "entries", "random_seed", "sampling", "open_loop_replay",
			"open_loop_strict",
			"omit_kv_hints", "force_min_tokens", "ignore_trace_delays", "use_think_time_only", "cache_bust", "prompts",
			"prefix_prompts",
			"turns", "turn_delay", "turn_delay_ratio", "images", "audio", "video",
			"system_prompt", "system_prompt_file", "rankings",
			"synthesis", "trace_session_sample_ratio", "inter_turn_delay_cap_seconds", "max_idle_gap_cap_seconds",
			"replay_speedup",
			"prompt_batch_size", "image_batch_size", "audio_batch_size", "video_batch_size", "block_size",
			"trace_idle_gap_cap_seconds", "max_context_length", "dataset", "hf_subset", "filters", "hf_weka_dataset",
		}
	case "phases.*":
		return []string{
			"adaptive_scale", "adaptive_sustain_duration", "adaptive_assessment_period", "adaptive_min_completed_requests",
			"adaptive_control_variable", "adaptive_control_min", "adaptive_control_max",
			"adaptive_scale_strategy_type", "adaptive_scale_step_policy", "adaptive_scale_base_step",
			"adaptive_scale_max_step_multiplier", "adaptive_scale_step_percent",
			"name", "kind", "type", "exclude_from_results",
			"requests", "duration", "sessions", "concurrency", "prefill_concurrency",
			"rate", "rate_series", "smoothness", "users",
			"auto_offset", "start_offset", "end_offset", "grace_period",
			"sla", "seamless", "trajectory_start_min_ratio",
			"trajectory_start_max_ratio", "burst_phase_starts", "concurrency_ramp", "prefill_ramp", "rate_ramp",
			"cancellation",
			"failed_request_threshold", "system_idle_gap_cap_seconds", "agentic_warmup_grace_period",
		}
	case "artifacts":
		return []string{
			"dir", "prefix", "summary", "records", "raw", "trace", "show_trace_timing", "slice_duration", "user_files",
			"auto_plot",
			"plot_required", "export_outputs_json",
		}
	}
	return nil
}
