package cmdline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// combineFlags works out what flags mean together, once all are applied: a
// rate makes the arrivals open, a warmup phase starts like the measured one,
// and so on. It follows what AIPerf's command line does.
func (l *Line) combineFlags() diag.Errors {
	for _, a := range l.Assignments {
		if a.Origin.Source == source.ByDefault && l.Root.At(a.Path) == nil {
			_ = lower.Lay(l.Index, l.Root, a) // a weak value: nothing is there that could be in the way
		}
	}
	l.lookAtRecords()
	if p := l.Root.At(fields.PhasePath); p != nil {
		l.chooseArrivals(p, "profiling", false)
		if ds := l.Root.At(fields.DatasetPath); ds != nil && l.File == "" {
			l.promote(ds, p)
		}
	}
	if w := l.Root.At("benchmark.phases.warmup"); w != nil {
		l.completeWarmup(w)
	}
	l.completeDataset()
	bad := lower.Twice(l.Index, l.Root.Get("benchmark"), "benchmark", "benchmark")
	recipe := append(l.adaptive(), l.expandRecipe()...)
	l.sizeProbes()
	l.warmProbes()
	l.dropIdleSweep()
	l.preferVerbose()
	l.impliedOutputs()
	return slices.Concat(bad, recipe, l.refusals())
}

// chooseArrivals chooses the type of a phase whose flags speak of a rate:
// users and time stamps win over a pattern, a pattern over the default. paced says that
// the phase takes the rate of another one.
func (l *Line) chooseArrivals(p *source.Node, name string, paced bool) {
	base := "benchmark.phases." + name
	pattern := ""
	for _, a := range l.Assignments {
		if a.Path != base+".type" {
			continue
		}
		pattern = suggest.Fold(fmt.Sprint(a.Value.Value))
		if t := fields.PhaseNamed(pattern); t != nil && t.Pattern == "" {
			p.Put("type", source.LeafNode(pattern, a.Origin))
			return
		}
	}
	rate := l.flag(base + ".rate")
	if rate == nil {
		rate = l.flag(base + ".rate_series")
	}
	smooth := l.flag(base + ".smoothness")
	t, closed := p.TypeWord(), fields.PhasePresumed("").Name
	shaped := fields.PhasePresumed("smoothness").Name
	switch {
	case rate != nil && (pattern == "" || pattern == closed):
		if t == "" || t == closed {
			v := fields.PhasePresumed("rate").Name
			if smooth != nil {
				v = shaped
			}
			p.Put("type", source.LeafNode(v, source.Because(source.Follows, rate.Origin.Where+" is given")))
		}
	case smooth != nil && pattern == "" && t != shaped && p.Get("rate") != nil:
		p.Put("type", source.LeafNode(shaped, source.Because(source.Follows, smooth.Origin.Where+" is given")))
	case rate == nil && !paced && pattern != "" && p.Get("rate") == nil && p.Get("rate_series") == nil &&
		pattern != closed:
		a := l.flag(base + ".type")
		p.Pop("type")
		if a != nil {
			l.Warn(a.Origin.Where + " has no effect without a rate (--request-rate)")
		}
	}
}

