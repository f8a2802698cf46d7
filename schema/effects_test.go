package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/sweep"
)

// raising is a phase that raises its own load.
func raising(policy string) tree {
	const at = "benchmark.phases.0.adaptive_scale."
	return tree{
		"benchmark.phases.0.requests": nil, "benchmark.phases.0.duration": 60, at + "control.max": 8,
		at + "sla.0.metric_tag": "request_latency", at + "sla.0.op": "lt", at + "sla.0.threshold": 100,
		at + "strategy.step_policy": policy,
	}
}

// windowed is a phase that ends by its own windows.
func windowed(mode string) tree {
	return tree{
		"benchmark.phases.0.requests": nil, "benchmark.phases.0.duration": 60,
		"benchmark.phases.0.stability.mode": mode,
	}
}

// Every setting of the schema stands in the table of effects, once, and nothing
// else does: whoever adds a field says when it has an effect.
func TestEffectsAreComplete(t *testing.T) {
	t.Parallel()
	x, rows := fields.New(), map[string]int{}
	for _, e := range schema.Effects() {
		rows[e.Path]++
		if x[e.Path] == nil {
			t.Errorf("%s: the table of effects has a row, and the schema no such field", e.Path)
		}
	}
	for _, l := range fields.Leaves() {
		if want := isSetting(x, &l); want != (rows[l.Path] == 1) {
			t.Errorf("%s: %d rows in the table of effects (effects.go), want %v", l.Path, rows[l.Path], want)
		}
	}
}

// isSetting tells of a field whether it is one that somebody decides about by
// itself: not a part of a value, another spelling, or what is not built.
func isSetting(x fields.Table, l *fields.Leaf) bool {
	_, name, below := cutLast(l.Path)
	if l.Path == "" || name == "*" || name == "+" || l.Lower != "" || l.Has(fields.IsUnsupported) ||
		strings.HasPrefix(l.Path, "benchmark.models.*") {
		return false
	}
	for at := below; at != ""; _, _, at = cutLast(at) {
		p := x[at]
		if p.Has(fields.IsShape|fields.IsFree) && len(p.Keys) == 0 || p.Has(fields.IsShape) || p.Lower != "" ||
			p.Has(fields.IsUnsupported) || strings.HasSuffix(at, "+") ||
			strings.HasPrefix(at, "benchmark.phases.*.rate_series.") {
			return false
		}
	}
	return true
}

// cutLast cuts the last part off a path: the path, its last part and what is before.
func cutLast(path string) (whole, last, before string) {
	i := strings.LastIndexByte(path, '.')
	return path, path[i+1:], path[:max(0, i)]
}

// tree is an experiment as plain data, by paths.
type tree map[string]any

// base is an experiment to which settings are added.
func base() tree {
	return tree{
		"benchmark.models.items.0.name":    "demo",
		"benchmark.endpoint.urls.0":        "http://localhost:8000",
		"benchmark.endpoint.type":          "chat",
		"benchmark.datasets.0.type":        "synthetic",
		"benchmark.datasets.0.prompts.isl": 32,
		"benchmark.datasets.0.prompts.osl": 4,
		"benchmark.phases.0.name":          "profiling",
		"benchmark.phases.0.type":          "concurrency",
		"benchmark.phases.0.concurrency":   4,
		"benchmark.phases.0.requests":      8,
	}
}

