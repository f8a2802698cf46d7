package telemetry

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Readings are what was sampled of servers over one run, as far as the vocabulary knows
// it.
type Readings struct{ sources map[string]*readings }

// readings are those of one source.
type readings struct {
	looks  []int64 // when it was read
	gaps   []int64 // when it could not be read
	series map[seriesKey]*track
}

// track is one series: a step function of time, NaN where it is not known.
type track struct {
	labels map[string]string
	at     []int64
	v      []float64
}

// Add takes a sample; those of a source come in the order of their times.
func (r *Readings) Add(s Sample) {
	if s.Collector != "server" || s.Metric == Duration || s.Metric != Up && len(Means(s.Metric)) == 0 {
		return
	}
	if r.sources == nil {
		r.sources = map[string]*readings{}
	}
	of := r.sources[s.Source]
	if of == nil {
		of = &readings{series: map[seriesKey]*track{}}
		r.sources[s.Source] = of
	}
	if s.Metric == Up {
		if s.Value == 1 {
			of.looks = append(of.looks, s.At)
		} else {
			of.gaps = append(of.gaps, s.At)
		}
		return
	}
	key := seriesKey{s.Metric, s.Labels, s.Kind}
	t := of.series[key]
	if t == nil {
		t = &track{labels: Pairs(s.Labels)}
		of.series[key] = t
	}
	t.at, t.v = append(t.at, s.At), append(t.v, s.Value)
}

// Figure is what one source says about one word over a window.
type Figure struct {
	Source, Server, Metric string
	Word                   Word
	Stats                  []Stat
	Method                 string
	Looks                  int // in the window, about its edges included
	Resets                 int // of counters: the server began anew
}

// Stat is a statistic. A percentile of a histogram is an estimate, NaN where there is none,
// that lies between Low and High, the edges of its bucket; these are NaN of all others.
type Stat struct {
	Name             string
	Value, Low, High float64
}

// Window gives the figures between two moments, by source and word. A gauge is weighted
// with time; what a counter and a histogram grew by counts from the last look before the
// window to the first one after it, so that nothing of it is missed.
func (r *Readings) Window(from, to int64) (out []Figure) {
	for _, source := range slices.Sorted(maps.Keys(r.sources)) {
		of := r.sources[source]
		for _, w := range Words() {
			for _, m := range byWord()[w.Name] {
				if f, ok := of.figure(m, w, from, to); ok {
					f.Source = source
					out = append(out, f)
					break
				}
			}
		}
		out = append(out, ratios(out, source)...)
	}
	return out
}

// figure is that of one meaning; false where the source has none of it.
func (r *readings) figure(m Meaning, w Word, from, to int64) (Figure, bool) {
	f := Figure{Server: m.Server, Metric: m.Metric, Word: w}
	kind := cmp.Or(m.Kind, w.Type)
	lo, hi := r.around(from, to)
	f.Looks = hi - lo + 1
	if len(r.looks) == 0 || f.Looks < 2 {
		return f, false
	}
	start, end := r.looks[lo], r.looks[hi]
	switch kind {
	case Gauge:
		tracks := r.tracks(m, Gauge, Unknown)
		if len(tracks) == 0 {
			return f, false
		}
		start = max(from, start)
		if i, _ := slices.BinarySearch(r.looks, from); r.looks[min(i, len(r.looks)-1)] < to {
			start = r.looks[min(i, len(r.looks)-1)] // what was read before the window began says nothing of it
		}
		f.Stats, f.Method = r.gauge(m, tracks, start, min(to, end)), "time_weighted"
	case Histogram:
		buckets := r.tracks(m, Bucket)
		if len(buckets) == 0 {
			return f, false
		}
		f.Stats, f.Method = r.histogram(m, r.looks[lo:hi+1]), "bucket_edges"
	default:
		tracks := r.tracks(m, kind, Counter, Unknown)
		if len(tracks) == 0 {
			return f, false
		}
		curve, resets := grown(tracks, r.looks[lo:hi+1])
		total := curve[len(curve)-1] * cmp.Or(m.Scale, 1)
		f.Resets, f.Method = resets, "increase"
		f.Stats = []Stat{known("sum", total), known("rate", total/(float64(end-start)/1e9))}
	}
	return f, len(f.Stats) > 0
}

