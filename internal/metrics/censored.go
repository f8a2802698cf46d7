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
	bad                        bool // it had missed an SLO by then
}

// cutOff keeps what is known of r.
func (c *Collector) cutOff(r *record.Record) {
	first := int64(record.None)
	if r.Streamed {
		first = r.FirstToken
	}
	c.cut = append(c.cut, cutLife{r.Intended, r.Sent, first, r.End, c.judge.lost(r)})
}

// lost tells whether a request that was cut off had missed a limit already.
func (j judge) lost(r *record.Record) bool {
	age := spanMS(r.Sent, r.End)
	for _, l := range j {
		least := math.NaN()
		switch l.tag {
		case RequestLatency:
			least = age
		case TimeToFirstToken:
			least = age
			if r.FirstToken != record.None {
				least = spanMS(r.Sent, r.FirstToken)
			}
		}
		if least > l.value {
			return true
		}
	}
	return false
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

// attempts adds what was cut off and what was never sent to the counters.
func (t *Totals) attempts(cut []cutLife, unsent int64) {
	t.Cut, t.Unsent = int64(len(cut)), unsent
	for _, x := range cut {
		if x.bad {
			t.CutBad++
		}
	}
}

// goodShare is good / attempts: what was cut off or never sent was attempted.
func (t *Totals) goodShare() float64 {
	return per(t.good(), float64(t.OK+t.Errors+t.Cut+t.Unsent))
}

// open is how much of goodShare is undecided: requests that were cut off before
// it was known whether they were good.
func (t *Totals) open() float64 {
	return per(float64(t.Cut-t.CutBad), float64(t.OK+t.Errors+t.Cut+t.Unsent))
}

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
		c.take(position(tag), order)
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
		out = append(out, Bounds{tag, p.name, stats.Quantile(plain, p.q), stats.Quantile(aged, p.q), high.Value(p.name)})
	}
	return out
}

// delivered is how many output tokens of r came inside w, by the stamps of its
// chunks: its tokens are spread evenly over them.
func delivered(r *record.Record, w Window) float64 {
	chunks, inside := 0, 0
	for _, x := range r.Chunks {
		if !x.IsContent() {
			continue
		}
		chunks++
		if x.At >= w.Start && x.At <= w.End {
			inside++
		}
	}
	switch {
	case chunks == 0:
		return 0
	case r.OSL == record.None: // cut off: nobody counted its tokens, one for each chunk is the least
		return float64(inside)
	}
	return float64(r.OSL) * float64(inside) / float64(chunks)
}