// with is the tree with other paths, which take the place of what is there or
// below; nil is nothing.
func (a tree) with(more tree) tree {
	out := tree{}
	for path, v := range a {
		replaced := slices.ContainsFunc(slices.Collect(maps.Keys(more)),
			func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
		if !replaced {
			out[path] = v
		}
	}
	maps.Copy(out, more)
	return out
}

// json is the experiment as a file.
func (a tree) json(t *testing.T) []byte {
	root := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(a)) {
		if a[path] == nil {
			continue
		}
		place(root, strings.Split(path, "."), a[path])
	}
	text, err := json.MarshalIndent(root, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func place(at map[string]any, parts []string, v any) {
	if len(parts) == 1 {
		at[parts[0]] = v
		return
	}
	i, err := strconv.Atoi(parts[1])
	if err != nil {
		next, _ := at[parts[0]].(map[string]any)
		if next == nil {
			next = map[string]any{}
			at[parts[0]] = next
		}
		place(next, parts[1:], v)
		return
	}
	list, _ := at[parts[0]].([]any)
	for len(list) <= i {
		list = append(list, map[string]any{})
	}
	at[parts[0]] = list
	if len(parts) == 2 {
		list[i] = v
		return
	}
	place(list[i].(map[string]any), parts[2:], v)
}

// refused is what a command that runs files says against the experiment.
func refused(t *testing.T, a tree) (out []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "exp.json")
	if err := os.WriteFile(file, a.json(t), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := schema.Load(schema.Source{
		File: file, Command: "run",
		Env: func(string) (string, bool) { return "", false },
	})
	var plan *sweep.Plan
	if err == nil {
		plan, err = sweep.Expand(doc)
	}
	var bad schema.Errors
	if err != nil && !errors.As(err, &bad) {
		return []string{err.Error()}
	}
	if err == nil {
		var cells []*schema.Resolved
		for _, c := range plan.Cells {
			cells = append(cells, c.Resolved)
		}
		idle := doc.Idle(cells)
		bad = slices.Concat(idle.Refused, idle.Ours, idle.Theirs, idle.Partly, idle.Told)
	}
	for _, e := range bad {
		out = append(out, strings.ReplaceAll(e.Error(), filepath.Dir(file)+"/", ""))
	}
	return out
}

var (
	embeddings = tree{"benchmark.endpoint.type": "embeddings", "benchmark.datasets.0.prompts.osl": nil}
	streamed   = tree{"benchmark.endpoint.streaming": true}
	rankings   = tree{"benchmark.endpoint.type": "nim_rankings", "benchmark.datasets.0.prompts": nil}
	retrieval  = tree{"benchmark.endpoint.type": "image_retrieval", "benchmark.datasets.0.prompts": nil}
	single     = tree{"sweep.parameters.concurrency": []any{3}}
	cells      = tree{"sweep.parameters.concurrency": []any{1, 2}}
	trials     = tree{"multi_run.num_runs": 9}
	fromFile   = tree{
		"benchmark.datasets.0": nil, "benchmark.datasets.0.type": "file",
		"benchmark.datasets.0.path": "some.jsonl", "benchmark.datasets.0.format": "single_turn",
	}
	pairs = tree{
		"benchmark.datasets.0.prompts.isl": nil, "benchmark.datasets.0.prompts.osl": nil,
		"benchmark.datasets.0.prompts.sequence_distribution": []any{map[string]any{"isl": 5, "osl": 5, "probability": 100}},
	}
	threeTurns = tree{"benchmark.datasets.0.turns": 3}
	atARate    = tree{"benchmark.phases.0.type": "poisson", "benchmark.phases.0.rate": 5}
	agentic    = fromFile.with(tree{
		"benchmark.datasets.0.format": "weka_trace",
		"benchmark.phases.0.type":     "agentic_replay",
	})
	schedule = fromFile.with(tree{
		"benchmark.datasets.0.format": "mooncake_trace", "benchmark.phases.0": nil,
		"benchmark.phases.0.name": "profiling", "benchmark.phases.0.type": "fixed_schedule",
	})
)

func ofFormat(name string) tree { return fromFile.with(tree{"benchmark.datasets.0.format": name}) }

// settings is where a setting has an effect, and where it has none.
type surroundings struct {
	inside  tree
	outside []tree
}

// around are experiments for each need of the table.
var around = map[string]surroundings{
	"several runs":                      {trials, []tree{{}, single}},
	"several cells":                     {cells, []tree{single}},
	"several trials":                    {trials, []tree{{}, cells}},
	"several cells with several trials": {cells.with(trials), []tree{cells, single.with(trials)}},
	"gates":                             {tree{"gates": []any{"error_rate == 0"}}, []tree{{}}},
	"a range": {
		tree{
			"sweep.type": "sobol", "sweep.samples": 4, "sweep.dimensions.0.path": "concurrency",
			"sweep.dimensions.0.kind": "int", "sweep.dimensions.0.lo": 2, "sweep.dimensions.0.hi": 90,
		},
		[]tree{{
			"sweep.type": "sobol", "sweep.samples": 4, "sweep.dimensions.0.path": "concurrency",
			"sweep.dimensions.0.choices": []any{2, 3, 4, 5, 6, 7, 8, 9},
		}},
	},
	"several models":    {tree{"benchmark.models.items.1.name": "b"}, []tree{{}}},
	"strategy weighted": {tree{"benchmark.models.strategy": "weighted", "benchmark.models.items.1.name": "b", "benchmark.models.items.1.weight": 0.5}, []tree{{"benchmark.models.items.1.name": "b"}}},
	"several addresses": {tree{"benchmark.endpoint.urls.1": "http://localhost:8001"}, []tree{{}}},

	"an endpoint type that streams": {tree{}, []tree{embeddings}},
	"streaming":                     {streamed, []tree{{}}},
	"an endpoint type that knows max_tokens and max_completion_tokens": {tree{}, []tree{embeddings, {"benchmark.endpoint.type": "completions"}}},
	"streaming, on an endpoint type that is asked for usage":           {streamed, []tree{{}, streamed.with(tree{"benchmark.endpoint.type": "messages"})}},
	"an endpoint type whose requests have several encodings":           {tree{"benchmark.endpoint.type": "video_generation", "benchmark.datasets.0.prompts.osl": nil}, []tree{{"benchmark.endpoint.type": "image_edit", "benchmark.datasets.0.prompts.osl": nil}}},
	"wait_for_model_timeout":                                           {tree{"benchmark.endpoint.wait_for_model_timeout": 9}, []tree{{}}},
	"an address of https or grpcs":                                     {tree{"benchmark.endpoint.urls.0": "https://localhost"}, []tree{{}}},
	"an address that is not gRPC's":                                    {tree{}, []tree{{"benchmark.endpoint.urls.0": "grpc://localhost:1", "benchmark.endpoint.type": "kserve_v2_infer"}}},
	"call":                                                             {tree{"benchmark.endpoint.flip.call": "/reset"}, []tree{{"benchmark.endpoint.flip.command": []any{"true"}}}},
	"an endpoint type whose server applies the model's chat template":  {tree{}, []tree{embeddings, {"benchmark.endpoint.type": "completions"}}},

	"a phase that is not a fixed schedule":                                                       {fromFile, []tree{schedule}},
	"synthetic data, and an endpoint type that takes text":                                       {tree{}, []tree{fromFile, retrieval}},
	"synthetic data, an endpoint type that takes text, and no sequence_distribution":             {tree{}, []tree{fromFile, retrieval, rankings, pairs}},
	"an endpoint type that answers with tokens, and no sequence_distribution or length in extra": {fromFile, []tree{embeddings, pairs, ofFormat("raw_payload"), {"benchmark.endpoint.extra.max_tokens": 5}}},
	"no header that carries a key of its own":                                                    {tree{}, []tree{{"benchmark.endpoint.headers.authorization": "Bearer x"}}},
	"a number below concurrency":                                                                 {tree{"benchmark.phases.0.concurrency": 8}, []tree{{"benchmark.phases.0.concurrency": 3}, {"benchmark.phases.0.concurrency": 2}}},
	"synthetic data, and no sequence_distribution":                                               {tree{}, []tree{fromFile, pairs}},
	"text that is written here: synthetic data, or a trace":                                      {ofFormat("mooncake_trace"), []tree{fromFile, retrieval}},
	"random_range_ratio":                                                     {tree{"benchmark.datasets.0.prompts.random_range_ratio": "0.5"}, []tree{{}}},
	"an endpoint type that takes a history":                                  {tree{}, []tree{embeddings, {"benchmark.endpoint.type": "completions"}}},
	"synthetic data with several turns":                                      {threeTurns, []tree{{}, fromFile}},
	"turn_delay, or recorded waits":                                          {threeTurns.with(tree{"benchmark.datasets.0.turn_delay": 5}), []tree{{}, threeTurns, ofFormat("raw_payload")}},
	"an endpoint type that takes a system prompt":                            {tree{}, []tree{embeddings, {"benchmark.endpoint.type": "completions"}}},
	"an endpoint type that takes a system prompt, and records that take one": {tree{}, []tree{embeddings, {"benchmark.endpoint.type": "completions"}, ofFormat("raw_payload")}},
	"a text that it is put into":                                             {tree{}, []tree{retrieval, ofFormat("raw_payload")}},
	"an endpoint type that ranks":                                            {rankings, []tree{{}}},
	"a folder of images as source":                                           {tree{"benchmark.datasets.0.images.batch_size": 1, "benchmark.datasets.0.images.source": "folder"}, []tree{{"benchmark.datasets.0.images.batch_size": 1}}},
	"a sound track (channels)":                                               {tree{"benchmark.datasets.0.video.batch_size": 1, "benchmark.datasets.0.video.audio.channels": 1}, []tree{{"benchmark.datasets.0.video.batch_size": 1}}},
	"hit_rate":                                                               {tree{"benchmark.datasets.0.prefix_prompts.hit_rate": 0.5}, []tree{{"benchmark.datasets.0.prefix_prompts.length": 8, "benchmark.datasets.0.prefix_prompts.pool_size": 2}}},
	"length":                                                                 {tree{"benchmark.datasets.0.prefix_prompts.length": 8}, []tree{{}}},
	"pool_size":                                                              {tree{"benchmark.datasets.0.prefix_prompts.pool_size": 8}, []tree{{}}},
	"a phase of agentic_replay":                                              {agentic, []tree{ofFormat("weka_trace")}},
	"synthetic data, and an endpoint type that takes images":                 {tree{}, []tree{fromFile, {"benchmark.endpoint.type": "completions"}}},
	"synthetic data, and an endpoint type that takes audio":                  {tree{}, []tree{fromFile, {"benchmark.endpoint.type": "messages"}}},
	"synthetic data, and an endpoint type that takes video":                  {tree{}, []tree{fromFile, {"benchmark.endpoint.type": "responses"}}},

	"step_policy: sla_margin":         {raising("sla_margin"), []tree{raising("fixed_percent_step")}},
	"mode: time_windows":              {windowed("time_windows"), []tree{windowed("count_windows")}},
	"mode: count_windows":             {windowed("count_windows"), []tree{windowed("time_windows")}},
	"step_policy: fixed_percent_step": {raising("fixed_percent_step"), []tree{raising("sla_margin")}},

	"a rate of cancellation above 0":          {tree{"benchmark.phases.0.cancellation.rate": 5}, []tree{{"benchmark.phases.0.cancellation.rate": 0}}},
	"a warmup, where the target is one of it": {tree{"benchmark.phases.0": nil, "benchmark.phases.0.name": "warmup", "benchmark.phases.0.kind": "warmup", "benchmark.phases.0.requests": 2, "benchmark.phases.1.name": "profiling", "benchmark.phases.1.concurrency": 2, "benchmark.phases.1.requests": 4}, []tree{{}}},
	"several runs, with a warmup":             {trials.with(tree{"benchmark.phases.0": nil, "benchmark.phases.0.name": "warmup", "benchmark.phases.0.kind": "warmup", "benchmark.phases.0.requests": 2, "benchmark.phases.1.name": "profiling", "benchmark.phases.1.concurrency": 2, "benchmark.phases.1.requests": 4}), []tree{{}, trials}},
	"a model's tokenizer":                     {tree{}, []tree{{"benchmark.tokenizer.name": "builtin"}}},
	"a collector's address":                   {tree{"benchmark.otel.metrics_url": "http://localhost:4318"}, []tree{{}}},
	"questions among other requests": {
		tree{"benchmark.accuracy.benchmark": "gsm8k", "benchmark.accuracy.mode": "mixed"},
		[]tree{{"benchmark.accuracy.benchmark": "gsm8k"}},
	},
	"a grader that asks it": {
		tree{"benchmark.accuracy.benchmark": "gsm8k", "benchmark.accuracy.mode": "mixed", "benchmark.accuracy.grader": "plugin", "benchmark.accuracy.plugin": "p"},
		[]tree{{"benchmark.accuracy.benchmark": "gsm8k"}},
	},
	"requests other than questions with known answers": {
		tree{"benchmark.accuracy.benchmark": "gsm8k", "benchmark.accuracy.mode": "mixed"},
		[]tree{{"benchmark.accuracy.benchmark": "gsm8k"}},
	},
	"an MLflow server's address":                   {tree{"benchmark.mlflow.tracking_uri": "http://localhost:5000"}, []tree{{}}},
	"a project of Weights & Biases":                {tree{"benchmark.wandb.project": "p"}, []tree{{}}},
	"a round trip that is measured":                {tree{"benchmark.network_latency.enabled": true}, []tree{{}, {"benchmark.network_latency.enabled": true, "benchmark.network_latency.mean_ms": 2}}},
	"server metrics that are read":                 {tree{}, []tree{{"benchmark.server_metrics.enabled": false}}},
	"concurrency":                                  {tree{}, []tree{{"benchmark.phases.0.concurrency": nil, "benchmark.phases.0.in_flight": 3}}},
	"prefill_concurrency":                          {streamed.with(tree{"benchmark.phases.0.prefill_concurrency": 2}), []tree{{}}},
	"arrivals by a clock, and a limit":             {atARate, []tree{{}, atARate.with(tree{"benchmark.phases.0.concurrency": nil})}},
	"requests, and conversations of several turns": {threeTurns, []tree{{}, threeTurns.with(tree{"benchmark.phases.0.requests": nil, "benchmark.phases.0.duration": 4})}},
	"records":   {tree{}, []tree{{"benchmark.artifacts.records": false}}},
	"auto_plot": {tree{"benchmark.artifacts.auto_plot": true}, []tree{{}}},
}

// aroundOne are those of settings that need a type of their object, or records of a
// format, each another one.
func aroundOne(x fields.Table, path, need string) (surroundings, bool) {
	_, name, in := cutLast(path)
	switch {
	case need == "records of a format that takes it" && path == "benchmark.datasets.*.prompts.block_size":
		return surroundings{nil, []tree{{}}}, true // it is the data set's own there
	case need == "records of a format that takes it":
		s := surroundings{inside: ofFormat(fields.FormatsTaking(name)[0].Name), outside: []tree{{}}}
		if !fields.FormatNamed("raw_payload").Takes(name) {
			s.outside = append(s.outside, ofFormat("raw_payload"))
		}
		return s, true
	case need == "an endpoint type that takes it":
		taking := fields.EndpointsThat(func(t *fields.EndpointType) bool { return t.Takes(name) })
		return surroundings{
			tree{"benchmark.endpoint.type": taking[0], "benchmark.datasets.0.prompts.osl": nil},
			[]tree{{}},
		}, true
	case need == "batch_size":
		return surroundings{tree{strings.Replace(in, "*", "0", 1) + ".batch_size": 1}, []tree{{}}}, true
	case need == "a type that takes it":
		return aroundType(path)
	case strings.HasPrefix(need, "nothing: "):
		return surroundings{nil, []tree{{}}}, true
	}
	s, ok := around[need]
	return s, ok
}

// aroundType are those of settings that only some types of their object take.
func aroundType(path string) (surroundings, bool) {
	duration := tree{"benchmark.phases.0.requests": nil, "benchmark.phases.0.duration": 5}
	sampled := tree{
		"sweep.type": "latin_hypercube", "sweep.samples": 4, "sweep.dimensions.0.path": "concurrency",
		"sweep.dimensions.0.kind": "int", "sweep.dimensions.0.lo": 2, "sweep.dimensions.0.hi": 90,
	}
	sobol := sampled.with(tree{"sweep.type": "sobol"})
	searched := tree{
		"sweep.type": "adaptive_search", "sweep.search_space.0.path": "concurrency",
		"sweep.search_space.0.kind": "int", "sweep.search_space.0.lo": 2, "sweep.search_space.0.hi": 90, "sweep.max_iterations": 9,
	}
	published := tree{
		"benchmark.datasets.0": nil, "benchmark.datasets.0.type": "public",
		"benchmark.datasets.0.dataset": "sharegpt",
	}
	if kind := fields.SweepNamed("adaptive_search"); kind.Takes(strings.TrimPrefix(path, "sweep.")) {
		return surroundings{searched, []tree{cells, sampled}}, true
	}
	s, ok := map[string]surroundings{
		"sweep.parameters":   {tree{}, []tree{sampled}},
		"sweep.axes":         {tree{}, []tree{sampled}},
		"sweep.runs":         {tree{"sweep.type": "scenarios"}, []tree{cells}},
		"sweep.samples":      {sampled, []tree{cells}},
		"sweep.seed":         {sampled, []tree{cells}},
		"sweep.dimensions":   {sampled.with(tree{"sweep.dimensions": nil}), []tree{cells}},
		"sweep.label_format": {sampled, []tree{cells}},
		"sweep.scramble":     {sobol, []tree{cells, sampled}},
		"sweep.optimization": {sampled, []tree{cells, sobol}},

		"sweep.dimensions.*.lo": {sampled, []tree{sampled.with(tree{"sweep.dimensions": nil, "sweep.dimensions.0.path": "concurrency", "sweep.dimensions.0.choices": []any{1, 2, 3}})}},
		"sweep.dimensions.*.hi": {sampled, []tree{sampled.with(tree{"sweep.dimensions": nil, "sweep.dimensions.0.path": "concurrency", "sweep.dimensions.0.choices": []any{1, 2, 3}})}},

		"benchmark.datasets.*.path":            {fromFile, []tree{{}, published}},
		"benchmark.datasets.*.records":         {fromFile.with(tree{"benchmark.datasets.0.path": nil}), []tree{{}, published}},
		"benchmark.datasets.*.format":          {fromFile, []tree{{}, published}},
		"benchmark.datasets.*.dataset":         {published, []tree{{}, fromFile}},
		"benchmark.datasets.*.hf_subset":       {published, []tree{{}, fromFile}},
		"benchmark.datasets.*.filters":         {published, []tree{{}, fromFile}},
		"benchmark.datasets.*.hf_weka_dataset": {published, []tree{{}, fromFile}},
		"benchmark.datasets.*.plugin":          {tree{"benchmark.datasets.0.type": "plugin", "benchmark.datasets.0.prompts": nil}, []tree{{}, fromFile}},
		"benchmark.datasets.*.folder":          {published, []tree{{}, fromFile}},

		"benchmark.phases.*.rate":         {atARate, []tree{{}}},
		"benchmark.phases.*.rate_ramp":    {atARate, []tree{{}}},
		"benchmark.phases.*.rate_series":  {atARate.with(tree{"benchmark.phases.0.rate": nil}), []tree{{}}},
		"benchmark.phases.*.smoothness":   {atARate.with(tree{"benchmark.phases.0.type": "gamma"}), []tree{{}, atARate}},
		"benchmark.phases.*.users":        {threeTurns.with(atARate).with(tree{"benchmark.phases.0.type": "user_centric"}), []tree{{}, atARate}},
		"benchmark.phases.*.auto_offset":  {schedule, []tree{{}}},
		"benchmark.phases.*.start_offset": {schedule, []tree{{}}},
		"benchmark.phases.*.end_offset":   {schedule, []tree{{}}},
		"benchmark.phases.*.grace_period": {duration, []tree{{}}},
		"benchmark.phases.*.seamless":     {nil, []tree{{}}}, // the first phase follows none
	}[path]
	return s, ok
}

// others are values of fields of which the schema alone tells none.
var others = map[string]any{
	"benchmark.phases.*.seamless": true, "benchmark.phases.*.users": 2, "benchmark.phases.*.on_cap": "skip", "benchmark.phases.*.on_count": "finish",
	"benchmark.phases.*.rate_series":         []any{map[string]any{"time_s": 0, "qps": 1}, map[string]any{"time_s": 5, "qps": 2}},
	"benchmark.phases.*.prefill_concurrency": 2, "benchmark.phases.*.concurrency_ramp": 5, "benchmark.phases.*.prefill_ramp": 5, "benchmark.phases.*.rate_ramp": 5,
	"benchmark.phases.*.trajectory_start_min_ratio": 0.3, "benchmark.phases.*.trajectory_start_max_ratio": 0.8, "benchmark.phases.*.auto_offset": true,
	"benchmark.phases.*.start_offset": 5, "benchmark.phases.*.end_offset": 5, "benchmark.phases.*.rate": 5, "benchmark.phases.*.grace_period": 5, "benchmark.phases.*.smoothness": 2,
	"sweep.parameters": map[string]any{"requests": []any{5, 6}}, "sweep.axes": []any{map[string]any{"grid": map[string]any{"requests": []any{5, 6}}}},
	"sweep.runs": []any{map[string]any{"name": "a"}}, "sweep.dimensions": []any{map[string]any{"path": "concurrency", "kind": "int", "lo": 2, "hi": 90}},
	"sweep.search_space": []any{map[string]any{"path": "concurrency", "lo": 1, "hi": 9}}, "sweep.objectives": []any{map[string]any{"metric": "goodput", "direction": "maximize"}},
	"sweep.outcome_constraints": []any{map[string]any{"metric": "goodput", "op": ">=", "bound": 1}}, "sweep.max_iterations": 8, "sweep.random_seed": 3, "sweep.sla_warmup_seconds": 3, "sweep.n_initial_points": 3,
	"sweep.sla_tiers":       []any{map[string]any{"label": "a", "filters": []any{map[string]any{"metric_tag": "request_latency", "op": "lt", "threshold": 5}}}, map[string]any{"label": "b", "filters": []any{map[string]any{"metric_tag": "request_latency", "op": "lt", "threshold": 9}}}},
	"sweep.dimensions.*.lo": 3, "sweep.dimensions.*.hi": 80, "sweep.samples": 5, "sweep.seed": 5, "sweep.dimensions.*.kind": "int", "sweep.dimensions.*.scale": "log", "sweep.optimization": "lloyd",
	"multi_run.convergence": map[string]any{"metric": "request_latency"}, "multi_run.confidence_level": 0.9, "multi_run.cooldown_seconds": 3,
	"objectives": []any{"request_throughput"}, "budget.time": 60, "budget.requests": 1000, "sweep.cooldown_seconds": 3,
	"benchmark.models.items.*.weight": 0.5, "benchmark.endpoint.template": map[string]any{"body": "{}"}, "benchmark.endpoint.rpc": map[string]any{"method": "a.B/c", "body": "{}"},
	"benchmark.endpoint.plugin": "p", "benchmark.datasets.*.plugin": "p",
	"benchmark.endpoint.request_content_type": "application/json", "benchmark.endpoint.client_cert": "a.pem", "benchmark.endpoint.client_key": "a.pem",
	"benchmark.accuracy.share": 0.2, "benchmark.accuracy.plugin": "p",
	"benchmark.mlflow.tags": map[string]any{"A": "b"}, "benchmark.mlflow.artifact_globs": []any{"*"}, "benchmark.wandb.tags": []any{"a"},
	"benchmark.otel.custom_resource_attributes": map[string]any{"A": "b"}, "benchmark.otel.semconv": "next",
	"benchmark.endpoint.flip.headers": map[string]any{"A": "b"}, "benchmark.endpoint.flip.body": map[string]any{"a": 1}, "benchmark.endpoint.flip.method": "GET",
	"benchmark.datasets.*.turns": 3, "benchmark.datasets.*.turn_delay": 7, "benchmark.datasets.*.records": []any{map[string]any{"text": "a"}},
	"benchmark.datasets.*.prefix_prompts": map[string]any{"length": 4, "pool_size": 2}, "benchmark.datasets.*.images": map[string]any{"batch_size": 1}, "benchmark.datasets.*.audio": map[string]any{"batch_size": 1}, "benchmark.datasets.*.video": map[string]any{"batch_size": 1},
	"benchmark.datasets.*.rankings": map[string]any{"passages": 3}, "benchmark.datasets.*.synthesis": map[string]any{"speedup_ratio": 2}, "benchmark.datasets.*.columns": map[string]any{"text": "q"},
	"benchmark.datasets.*.cache_bust": map[string]any{"target": "first_turn_prefix"}, "benchmark.datasets.*.prompts.cache_bust": map[string]any{"target": "first_turn_prefix"},
	"benchmark.datasets.*.prompts.sequence_distribution": []any{map[string]any{"isl": 5, "osl": 5, "probability": 100}}, "benchmark.datasets.*.prompts.random_range_ratio": "0.5",
	"benchmark.datasets.*.filters": map[string]any{"a": 1}, "benchmark.datasets.*.media_roots": []any{"a"}, "benchmark.datasets.*.trace_session_sample_ratio": 0.5,
	"benchmark.datasets.*.images.width": 9, "benchmark.datasets.*.images.height": 9, "benchmark.datasets.*.images.source": "assets", "benchmark.datasets.*.audio.length": 3,
	"benchmark.datasets.*.audio.sample_rates": []any{8}, "benchmark.datasets.*.audio.depths": []any{8}, "benchmark.datasets.*.video.audio": map[string]any{"channels": 1}, "benchmark.datasets.*.video.audio.sample_rate": 48,
	"benchmark.datasets.*.video.audio.depth": 24, "benchmark.datasets.*.prefix_prompts.length": 6, "benchmark.datasets.*.prefix_prompts.pool_size": 6, "benchmark.datasets.*.prompts.batch_size": 2,
	"benchmark.datasets.*.prompts.isl": 9, "benchmark.datasets.*.prompts.osl": 9, "benchmark.datasets.*.audio.channels": 2, "gates_undecided": "pass", "benchmark.endpoint.http": 2, "benchmark.datasets.*.path": "a.jsonl",
	"benchmark.datasets.*.cache_bust.target": "warmup_isolation_system", "benchmark.datasets.*.prompts.cache_bust.target": "warmup_isolation_system",
	"benchmark.server_metrics.urls": []any{"http://localhost:9/metrics"}, "benchmark.server_metrics.formats": []any{"json"},
	"benchmark.datasets.*.prompts.corpus_file": "a.txt", "benchmark.datasets.*.system_prompt_file": "a.txt",
}

// another is a value of the setting that nobody has as its default.
func another(l *fields.Leaf) any {
	if v, ok := others[l.Path]; ok {
		return v
	}
	switch {
	case len(l.Enum) > 0:
		return l.Enum[slices.IndexFunc(l.Enum, func(w string) bool { return w != l.Usual() })]
	case l.Has(fields.IsBool):
		return l.Def != "true"
	case l.Has(fields.IsText):
		return "some"
	}
	return 3
}

// beside are settings that a setting cannot do without, whatever has an effect.
var beside = map[string]tree{
	"benchmark.endpoint.client_cert":                     {"benchmark.endpoint.client_key": "k.pem"},
	"benchmark.endpoint.client_key":                      {"benchmark.endpoint.client_cert": "c.pem"},
	"benchmark.datasets.*.video.width":                   {"benchmark.datasets.0.video.height": 9},
	"benchmark.datasets.*.video.height":                  {"benchmark.datasets.0.video.width": 9},
	"benchmark.datasets.*.open_loop_strict":              {"benchmark.datasets.0.open_loop_replay": true},
	"benchmark.datasets.*.prompts.sequence_distribution": {"benchmark.datasets.0.prompts.isl": nil, "benchmark.datasets.0.prompts.osl": nil},
}

// Each setting is refused in a file where it has no effect, and nothing is said
// against it where it has one.
func TestSettingsWithoutEffect(t *testing.T) {
	t.Parallel()
	x := fields.New()
	byNeed := map[string][]string{}
	for _, e := range schema.Effects() {
		byNeed[e.Need] = append(byNeed[e.Need], e.Path)
	}
	delete(byNeed, "")
	for need, paths := range byNeed {
		t.Run(need, func(t *testing.T) {
			t.Parallel()
			for _, path := range paths {
				s, ok := aroundOne(x, path, need)
				if !ok {
					t.Errorf("%s: no experiments for settings that need %s", path, need)
					continue
				}
				at := strings.ReplaceAll(path, "*", "0")
				one := tree{at: another(x[path])}
				_, name, _ := cutLast(path)
				for i, out := range s.outside {
					if said := refused(t, base().with(out).with(beside[path]).with(one)); !mentions(said, name) {
						t.Errorf("%s outside its effect (%d) is not refused: %q", path, i, said)
					}
				}
				if s.inside == nil {
					continue
				}
				if said := refused(t, base().with(s.inside).with(beside[path]).with(one)); len(said) > 0 {
					t.Errorf("%s where it has an effect is refused: %q", path, said)
				}
			}
		})
	}
}

// mentions tells whether one of the lines is about the field called name.
func mentions(lines []string, name string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		path, _, _ := strings.Cut(strings.TrimLeft(line, "exp.json:0123456789 "), ": ")
		_, last, _ := cutLast(path)
		return last == name || strings.Contains(line, name)
	})
}

