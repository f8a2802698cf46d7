package metrics

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
)

// A request that the end of its phase cut off has lasted at least until then.
// It is censored, not absent: the longest requests are those that are cut. So
// error-adjusted percentiles and those from the intended time count it as
// +Inf, as they count an arrival that was never sent, and the share of good
// requests counts it among the attempts. AIPerf leaves it out, and so do its
// files: Stat.Plain.

// cutLife is a request that was cut off; times in ns since T0.
type cutLife struct {
	intended, sent, first, end int64
	judged, open               bool // it had an SLO; a clock said when it was due
	bad, badSent               bool // it had missed an SLO by then: by the clock of its load mode, and from sending
}

// cutOff keeps what is known of r.
func (c *Collector) cutOff(r *record.Record) {
	first := int64(record.None)
	if r.Streamed {
		first = r.FirstToken
	}
	judged, missed, missedSent := c.judge.of(r)
	c.cut = append(c.cut, cutLife{r.Intended, r.Sent, first, r.End, judged, r.Open, missed != "", missedSent != ""})
}

// cutIn are the requests cut off that were sent in w, all where w is not given.
func (c *Collector) cutIn(w Window) []cutLife {
	if !w.given() {
		return c.cut
	}
	var out []cutLife
	for _, x := range c.cut {
		if x.sent >= w.Start && x.sent <= w.End {
			out = append(out, x)
		}
	}
	return out
}

// countCut counts what was cut off.
func (t *Totals) countCut(cut []cutLife) {
	t.Cut = int64(len(cut))
	for _, x := range cut {
		t.SLOSet, t.Open = t.SLOSet || x.judged, t.Open || x.open
		if x.bad {
			t.CutBad++
		}
		if x.badSent {
			t.CutBadSent++
		}
	}
}

// undecided is how much of a share of good requests is not known: requests that
// were cut off before it was known whether they were good. bad is how many of the
// cut ones had missed an SLO.
func (t *Totals) undecided(bad int64) float64 { return per(float64(t.Cut-bad), t.attempts()) }

// fromIntended tells which metrics count an unsent or cut request as +Inf.
func fromIntended(tag string) bool {
	return tag == RequestLatencyFromIntended || tag == TimeToFirstTokenFromIntended
}

// withInfinite is the statistics of sorted values and more that are +Inf.
func withInfinite(s Stat, sorted []float64, n, infinite int64) Stat {
	plain := s
	s.Plain = &plain
	s.Count = n + infinite
	s.Avg, s.Max, s.Sum, s.Std, s.Intervals = math.Inf(1), math.Inf(1), math.NaN(), math.NaN(), nil
	s.setPercentiles(func(q float64) float64 {
		h := q * float64(s.Count-1)
		at, part := math.Floor(h), h-math.Floor(h)
		switch {
		case at+part > float64(n-1):
			return math.Inf(1)
		case n == int64(len(sorted)) && part > 0:
			return sorted[int(at)] + part*(sorted[int(at)+1]-sorted[int(at)])
		}
		return sorted[int(at)*len(sorted)/int(n)]
	})
	return s
}

// firsts are the spans from the intended time to the first content of requests
// that were cut off after it, in ms.
func firsts(cut []cutLife) (known []float64) {
	for _, x := range cut {
		if v := spanMS(x.intended, x.first); !math.IsNaN(v) {
			known = append(known, v)
		}
	}
	return known
}

// Bounds are what is known of a percentile when requests were cut off: Low
// counts each with the age it had, High as +Inf. Plain leaves them out.
type Bounds struct {
	Tag, Stat        string
	Plain, Low, High float64
}

// Censoring are the bounds of the percentiles of latency and TTFT over the full
// window; none where nothing was cut off, or where the run is so long that its
// requests are not kept one by one.
func (c *Collector) Censoring() []Bounds {
	if len(c.cut) == 0 || c.past != nil {
		return nil
	}
	var out []Bounds
	order := c.rows.byIntended(nil)
	for _, tag := range []string{RequestLatency, TimeToFirstToken} {
		if m, _ := Lookup(tag); !c.opt.Has(m) {
			continue
		}
		c.pick(position(tag), order)
		out = append(out, bounds(tag, slices.Sorted(slices.Values(c.spare)), c.cut)...)
	}
	return out
}

func bounds(tag string, known []float64, cut []cutLife) []Bounds {
	aged := slices.Clone(known)
	infinite := int64(0)
	for _, x := range cut {
		if tag == TimeToFirstToken && x.first != record.None {
			known = append(known, spanMS(x.sent, x.first))
			aged = append(aged, spanMS(x.sent, x.first))
			continue
		}
		aged = append(aged, spanMS(x.sent, x.end))
		infinite++
	}
	plain := slices.Clone(known)
	slices.Sort(known)
	slices.Sort(aged)
	slices.Sort(plain)
	if len(known) == 0 {
		return nil
	}
	high := withInfinite(Stat{}, known, int64(len(known)), infinite)
	var out []Bounds
	for _, p := range []struct {
		name string
		q    float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
		out = append(out, Bounds{
			tag, p.name, stats.Quantile(plain, p.q), stats.Quantile(aged, p.q),
			high.Value(p.name),
		})
	}
	return out
}
