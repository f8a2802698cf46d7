package telemetry

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// History is what was sampled of one source over a run, whole: every look at it, and
// every series. It is for files that repeat what a page said.
type History struct {
	Looks []Look

	tracks map[seriesKey]*track
	news   int64 // when the last value came
}

// Look is one reading of a source.
type Look struct {
	At, Took int64 // when its first byte had come, ns since T0, and how long that took
	New      bool  // the page said something that it had not said at the look before
}

// Histories are those of sources, by their names.
type Histories map[string]*History

// Add takes a sample; those of a source come in the order of their times, those of a
// look before its Up and its Duration.
func (h Histories) Add(s Sample) {
	of := h[s.Source]
	if of == nil {
		of = &History{tracks: map[seriesKey]*track{}, news: math.MinInt64}
		h[s.Source] = of
	}
	last := len(of.Looks) - 1
	switch s.Metric {
	case Up:
		if s.Value == 1 {
			of.Looks = append(of.Looks, Look{At: s.At, New: of.news == s.At})
		}
	case Duration:
		if last >= 0 && of.Looks[last].At == s.At {
			of.Looks[last].Took = int64(math.Round(s.Value * 1e9))
		}
	default:
		of.news = s.At
		key := seriesKey{s.Metric, s.Labels, s.Kind}
		t := of.tracks[key]
		if t == nil {
			t = &track{}
			of.tracks[key] = t
		}
		t.at, t.v = append(t.at, s.At), append(t.v, s.Value)
	}
}

// Series is what one series said at each look at which it was published.
type Series struct {
	Metric string
	Type   string      // gauge, counter, unknown or histogram
	Labels [][2]string // in order
	At     []int64
	Values []float64 // of all but histograms

	Edges   []float64   // upper edges of buckets, the last is +Inf
	Buckets [][]float64 // cumulative, by look, then edge
	Counts  []float64
	Sums    []float64
}

// Series are all of a source but summaries, by metric and labels. One is made at a time.
func (h *History) Series(yield func(*Series) bool) {
	type group struct{ metric, labels string }
	scalars, histograms := []seriesKey{}, map[group][]seriesKey{}
	for key := range h.tracks {
		switch key.kind {
		case Gauge, Counter, Unknown:
			scalars = append(scalars, key)
		case Bucket:
			g := group{key.metric, withoutLabel(key.labels, "le")}
			histograms[g] = append(histograms[g], key)
		}
	}
	for g := range histograms {
		scalars = append(scalars, seriesKey{g.metric, g.labels, Histogram})
	}
	slices.SortFunc(scalars, func(a, b seriesKey) int {
		return slices.Compare([]string{a.metric, a.labels, a.kind}, []string{b.metric, b.labels, b.kind})
	})
	var looks []int64
	for _, l := range h.Looks {
		looks = append(looks, l.At)
	}
	for _, key := range scalars {
		s := &Series{Metric: key.metric, Type: key.kind, Labels: sortedPairs(key.labels)}
		if key.kind == Histogram {
			h.histogram(s, key.labels, histograms[group{key.metric, key.labels}], looks)
		} else {
			s.At, s.Values = h.tracks[key].known(looks)
		}
		if len(s.At) > 0 && !yield(s) {
			return
		}
	}
}

// histogram fills in what the buckets with keys said.
func (h *History) histogram(s *Series, labels string, keys []seriesKey, looks []int64) {
	count, sum := h.tracks[seriesKey{s.Metric, labels, Count}], h.tracks[seriesKey{s.Metric, labels, Sum}]
	if count == nil || sum == nil {
		return
	}
	edges := map[float64]*track{}
	for _, key := range keys {
		if le, err := strconv.ParseFloat(Pairs(key.labels)["le"], 64); err == nil && !math.IsNaN(le) {
			edges[le] = h.tracks[key]
		}
	}
	for le := range edges {
		s.Edges = append(s.Edges, le)
	}
	slices.Sort(s.Edges)
	s.At, s.Counts = count.known(looks)
	for _, at := range s.At {
		row := make([]float64, len(s.Edges))
		for i, le := range s.Edges {
			if row[i] = edges[le].value(at); math.IsNaN(row[i]) {
				row[i] = 0
			}
		}
		v := sum.value(at)
		if math.IsNaN(v) {
			v = 0
		}
		s.Buckets, s.Sums = append(s.Buckets, row), append(s.Sums, v)
	}
}

// Quantiles are AIPerf's estimates of quantiles of the values that came between looks
// from and to; nil where the histogram tells nothing.
func (s *Series) Quantiles(from, to int, qs ...float64) []float64 {
	o := observed{edges: s.Edges, counts: s.Buckets[from : to+1], sums: s.Sums[from : to+1]}
	if n := len(o.edges); n == 0 || !math.IsInf(o.edges[n-1], 1) {
		return nil
	}
	return o.estimate(qs...)
}

// known are the moments of looks at which a value is known, and the values.
func (t *track) known(looks []int64) (at []int64, v []float64) {
	next, now := 0, math.NaN()
	for _, look := range looks {
		for ; next < len(t.at) && t.at[next] <= look; next++ {
			now = t.v[next]
		}
		if !math.IsNaN(now) {
			at, v = append(at, look), append(v, now)
		}
	}
	return at, v
}

// sortedPairs are the labels of a text that Labels made, in order.
func sortedPairs(text string) (out [][2]string) {
	for name, value := range Pairs(text) {
		out = append(out, [2]string{name, value})
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out
}

// withoutLabel is a text of labels without one of them.
func withoutLabel(text, name string) string {
	return Labels(slices.DeleteFunc(sortedPairs(text), func(p [2]string) bool { return p[0] == name }))
}
