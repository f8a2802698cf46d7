package schema

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
)

// settleFlags works out what flags mean together, once all are applied: a
// rate makes the arrivals open, a warmup phase starts like the measured one,
// and so on. It follows what AIPerf's command line does.
func (d *Document) settleFlags(root *node) Errors {
	for _, a := range d.src.Assignments {
		if a.Origin.Source == "default" && root.at(a.Path) == nil {
			_ = d.layer.lay(root, a) // a weak value: nothing is there that could be in the way
		}
	}
	if p := root.at(phasePath); p != nil {
		d.settleArrivals(p, "profiling")
		if ds := root.at(datasetPath); ds != nil && d.src.File == "" {
			d.promote(ds, p)
		}
	}
	if w := root.at("benchmark.phases.warmup"); w != nil {
		d.settleWarmup(root, w)
	}
	d.settleDataset(root)
	recipe := d.settleRecipe(root)
	d.settleSweep(root)
	d.settleLogging(root)
	d.settleSpared(root)
	bad := append(recipe, d.contradictions(root)...)
	bad = append(bad, d.denied(root)...)
	return append(bad, d.fixedAxes(root)...)
}

// fixedAxes: the records say when a fixed schedule sends, so nothing about its
// load can be swept.
func (d *Document) fixedAxes(root *node) (bad Errors) {
	p := root.at(phasePath)
	if p.typeWord() != "fixed_schedule" {
		return nil
	}
	for _, a := range d.axes {
		if strings.HasPrefix(a.path, phasePath+".") && a.origin.Source == "flag" {
			bad = append(bad, mistake(a.origin, a.path, "a list does not go with a fixed schedule", "use one value, or --no-fixed-schedule")...)
		}
	}
	return bad
}

// flag is the assignment a flag made on path, the last one; nil without one.
func (d *Document) flag(path string) *Assignment {
	for i := len(d.src.Assignments) - 1; i >= 0; i-- {
		if a := &d.src.Assignments[i]; a.Path == path && a.Origin.Source == "flag" {
			return a
		}
	}
	return nil
}

// typed tells whether a flag was given.
func (d *Document) typed(flag string) bool {
	return slices.ContainsFunc(d.src.Assignments, func(a Assignment) bool { return a.Origin.Source == "flag" && a.Origin.Where == flag })
}

// settleArrivals chooses the type of a phase whose flags speak of a rate:
// users and time stamps win over a pattern, a pattern over the default.
func (d *Document) settleArrivals(p *node, name string) {
	base := "benchmark.phases." + name
	pattern := ""
	for _, a := range d.src.Assignments {
		if a.Path != base+".type" {
			continue
		}
		switch v := suggest.Fold(fmt.Sprint(a.Value)); v {
		case "user_centric", "fixed_schedule":
			p.put("type", leafNode(v, a.Origin))
			return
		default:
			pattern = v
		}
	}
	rate := d.flag(base + ".rate")
	if rate == nil {
		rate = d.flag(base + ".rate_series")
	}
	smooth := d.flag(base + ".smoothness")
	t := p.typeWord()
	switch {
	case rate != nil && (pattern == "" || pattern == "concurrency"):
		if t == "" || t == "concurrency" {
			v := "poisson"
			if smooth != nil {
				v = "gamma"
			}
			p.put("type", leafNode(v, Origin{Source: "default", Where: "default: " + rate.Origin.Where + " is given"}))
		}
	case smooth != nil && pattern == "" && t != "gamma" && p.get("rate") != nil:
		p.put("type", leafNode("gamma", Origin{Source: "default", Where: "default: " + smooth.Origin.Where + " is given"}))
	case rate == nil && pattern != "" && p.get("rate") == nil && p.get("rate_series") == nil && pattern != "concurrency":
		a := d.flag(base + ".type")
		p.take("type")
		if a != nil {
			d.warn(a.Origin.Where + " has no effect without a rate (--request-rate)")
		}
	}
}

// inherited are the settings that a warmup phase made by flags takes from the
// measured phase.
var inherited = []string{"type", "rate", "rate_series", "concurrency", "prefill_concurrency", "smoothness", "users"}