// A distribution has one shape: a key of another one is refused.
func TestDistributionsHaveOneShape(t *testing.T) {
	t.Parallel()
	for shape, want := range map[string]string{
		`{"mean": 5, "p50": 3, "p99": 9}`:                           "isl.mean: has no effect beside p50",
		`{"value": 5, "mean": 3}`:                                   "isl.mean: has no effect beside value",
		`{"points": [{"value": 3}], "mean": 3}`:                     "isl.mean: has no effect beside points",
		`{"median": 3, "mean": 5, "stddev": 2}`:                     "isl.stddev: has no effect beside median",
		`{"peaks": [{"mean": 3}, {"mean": 5}], "p50": 3, "p99": 9}`: "isl.p50: has no effect beside peaks",
		`{"mean": 5, "stddev": 2, "min": 1, "max": 9}`:              "",
		`{"median": 3, "mean": 5}`:                                  "",
		`{"mean": 5}`:                                               "",
		`{"type": "normal", "mean": 5, "stddev": 0}`:                "",
		`{"peaks": [{"mean": 3}, {"mean": 5, "stddev": 1}]}`:        "",
	} {
		var v any
		if err := json.Unmarshal([]byte(shape), &v); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(refused(t, base().with(tree{"benchmark.datasets.0.prompts.isl": v})), "\n")
		if (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", shape, said, want)
		}
	}
}

