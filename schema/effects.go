package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// effect is one row of the table that says which setting has an effect when: the
// fields of an object that need the same thing. A field that lies deeper has an
// effect only where the object around it has one.
type effect struct {
	in       string // the object as the table of fields spells it; "" for the experiment
	settings string // its fields, with blanks between
	needs    *need  // nil: it always has an effect
}

// need is what a setting needs to have an effect. Facts about endpoint types, data
// sets, formats, load modes and sweeps are asked of their rows in the catalogues.
type need struct {
	name string // for documents: "an endpoint type that streams"
	// cell is asked of the resolved body of each cell, plan of all cells together;
	// at most one is set. Without any the field's own object has a rule that
	// refuses what the type of the object does not take.
	cell func(v *view) lack
	plan func(v *planView) lack
}

// lack says why a setting has no effect, "" where it has one. The text follows
// noEffect, or stands alone where the setting cannot be followed (hard): requests
// could not be sent as it says, or AIPerf refuses it, too.
type lack struct {
	why  string
	hard bool
	told bool // it never has one here: AIPerf's files may say it, and are told
	hint string
}

// effects is the table. Flags, files, --set and axes ask it once a cell is
// resolved; only what somebody said is judged, and not what would be so anyway.
// Every field that is not part of a value has a row, which a test holds.
var effects = []effect{
	{in: "", settings: "schema_version name random_seed variables benchmark sweep multi_run allow_invalid gates rules compare search budget verdict tables"},
	{in: "", settings: "no_sweep_table objectives", needs: severalCells},
	{in: "", settings: "gates_undecided", needs: gated},
	{in: "compare", settings: "axis margin share_margin metrics undecided must_detect"},
	{in: "search", settings: "find path range start where share tiers also resolution budget"},
	{in: "search.budget", settings: "time probes"},
	{in: "budget", settings: "time requests", needs: severalRuns},
	{in: "tables", settings: "chunks formats"},

	{in: "multi_run", settings: "num_runs sentinel"},
	{
		in: "multi_run", settings: "cooldown_seconds confidence_level set_consistent_seed seeds vary_seed_per_trial",
		needs: severalRuns,
	},
	{in: "multi_run", settings: "disable_warmup_after_first", needs: warmRuns},
	{in: "multi_run", settings: "convergence", needs: severalTrials},
	{in: "multi_run.convergence", settings: "metric stat mode threshold min_runs"},

	{in: "sweep", settings: "type order where derive"},
	{
		in: "sweep", settings: "parameters axes runs samples seed dimensions label_format scramble optimization",
		needs: ofItsType,
	},
	{in: "sweep", settings: "planner search_space objectives outcome_constraints sla_tiers max_iterations n_initial_points random_seed improvement_patience plateau_window plateau_threshold optuna_terminator objective_pooling monotonic_stability_trials sla_replicates sla_precision sla_warmup_seconds constraint_mode", needs: ofItsType},
	{
		in: "sweep", settings: "optuna_sampler optuna_acquisition",
		needs: never("every model is a Gaussian process, asked for the expected improvement"),
	},
	{in: "sweep", settings: "sla_filters post_process recipe_name"},
	{in: "sweep.search_space.*", settings: "path lo hi kind prior"},
	{in: "sweep.objectives.*", settings: "metric stat direction threshold"},
	{in: "sweep.sla_filters.*", settings: "metric_tag stat op threshold"},
	{in: "sweep.outcome_constraints.*", settings: "metric op bound"},
	{in: "sweep.sla_tiers.*", settings: "label filters ordering_rank"},
	{in: "sweep.sla_tiers.*.filters.*", settings: "metric_tag stat op threshold"},
	{in: "sweep.post_process", settings: "handler params output_filename"},
	{in: "sweep", settings: "same_seed cooldown_seconds", needs: severalCells},
	{in: "sweep", settings: "iteration_order", needs: severalTrialsOfCells},
	{in: "sweep", settings: "recipe"},
	{in: "sweep.recipe", settings: "name search_metric search_stat search_direction style ttft_sla_ms itl_sla_ms tpot_sla_ms e2e_sla_ms error_rate_sla slo_attainment_fraction degradation_threshold degradation_metric_tag degradation_stat isl_osl_pairs isl_min isl_max isl_steps concurrency_min concurrency_max concurrency_steps osl_min osl_max osl_steps"},
	// schema/cmdline/recipe.go says what each reads
	{in: "sweep.axes.*", settings: "grid zip"},
	{in: "sweep.runs.*", settings: "name benchmark variables values"},
	{in: "sweep.dimensions.*", settings: "path choices"},
	{in: "sweep.dimensions.*", settings: "lo hi", needs: ofItsType},
	{in: "sweep.dimensions.*", settings: "scale kind", needs: ranged},

	{in: "benchmark", settings: "models endpoint server datasets phases artifacts slos tokenizer gpu_telemetry server_metrics network_latency accuracy otel mlflow wandb runtime logging"},
	{in: "benchmark", settings: "failure_policy", needs: severalRuns},
	{in: "benchmark", settings: "on_worker_loss aiperf_semantics"},
	{in: "benchmark.models", settings: "items"},
	{in: "benchmark.models", settings: "strategy", needs: severalModels},
	{in: "benchmark.models.items.*", settings: "name"},
	{in: "benchmark.models.items.*", settings: "weight", needs: weighted},

	{in: "benchmark.endpoint", settings: "label urls path type timeout headers extra connection_reuse transport use_server_token_count session_header wait_for_model_timeout unreachable_timeout stall_timeout flip proxy source_addresses"},
	{in: "benchmark.endpoint", settings: "api_key", needs: keyed},
	{in: "benchmark.endpoint", settings: "url_strategy", needs: severalURLs},
	{in: "benchmark.endpoint", settings: "streaming", needs: streams},
	{in: "benchmark.endpoint", settings: "use_legacy_max_tokens", needs: legacy},
	{in: "benchmark.endpoint", settings: "per_chunk_usage", needs: usageAsked},
	{in: "benchmark.endpoint", settings: "template rpc plugin download_video_content", needs: ofEndpoint},
	{in: "benchmark.endpoint", settings: "request_content_type", needs: encoded},
	{in: "benchmark.endpoint", settings: "wait_for_model_interval wait_for_model_mode", needs: waiting},
	{in: "benchmark.endpoint", settings: "ca_file insecure client_cert client_key", needs: secure},
	{in: "benchmark.endpoint", settings: "http", needs: overHTTP},
	{in: "benchmark.endpoint.template", settings: "body response_field"},
	{in: "benchmark.endpoint.rpc", settings: "method body text done"},
	{in: "benchmark.endpoint.flip", settings: "call command timeout"},
	{in: "benchmark.endpoint.flip", settings: "method headers body", needs: called},
	{in: "benchmark.endpoint", settings: "reset_kv_cache server_profiler wait_for_workers"},
	{in: "benchmark.endpoint.reset_kv_cache", settings: "timeout_seconds max_retry_seconds path"},
	{in: "benchmark.endpoint.server_profiler", settings: "timeout_seconds start_path stop_path"},
	{in: "benchmark.server", settings: "before_run after_run between_cells"},
	{in: "benchmark.server.before_run.*", settings: "action call command method headers body timeout"},
	{in: "benchmark.server.after_run.*", settings: "action call command method headers body timeout"},
	{in: "benchmark.server.between_cells.*", settings: "action call command method headers body timeout"},

	{in: "benchmark.datasets.*", settings: "name type prompts"},
	{in: "benchmark.datasets.*", settings: "entries random_seed", needs: notQuestionsAlone},
	{in: "benchmark.datasets.*", settings: "sampling", needs: unscheduled},
	{
		in: "benchmark.datasets.*", settings: "path records format dataset hf_subset filters hf_weka_dataset folder plugin",
		needs: ofItsType,
	},
	{in: "benchmark.datasets.*", settings: "turns", needs: conversing},
	{in: "benchmark.datasets.*", settings: "turn_delay", needs: severalTurns},
	{in: "benchmark.datasets.*", settings: "turn_delay_ratio", needs: delayed},
	{in: "benchmark.datasets.*", settings: "prefix_prompts", needs: madeText},
	{in: "benchmark.datasets.*", settings: "system_prompt system_prompt_file", needs: systemPrompt},
	{in: "benchmark.datasets.*", settings: "images", needs: imagesTaken},
	{in: "benchmark.datasets.*", settings: "audio", needs: audioTaken},
	{in: "benchmark.datasets.*", settings: "video", needs: videoTaken},
	{in: "benchmark.datasets.*", settings: "rankings", needs: ranking},
	{in: "benchmark.datasets.*", settings: "columns media_roots trace_session_sample_ratio inter_turn_delay_cap_seconds max_idle_gap_cap_seconds trace_idle_gap_cap_seconds replay_speedup open_loop_replay open_loop_strict omit_kv_hints force_min_tokens ignore_trace_delays use_think_time_only max_context_length", needs: ofFormat},
	{in: "benchmark.datasets.*", settings: "synthesis block_size prompt_batch_size image_batch_size audio_batch_size video_batch_size", needs: ofFormatOnly},
	{in: "benchmark.datasets.*", settings: "cache_bust", needs: busted},
	{in: "benchmark.datasets.*.cache_bust", settings: "target", needs: warmedUp},

	{in: "benchmark.datasets.*.prompts", settings: "isl", needs: inputLength},
	{in: "benchmark.datasets.*.prompts", settings: "osl", needs: outputLength},
	{in: "benchmark.datasets.*.prompts", settings: "batch_size", needs: batched},
	{in: "benchmark.datasets.*.prompts", settings: "corpus corpus_file", needs: cut},
	{in: "benchmark.datasets.*.prompts", settings: "cache_bust", needs: busted},
	{in: "benchmark.datasets.*.prompts", settings: "block_size", needs: ofFormatOnly},
	{in: "benchmark.datasets.*.prompts", settings: "sequence_distribution", needs: madeLengths},
	{in: "benchmark.datasets.*.prompts", settings: "random_range_ratio", needs: spread},
	{in: "benchmark.datasets.*.prompts", settings: "random_corpus_style", needs: spreadStyle},
	{in: "benchmark.datasets.*.prompts.cache_bust", settings: "target", needs: warmedUp},
	{in: "benchmark.datasets.*.prompts.sequence_distribution.*", settings: "isl isl_stddev osl osl_stddev probability"},

	{in: "benchmark.datasets.*.prefix_prompts", settings: "hit_rate"},
	{
		in: "benchmark.datasets.*.prefix_prompts", settings: "pool_size",
		needs: halfOf("length", "--prompt-prefix-length"),
	},
	{
		in: "benchmark.datasets.*.prefix_prompts", settings: "length",
		needs: halfOf("pool_size", "--prompt-prefix-pool-size"),
	},
	{
		in: "benchmark.datasets.*.prefix_prompts", settings: "shared_system_length user_context_length",
		needs: systemPlace,
	},
	{in: "benchmark.datasets.*.prefix_prompts", settings: "block_size", needs: hitRate},

	{in: "benchmark.datasets.*.images", settings: "batch_size"},
	{
		in: "benchmark.datasets.*.images", settings: "width height format source",
		needs: counted("images", "--image-batch-size"),
	},
	{in: "benchmark.datasets.*.images", settings: "source_sampling", needs: fromFolder},
	{in: "benchmark.datasets.*.audio", settings: "batch_size"},
	{
		in: "benchmark.datasets.*.audio", settings: "length format sample_rates depths channels",
		needs: counted("audio", "--audio-batch-size"),
	},
	{in: "benchmark.datasets.*.video", settings: "batch_size"},
	{
		in: "benchmark.datasets.*.video", settings: "duration fps width height format codec synth_type audio",
		needs: counted("video", "--video-batch-size"),
	},
	{in: "benchmark.datasets.*.video.audio", settings: "channels"},
	{in: "benchmark.datasets.*.video.audio", settings: "sample_rate codec depth", needs: soundTrack},
	{in: "benchmark.datasets.*.rankings", settings: "passages passage_tokens query_tokens"},
	{
		in:       "benchmark.datasets.*.synthesis",
		settings: "speedup_ratio prefix_len_multiplier prefix_root_multiplier prompt_len_multiplier output_len_multiplier max_isl max_osl",
	},
	{in: "benchmark.datasets.*.synthesis", settings: "allow_dataset_wrap", needs: resumed},

	{in: "benchmark.phases.*", settings: "name kind type exclude_from_results requests duration sessions concurrency cancellation failed_request_threshold"},
	{in: "benchmark.phases.*", settings: "rate rate_ramp rate_series smoothness users auto_offset start_offset end_offset grace_period seamless", needs: ofItsType},
	{in: "benchmark.phases.*", settings: "prefill_concurrency", needs: streaming},
	{in: "benchmark.phases.*", settings: "concurrency_ramp", needs: limited("concurrency")},
	{in: "benchmark.phases.*", settings: "prefill_ramp", needs: limited("prefill_concurrency")},
	{in: "benchmark.phases.*", settings: "trajectory_start_min_ratio trajectory_start_max_ratio burst_phase_starts system_idle_gap_cap_seconds agentic_warmup_grace_period", needs: primed},
	{in: "benchmark.phases.*", settings: "in_flight", needs: binding},
	{in: "benchmark.phases.*", settings: "on_cap", needs: capped},
	{in: "benchmark.phases.*", settings: "on_count", needs: cutShort},
	{in: "benchmark.phases.*.concurrency_ramp", settings: "duration strategy"},
	{in: "benchmark.phases.*.prefill_ramp", settings: "duration strategy"},
	{in: "benchmark.phases.*.rate_ramp", settings: "duration strategy"},
	{in: "benchmark.phases.*.rate_series", settings: "path points"},
	{in: "benchmark.phases.*", settings: "adaptive_scale"},
	{in: "benchmark.phases.*.adaptive_scale", settings: "control assessment_period min_completed_requests sustain_duration strategy sla"},
	{in: "benchmark.phases.*.adaptive_scale.sla.*", settings: "metric_tag stat op threshold"},
	{in: "benchmark.phases.*.adaptive_scale.control", settings: "variable min max"},
	{in: "benchmark.phases.*", settings: "stability"},
	{in: "benchmark.phases.*.stability", settings: "percentage mode"},
	{in: "benchmark.phases.*.stability", settings: "interval", needs: timeWindows},
	{in: "benchmark.phases.*.stability", settings: "requests", needs: countWindows},
	{in: "benchmark.phases.*.adaptive_scale.strategy", settings: "type step_policy"},
	{in: "benchmark.phases.*.adaptive_scale.strategy", settings: "base_step max_step_multiplier", needs: stepsByMargin},
	{in: "benchmark.phases.*.adaptive_scale.strategy", settings: "step_percent", needs: stepsByPercent},
	{in: "benchmark.phases.*.cancellation", settings: "rate"},
	{in: "benchmark.phases.*.cancellation", settings: "delay", needs: cancelling},

	{in: "benchmark.artifacts", settings: "dir aiperf exporters metrics prefix summary records raw show_trace_timing slice_duration export_outputs_json auto_plot"},
	{in: "benchmark.artifacts", settings: "trace", needs: recordFile},
	{in: "benchmark.artifacts", settings: "plot_required", needs: plotted},

	{in: "benchmark.tokenizer", settings: "name"},
	{in: "benchmark.tokenizer", settings: "revision", needs: modelsTokenizer},
	{
		in: "benchmark.tokenizer", settings: "trust_remote_code",
		needs: never("this program runs no code of a tokenizer, only its tokenizer.json"),
	},
	{in: "benchmark.tokenizer", settings: "apply_chat_template", needs: templated},
	{in: "benchmark.gpu_telemetry", settings: "enabled urls metrics_file collector mode"},
	{in: "benchmark.server_metrics", settings: "enabled"},
	{in: "benchmark.server_metrics", settings: "urls formats", needs: scraped},
	{in: "benchmark.network_latency", settings: "enabled mean_ms"},
	{in: "benchmark.network_latency", settings: "ping_interval", needs: pinged},
	{
		in:       "benchmark.accuracy",
		settings: "benchmark tasks n_shots enable_cot grader system_prompt verbose path mode items",
	},
	{in: "benchmark.accuracy", settings: "plugin", needs: judgedByProgram},
	{in: "benchmark.accuracy", settings: "share", needs: questionsAmong},
	{in: "benchmark.otel", settings: "metrics_url"},
	{
		in: "benchmark.otel", needs: collected,
		settings: "stream_metrics_enabled stream_timing_enabled custom_resource_attributes gen_ai_provider semconv",
	},
	{in: "benchmark.mlflow", settings: "tracking_uri"},
	{in: "benchmark.mlflow", settings: "experiment run_name tags parent_run_id artifact_globs", needs: filedMLflow},
	{in: "benchmark.wandb", settings: "project"},
	{in: "benchmark.wandb", settings: "entity run_name tags", needs: filedWandB},
	{in: "benchmark.runtime", settings: "ui serve_metrics"},
	{in: "benchmark.runtime", settings: "workers record_processors", needs: never("one process does the work of all")},
	{in: "benchmark.logging", settings: "level", needs: never("what is printed and logged is the same at every level")},
}

