package schema

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// effect is a setting that does nothing in some experiments. A flag that asks
// for it there is named in a warning.
type effect struct {
	path  string // of the setting, or of the object it is a member of
	spent func(e effects) string
}

// effects is what the table below looks at: the experiment after its flags.
type effects struct {
	*draft
	sweep Sweep
}

// effectless are the settings whose effect depends on others. The text says
// when a setting has none; "" means that it has one.
var effectless = []effect{
	{"multi_run.confidence_level", effects.single},
	{"multi_run.cooldown_seconds", effects.single},
	{"multi_run.disable_warmup_after_first", effects.single},
	{"multi_run.set_consistent_seed", effects.single},
	{"multi_run.vary_seed_per_trial", effects.single},
	{"multi_run.convergence", effects.untried},
	{"benchmark.endpoint.streaming", effects.streamless},
	{"benchmark.endpoint.use_legacy_max_tokens", lacking(func(t *fields.EndpointType) bool { return t.LegacyMaxTokens }, "")},
	{fields.DatasetPath + ".prompts.osl", lacking(func(t *fields.EndpointType) bool { return t.Tokens }, ", which produces no tokens")},
	{fields.DatasetPath + ".prefix_prompts.shared_system_length", lacking(func(t *fields.EndpointType) bool { return t.System }, "")},
	{fields.DatasetPath + ".prefix_prompts.user_context_length", lacking(func(t *fields.EndpointType) bool { return t.System }, "")},
	{fields.DatasetPath + ".prefix_prompts.pool_size", half("length", "--prompt-prefix-length")},
	{fields.DatasetPath + ".prefix_prompts.length", half("pool_size", "--prompt-prefix-pool-size")},
	{fields.DatasetPath + ".turn_delay", effects.oneTurn},
	{fields.DatasetPath + ".synthesis", effects.traceless},
	{fields.DatasetPath + ".replay_speedup", effects.traceless},
	{fields.DatasetPath + ".trace_session_sample_ratio", effects.traceless},
	{"benchmark.artifacts.trace", effects.recordless},
	{"benchmark.runtime.workers", effects.oneProcess},
	{"benchmark.runtime.record_processors", effects.oneProcess},
	{"benchmark.logging.level", func(effects) string { return ": what is printed and logged is the same at every level" }},
	{fields.PhasePath + ".concurrency", effects.tooMany},
}

// warnEffectless names the flags that change nothing.
func (d *draft) warnEffectless(sweep Sweep) {
	e, root := effects{d, sweep}, d.root
	for _, a := range d.src.Assignments {
		i := slices.IndexFunc(effectless, func(x effect) bool { return a.Path == x.path || strings.HasPrefix(a.Path, x.path+".") })
		if a.Origin.Source != "flag" || i < 0 || a.Axis || root.At(a.Path) == nil {
			continue
		}
		if _, l := d.index.Resolve(a.Path); fields.RepeatsDefault(l, source.FromPlain(a.Value, a.Origin)) {
			continue // asks for what is anyway
		}
		if why := effectless[i].spent(e); why != "" {
			d.warn(a.Origin.Where + " has no effect" + why)
		}
	}
	d.warnLosers(root)
}

// warnLosers names the flags that another one wins over.
func (d *draft) warnLosers(root *source.Node) {
	kind := root.At(fields.PhasePath).TypeWord()
	for _, a := range d.src.Assignments {
		switch at := a.Origin.Where; {
		case a.Origin.Source != "flag":
		case a.Path == fields.PhasePath+".type" && !d.typed("--fixed-schedule") && suggest.Fold(fmt.Sprint(a.Value)) != kind && d.flag(fields.PhasePath+".rate") != nil &&
			at != "--no-fixed-schedule":
			d.warn(fmt.Sprintf("%s has no effect: the phase is of type %s", at, kind))
		case a.Path == fields.PhasePath+".rate" && kind == "user_centric" && at != "--user-centric-rate":
			d.warn(at + " has no effect: --user-centric-rate wins")
		}
	}
}

// single: nothing is repeated, so nothing is said about repetitions.
func (e effects) single() string {
	runs := e.root.At("multi_run.num_runs")
	if runs != nil && source.NumberOf(runs.Value) > 1 || len(e.axes)+len(e.sweep.Scenarios) > 0 || e.sweep.Type != "" {
		return ""
	}
	return " on a single run (--num-profile-runs makes several)"
}

// untried: one trial of a cell cannot be stopped early.
func (e effects) untried() string {
	if runs := e.root.At("multi_run.num_runs"); runs != nil && source.NumberOf(runs.Value) > 1 {
		return ""
	}
	return " on one trial (--num-profile-runs says how many there are at most)"
}

// kind is the type of the endpoint, "" when it is swept.
func (e effects) kind() string {
	switch {
	case e.axis("benchmark.endpoint.type") != nil || e.axis("benchmark.endpoint") != nil || len(e.sweep.Scenarios) > 0:
		return ""
	case e.root.At("benchmark.endpoint.type") == nil:
		return "chat"
	}
	return suggest.Fold(e.root.At("benchmark.endpoint.type").Text())
}

// lacking tells that the endpoint's type, if there is one, lacks something.
func lacking(has func(*fields.EndpointType) bool, why string) func(effects) string {
	return func(e effects) string {
		k := e.kind()
		if t := fields.EndpointNamed(k); t != nil && !has(t) {
			return " on an endpoint of type " + k + why
		}
		return ""
	}
}

// streamless: some APIs stream never, some by gRPC alone.
func (e effects) streamless() string {
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
func half(other, flag string) func(effects) string {
	return func(e effects) string {
		if e.src.File == "" && e.root.At(fields.DatasetPath+".prefix_prompts."+other) == nil {
			return " without " + flag
		}
		return ""
	}
}

// traceless: only recorded load can be changed.
func (e effects) traceless() string {
	if t := e.root.At(fields.DatasetPath).TypeWord(); t == "" || t == "synthetic" {
		return " without a trace (--input-file)"
	}
	return ""
}

// oneTurn: nothing comes after the only turn.
func (e effects) oneTurn() string {
	ds := e.root.At(fields.DatasetPath)
	if t := ds.TypeWord(); t != "" && t != "synthetic" || e.axis(fields.DatasetPath+".turns.mean") != nil || e.axis(fields.DatasetPath+".turns") != nil {
		return ""
	}
	turns := ds.Get("turns")
	if turns == nil || turns.Get("stddev") == nil && turns.Get("mean") != nil && source.NumberOf(turns.Get("mean").Value) == 1 {
		return " on conversations of one turn (--conversation-turn-mean makes longer ones)"
	}
	return ""
}

// recordless: the times of the connection stand beside records.
func (e effects) recordless() string {
	if r := e.root.At("benchmark.artifacts.records"); r != nil && r.Value == false {
		return " without the file of records (--export-level records)"
	}
	return ""
}

func (effects) oneProcess() string { return ": one process does the work of all" }

// tooMany: fewer requests than slots leave slots empty.
func (e effects) tooMany() string {
	p := e.root.At(fields.PhasePath)
	if t := p.TypeWord(); t != "" && t != "concurrency" || len(e.axes)+len(e.sweep.Scenarios) > 0 {
		return ""
	}
	slots := p.Get("concurrency")
	for _, bound := range []string{"requests", "sessions"} {
		if n := p.Get(bound); n != nil && slots != nil && source.NumberOf(n.Value) > 0 && source.NumberOf(n.Value) < source.NumberOf(slots.Value) {
			return fmt.Sprintf(" above %v: that is the number of %s", n.Value, bound)
		}
	}
	return ""
}