// completeWarmup gives a warmup phase made by flags what it takes from the measured
// phase.
func (l *Line) completeWarmup(w *source.Node) {
	byFlags := w.Origin.Source == source.ByFlag
	if byFlags && w.Get("requests") == nil && w.Get("duration") == nil && w.Get("sessions") == nil &&
		w.Get("grace_period") == nil {
		phases := l.Root.At("benchmark.phases")
		phases.Items = removeNode(phases.Items, w)
		l.Warn(w.Origin.Where + " has no effect without a warmup phase (--warmup-request-count, --warmup-duration or --num-warmup-sessions)")
		return
	}
	p := l.Root.At(fields.PhasePath)
	paced := byFlags && w.Get("concurrency") == nil && (p.Get("rate") != nil || p.Get("rate_series") != nil ||
		l.Axes.On(fields.PhasePath+".rate") != nil)
	l.chooseArrivals(w, "warmup", paced)
	if !byFlags || p == nil {
		return
	}
	rate := l.largest(fields.PhasePath+".rate", p.Get("rate")) // of a sweep of rates every warmup takes the highest
	own := w.Get("rate") != nil || w.Get("concurrency") != nil && rate == nil
	for _, name := range l.Index["benchmark.phases.*"].Keys {
		v := p.Get(name)
		if name == "rate" {
			v = rate
		}
		if v == nil || !l.Index["benchmark.phases.*."+name].Has(fields.IsInherited) || w.Get(name) != nil ||
			own && (name == "rate" || name == "rate_series") {
			continue
		}
		if name == "concurrency" && (w.Get("rate") != nil || rate != nil && !own) &&
			l.Axes.On(fields.PhasePath+".concurrency") != nil {
			continue
		}
		if name == "smoothness" && w.TypeWord() != fields.PhasePresumed("smoothness").Name {
			continue
		}
		if t := typeOf(p); name == "type" && t != nil && t.Pattern == "" {
			continue
		}
		c := *v
		c.Origin = source.Because(source.Stated, "as in the profiling phase")
		w.Put(name, &c)
	}
	if t := fields.PhaseNamed(w.TypeWord()); t != nil && t.Closed {
		w.Pop("rate")
	}
}

// typeOf is the row of a phase's type, of one that says none the closed loop's; nil
// for a type that is not built.
func typeOf(p *source.Node) *fields.PhaseType {
	if t := p.TypeWord(); t != "" {
		return fields.PhaseNamed(t)
	}
	return fields.PhasePresumed("")
}

func removeNode(items []*source.Node, n *source.Node) []*source.Node {
	var out []*source.Node
	for _, it := range items {
		if it != n {
			out = append(out, it)
		}
	}
	return out
}

// completeDataset completes distributions of which only the width is given, and
// leaves to a file what is only for synthetic text.
func (l *Line) completeDataset() {
	ds := l.Root.At(fields.DatasetPath)
	if all := l.Root.At("benchmark.datasets"); ds == nil && all != nil && len(all.Items) > 0 {
		ds = all.Items[0]
	}
	if ds == nil {
		return
	}
	for name, mean := range map[string]float64{"turns": 1, "turn_delay": 0} {
		if n := ds.Get(name); n.Get("stddev") != nil && n.Get("mean") == nil {
			n.Put("mean", source.LeafNode(mean, source.Because(source.Follows, "only a width is given")))
		}
	}
	if t := fields.DatasetTypeNamed(ds.TypeWord()); t != nil && !t.Made {
		for _, name := range []string{"cache_bust", "block_size"} {
			if c, ok := ds.Get("prompts").Pop(name); ok {
				ds.Put(name, c.Value)
			}
		}
		for _, p := range poolSizes {
			block, name := source.Cut(p.flag)
			if !pooled(suggest.Fold(ds.Get("format").Text())) || l.flag(fields.DatasetPath+"."+p.flag) == nil {
				continue
			}
			if size, ok := ds.Get(block).Pop(name); ok {
				ds.Put(p.field, size.Value)
			}
			if n := ds.Get(block); n != nil && len(n.Fields) == 0 {
				ds.Pop(block)
			}
		}
		if p := ds.Get("prompts"); p != nil && len(p.Fields) == 0 {
			ds.Pop("prompts")
		}
	}
}

// dropIdleSweep drops settings of a sweep that nothing sweeps.
func (l *Line) dropIdleSweep() {
	sw := l.Root.Get("sweep")
	if sw == nil || sw.Origin.Source != source.ByFlag || len(l.Axes.All) > 0 {
		return
	}
	for _, k := range []string{"runs", "recipe", "search_space"} {
		if sw.Get(k) != nil {
			return
		}
	}
	l.Root.Pop("sweep")
	if len(l.Unsupported) > 0 {
		return // the command is refused for what the sweep would be of
	}
	seen := map[string]bool{}
	for _, a := range l.Assignments {
		if strings.HasPrefix(a.Path, "sweep.") && a.Origin.Source == source.ByFlag &&
			!seen[a.Origin.Where] && !slices.Contains(l.Idle, a.Origin.Where) {
			seen[a.Origin.Where] = true
			l.Warn(a.Origin.Where + " has no effect without a sweep (a list such as --concurrency 1,2,4)")
		}
	}
}

