package cmdline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// A recipe is a ready-made sweep. Its name and its settings stand in
// sweep.recipe until expandRecipe puts in their place what they mean.
type recipe struct {
	name     string
	needs    string   // why the endpoint must stream, "" when it need not
	settings []string // of sweep.recipe that it reads
	limits   []string // settings it cannot do without, alternatives with | between them
	searches bool     // it takes settings of a search (max_iterations and so on), and limits
	plots    bool     // AIPerf plots after it unless told otherwise
	expand   func(r recipe, l *Line, sw *source.Node) diag.Errors
}

const (
	concurrencyPath = "phases.profiling.concurrency"
	islPath         = "datasets.main.prompts.isl"
	oslPath         = "datasets.main.prompts.osl"
)

func recipes() []recipe {
	concurrency := []string{"concurrency_min", "concurrency_max", "concurrency_steps"}
	limits := []string{"ttft_sla_ms", "itl_sla_ms", "tpot_sla_ms", "e2e_sla_ms", "error_rate_sla"}
	return []recipe{
		{
			name: "concurrency-ramp", expand: concurrencyRamp, plots: true,
			settings: append([]string{"degradation_threshold", "degradation_metric_tag", "degradation_stat"},
				concurrency...),
		},
		{
			name: "prefill-ttft-curve", needs: "the time to first token", expand: prefillCurve, plots: true,
			settings: []string{"isl_min", "isl_max", "isl_steps"},
		},
		{
			name: "decode-itl-curve", needs: "the time between tokens", expand: decodeCurve, plots: true,
			settings: append([]string{"osl_min", "osl_max", "osl_steps"}, concurrency...),
		},
		{
			name: "pareto-sweep", needs: "the throughput of output tokens", expand: paretoSweep,
			settings: []string{"isl_osl_pairs"}, limits: []string{"isl_osl_pairs"},
		},
		{
			name: "max-throughput-ttft-sla", needs: "the time to first token", expand: maxThroughput, searches: true,
			settings: append([]string{"ttft_sla_ms"}, concurrency[:2]...), limits: []string{"ttft_sla_ms"},
		},
		{
			name: "max-throughput-itl-sla", needs: "the time between tokens", expand: maxThroughput, searches: true,
			settings: append([]string{"itl_sla_ms", "tpot_sla_ms"}, concurrency[:2]...),
			limits:   []string{"itl_sla_ms|tpot_sla_ms"},
		},
		{
			name: "max-concurrency-under-sla", expand: maxConcurrency, searches: true,
			settings: slices.Concat([]string{"style"}, limits, concurrency),
			limits:   []string{"ttft_sla_ms|itl_sla_ms|tpot_sla_ms|e2e_sla_ms|error_rate_sla|search_sla"},
		},
		{
			name: "max-goodput-under-slo", needs: "the time to first token", expand: maxGoodput, searches: true,
			settings: slices.Concat([]string{"slo_attainment_fraction"}, limits[:4], concurrency[:2]),
			limits:   []string{"ttft_sla_ms", "itl_sla_ms|tpot_sla_ms", "e2e_sla_ms"},
		},
	}
}

// expandRecipe replaces a recipe by the sweep it stands for. Settings that it
// does not read, and settings without a recipe, have no effect; that is said.
func (l *Line) expandRecipe() diag.Errors {
	sw := l.Root.Get("sweep")
	block := sw.Get("recipe")
	if block == nil || block.Kind != source.Object {
		return nil
	}
	name := block.Get("name")
	if name == nil {
		if bad := l.Check.Part(l.Root, "sweep.recipe", block); bad != nil {
			return bad
		}
		for _, f := range block.Fields {
			l.ineffective(f.Value, "without --search-recipe")
		}
		sw.Pop("recipe")
		return nil
	}
	var names []string
	for _, r := range recipes() {
		if suggest.Fold(r.name) == suggest.Fold(name.Text()) {
			return l.useRecipe(r, sw, block)
		}
		names = append(names, r.name)
	}
	return source.Mistake(name.Origin, "sweep.recipe.name", fmt.Sprintf("unknown recipe %q", name.Text()),
		cmp.Or(suggest.Hint(name.Text(), names), "one of "+strings.Join(names, ", ")))
}