func (d *Document) settleWarmup(root, w *node) {
	byFlags := w.origin.Source == "flag"
	if byFlags && w.get("requests") == nil && w.get("duration") == nil && w.get("sessions") == nil && w.get("grace_period") == nil {
		phases := root.at("benchmark.phases")
		phases.items = removeNode(phases.items, w)
		d.warn(w.origin.Where + " has no effect without a warmup phase (--warmup-request-count, --warmup-duration or --num-warmup-sessions)")
		return
	}
	d.settleArrivals(w, "warmup")
	p := root.at(phasePath)
	if !byFlags || p == nil {
		return
	}
	own := w.get("rate") != nil || w.get("concurrency") != nil && p.get("rate") == nil
	for _, name := range inherited {
		v := p.get(name)
		if v == nil || w.get(name) != nil || own && (name == "rate" || name == "rate_series") {
			continue
		}
		if name == "concurrency" && w.get("rate") != nil && d.axis(phasePath+".concurrency") != nil {
			continue
		}
		if t := v.text(); name == "type" && (t == "fixed_schedule" || t == "user_centric") {
			continue
		}
		c := *v
		c.origin = Origin{Source: "default", Where: "default: as in the profiling phase"}
		w.put(name, &c)
	}
	if w.typeWord() == "concurrency" {
		w.take("rate")
	}
}

func removeNode(items []*node, n *node) []*node {
	var out []*node
	for _, it := range items {
		if it != n {
			out = append(out, it)
		}
	}
	return out
}

// settleDataset completes distributions of which only the width is given, and
// leaves to a file what is only for synthetic text.
func (d *Document) settleDataset(root *node) {
	ds := root.at(datasetPath)
	if all := root.at("benchmark.datasets"); ds == nil && all != nil && len(all.items) > 0 {
		ds = all.items[0]
	}
	if ds == nil {
		return
	}
	for name, mean := range map[string]float64{"turns": 1, "turn_delay": 0} {
		if n := ds.get(name); n.get("stddev") != nil && n.get("mean") == nil {
			n.put("mean", leafNode(mean, Origin{Source: "default", Where: "default: only a width is given"}))
		}
	}
	if t := ds.typeWord(); t == "file" || t == "public" {
		if c, ok := ds.get("prompts").take("cache_bust"); ok {
			ds.put("cache_bust", c.value)
		}
		if p := ds.get("prompts"); p != nil && len(p.fields) == 0 {
			ds.take("prompts")
		}
	}
}

// settleSweep drops settings of a sweep that nothing sweeps.
func (d *Document) settleSweep(root *node) {
	sw := root.get("sweep")
	if sw == nil || sw.origin.Source != "flag" || len(d.axes) > 0 {
		return
	}
	for _, k := range []string{"runs", "recipe"} {
		if sw.get(k) != nil {
			return
		}
	}
	root.take("sweep")
	seen := map[string]bool{}
	for _, a := range d.src.Assignments {
		if strings.HasPrefix(a.Path, "sweep.") && a.Origin.Source == "flag" && !seen[a.Origin.Where] && !slices.Contains(d.idle, a.Origin.Where) {
			seen[a.Origin.Where] = true
			d.warn(a.Origin.Where + " has no effect without a sweep (a list such as --concurrency 1,2,4)")
		}
	}
}

// settleLogging: -v and -vv win over --log-level, in any order.
func (d *Document) settleLogging(root *node) {
	for _, a := range d.src.Assignments {
		if a.Path == "benchmark.logging.level" && a.Origin.Source == "flag" && strings.HasPrefix(a.Origin.Where, "-v") ||
			a.Path == "benchmark.logging.level" && (a.Origin.Where == "--verbose" || a.Origin.Where == "--extra-verbose") {
			root.at("benchmark.logging").put("level", fromPlain(a.Value, a.Origin))
		}
	}
}

// settleSpared names what flags say and nobody hears: words that are no
// addresses, and settings of pictures and sounds of which none is sent.
func (d *Document) settleSpared(root *node) {
	for _, kind := range []string{"images", "audio"} {
		if count := root.at(datasetPath + "." + kind + ".batch_size"); count != nil && numberOf(count.value) > 0 {
			continue
		}
		for _, a := range d.src.Assignments {
			if a.Origin.Source == "flag" && strings.HasPrefix(a.Path, datasetPath+"."+kind+".") && !strings.HasSuffix(a.Path, ".batch_size") {
				d.idle = append(d.idle, a.Origin.Where)
				d.warn(a.Origin.Where + " has no effect without " + kind + " (--" + strings.TrimSuffix(kind, "s") + "-batch-size)")
			}
		}
	}
}