// preferVerbose: -v and -vv win over --log-level, in any order.
func (l *Line) preferVerbose() {
	for _, a := range l.Assignments {
		if a.Path == "benchmark.logging.level" && (a.Origin.Flag == "verbose" || a.Origin.Flag == "extra-verbose") {
			l.Root.At("benchmark.logging").Put("level", a.Value)
		}
	}
}

// impliedOutputs: after AIPerf 0.13 --export-level raw also writes the texts of the answers, unless that is refused.
func (l *Line) impliedOutputs() {
	raw, outputs := l.flag("benchmark.artifacts.raw"), l.Root.At("benchmark.artifacts.export_outputs_json")
	which := l.Root.At("benchmark.aiperf_semantics")
	if raw == nil || raw.Origin.Flag != "export-level" || outputs != nil || which == nil ||
		fmt.Sprint(which.Value) != fields.LaterAIPerf {
		return
	}
	l.Root.At("benchmark.artifacts").Put("export_outputs_json",
		source.LeafNode(true, source.Because(source.Follows, raw.Origin.Where+" is given")))
}

// madeByFlags is the reason of what aiperf profile fills in.
const madeByFlags = "made by flags"

func fillByFlags(n *source.Node, name string, v any) {
	lower.Fill(n, name, v, source.OfProfile, madeByFlags)
}

// profileDefaults are those of a phase and a data set made by flags alone. A
// file says itself when its phases end.
func (l *Line) profileDefaults() {
	p, ds := l.Root.At(fields.PhasePath), l.Root.At(fields.DatasetPath)
	fillByFlags(l.Root.Get("benchmark"), "endpoint", map[string]any{})
	if fields.DatasetMade(ds.TypeWord()) {
		l.syntheticDefaults(ds)
	}
	t := cmp.Or(typeOf(p), &fields.PhaseType{})
	l.stabilityDefaults(p)
	bounds := 0
	for _, name := range []string{"requests", "sessions", "duration"} {
		n := l.largest(fields.PhasePath+"."+name, p.Get(name))
		if n == nil {
			continue
		}
		bounds++
		if name != "duration" && ds.Get("entries") == nil && !t.Timed && source.NumberOf(n.Value) >= 1 {
			ds.Put("entries", source.LeafNode(n.Value, source.Because(source.CopiedFrom, "as many as "+name)))
		}
	}
	if bounds == 0 {
		l.defaultBound(ds, p, t)
	}
	if p.Get("duration") != nil || l.Axes.On(fields.PhasePath+".duration") != nil {
		lower.Fill(p, "grace_period", int64(30), source.Follows, "a duration is given")
	}
}

// stabilityDefaults bounds a phase that ends by its own windows, where no flag does: perf_analyzer
// takes ten windows at most.
func (l *Line) stabilityDefaults(p *source.Node) {
	s := p.Get("stability")
	if s == nil || p.Get("duration") != nil || l.Axes.On(fields.PhasePath+".duration") != nil {
		return
	}
	most := 600.0 // s; nobody knows how long a count of requests takes
	if s.Get("mode").Text() != "count_windows" {
		most = 50
		if n := s.Get("interval"); n != nil {
			most = 10 * source.NumberOf(n.Value)
		}
	}
	fillByFlags(p, "duration", most)
}