func (l *Line) useRecipe(r recipe, sw, block *source.Node) diag.Errors {
	if bad := l.Check.Part(l.Root, "sweep.recipe", block); bad != nil {
		return bad
	}
	name := block.Get("name")
	for _, f := range block.Fields {
		if f.Name != "name" && !slices.Contains(r.settings, f.Name) {
			l.ineffective(f.Value, "with --search-recipe "+r.name)
		}
	}
	if bad := l.recipeNeeds(r, sw, block); bad != nil {
		return bad
	}
	bad := r.expand(r, l, sw)
	if r.plots {
		l.plotUnlessSaid(name.Origin)
	}
	sw.Pop("recipe")
	sw.Put("recipe_name", source.TextNode(r.name, name.Origin))
	return bad
}

// plotUnlessSaid turns the charts on where nobody says whether they are wanted.
func (l *Line) plotUnlessSaid(at source.Origin) {
	artifacts, bad := lower.Reach(l.Index, l.Root, "benchmark.artifacts", at)
	if bad == nil && artifacts.Kind == source.Object && artifacts.Get("auto_plot") == nil {
		artifacts.Put("auto_plot", source.FromPlain(true, at))
	}
}

// ineffective warns of a setting once.
func (l *Line) ineffective(n *source.Node, why string) {
	l.Warn(cmp.Or(n.Origin.Where, "recipe") + " has no effect " + why)
	l.Idle = append(l.Idle, n.Origin.Where)
}

// recipeNeeds checks what a recipe cannot do without and cannot stand.
func (l *Line) recipeNeeds(r recipe, sw, block *source.Node) (bad diag.Errors) {
	at := block.Get("name").Origin
	say := func(message, hint string) {
		bad = append(bad, source.Mistake(at, "sweep.recipe", r.name+" "+message, hint)...)
	}
	if streaming := l.Root.At("benchmark.endpoint.streaming"); r.needs != "" &&
		(streaming == nil || streaming.Value != true) {
		say("measures "+r.needs+": the endpoint must stream", "add --streaming")
	}
	for _, any := range r.limits {
		words := strings.Split(any, "|")
		if !slices.ContainsFunc(words, func(w string) bool {
			return block.Get(w) != nil ||
				w == "search_sla" && sw.Get("sla_filters") != nil
		}) {
			for i, w := range words {
				words[i] = "--" + strings.ReplaceAll(w, "_", "-")
			}
			say("needs "+strings.Join(words, " or "), "")
		}
	}
	if itl, tpot := block.Get("itl_sla_ms"), block.Get("tpot_sla_ms"); itl != nil && tpot != nil && r.searches {
		say("takes one limit: "+cmp.Or(itl.Origin.Where, "itl_sla_ms")+" and "+cmp.Or(tpot.Origin.Where,
			"tpot_sla_ms")+" mean the same", "drop one of them")
	}
	for _, f := range sw.Fields {
		switch {
		case slices.Contains(searchSettings, f.Name) && !r.searches:
			l.ineffective(f.Value, "with --search-recipe "+r.name)
			defer sw.Pop(f.Name)
		case slices.Contains([]string{"parameters", "runs"}, f.Name):
			say("defines the sweep: "+cmp.Or(f.Value.Origin.Where, f.Name)+" cannot be combined with it",
				"drop one of them")
		}
	}
	for _, a := range l.Axes.All {
		if r.name != "pareto-sweep" || fields.Canonical(concurrencyPath) != a.Path {
			say("defines the sweep: the list of "+cmp.Or(a.Origin.Where, a.Path)+" cannot be combined with it",
				"drop one of them")
		}
	}
	return bad
}