// Need is what some settings need to have an effect.
type Need struct {
	Settings []string // by their paths, as they are written
	Words    string
}

// Needs are the rows of the table of effects that need something, for documents.
func Needs() (out []Need) {
	at := map[string]int{}
	written := strings.NewReplacer("benchmark.", "", "datasets.*", "dataset", "phases.*", "phases", ".*", "")
	for _, e := range effects {
		if e.needs == nil {
			continue
		}
		i, known := at[e.needs.name]
		if !known {
			i = len(out)
			at[e.needs.name] = i
			out = append(out, Need{Words: e.needs.name})
		}
		for name := range strings.FieldsSeq(e.settings) {
			out[i].Settings = append(out[i].Settings, written.Replace(source.Join(e.in, name)))
		}
	}
	return out
}

const noEffect = "has no effect"

// spot is where somebody said a setting; all values of one flag are at one spot.
type spot struct{ where, setting string }

// idleSetting is a setting that somebody said and that changes nothing in a cell.
type idleSetting struct {
	spot
	err    *Error
	member string // the setting's name, where its place does not say it
	lack
}

// object is the objects at one place of the tree, with their rows of the table.
type object struct {
	parts []string
	rows  []effectRow
}

// effectRow is one setting and what it needs.
type effectRow struct {
	name  string
	leaf  *fields.Leaf
	needs *need
}