// defaultBound ends a phase of type t that nothing bounds: with the records of a
// schedule, with the sessions of a file whose records start others, each played
// once, else after the type's default count.
func (l *Line) defaultBound(ds, p *source.Node, t *fields.PhaseType) {
	path, format := ds.Get("path").Text(), fields.FormatNamed(suggest.Fold(ds.Get("format").Text()))
	switch {
	case t.Timed && path != "" && l.records.Count != nil:
		lower.Fill(p, "requests", l.records.Count(), source.Stated, "the records of "+path)
		return
	case format != nil && format.Trees && l.records.Roots != nil:
		if roots := l.records.Roots(format.Name); roots > 0 {
			lower.Fill(p, "sessions", roots, source.Stated, "the sessions of "+path)
			return
		}
	}
	if t.Requests == 0 || l.asksOnce() {
		return
	}
	n := l.defaultRequests(p, t)
	fillByFlags(p, "requests", n)
	if path == "" || l.records.Count == nil {
		return
	}
	if held := l.records.Count(); held > n {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: holds %d records, and %d requests are sent, as many as AIPerf sends by default; --request-count says how many", path, held, n))
	}
}

// asksOnce reports whether the load is a benchmark's questions: without a count each of
// them is asked once.
func (l *Line) asksOnce() bool {
	a := l.Root.At("benchmark.accuracy")
	return a != nil && cmp.Or(a.Get("mode").Text(), "alone") == "alone"
}

// defaultRequests is the count of a phase of type t that nothing bounds.
func (l *Line) defaultRequests(p *source.Node, t *fields.PhaseType) int64 {
	for _, limit := range []string{"concurrency", "prefill_concurrency"} {
		if n := l.largest(fields.PhasePath+"."+limit, p.Get(limit)); n != nil {
			return max(t.Requests, t.PerSlot*int64(source.NumberOf(n.Value)))
		}
	}
	return t.Requests
}

// largest is the value of a field, or of its axis the largest.
func (l *Line) largest(path string, n *source.Node) *source.Node {
	a := l.Axes.On(path)
	if a == nil {
		return n
	}
	best := a.Values[0]
	for _, v := range a.Values[1:] {
		if source.NumberOf(v.Value) > source.NumberOf(best.Value) {
			best = v
		}
	}
	return best
}

// syntheticDefaults gives made-up text a length, where requests hold text.
func (l *Line) syntheticDefaults(ds *source.Node) {
	if t := fields.EndpointNamed(suggest.Fold(l.Root.At("benchmark.endpoint.type").Text())); t != nil && !t.Text {
		return
	}
	fillByFlags(ds, "prompts", map[string]any{})
	prompts := ds.Get("prompts")
	if prompts.Kind != source.Object {
		return
	}
	fillByFlags(prompts, "isl", map[string]any{})
	if isl := prompts.Get("isl"); isl.Kind == source.Object && isl.Get("mean") == nil {
		at := source.Because(source.OfProfile, madeByFlags)
		isl.Fields = append([]source.Field{{Name: "mean", Value: source.LeafNode(int64(550), at), Origin: at}},
			isl.Fields...)
	}
}

// lookAtRecords looks into the file that flags play, and takes the format from it
// where --input-file says none. A file that cannot be read is refused when it is
// played.
func (l *Line) lookAtRecords() {
	ds := l.Root.At(fields.DatasetPath)
	path := ds.Get("path").Text()
	byFlag := l.flag(fields.DatasetPath+".path") != nil
	if l.Look == nil || path == "" || l.File != "" && !byFlag {
		return
	}
	found, err := l.Look(path)
	if err != nil {
		return
	}
	l.records = found
	if byFlag {
		lower.Fill(ds, "format", found.Format, source.Stated, "the first record of "+path)
	}
}

// promote plays a trace by its time stamps unless the flags say how requests
// are started.
func (l *Line) promote(ds, p *source.Node) {
	if !l.timed(ds) || p.Get("type") != nil || p.Get("rate") != nil {
		return
	}
	p.Put("type", source.LeafNode(fields.PhaseTimed().Name, source.Because(source.Stated,
		"the records of "+ds.Get("path").Text()+" have time stamps")))
}

// timed reports whether the records of a data set say when they were sent.
func (l *Line) timed(ds *source.Node) bool {
	format := fields.FormatNamed(suggest.Fold(ds.Get("format").Text()))
	return format != nil && format.Promotes && l.records.Timed
}
