package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
)

// A recipe is a ready-made sweep. Its name and its settings stand in
// sweep.recipe until expandRecipe puts in their place what they mean.
type recipe struct {
	name     string
	needs    string   // why the endpoint must stream, "" when it need not
	settings []string // of sweep.recipe that it reads
	limits   []string // settings it cannot do without
	expand   func(r recipe, d *Document, root, sw *node) Errors
}

const (
	concurrencyPath = "phases.profiling.concurrency"
	islPath         = "datasets.main.prompts.isl"
	oslPath         = "datasets.main.prompts.osl"
)

func recipes() []recipe {
	concurrency := []string{"concurrency_min", "concurrency_max", "concurrency_steps"}
	return []recipe{
		{
			name: "concurrency-ramp", expand: concurrencyRamp,
			settings: concurrency,
		},
		{
			name: "prefill-ttft-curve", needs: "the time to first token", expand: prefillCurve,
			settings: []string{"isl_min", "isl_max", "isl_steps"},
		},
		{
			name: "decode-itl-curve", needs: "the time between tokens", expand: decodeCurve,
			settings: append([]string{"osl_min", "osl_max", "osl_steps"}, concurrency...),
		},
		{
			name: "pareto-sweep", needs: "the throughput of output tokens", expand: paretoSweep,
			settings: []string{"isl_osl_pairs"}, limits: []string{"isl_osl_pairs"},
		},
	}
}

// settleRecipe replaces a recipe by the sweep it stands for. Settings that it
// does not read, and settings without a recipe, have no effect; that is said.
func (d *Document) settleRecipe(root *node) Errors {
	sw := root.get("sweep")
	block := sw.get("recipe")
	if block == nil || block.kind != object {
		return nil
	}
	name := block.get("name")
	if name == nil {
		for _, f := range block.fields {
			d.ineffective(f.value, "without --search-recipe")
		}
		sw.take("recipe")
		return nil
	}
	if hint := instead("sweep.recipe.name", name.text()); hint != "" {
		d.missing("sweep.recipe.name", name.String()+": ", hint, name.origin)
		sw.take("recipe")
		return nil
	}
	var names []string
	for _, r := range recipes() {
		if suggest.Fold(r.name) == suggest.Fold(name.text()) {
			return d.useRecipe(r, root, sw, block)
		}
		names = append(names, r.name)
	}
	return mistake(name.origin, "sweep.recipe.name", fmt.Sprintf("%q is no recipe", name.text()), cmp.Or(suggest.Hint(name.text(), names), "one of "+strings.Join(names, ", ")))
}

func (d *Document) useRecipe(r recipe, root, sw, block *node) Errors {
	if _, bad := d.checker.check(root, "sweep.recipe", block); bad != nil {
		return bad
	}
	name := block.get("name")
	for _, f := range block.fields {
		if f.name != "name" && !slices.Contains(r.settings, f.name) {
			d.ineffective(f.value, "with --search-recipe "+r.name)
		}
	}
	if bad := d.recipeNeeds(r, root, sw, block); bad != nil {
		return bad
	}
	bad := r.expand(r, d, root, sw)
	sw.take("recipe")
	d.notes = append(d.notes, fmt.Sprintf("%s: what %s makes of its cells, a file and a plot, is not written yet; report and tables hold the numbers", cmp.Or(name.origin.Where, "sweep.recipe"), r.name))
	return bad
}

// ineffective warns of a setting once.
func (d *Document) ineffective(n *node, why string) {
	d.warn(cmp.Or(n.origin.Where, "recipe") + " has no effect " + why)
	d.idle = append(d.idle, n.origin.Where)
}

// recipeNeeds checks what a recipe cannot do without and cannot stand.
func (d *Document) recipeNeeds(r recipe, root, sw, block *node) (bad Errors) {
	at := block.get("name").origin
	say := func(message, hint string) {
		bad = append(bad, mistake(at, "sweep.recipe", r.name+" "+message, hint)...)
	}
	if streaming := root.at("benchmark.endpoint.streaming"); r.needs != "" && (streaming == nil || streaming.value != true) {
		say("measures "+r.needs+": the endpoint must stream", "add --streaming")
	}
	for _, any := range r.limits {
		words := strings.Split(any, "|")
		if !slices.ContainsFunc(words, func(w string) bool { return block.get(w) != nil }) {
			for i, w := range words {
				words[i] = "--" + strings.ReplaceAll(w, "_", "-")
			}
			say("needs "+strings.Join(words, " or "), "")
		}
	}
	for _, f := range sw.fields {
		if slices.Contains([]string{"parameters", "runs"}, f.name) {
			say("says itself what is swept: "+cmp.Or(f.value.origin.Where, f.name)+" does not go with it", "drop one of them")
		}
	}
	for _, a := range d.axes {
		if r.name != "pareto-sweep" || Canonical(concurrencyPath) != a.path {
			say("says itself what is swept: the list of "+cmp.Or(a.origin.Where, a.path)+" does not go with it", "drop one of them")
		}
	}
	return bad
}

// concurrencyRamp is 8 steps of concurrency from 1 to 1000.
func concurrencyRamp(_ recipe, d *Document, _, sw *node) Errors {
	return d.recipeAxis(sw, concurrencyPath, "concurrency", 1, 1000, 8)
}