// concurrencyRamp is 8 steps of concurrency from 1 to 1000.
func concurrencyRamp(_ recipe, l *Line, sw *source.Node) diag.Errors {
	at, block := sw.At("recipe.name").Origin, sw.Get("recipe")
	threshold := source.LeafNode(0.2, at)
	if n := block.Get("degradation_threshold"); n != nil {
		threshold = n
	}
	l.postProcess(sw, "degradation_knee_detect", "degradation_knee.json", source.Field{
		Name:  "metric_tag",
		Value: source.TextNode(cmp.Or(block.Get("degradation_metric_tag").Text(), "request_latency"), at),
	},
		source.Field{Name: "stat", Value: source.TextNode(cmp.Or(block.Get("degradation_stat").Text(), "p99"), at)},
		source.Field{Name: "swept_param", Value: source.TextNode(concurrencyPath, at)},
		source.Field{Name: "threshold_pct", Value: threshold})
	return l.recipeAxis(sw, concurrencyPath, "concurrency", 1, 1000, 8)
}

// postProcess says what is worked out of the finished cells.
func (l *Line) postProcess(sw *source.Node, handler, file string, params ...source.Field) {
	at := sw.At("recipe.name").Origin
	n := source.ObjectNode(at)
	n.Put("handler", source.TextNode(handler, at))
	if len(params) > 0 {
		n.Put("params", &source.Node{Kind: source.Object, Fields: params, Origin: at})
	}
	n.Put("output_filename", source.TextNode(file, at))
	sw.Put("post_process", n)
}

func (l *Line) curveOf(sw *source.Node, handler, file, tag string, params ...source.Field) {
	at := sw.At("recipe.name").Origin
	l.postProcess(sw, handler, file, append([]source.Field{
		{Name: "metric_tag", Value: source.TextNode(tag, at)}, {Name: "stat", Value: source.TextNode("avg", at)},
	}, params...)...)
}

// prefillCurve is 8 input lengths from 256 to 32768, one request at a time.
func prefillCurve(r recipe, l *Line, sw *source.Node) diag.Errors {
	at := sw.At("recipe.name").Origin
	l.curveOf(sw, "ttft_curve_fit", "prefill_curve.json", "time_to_first_token",
		source.Field{Name: "swept_param", Value: source.TextNode(islPath, at)})
	l.recipeValues(sw, concurrencyPath, []any{int64(1)})
	return l.recipeAxis(sw, islPath, "isl", 256, 32768, 8)
}

// decodeCurve is 6 steps of concurrency up to 200 by 4 output lengths from 64
// to 1024.
func decodeCurve(_ recipe, l *Line, sw *source.Node) diag.Errors {
	at := sw.At("recipe.name").Origin
	l.curveOf(sw, "itl_surface_fit", "decode_itl_surface.json", "inter_token_latency",
		source.Field{Name: "concurrency_param", Value: source.TextNode(concurrencyPath, at)},
		source.Field{Name: "osl_param", Value: source.TextNode(oslPath, at)})
	bad := l.recipeAxis(sw, concurrencyPath, "concurrency", 1, 200, 6)
	return append(bad, l.recipeAxis(sw, oslPath, "osl", 64, 1024, 4)...)
}

// recipeAxis is an axis of whole numbers evenly spread on a logarithmic scale:
// lo·(hi/lo)^(i/(n−1)), rounded, each once.
func (l *Line) recipeAxis(sw *source.Node, path, name string, lo, hi, steps int64) diag.Errors {
	block := sw.Get("recipe")
	for key, v := range map[string]*int64{"_min": &lo, "_max": &hi, "_steps": &steps} {
		if n := block.Get(name + key); n != nil {
			*v = int64(source.NumberOf(n.Value))
		}
	}
	if lo >= hi {
		at := block.Get("name").Origin
		for _, key := range []string{"_min", "_max"} {
			if n := block.Get(name + key); n != nil {
				at = n.Origin
			}
		}
		return source.Mistake(at, "sweep.recipe."+name+"_min",
			fmt.Sprintf("%d is not below %d, the largest %s", lo, hi, name), "")
	}
	if steps > maxRecipeSteps {
		return source.Mistake(block.Get(name+"_steps").Origin, "sweep.recipe."+name+"_steps",
			fmt.Sprintf("%d cells; at most %d", steps, maxRecipeSteps), "take fewer steps")
	}
	var values []any
	for i := range steps {
		v := int64(math.RoundToEven(float64(lo) * math.Pow(float64(hi)/float64(lo), float64(i)/float64(steps-1))))
		if len(values) == 0 || values[len(values)-1] != any(v) {
			values = append(values, v)
		}
	}
	l.recipeValues(sw, path, values)
	return nil
}