// objectsOf are the rows that ask something, object by object, outer ones first.
func objectsOf(x fields.Table, asks func(*need) bool) []object {
	var out []object
	at := map[string]int{}
	for _, e := range effects {
		if e.needs == nil || !asks(e.needs) {
			continue
		}
		i, known := at[e.in]
		if !known {
			i = len(out)
			at[e.in] = i
			var parts []string
			if e.in != "" {
				parts = source.SplitPath(e.in)
			}
			out = append(out, object{parts: parts})
		}
		for name := range strings.FieldsSeq(e.settings) {
			out[i].rows = append(out[i].rows, effectRow{name, x[source.Join(e.in, name)], e.needs})
		}
	}
	slices.SortStableFunc(out, func(a, b object) int { return len(a.parts) - len(b.parts) })
	return out
}

// finder looks for settings without effect in one tree.
type finder struct {
	root  *source.Node
	idle  map[*source.Node]bool // objects without effect: nothing below has one
	index fields.Table
	ask   func(r effectRow, object, value *source.Node, path []string) lack
	found func(at spot, said *source.Node, w lack)
}

// look asks the rows of objects.
func (f *finder) look(objects []object) {
	f.idle = map[*source.Node]bool{}
	for i := range objects {
		f.each(f.root, nil, &objects[i])
	}
}

