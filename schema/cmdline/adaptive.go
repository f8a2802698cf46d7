package cmdline

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// adaptiveSettings are those of AIPerf's adaptive search in the sweep block.
var adaptiveSettings = []string{
	"search_space", "sla_filters", "objectives", "planner", "max_iterations", "n_initial_points", "random_seed", "improvement_patience", "plateau_window", "plateau_threshold",
}

// adaptive makes a search of AIPerf's adaptive search: the load is its only dimension, the
// limits are its filters, and whatever its planner is, the answer is a certified bracket.
// What it said is kept for search_history.json.
func (l *Line) adaptive() diag.Errors {
	sw := l.Root.Get("sweep")
	kind := fields.SweepTaking("search_space", false)
	if sw == nil || sw.Kind != source.Object {
		return nil
	}
	if sw.TypeWord() != kind.Name {
		if r := sw.Get("recipe"); r.Get("name") == nil {
			for _, name := range []string{"search_metric", "search_stat", "search_direction"} {
				if n := r.Get(name); n != nil {
					return source.Mistake(n.Origin, "sweep.recipe."+name, "needs a load that is searched", "such as --search-space concurrency:1,64:int")
				}
			}
		}
		if f, ok := sw.Pop("sla_filters"); ok {
			l.Missing("sweep.sla_filters", "limits of a sweep: ", "gates hold every cell against limits: --gate 'time_to_first_token.p95 < 200'", f.Value.Origin)
		}
		return nil
	}
	block, _ := sw.Pop("recipe")
	recipe := block.Value
	if bad := l.Check.Part(l.Root, "sweep", sw); bad != nil {
		return bad
	}
	space := sw.Get("search_space")
	at := space.Origin
	if recipe.Get("name") != nil {
		return source.Mistake(at, "sweep.search_space", "cannot be combined with a recipe, which defines the sweep", "drop one of them")
	}
	if n := len(space.Items); n > 1 {
		l.Missing("sweep.search_space", fmt.Sprintf("%d variables at once: ", n), "search one load, and run one search for each value of the others", at)
		l.Root.Pop("sweep")
		return nil
	}
	if sw.Get("sla_filters") == nil {
		return source.Mistake(at, "sweep.sla_filters", "has no limit to look for", "say what a load must keep: --search-sla time_to_first_token:p95:lt:500; to compare loads without limits sweep a list, such as --concurrency 1,2,4,8,16")
	}
	if n := sw.Get("max_iterations"); n != nil && source.NumberOf(n.Value) < 4 {
		return source.Mistake(n.Origin, "sweep.max_iterations", "must be 4 or more: both ends of a bracket are measured twice", "")
	}
	search := source.ObjectNode(at)
	dim := space.Items[0]
	put := func(name string, n *source.Node) {
		search.Put(name, n)
		search.Field(name).Origin = n.Origin
	}
	put("path", source.TextNode(dim.Get("path").Text(), at))
	put("range", &source.Node{Kind: source.List, Items: []*source.Node{dim.Get("lo").Clone(), dim.Get("hi").Clone()}, Origin: at})
	l.adaptiveLimits(search, sw.Get("sla_filters"))
	if n := sw.Get("max_iterations"); n != nil {
		budget := source.ObjectNode(n.Origin)
		budget.Put("probes", n.Clone())
		put("budget", budget)
	}
	said := map[string]any{}
	for _, name := range adaptiveSettings {
		if f, ok := sw.Pop(name); ok {
			said[name] = f.Value.Plain()
		}
	}
	if said["objectives"] == nil {
		said["objectives"] = []any{map[string]any{
			"metric": cmp.Or(recipe.Get("search_metric").Text(), "output_token_throughput"), "stat": cmp.Or(recipe.Get("search_stat").Text(), "avg"),
			"direction": cmp.Or(recipe.Get("search_direction").Text(), "maximize"),
		}}
	}
	put("adaptive", source.FromPlain(said, at))
	sw.Pop("type")
	if len(sw.Fields) == 0 {
		l.Root.Pop("sweep")
	}
	if l.Root.Get("search") != nil {
		return source.Mistake(at, "sweep.search_space", "cannot be combined with search", "keep one of them")
	}
	l.Root.Put("search", search)
	l.Searches = true
	return nil
}

// adaptiveLimits lays filters down as the conditions of a search. A percentile of requests
// is a share of them; several with one share hold together, which is what a user sees.
// Everything else is a condition on the figures of each run.
func (l *Line) adaptiveLimits(search, filters *source.Node) {
	share := 0.0
	where, also := &source.Node{Kind: source.List, Origin: filters.Origin}, &source.Node{Kind: source.List, Origin: filters.Origin}
	seen := map[string]bool{}
	for _, f := range filters.Items {
		tag, stat := f.Get("metric_tag").Text(), cmp.Or(f.Get("stat").Text(), "p95")
		sign, limit := map[string]string{"lt": "<", "le": "<=", "gt": ">", "ge": ">="}[f.Get("op").Text()], source.NumberOf(f.Get("threshold").Value)
		part := 0.0
		if p, err := strconv.ParseFloat(strings.TrimPrefix(stat, "p"), 64); err == nil {
			if part = p / 100; sign[0] == '>' {
				part = 1 - part
			}
		}
		if tag == "request_error_rate" { // in percent
			tag, limit = "error_rate", limit/100
		}
		if part >= 0.5 && (share == 0 || share == part) && !seen[tag] {
			share, seen[tag] = part, true
			where.Items = append(where.Items, source.TextNode(fmt.Sprintf("%s %s %g", tag, sign[:1], limit), filters.Origin))
			continue
		}
		also.Items = append(also.Items, source.TextNode(fmt.Sprintf("%s.%s %s %g", tag, stat, sign, limit), filters.Origin))
	}
	if len(where.Items) > 0 {
		search.Put("where", where)
		search.Put("share", source.LeafNode(share, filters.Origin))
	}
	if len(also.Items) > 0 {
		search.Put("also", also)
	}
}