// maxRecipeSteps is as many cells as a plan may have.
const maxRecipeSteps = 10_000

func (l *Line) recipeValues(sw *source.Node, path string, values []any) {
	at := sw.At("recipe.name").Origin
	a := lower.Axis{Path: fields.Canonical(path), Origin: at}
	for _, v := range values {
		a.Values = append(a.Values, source.LeafNode(v, at))
	}
	a.Values = l.raised(a.Path, a.Values)
	l.Axes.Set(a)
	if f := l.flag(a.Path); f != nil {
		l.Warn(f.Origin.Where + " has no effect with " + at.Where + ", which sweeps it")
	}
}

// paretoSweep is one cell per pair of lengths and concurrency; the list of
// --concurrency is its own, else 1, 4, 16, 64, 256.
func paretoSweep(r recipe, l *Line, sw *source.Node) diag.Errors {
	pairs := sw.At("recipe.isl_osl_pairs")
	shapes, err := lengthPairs(pairs.Text())
	if err != nil {
		return source.Mistake(pairs.Origin, "sweep.recipe.isl_osl_pairs", err.Error(), "such as 128/64,512/256")
	}
	var levels []any
	if a := l.Axes.On(fields.Canonical(concurrencyPath)); a != nil {
		for _, v := range a.Values {
			levels = append(levels, v.Plain())
		}
		l.Axes.Drop(a.Path)
	} else if a := l.flag(fields.PhasePath + ".concurrency"); a != nil {
		levels = []any{a.Value.Plain()}
	} else {
		levels = l.raisedLevels(1, 4, 16, 64, 256)
	}
	if len(shapes)*len(levels) < 2 {
		return source.Mistake(pairs.Origin, "sweep.recipe", r.name+" needs more than one cell",
			"give several pairs, or a list to --concurrency")
	}
	at := sw.At("recipe.name").Origin
	runs := &source.Node{Kind: source.List, Origin: at}
	for _, s := range shapes {
		for _, level := range levels {
			runs.Items = append(runs.Items, paretoRun(l.Root, s, level, at))
		}
	}
	sw.Put("type", source.TextNode(fields.SweepTaking("runs", false).Name, at))
	sw.Put("runs", runs)
	l.postProcess(sw, "pareto_sweep", "pareto_sweep.json")
	return nil
}

func paretoRun(root *source.Node, s [2]int64, level any, at source.Origin) *source.Node {
	dataset, phase := root.At("benchmark.datasets.0.name"), root.At(fields.PhasePath+".name")
	body := map[string]any{
		"datasets": []any{map[string]any{
			"name":    cmp.Or(dataset.Text(), "main"),
			"prompts": map[string]any{"isl": s[0], "osl": s[1]},
		}},
		"phases": []any{map[string]any{"name": cmp.Or(phase.Text(), "profiling"), "concurrency": level}},
	}
	run, values := source.ObjectNode(at), source.ObjectNode(at)
	values.Put("isl", source.LeafNode(s[0], at))
	values.Put("osl", source.LeafNode(s[1], at))
	values.Put("concurrency", source.LeafNode(level, at))
	run.Put("name", source.TextNode(fmt.Sprintf("shape_%d_%d_c%v", s[0], s[1], level), at))
	run.Put("benchmark", source.FromPlain(body, at))
	run.Put("values", values)
	return run
}

// lengthPairs reads 128/64,512/256.
func lengthPairs(text string) (out [][2]int64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		isl, osl, ok := strings.Cut(part, "/")
		i, err1 := strconv.ParseInt(strings.TrimSpace(isl), 10, 32)
		o, err2 := strconv.ParseInt(strings.TrimSpace(osl), 10, 32)
		switch {
		case !ok || err1 != nil || err2 != nil || i < 1 || o < 1:
			return nil, fmt.Errorf("expected input/output in tokens, got %q", part)
		case slices.Contains(out, [2]int64{i, o}):
			return nil, fmt.Errorf("%s is given twice", part)
		}
		out = append(out, [2]int64{i, o})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("names no pair")
	}
	return out, nil
}