// each finds the objects of o below n, which stands at path.
func (f *finder) each(n *source.Node, path []string, o *object) {
	if n == nil || f.idle[n] {
		return
	}
	if len(path) == len(o.parts) {
		f.judge(n, path, o.rows)
		return
	}
	part := o.parts[len(path)]
	if part != "*" {
		f.each(n.Get(part), append(path, part), o)
		return
	}
	for i, it := range n.Items {
		f.each(it, append(path, strconv.Itoa(i)), o)
	}
}

func (f *finder) judge(n *source.Node, path []string, rows []effectRow) {
	for _, r := range rows {
		value := n.Get(r.name)
		said := f.index.Said(r.leaf, value)
		if said == nil {
			continue
		}
		w := f.ask(r, n, value, path)
		if w.why != "" {
			f.idle[value] = true
		}
		f.found(spot{said.Origin.Where, source.Join(strings.Join(path, "."), r.name)}, said, w)
	}
}

// ineffective looks for settings of a checked cell that have no effect. Those that
// cannot be followed are mistakes; the others are noted, for what has no effect in
// one cell may have one in another.
func (cs *cells) ineffective(c *cell) (bad Errors) {
	body := &c.resolved.Benchmark
	v := view{body: body, file: cs.src.File != "", looked: cs.looked}
	f := finder{root: c.root, index: cs.index}
	f.ask = func(r effectRow, object, value *source.Node, path []string) lack {
		v.dataset, v.phase = &Dataset{}, nil
		if len(body.Datasets) > 0 {
			v.dataset = &body.Datasets[0]
		}
		if len(path) > 2 && path[1] == "phases" {
			i, _ := strconv.Atoi(path[2])
			v.phase = &body.Phases[i]
		}
		v.name, v.object, v.value = r.name, object, value
		if len(path) > 1 && path[1] == "datasets" {
			if w := notQuestionsAlone.cell(&v); w != acts {
				return w
			}
		}
		return r.needs.cell(&v)
	}
	f.found = func(at spot, said *source.Node, w lack) {
		switch {
		case w.why == "":
			cs.acting[at] = true
		case w.hard:
			bad = append(bad, idleOf(c.root, at, said, w).err)
		default:
			c.resolved.idle = append(c.resolved.idle, idleOf(c.root, at, said, w))
		}
	}
	f.look(cs.objects)
	return bad
}

