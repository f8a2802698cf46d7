package cmdline

import (
	"cmp"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// adaptive works out what the flags of a search mean together: those of the objective stand
// with the recipe until they are one, and limits need something that is searched.
func (l *Line) adaptive() diag.Errors {
	sw := l.Root.Get("sweep")
	if sw == nil || sw.Kind != source.Object {
		return nil
	}
	recipe := sw.Get("recipe")
	if sw.TypeWord() != fields.SweepTaking("search_space", false).Name {
		return l.searchesNothing(sw, recipe)
	}
	if name := recipe.Get("name"); name != nil {
		return source.Mistake(cmp.Or(sw.Get("search_space"), name).Origin, "sweep.search_space",
			"cannot be combined with a recipe, which defines the sweep", "drop one of them")
	}
	objective := source.ObjectNode(sw.Origin)
	for _, of := range []struct{ flag, name, usual string }{
		{"search_metric", "metric", "output_token_throughput"},
		{"search_stat", "stat", "avg"},
		{"search_direction", "direction", "maximize"},
	} {
		f, said := recipe.Pop(of.flag)
		if !said {
			objective.Put(of.name, source.TextNode(of.usual, source.Usually()))
			continue
		}
		objective.Origin = f.Value.Origin
		objective.Put(of.name, f.Value)
	}
	if objective.Origin != sw.Origin {
		sw.Put("objectives", source.ListNode(objective))
		sw.Field("objectives").Origin = objective.Origin
	}
	if recipe != nil && len(recipe.Fields) == 0 {
		sw.Pop("recipe")
	}
	return nil
}

// searchesNothing is about the flags of a search without one.
func (l *Line) searchesNothing(sw, recipe *source.Node) diag.Errors {
	named := recipe.Get("name") != nil
	for _, name := range []string{"search_metric", "search_stat", "search_direction"} {
		n := recipe.Get(name)
		switch {
		case n == nil:
		case named:
			return source.Mistake(n.Origin, "sweep.recipe."+name,
				"cannot be combined with a recipe, which defines the sweep", "drop one of them")
		default:
			return source.Mistake(n.Origin, "sweep.recipe."+name, "needs a setting that is searched",
				"such as --search-space concurrency:1,64:int")
		}
	}
	for _, name := range []string{"sla_filters", "sla_tiers"} {
		if n := sw.Get(name); n != nil && n.Origin.Source == source.ByFlag && !named &&
			len(l.Axes.All) == 0 && sw.Get("type") == nil {
			l.ineffective(n, "without a search (--search-space, --search-recipe) or a sweep")
			sw.Pop(name)
		}
	}
	return nil
}

// warmProbes gives the cells of a search a warmup of its own, where the experiment has none:
// the measured phase for so many seconds.
func (l *Line) warmProbes() {
	n := l.Root.At("sweep.sla_warmup_seconds")
	phases, p := l.Root.At("benchmark.phases"), l.Root.At(fields.PhasePath)
	if n == nil || p == nil || phases == nil || phases.Kind != source.List ||
		l.Root.At("benchmark.phases.warmup") != nil || !(source.NumberOf(n.Value) > 0) {
		return
	}
	w := p.Clone()
	for _, name := range []string{
		"requests", "sessions", "grace_period", "cancellation", "failed_request_threshold",
		"kind",
	} {
		w.Pop(name)
	}
	at := source.Because(source.Follows, "sla_warmup_seconds is given")
	w.Put("name", source.TextNode("warmup", at))
	w.Put("duration", source.LeafNode(n.Value, at))
	phases.Items = append([]*source.Node{w}, phases.Items...)
}

// precise are the requests of a run of smooth_isotonic, by sla_precision.
var precise = map[string]int64{"tight": 10000, "normal": 1000, "coarse": 300}

// sizeProbes ends the phase of a search by smooth_isotonic that nothing bounds after as many
// requests as its precision takes.
func (l *Line) sizeProbes() {
	p, said := l.Root.At(fields.PhasePath), l.Root.At("sweep.sla_precision")
	if p == nil || l.Root.At("sweep.planner").Text() != "smooth_isotonic" {
		return
	}
	for _, name := range []string{"requests", "sessions", "duration"} {
		if p.Get(name) != nil || l.Axes.On(fields.PhasePath+"."+name) != nil || l.searches(name) {
			return
		}
	}
	precision, why := said.Text(), "sla_precision: "+said.Text()
	if said == nil {
		precision, why = "normal", "smooth_isotonic at sla_precision: normal"
	}
	if n := precise[precision]; n > 0 {
		lower.Fill(p, "requests", n, source.Follows, why)
	}
}

// searches reports whether a field of the phase is a dimension of the search.
func (l *Line) searches(name string) bool {
	space := l.Root.At("sweep.search_space")
	if space == nil || space.Kind != source.List {
		return false
	}
	for _, d := range space.Items {
		if lower.AxisKey(fields.Canonical(d.Get("path").Text())) == lower.AxisKey(fields.PhasePath+"."+name) {
			return true
		}
	}
	return false
}

// limitNode is a limit on a figure as the sweep block has it.
func limitNode(at source.Origin, tag, stat, op string, threshold any) *source.Node {
	n := source.ObjectNode(at)
	n.Put("metric_tag", source.TextNode(tag, at))
	n.Put("stat", source.TextNode(stat, at))
	n.Put("op", source.TextNode(op, at))
	n.Put("threshold", source.LeafNode(threshold, at))
	return n
}