// ratios are the words of a source that follow from others.
func ratios(figures []Figure, source string) (out []Figure) {
	sum := func(word string) (Figure, float64) {
		for _, f := range figures {
			if f.Source != source || f.Word.Name != word {
				continue
			}
			for _, s := range f.Stats {
				if s.Name == "sum" {
					return f, s.Value
				}
			}
		}
		return Figure{}, 0
	}
	for _, r := range Ratios() {
		f, part := sum(r.Part)
		_, whole := sum(r.Whole)
		if f.Source == "" || !(whole > 0) || part > whole { // they are of other requests
			continue
		}
		f.Word, f.Stats, f.Method = r.Word, []Stat{known("avg", part/whole)}, "increase"
		out = append(out, f)
	}
	return out
}

func known(name string, v float64) Stat { return Stat{name, v, math.NaN(), math.NaN()} }

// around are the last look at or before from and the first at or after to, as far as
// there are such.
func (r *readings) around(from, to int64) (lo, hi int) {
	lo, found := slices.BinarySearch(r.looks, from)
	if !found {
		lo = max(0, lo-1)
	}
	hi, _ = slices.BinarySearch(r.looks, to)
	return lo, min(hi, len(r.looks)-1)
}

// tracks are the series of a meaning, of the first of kinds that there are, by what
// their labels tell apart: those of one group repeat a value.
func (r *readings) tracks(m Meaning, kinds ...string) map[string][]*track {
	for _, kind := range kinds {
		groups := map[string][]*track{}
		for key, t := range r.series {
			if key.kind != kind || key.metric != m.Metric && key.metric+"_total" != m.Metric ||
				m.Only[0] != "" && t.labels[m.Only[0]] != m.Only[1] {
				continue
			}
			groups[group(t.labels, m.Same)] = append(groups[group(t.labels, m.Same)], t)
		}
		if len(groups) > 0 {
			return groups
		}
	}
	return nil
}

// group is labels without those of same, as a text.
func group(labels map[string]string, same string) string {
	var pairs [][2]string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !slices.Contains(strings.Fields(same), name) {
			pairs = append(pairs, [2]string{name, labels[name]})
		}
	}
	return Labels(pairs)
}

// value is that at a moment; NaN before the first sample and where it is not known.
func (t *track) value(at int64) float64 {
	i, found := slices.BinarySearch(t.at, at)
	if !found {
		i--
	}
	if i < 0 {
		return math.NaN()
	}
	return t.v[i]
}

// folded is the value of all tracks at a moment.
func folded(m Meaning, groups map[string][]*track, at int64) float64 {
	sum, n := 0.0, 0
	for _, tracks := range groups {
		most := math.NaN()
		for _, t := range tracks {
			if v := t.value(at); !math.IsNaN(v) && !(v <= most) {
				most = v
			}
		}
		if !math.IsNaN(most) {
			sum += most
			n++
		}
	}
	switch {
	case n == 0:
		return math.NaN()
	case m.Fold == Mean:
		sum /= float64(n)
	}
	return sum * cmp.Or(m.Scale, 1)
}

// gauge weighs values with the time for which they held, where the source was read.
func (r *readings) gauge(m Meaning, groups map[string][]*track, from, to int64) []Stat {
	cuts := []int64{from}
	for _, tracks := range groups {
		for _, t := range tracks {
			cuts = append(cuts, t.at...)
		}
	}
	cuts = append(append(cuts, r.looks...), r.gaps...)
	cuts = slices.DeleteFunc(cuts, func(at int64) bool { return at < from || at >= to })
	slices.Sort(cuts)
	cuts = append(slices.Compact(cuts), to)
	type held struct{ v, weight float64 }
	var values []held
	total, sum := 0.0, 0.0
	for i := range len(cuts) - 1 {
		if r.dark(cuts[i]) {
			continue
		}
		v, weight := folded(m, groups, cuts[i]), float64(cuts[i+1]-cuts[i])
		if math.IsNaN(v) || weight == 0 {
			continue
		}
		values = append(values, held{v, weight})
		total += weight
		sum += v * weight
	}
	if total == 0 {
		return nil
	}
	slices.SortFunc(values, func(a, b held) int { return cmp.Compare(a.v, b.v) })
	out := []Stat{known("avg", sum/total), known("min", values[0].v), known("max", values[len(values)-1].v)}
	for _, q := range quantiles {
		below := 0.0
		for _, h := range values {
			if below += h.weight; below >= q.q*total {
				out = append(out, known(q.name, h.v))
				break
			}
		}
	}
	return out
}