// idleOf is the setting at a spot of root, with the mistake that it is.
func idleOf(root *source.Node, at spot, said *source.Node, w lack) idleSetting {
	s := idleSetting{spot: at, lack: w}
	if _, name := source.Cut(at.setting); said.Origin.Source == source.BySet && !strings.HasSuffix(said.Origin.Flag,
		name) {
		s.member = name + " " // it stands in an object that was set
	}
	message := s.member + noEffect + w.why
	if w.hard {
		message = s.member + w.why
	}
	s.err = &Error{
		Place: said.Origin.Where, Path: root.Written(at.setting), Message: message, Hint: w.hint,
		Ruled: true,
	}
	return s
}

// partly is the mistake of a setting that acts in some of the cells.
func (s idleSetting) partly(idle, cells int) *Error {
	e := *s.err
	e.Message = fmt.Sprintf("%s%s in %d of %d cells%s", s.member, noEffect, idle, cells, s.why)
	return &e
}

// Idle are the settings that somebody gave and that change nothing in a plan.
type Idle struct {
	Refused Errors // they cannot be followed
	Ours    Errors // AIPerf does not have them, or cannot read where they stand
	Theirs  Errors // AIPerf takes them, too, and does nothing with them
	Partly  Errors // they have an effect in some cells
	Told    Errors // they are taken for AIPerf's sake alone
}

