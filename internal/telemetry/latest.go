package telemetry

import (
	"math"
	"sync"
)

// Latest is what servers' pages said last of what a person watches. Collectors write it
// while others read.
type Latest struct {
	mu      sync.Mutex
	sources map[string]*readings
}

// watched are the words that are kept: gauges.
var watched = [...]string{"running", "waiting", "kv_use"}

// Add takes samples of any collector.
func (l *Latest) Add(rows []Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range rows {
		switch {
		case s.Collector != "server":
		case s.Metric == Up && s.Value != 1:
			delete(l.sources, s.Source)
		case isWatched(s.Metric):
			if l.sources == nil {
				l.sources = map[string]*readings{}
			}
			of := l.sources[s.Source]
			if of == nil {
				of = &readings{series: map[seriesKey]*track{}}
				l.sources[s.Source] = of
			}
			key := seriesKey{s.Metric, s.Labels, s.Kind}
			t := of.series[key]
			if t == nil {
				t = &track{labels: Pairs(s.Labels), at: []int64{0}, v: []float64{0}}
				of.series[key] = t
			}
			t.v[0] = s.Value
		}
	}
}

func isWatched(metric string) bool {
	for _, m := range Means(metric) {
		for _, w := range watched {
			if m.Word == w {
				return true
			}
		}
	}
	return false
}

// Now is what servers said last: of all of them together requests that run and wait, and
// the largest share of a KV cache in use. NaN is not known.
type Now struct{ Running, Waiting, KVUse float64 }

// Now is that of this moment; false where nothing is known.
func (l *Latest) Now() (out Now, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out = Now{math.NaN(), math.NaN(), math.NaN()}
	for _, of := range l.sources {
		for i, into := range []*float64{&out.Running, &out.Waiting, &out.KVUse} {
			v := of.last(watched[i])
			switch {
			case math.IsNaN(v):
				continue
			case math.IsNaN(*into):
				*into = v
			case watched[i] == "kv_use":
				*into = max(*into, v)
			default:
				*into += v
			}
			known = true
		}
	}
	return out, known
}

// last is the value of a word by the first of its meanings that the source has.
func (r *readings) last(word string) float64 {
	for _, m := range byWord()[word] {
		if groups := r.tracks(m, Gauge, Unknown); len(groups) > 0 {
			return folded(m, groups, 0)
		}
	}
	return math.NaN()
}