func (d *Document) warn(text string) {
	if !slices.Contains(d.warnings, text) {
		d.warnings = append(d.warnings, text)
	}
}

// contradictions are flags that deny each other.
func (d *Document) contradictions(root *node) (bad Errors) {
	if a := d.flag(datasetPath + ".ignore_trace_delays"); a != nil && a.Value == true && root.at(phasePath).typeWord() == "fixed_schedule" {
		bad = append(bad, mistake(a.Origin, a.Path, "does not go with a fixed schedule, which plays the recorded times", "drop it, or use --no-fixed-schedule")...)
	}
	return bad
}

// profileDefaults are those of a phase and a data set made by flags alone. A
// file says itself when its phases end.
func (d *Document) profileDefaults(root *node) {
	p, ds, why := root.at(phasePath), root.at(datasetPath), "made by flags"
	fill(root.get("benchmark"), "endpoint", map[string]any{}, why)
	if t := ds.typeWord(); t == "" || t == "synthetic" {
		d.syntheticDefaults(root, ds)
	}
	fixed := p.typeWord() == "fixed_schedule"
	bounds := 0
	for _, name := range []string{"requests", "sessions", "duration"} {
		n := d.largest(phasePath+"."+name, p.get(name))
		if n == nil {
			continue
		}
		bounds++
		if name != "duration" && ds.get("entries") == nil && !fixed && numberOf(n.value) >= 1 {
			ds.put("entries", leafNode(n.value, Origin{Source: "default", Where: "default: as many as " + name, Taken: true}))
		}
	}
	if path := ds.get("path").text(); bounds == 0 && fixed && path != "" {
		fill(p, "requests", countRecords(path), "the records of "+path)
	} else if bounds == 0 && !fixed && p.typeWord() != "user_centric" {
		fill(p, "requests", d.defaultRequests(p), why)
	}
	if p.get("duration") != nil || d.axis(phasePath+".duration") != nil {
		fill(p, "grace_period", int64(30), "a duration is given")
	}
}

// defaultRequests is the count of a phase that nothing bounds: 10 where a rate
// says when to send, else max(10, 2·concurrency), so that every slot is used
// twice. AIPerf 0.13 takes 10 everywhere and so cuts high concurrencies short.
func (d *Document) defaultRequests(p *node) int64 {
	if t := p.typeWord(); t != "" && t != "concurrency" {
		return 10
	}
	for _, limit := range []string{"concurrency", "prefill_concurrency"} {
		if n := d.largest(phasePath+"."+limit, p.get(limit)); n != nil {
			return max(10, 2*int64(numberOf(n.value)))
		}
	}
	return 10
}

// largest is the value of a field, or of its axis the largest.
func (d *Document) largest(path string, n *node) *node {
	a := d.axis(path)
	if a == nil {
		return n
	}
	best := a.values[0]
	for _, v := range a.values[1:] {
		if numberOf(v.value) > numberOf(best.value) {
			best = v
		}
	}
	return best
}

// wordless are the endpoint types whose requests hold no text of ours.
var wordless = []string{"audio_transcription"}

func (d *Document) syntheticDefaults(root, ds *node) {
	if t := root.at("benchmark.endpoint.type"); t != nil && slices.Contains(wordless, suggest.Fold(t.text())) {
		return
	}
	fill(ds, "prompts", map[string]any{}, "made by flags")
	prompts := ds.get("prompts")
	if prompts.kind != object {
		return
	}
	fill(prompts, "isl", map[string]any{}, "made by flags")
	if isl := prompts.get("isl"); isl.kind == object && isl.get("mean") == nil {
		at := Origin{Source: "default", Where: "default: made by flags"}
		isl.fields = append([]field{{name: "mean", value: leafNode(int64(550), at), origin: at}}, isl.fields...)
	}
}

// promote plays a trace by its time stamps unless the flags say how requests
// are started.
func (d *Document) promote(ds, p *node) {
	path, format := ds.get("path").text(), suggest.Fold(ds.get("format").text())
	if path == "" || format != "mooncake_trace" || p.get("type") != nil || p.get("rate") != nil {
		return
	}
	if _, timed := firstRecord(path)["timestamp"]; !timed {
		return
	}
	p.put("type", leafNode("fixed_schedule", Origin{Source: "default", Where: "default: the records of " + path + " have time stamps"}))
}