var quantiles = [3]struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

// dark reports whether the source could not be read at a moment, and has not been since.
func (r *readings) dark(at int64) bool {
	i, found := slices.BinarySearch(r.gaps, at)
	if !found {
		i--
	}
	if i < 0 {
		return false
	}
	k, found := slices.BinarySearch(r.looks, at)
	if !found {
		k--
	}
	return k < 0 || r.gaps[i] > r.looks[k]
}

// grown is by how much counters had grown at each look since the first. One that falls
// began anew: what it says then is what it grew by since.
func grown(groups map[string][]*track, looks []int64) (curve []float64, resets int) {
	curve = make([]float64, len(looks))
	for _, tracks := range groups {
		most, again := make([]float64, len(looks)), 0
		for _, t := range tracks {
			own, k := t.grown(looks)
			again = max(again, k)
			for i, v := range own {
				most[i] = max(most[i], v)
			}
		}
		for i, v := range most {
			curve[i] += v
		}
		resets += again
	}
	return curve, resets
}

func (t *track) grown(looks []int64) (curve []float64, resets int) {
	curve = make([]float64, len(looks))
	last, total := t.value(looks[0]), 0.0
	if math.IsNaN(last) { // it appears within the window, and so began at 0
		last = 0
	}
	next, _ := slices.BinarySearch(t.at, looks[0]+1)
	for i, at := range looks {
		for ; next < len(t.at) && t.at[next] <= at; next++ {
			v := t.v[next]
			if math.IsNaN(v) { // gone: should it come back lower, it began anew
				continue
			}
			if v < last {
				resets++
				last = 0
			}
			total += v - last
			last = v
		}
		curve[i] = total
	}
	return curve, resets
}

// histogram is how many values came, their sum and mean, and of percentiles AIPerf's
// estimate with the edges of the bucket that it must lie in.
func (r *readings) histogram(m Meaning, looks []int64) []Stat {
	groups := map[float64]map[string][]*track{}
	for name, tracks := range r.tracks(m, Bucket) {
		for _, t := range tracks {
			le, err := strconv.ParseFloat(t.labels["le"], 64)
			if err != nil || math.IsNaN(le) {
				continue
			}
			if groups[le] == nil {
				groups[le] = map[string][]*track{}
			}
			groups[le][name] = append(groups[le][name], t)
		}
	}
	counts, _ := grown(r.tracks(m, Count), looks)
	sums, _ := grown(r.tracks(m, Sum), looks)
	last, scale := len(looks)-1, cmp.Or(m.Scale, 1)
	count := counts[last]
	if count <= 0 {
		return nil
	}
	o := observed{edges: slices.Sorted(maps.Keys(groups)), counts: make([][]float64, len(looks)), sums: sums}
	o.edges = append(slices.DeleteFunc(o.edges, func(le float64) bool { return math.IsInf(le, 1) }), math.Inf(1))
	for i, le := range o.edges {
		curve := counts
		if i < len(o.edges)-1 {
			curve, _ = grown(groups[le], looks)
		}
		for k := range looks {
			o.counts[k] = append(o.counts[k], curve[k])
		}
	}
	out := []Stat{known("count", count), known("sum", sums[last]*scale), known("avg", sums[last]*scale/count)}
	estimates := o.estimate(quantiles[0].q, quantiles[1].q, quantiles[2].q)
	for k, q := range quantiles {
		i := slices.IndexFunc(o.counts[last], func(n float64) bool { return n >= q.q*count })
		low, high := o.bounds(i)
		s := Stat{q.name, math.NaN(), low * scale, high * scale}
		if estimates != nil {
			s.Value = min(max(estimates[k], low), high) * scale
		}
		out = append(out, s)
	}
	return out
}