// One thing that is said twice is refused with both places, in every spelling
// that the schema has for it; what is laid over a file takes the place of either.
func TestSaidTwice(t *testing.T) {
	t.Parallel()
	pool := ofFormat("random_pool")
	const part = "benchmark.datasets.0.prompts.sequence_distribution.0."
	pair := tree{
		"benchmark.datasets.0.prompts": nil, part + "isl.mean": 8,
		part + "osl.mean": 4, part + "probability": 100,
	}
	for _, c := range []struct {
		in         tree
		one, other string
		v, w       any
	}{
		{tree{"benchmark.datasets.0.prompts": nil}, "benchmark.datasets.0.isl", "benchmark.datasets.0.prompts.isl", 5, 6},
		{tree{"benchmark.datasets.0.prompts": nil}, "benchmark.datasets.0.osl", "benchmark.datasets.0.prompts.osl", 5, 6},
		{tree{}, "benchmark.datasets.0.system_prompt", "benchmark.datasets.0.system_prompt_file", "a", "b.txt"},
		{fromFile.with(tree{"benchmark.datasets.0.path": nil}), "benchmark.datasets.0.records", "benchmark.datasets.0.path", []any{map[string]any{"text": "a"}}, "a.jsonl"},
		{tree{}, "benchmark.datasets.0.cache_bust.target", "benchmark.datasets.0.prompts.cache_bust.target", "first_turn_prefix", "system_prefix"},
		{ofFormat("mooncake_trace"), "benchmark.datasets.0.block_size", "benchmark.datasets.0.prompts.block_size", 5, 6},
		{pool, "benchmark.datasets.0.prompt_batch_size", "benchmark.datasets.0.prompts.batch_size", 2, 3},
		{pool, "benchmark.datasets.0.image_batch_size", "benchmark.datasets.0.images.batch_size", 2, 3},
		{pool, "benchmark.datasets.0.audio_batch_size", "benchmark.datasets.0.audio.batch_size", 2, 3},
		{pool, "benchmark.datasets.0.video_batch_size", "benchmark.datasets.0.video.batch_size", 2, 3},
		{tree{}, "benchmark.datasets.0.prompts.corpus", "benchmark.datasets.0.prompts.corpus_file", "coding", "a.txt"},
		{atARate.with(tree{"benchmark.phases.0.rate": nil}), "benchmark.phases.0.rate_series", "benchmark.phases.0.rate", others["benchmark.phases.*.rate_series"], 4},
		{tree{"benchmark.models": nil}, "benchmark.model", "benchmark.models.items.0.name", "a", "b"},
		{tree{}, "benchmark.dataset", "benchmark.datasets.0.prompts.isl", map[string]any{"isl": 5}, 6},
		{tree{}, "benchmark.warmup", "benchmark.phases.0.requests", map[string]any{"requests": 5}, 6},
		{tree{}, "benchmark.profiling", "benchmark.phases.0.requests", map[string]any{"requests": 5}, 6},
		{pair, part + "isl_stddev", part + "isl.stddev", 2, 3},
		{pair, part + "osl_stddev", part + "osl.stddev", 2, 3},
		{tree{"benchmark.endpoint.urls": nil}, "benchmark.endpoint.url", "benchmark.endpoint.urls.0", "http://a", "http://b"},
	} {
		_, name, _ := cutLast(strings.TrimSuffix(c.one, ".target"))
		said := refused(t, base().with(c.in).with(tree{c.one: c.v, c.other: c.w}))
		if len(said) == 0 || !slices.ContainsFunc(said, func(line string) bool {
			return strings.Contains(line, name+": cannot be combined with ") && strings.Count(line, "exp.json:") == 2
		}) {
			t.Errorf("%s beside %s: %q", c.one, c.other, said)
		}
	}
}

