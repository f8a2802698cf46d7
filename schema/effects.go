package schema

import (
	"cmp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// effectRules are the settings whose effect depends on others. The text says
// when a setting has none; "" means that it has one.
var effectRules = slices.Concat(untakenRules(), []rule{
	{place: "multi_run.confidence_level", severity: warned, spent: flagged.single},
	{place: "multi_run.cooldown_seconds", severity: warned, spent: flagged.single},
	{place: "multi_run.disable_warmup_after_first", severity: warned, spent: flagged.single},
	{place: "multi_run.set_consistent_seed", severity: warned, spent: flagged.single},
	{place: "multi_run.vary_seed_per_trial", severity: warned, spent: flagged.single},
	{place: "multi_run.convergence", severity: warned, spent: flagged.untried},
	{place: "benchmark.endpoint.streaming", severity: warned, spent: flagged.streamless},
	{place: "benchmark.endpoint.use_legacy_max_tokens", severity: warned, spent: lacking(func(t *fields.EndpointType) bool { return t.LegacyMaxTokens }, "")},
	{place: fields.DatasetPath + ".prompts.osl", severity: warned, spent: lacking(func(t *fields.EndpointType) bool { return t.Tokens }, ", which produces no tokens")},
	{place: fields.DatasetPath + ".prompts.isl", severity: warned, spent: flagged.recorded},
	{place: fields.DatasetPath + ".prefix_prompts.shared_system_length", severity: warned, spent: lacking(func(t *fields.EndpointType) bool { return t.System }, "")},
	{place: fields.DatasetPath + ".prefix_prompts.user_context_length", severity: warned, spent: lacking(func(t *fields.EndpointType) bool { return t.System }, "")},
	{place: fields.DatasetPath + ".prefix_prompts.pool_size", severity: warned, spent: half("length", "--prompt-prefix-length")},
	{place: fields.DatasetPath + ".prefix_prompts.length", severity: warned, spent: half("pool_size", "--prompt-prefix-pool-size")},
	{place: fields.DatasetPath + ".turn_delay", severity: warned, spent: flagged.oneTurn},
	{place: fields.DatasetPath + ".prompts.block_size", severity: warned, spent: flagged.traceless},
	{place: fields.DatasetPath + ".block_size", severity: warned, spent: flagged.traceless},
	{place: fields.DatasetPath + ".synthesis", severity: warned, spent: flagged.traceless},
	{place: fields.DatasetPath + ".replay_speedup", severity: warned, spent: flagged.traceless},
	{place: fields.DatasetPath + ".trace_session_sample_ratio", severity: warned, spent: flagged.traceless},
	{place: fields.PhasePath + ".trajectory_start_min_ratio", severity: warned, spent: flagged.momentless},
	{place: fields.PhasePath + ".trajectory_start_max_ratio", severity: warned, spent: flagged.momentless},
	{place: fields.PhasePath + ".burst_phase_starts", severity: warned, spent: flagged.momentless},
	{place: fields.PhasePath + ".agentic_warmup_grace_period", severity: warned, spent: flagged.momentless},
	{place: fields.DatasetPath + ".prompts.sequence_distribution", severity: warned, spent: flagged.recorded},
	{place: fields.DatasetPath + ".prompts.random_range_ratio", severity: warned, spent: flagged.recorded},
	{place: fields.DatasetPath + ".prompts.random_corpus_style", severity: warned, spent: flagged.recorded},
	{place: fields.DatasetPath + ".images", severity: warned, spent: flagged.recorded},
	{place: fields.DatasetPath + ".audio", severity: warned, spent: flagged.recorded},
	{place: fields.DatasetPath + ".video", severity: warned, spent: flagged.recorded},
	{place: "benchmark.tokenizer.trust_remote_code", severity: warned, spent: flagged.codeless},
	{place: "benchmark.artifacts.trace", severity: warned, spent: flagged.recordless},
	{place: "benchmark.runtime.workers", severity: warned, spent: flagged.oneProcess},
	{place: "benchmark.runtime.record_processors", severity: warned, spent: flagged.oneProcess},
	{place: "benchmark.logging.level", severity: warned, spent: func(flagged) string { return ": what is printed and logged is the same at every level" }},
})

// single: nothing is repeated, so nothing is said about repetitions.
func (e flagged) single() string {
	runs := e.root.At("multi_run.num_runs")
	if runs != nil && source.NumberOf(runs.Value) > 1 || len(e.axes)+len(e.sweep.Scenarios) > 0 || e.sweep.Type != "" {
		return ""
	}
	return " on a single run (--num-profile-runs makes several)"
}

// untried: one trial of a cell cannot be stopped early.
func (e flagged) untried() string {
	if runs := e.root.At("multi_run.num_runs"); runs != nil && source.NumberOf(runs.Value) > 1 {
		return ""
	}
	return " on one trial (--num-profile-runs says how many there are at most)"
}

// kind is the type of the endpoint, "" when it is swept.
func (e flagged) kind() string {
	switch {
	case e.axis("benchmark.endpoint.type") != nil || e.axis("benchmark.endpoint") != nil || len(e.sweep.Scenarios) > 0:
		return ""
	case e.root.At("benchmark.endpoint.type") == nil:
		return e.index["benchmark.endpoint.type"].Usual()
	}
	return suggest.Fold(e.root.At("benchmark.endpoint.type").Text())
}

// lacking tells that the endpoint's type, if there is one, lacks something.
func lacking(has func(*fields.EndpointType) bool, why string) func(flagged) string {
	return func(e flagged) string {
		k := e.kind()
		if t := fields.EndpointNamed(k); t != nil && !has(t) {
			return " on an endpoint of type " + k + why
		}
		return ""
	}
}

// streamless: some APIs stream never, some by gRPC alone.
func (e flagged) streamless() string {
	why := lacking(func(t *fields.EndpointType) bool { return t.Streams }, ", which does not stream")(e)
	if t := fields.EndpointNamed(e.kind()); why == "" || !t.StreamsRPC {
		return why
	}
	if urls := e.root.At("benchmark.endpoint.urls"); urls != nil && !slices.ContainsFunc(append(slices.Clone(urls.Items), urls), func(u *source.Node) bool {
		return u.Text() != "" && !strings.HasPrefix(u.Text(), "grpc")
	}) {
		return ""
	}
	return why + " over HTTP"
}

// half: prefixes need a number and a length.
func half(other, flag string) func(flagged) string {
	return func(e flagged) string {
		if e.src.File == "" && e.root.At(fields.DatasetPath+".prefix_prompts."+other) == nil {
			return " without " + flag
		}
		return ""
	}
}

// traceless: only recorded load can be changed, and only a trace has blocks.
func (e flagged) traceless() string {
	switch {
	case !fields.DatasetMade(e.root.At(fields.DatasetPath).TypeWord()):
		return ""
	case e.src.File != "":
		return " without a trace"
	}
	return " without a trace (--input-file)"
}

// momentless: only one mode goes on from the middle of a session. AIPerf writes
// these settings into every file.
func (e flagged) momentless() string {
	if t := fields.PhaseNamed(e.phase().TypeWord()); e.src.File != "" || t != nil && t.Primed {
		return ""
	}
	return " without --agentic-replay"
}

// replaying are the settings that only some formats of recorded requests take.
var replaying = []string{
	"inter_turn_delay_cap_seconds",
	"max_idle_gap_cap_seconds",
	"trace_idle_gap_cap_seconds",
	"ignore_trace_delays",
	"use_think_time_only",
	"max_context_length",
	"omit_kv_hints",
	"force_min_tokens",
	"open_loop_replay",
	"open_loop_strict",
}

func untakenRules() (list []rule) {
	for _, setting := range replaying {
		list = append(list, rule{place: fields.DatasetPath + "." + setting, severity: warned, spent: untaken(setting)})
	}
	return list
}

// untaken: what a published set takes is not known here, and of files warnUntaken
// speaks.
func untaken(setting string) func(flagged) string {
	return func(e flagged) string {
		ds := e.root.At(fields.DatasetPath)
		switch {
		case e.src.File != "":
			return ""
		case fields.DatasetMade(ds.TypeWord()):
			return flagged.traceless(e)
		}
		return untakenBy(ds, setting)
	}
}

// untakenBy says that the format of ds, if it is known, does not take the setting.
func untakenBy(ds *source.Node, setting string) string {
	f := fields.FormatNamed(suggest.Fold(ds.Get("format").Text()))
	if fields.DatasetTypeNamed(ds.TypeWord()).Takes("format") && f != nil && !slices.Contains(f.Settings, setting) {
		return " on records of the format " + f.Name
	}
	return ""
}

// warnUntaken names the settings of a file's data sets that their formats do not
// take. AIPerf writes all of them into every file, as what they are anyway.
func (d *draft) warnUntaken() {
	sets := d.root.At("benchmark.datasets")
	if d.src.File == "" || sets == nil {
		return
	}
	for _, ds := range sets.Items {
		for _, setting := range replaying {
			n := ds.Get(setting)
			if n == nil || n.Value == nil {
				continue
			}
			_, l := d.index.Resolve(fields.DatasetPath + "." + setting)
			if why := untakenBy(ds, setting); why != "" && !fields.RepeatsDefault(l, n) {
				d.warn(cmp.Or(n.Origin.Where, "datasets") + ": " + setting + " has no effect" + why)
			}
		}
	}
}

// recorded: the records say what is sent, and when.
func (e flagged) recorded() string {
	if !fields.DatasetMade(e.root.At(fields.DatasetPath).TypeWord()) {
		return " on requests that are recorded"
	}
	return ""
}

// oneTurn: nothing comes after the only turn.
func (e flagged) oneTurn() string {
	ds := e.root.At(fields.DatasetPath)
	if why := e.recorded(); why != "" {
		return why
	}
	if e.axis(fields.DatasetPath+".turns.mean") != nil || e.axis(fields.DatasetPath+".turns") != nil {
		return ""
	}
	turns := ds.Get("turns")
	if turns == nil || turns.Get("stddev") == nil && turns.Get("mean") != nil && source.NumberOf(turns.Get("mean").Value) == 1 {
		return " on conversations of one turn (--conversation-turn-mean makes longer ones)"
	}
	return ""
}

// recordless: the times of the connection stand beside records.
func (e flagged) recordless() string {
	if r := e.root.At("benchmark.artifacts.records"); r != nil && r.Value == false {
		return " without the file of records (--export-level records)"
	}
	return ""
}

// codeless: a tokenizer is data here.
func (e flagged) codeless() string {
	if n := e.root.At("benchmark.tokenizer.trust_remote_code"); n == nil || n.Value != true {
		return ""
	}
	return ": no code of a tokenizer is run, its tokenizer.json says all"
}

func (flagged) oneProcess() string { return ": one process does the work of all" }
