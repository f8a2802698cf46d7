package importer

import (
	"cmp"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
)

// relate makes Stats of the figures that are near a metric of ours, in its unit.
func (r *Run) relate(tool, version string) {
	count := map[string]float64{}
	r.tool, r.Version = tool, version
	for _, f := range r.Figures {
		d, ok := r.define(f.Metric)
		if !ok || d.Ours == "-" || !metrics.Finite(f.Value) {
			continue
		}
		m, known := metrics.Lookup(d.Ours)
		if !known {
			continue
		}
		i := slices.IndexFunc(r.Stats, func(s metrics.Stat) bool { return s.Tag == d.Ours })
		if i < 0 {
			i = len(r.Stats)
			st := metrics.Blank(d.Ours, m.Unit)
			st.Scalar = true
			r.Stats = append(r.Stats, st)
		}
		value := f.Value * d.Factor * cmp.Or(f.Scale, 1)
		if !m.Distribution() && f.Stat != "" && f.Stat != "avg" {
			continue // of a rate over time: the rate of the run is its mean
		}
		switch st := &r.Stats[i]; f.Stat {
		case "":
			st.Avg = value
		case "count":
			st.Scalar = false
			count[d.Ours] = f.Value
		default:
			st.Scalar = st.Scalar && f.Stat == "avg"
			st.Put(f.Stat, value)
		}
	}
	r.Stats = slices.DeleteFunc(r.Stats, func(s metrics.Stat) bool { return math.IsNaN(s.Avg) && math.IsNaN(s.P50) })
	for i := range r.Stats {
		if s := &r.Stats[i]; !s.Scalar {
			n := count[s.Tag]
			if m, _ := metrics.Lookup(s.Tag); n == 0 && m.PerRequest() {
				n = float64(r.OK)
			}
			s.Put("count", n)
		}
	}
	order := map[string]int{}
	for i, tag := range metrics.Tags() {
		order[tag] = i
	}
	slices.SortStableFunc(r.Stats, func(a, b metrics.Stat) int { return order[a.Tag] - order[b.Tag] })
}

// define is what the tool means by a metric of this run.
func (r *Run) define(metric string) (Definition, bool) {
	return Define(r.tool, r.Version, metric, slices.Concat(r.Settings, r.told))
}

// Definitions are what the tool means by each of the run's figures that is near one of
// ours, each once.
func (r *Run) Definitions() (out []Definition) {
	seen := map[string]bool{}
	for _, f := range r.Figures {
		if seen[f.Metric] {
			continue
		}
		seen[f.Metric] = true
		if d, ok := r.define(f.Metric); ok && d.Ours != "-" {
			out = append(out, d)
		}
	}
	return out
}

// LeaveOutUnlike drops what does not mean the same as here, of the figures and of the
// single requests.
func (r *Run) LeaveOutUnlike() {
	unlike := map[string]bool{}
	for _, d := range r.Definitions() {
		unlike[d.Ours] = unlike[d.Ours] || d.Relation == NotComparable
	}
	r.Stats = slices.DeleteFunc(slices.Clone(r.Stats), func(s metrics.Stat) bool { return unlike[s.Tag] })
	each := r.Each
	if each == nil {
		return
	}
	r.Each = func(take func(*Request) error) error {
		return each(func(q *Request) error {
			for tag, v := range map[string]*float64{
				metrics.TimeToFirstToken: &q.TTFT, metrics.InterTokenLatency: &q.ITL,
				metrics.RequestLatency: &q.Latency,
			} {
				if unlike[tag] {
					*v = math.NaN()
				}
			}
			return take(q)
		})
	}
}
