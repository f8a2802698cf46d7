package cmdline

import (
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// searchSettings are those of the sweep block that a recipe which searches takes, too.
var searchSettings = []string{
	"sla_filters", "sla_tiers", "max_iterations", "n_initial_points", "random_seed", "planner",
	"optuna_sampler", "optuna_acquisition", "optuna_terminator",
	"objective_pooling", "constraint_mode",
}

// styles are the planners of max-concurrency-under-sla.
var styles = map[string]string{
	"": "smooth_isotonic", "smooth_isotonic": "smooth_isotonic",
	"monotonic": "monotonic_sla", "bo": "bayesian", "optuna": "optuna",
}

// maxThroughput is a model of the throughput over the concurrency, under one limit.
func maxThroughput(_ recipe, l *Line, sw *source.Node) diag.Errors {
	l.limitBy(sw)
	return l.searchConcurrency(sw, "", "output_token_throughput")
}

// maxConcurrency looks for the concurrency at which a limit is first missed, by search or on
// a grid.
func maxConcurrency(_ recipe, l *Line, sw *source.Node) diag.Errors {
	l.limitBy(sw)
	block := sw.Get("recipe")
	bad := l.streamsFor(sw)
	at, style := block.Get("name").Origin, block.Get("style").Text()
	if style != "grid" {
		if n := block.Get("concurrency_steps"); n != nil {
			l.ineffective(n, "without --search-style grid")
		}
		return append(bad, l.searchConcurrency(sw, styles[style], "output_token_throughput")...)
	}
	limits := sw.Get("sla_filters").Clone()
	l.postProcess(sw, "sla_breach_knee", "sla_breach.json", source.Field{Name: "sla_filters", Value: limits},
		source.Field{Name: "swept_param", Value: source.TextNode(concurrencyPath, at)})
	for _, name := range searchSettings {
		if n := sw.Get(name); n != nil && name != "sla_filters" {
			l.ineffective(n, "with --search-style grid")
			sw.Pop(name)
		}
	}
	return append(bad, l.recipeAxis(sw, concurrencyPath, "concurrency", 1, 1000, 8)...)
}

// maxGoodput is a model of the goodput over the concurrency, where a share of the requests
// meets three limits together.
func maxGoodput(_ recipe, l *Line, sw *source.Node) diag.Errors {
	block := sw.Get("recipe")
	at := block.Get("name").Origin
	slos, bad := lower.Reach(l.Index, l.Root, "benchmark.slos", at)
	if bad != nil || slos.Kind != source.Object {
		return bad
	}
	for _, x := range []struct{ setting, tag string }{
		{"ttft_sla_ms", "time_to_first_token"},
		{"itl_sla_ms", "inter_token_latency"},
		{"tpot_sla_ms", "inter_token_latency"},
		{"e2e_sla_ms", "request_latency"},
	} {
		if n := block.Get(x.setting); n != nil {
			slos.Put(x.tag, n)
			slos.Field(x.tag).Origin = n.Origin
		}
	}
	share := any(0.95)
	if n := block.Get("slo_attainment_fraction"); n != nil {
		share = n.Value
	}
	l.addLimits(sw, limitNode(at, "good_request_fraction", "avg", "ge", share))
	return l.searchConcurrency(sw, "", "goodput")
}

// limitBy makes the limits of a recipe filters, before those that were given with --search-sla.
func (l *Line) limitBy(sw *source.Node) {
	var limits []*source.Node
	for _, x := range []struct {
		setting, tag, stat string
		scale              float64
	}{
		{"ttft_sla_ms", "time_to_first_token", "p95", 1},
		{"itl_sla_ms", "inter_token_latency", "p95", 1},
		{"tpot_sla_ms", "inter_token_latency", "p95", 1},
		{"e2e_sla_ms", "request_latency", "p99", 1},
		{"error_rate_sla", "request_error_rate", "avg", 100}, // the filter is in percent
	} {
		if n := sw.At("recipe." + x.setting); n != nil {
			limits = append(limits, limitNode(n.Origin, x.tag, x.stat, "lt", x.scale*source.NumberOf(n.Value)))
		}
	}
	l.addLimits(sw, limits...)
}

func (l *Line) addLimits(sw *source.Node, limits ...*source.Node) {
	all := &source.Node{Kind: source.List, Items: limits, Origin: sw.At("recipe.name").Origin}
	if given := sw.Get("sla_filters"); given != nil {
		all.Items = append(all.Items, given.Items...)
	}
	sw.Put("sla_filters", all)
}

// streamsFor refuses limits on a stream's times where nothing streams.
func (l *Line) streamsFor(sw *source.Node) diag.Errors {
	if streaming := l.Root.At("benchmark.endpoint.streaming"); streaming != nil && streaming.Value == true {
		return nil
	}
	for _, name := range []string{"ttft_sla_ms", "itl_sla_ms", "tpot_sla_ms"} {
		if n := sw.At("recipe." + name); n != nil {
			return source.Mistake(n.Origin, "sweep.recipe."+name, "is about a stream: the endpoint must stream",
				"add --streaming")
		}
	}
	return nil
}

// searchConcurrency makes the recipe a search of the concurrency, from 1 to 1000.
func (l *Line) searchConcurrency(sw *source.Node, planner, metric string) diag.Errors {
	block := sw.Get("recipe")
	at := block.Get("name").Origin
	lo, hi := source.LeafNode(int64(1), at), source.LeafNode(int64(1000), at)
	if n := block.Get("concurrency_min"); n != nil {
		lo = n
	}
	if n := block.Get("concurrency_max"); n != nil {
		hi = n
	}
	if source.NumberOf(lo.Value) >= source.NumberOf(hi.Value) {
		return source.Mistake(lo.Origin, "sweep.recipe.concurrency_min",
			lo.String()+" is not below "+hi.String()+", the largest concurrency", "")
	}
	dim := source.ObjectNode(at)
	dim.Put("path", source.TextNode(concurrencyPath, at))
	dim.Put("lo", lo)
	dim.Put("hi", hi)
	dim.Put("kind", source.TextNode("int", at))
	dim.Put("prior", source.TextNode("log-uniform", at))
	goal := source.ObjectNode(at)
	goal.Put("metric", source.TextNode(metric, at))
	goal.Put("stat", source.TextNode("avg", at))
	goal.Put("direction", source.TextNode("maximize", at))
	sw.Put("type", source.TextNode(fields.SweepTaking("search_space", false).Name, at))
	sw.Put("search_space", source.ListNode(dim))
	sw.Put("objectives", source.ListNode(goal))
	if planner != "" && sw.Get("planner") == nil {
		sw.Put("planner", source.TextNode(planner, at))
	}
	return nil
}