// Idle looks for settings without effect in all cells of a plan. Each cell keeps
// its own for the report of its runs.
func (d *Document) Idle(cells []*Resolved) (idle Idle) {
	count := map[spot]int{}
	var first []idleSetting
	for _, c := range cells {
		for _, s := range c.idle {
			if count[s.spot]++; count[s.spot] == 1 {
				first = append(first, s)
			}
		}
	}
	for _, s := range first {
		e := *s.err
		switch {
		case d.cells.acting[s.spot]:
			idle.Partly = append(idle.Partly, s.partly(count[s.spot], len(cells)))
		case s.told:
			idle.Told = append(idle.Told, &e)
		case d.knownToAIPerf(s.setting):
			idle.Theirs = append(idle.Theirs, &e)
		default:
			idle.Ours = append(idle.Ours, &e)
		}
	}
	d.idleInPlan(cells, &idle)
	return idle
}

// idleInPlan adds the settings that have no effect on the plan of cells.
func (d *Document) idleInPlan(cells []*Resolved, idle *Idle) {
	whole := *d.cells.root
	whole.Fields = append(slices.Clone(whole.Fields), source.Field{Name: "sweep", Value: d.block})
	v := planView{experiment: &d.envelope, cells: len(cells), warm: slices.ContainsFunc(cells, (*Resolved).warmsUp)}
	f := finder{root: &whole, index: d.cells.index}
	f.ask = func(r effectRow, object, _ *source.Node, _ []string) lack {
		v.object = object
		return r.needs.plan(&v)
	}
	f.found = func(at spot, said *source.Node, w lack) {
		if w.why == "" {
			return
		}
		s := idleOf(&whole, at, said, w)
		switch {
		case w.hard:
			idle.Refused = append(idle.Refused, s.err)
			return
		case d.knownToAIPerf(at.setting):
			idle.Theirs = append(idle.Theirs, s.err)
		default:
			idle.Ours = append(idle.Ours, s.err)
		}
		for _, c := range cells {
			c.idle = append(c.idle, s)
		}
	}
	f.look(objectsOf(d.cells.index, func(n *need) bool { return n.plan != nil }))
}

// warmsUp tells whether the cell has a warmup.
func (r *Resolved) warmsUp() bool { return warmsUp(&r.Benchmark) }

// knownToAIPerf tells whether AIPerf has the setting and reads where it stands.
func (d *Document) knownToAIPerf(setting string) bool {
	if d.text.ending == ".cue" {
		return false
	}
	for at := setting; at != ""; at, _ = source.Cut(at) {
		switch at {
		case "gates", "gates_undecided", "rules", "objectives", "compare", "search", "budget", "verdict", "tables":
			return false
		}
		if d.cells.index.At(at).Has(fields.IsOurs) {
			return false
		}
	}
	return true
}

// Idle are the settings that change nothing in this cell, in words.
func (r *Resolved) Idle() (out []string) {
	for _, s := range r.idle {
		out = append(out, s.err.Error())
	}
	return out
}