// prefillCurve is 8 input lengths from 256 to 32768, one request at a time.
func prefillCurve(r recipe, d *Document, _, sw *node) Errors {
	d.recipeValues(sw, concurrencyPath, []any{int64(1)})
	return d.recipeAxis(sw, islPath, "isl", 256, 32768, 8)
}

// decodeCurve is 6 steps of concurrency up to 200 by 4 output lengths from 64
// to 1024.
func decodeCurve(_ recipe, d *Document, _, sw *node) Errors {
	bad := d.recipeAxis(sw, concurrencyPath, "concurrency", 1, 200, 6)
	return append(bad, d.recipeAxis(sw, oslPath, "osl", 64, 1024, 4)...)
}

// recipeAxis is an axis of whole numbers evenly spread on a logarithmic scale:
// lo·(hi/lo)^(i/(n−1)), rounded, each once.
func (d *Document) recipeAxis(sw *node, path, name string, lo, hi, steps int64) Errors {
	block := sw.get("recipe")
	for key, v := range map[string]*int64{"_min": &lo, "_max": &hi, "_steps": &steps} {
		if n := block.get(name + key); n != nil {
			*v = int64(numberOf(n.value))
		}
	}
	if lo >= hi {
		at := block.get("name").origin
		for _, key := range []string{"_min", "_max"} {
			if n := block.get(name + key); n != nil {
				at = n.origin
			}
		}
		return mistake(at, "sweep.recipe."+name+"_min", fmt.Sprintf("%d is not below %d, the largest %s", lo, hi, name), "")
	}
	if steps > maxRecipeSteps {
		return mistake(block.get(name+"_steps").origin, "sweep.recipe."+name+"_steps", fmt.Sprintf("at most %d, got %d", maxRecipeSteps, steps), "")
	}
	var values []any
	for i := range steps {
		v := int64(math.RoundToEven(float64(lo) * math.Pow(float64(hi)/float64(lo), float64(i)/float64(steps-1))))
		if len(values) == 0 || values[len(values)-1] != any(v) {
			values = append(values, v)
		}
	}
	d.recipeValues(sw, path, values)
	return nil
}

// maxRecipeSteps is as many cells as a plan may have.
const maxRecipeSteps = 10_000

func (d *Document) recipeValues(sw *node, path string, values []any) {
	at := sw.at("recipe.name").origin
	a := axisNodes{path: Canonical(path), origin: at}
	for _, v := range values {
		a.values = append(a.values, leafNode(v, at))
	}
	d.setAxis(a)
	if f := d.flag(a.path); f != nil {
		d.warn(f.Origin.Where + " has no effect with " + at.Where + ", which sweeps it")
	}
}

// paretoSweep is one cell per pair of lengths and concurrency; the list of
// --concurrency is its own, else 1, 4, 16, 64, 256.
func paretoSweep(r recipe, d *Document, root, sw *node) Errors {
	pairs := sw.at("recipe.isl_osl_pairs")
	shapes, err := lengthPairs(pairs.text())
	if err != nil {
		return mistake(pairs.origin, "sweep.recipe.isl_osl_pairs", err.Error(), "such as 128/64,512/256")
	}
	levels := []any{int64(1), int64(4), int64(16), int64(64), int64(256)}
	if a := d.axis(Canonical(concurrencyPath)); a != nil {
		levels = nil
		for _, v := range a.values {
			levels = append(levels, v.plain())
		}
		d.axes = slices.DeleteFunc(d.axes, func(x axisNodes) bool { return x.path == a.path })
	} else if a := d.flag(phasePath + ".concurrency"); a != nil {
		levels = []any{a.Value}
	}
	if len(shapes)*len(levels) < 2 {
		return mistake(pairs.origin, "sweep.recipe", r.name+" needs more than one cell", "give several pairs, or a list to --concurrency")
	}
	at := sw.at("recipe.name").origin
	runs := &node{kind: list, origin: at}
	for _, s := range shapes {
		for _, level := range levels {
			runs.items = append(runs.items, paretoRun(root, s, level, at))
		}
	}
	sw.put("type", textNode("scenarios", at))
	sw.put("runs", runs)
	return nil
}

func paretoRun(root *node, s [2]int64, level any, at Origin) *node {
	dataset, phase := root.at("benchmark.datasets.0.name"), root.at(phasePath+".name")
	body := map[string]any{
		"datasets": []any{map[string]any{"name": cmp.Or(dataset.text(), "main"), "prompts": map[string]any{"isl": s[0], "osl": s[1]}}},
		"phases":   []any{map[string]any{"name": cmp.Or(phase.text(), "profiling"), "concurrency": level}},
	}
	run, values := objectNode(at), objectNode(at)
	values.put("isl", leafNode(s[0], at))
	values.put("osl", leafNode(s[1], at))
	values.put("concurrency", leafNode(level, at))
	run.put("name", textNode(fmt.Sprintf("shape_%d_%d_c%v", s[0], s[1], level), at))
	run.put("benchmark", fromPlain(body, at))
	run.put("values", values)
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
			return nil, fmt.Errorf("%s is there twice", part)
		}
		out = append(out, [2]int64{i, o})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("names no pair")
	}
	return out, nil
}