// What a row of the endpoint catalogue says holds for every type: a setting is
// refused on the types that lack what it needs, and on no other.
func TestEffectsFollowEndpointRows(t *testing.T) {
	t.Parallel()
	for _, name := range fields.EndpointsThat(func(*fields.EndpointType) bool { return true }) {
		row := fields.EndpointNamed(name)
		for _, c := range []struct {
			set  tree
			acts bool
		}{
			{tree{"benchmark.endpoint.streaming": true}, row.Streams},
			{tree{"benchmark.endpoint.use_legacy_max_tokens": true}, row.LegacyMaxTokens},
			{tree{"benchmark.endpoint.template": map[string]any{"body": "{}"}}, row.Takes("template")},
			{tree{"benchmark.endpoint.download_video_content": true}, row.Takes("download_video_content")},
			{tree{"benchmark.datasets.0.prompts.osl": 4}, row.Tokens},
			{tree{"benchmark.datasets.0.prompts.isl": 4}, row.Text && !row.Ranks},
			{tree{"benchmark.datasets.0.system_prompt": "a"}, row.System},
			{tree{"benchmark.datasets.0.turns": 2}, row.System},
			{tree{"benchmark.datasets.0.images": map[string]any{"batch_size": 1}}, row.Images},
			{tree{"benchmark.datasets.0.audio": map[string]any{"batch_size": 1}}, row.Audio},
			{tree{"benchmark.datasets.0.video": map[string]any{"batch_size": 1}}, row.Video},
			{tree{"benchmark.datasets.0.rankings": map[string]any{"passages": 3}}, row.Ranks},
			{tree{"benchmark.tokenizer.apply_chat_template": true}, row.Templated},
		} {
			said := refused(t, base().with(tree{
				"benchmark.endpoint.type":      name,
				"benchmark.datasets.0.prompts": nil,
			}).with(c.set))
			if (len(said) == 0) != c.acts {
				t.Errorf("%s on %s: %q, want an effect: %v", fmt.Sprint(c.set), name, said, c.acts)
			}
		}
	}
}
