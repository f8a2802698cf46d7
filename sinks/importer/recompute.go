package importer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
)

// closeEnough is how far a recomputed figure may lie from the tool's own, as a part of
// it: sums of doubles in another order, and stamps that were rounded to a nanosecond.
const closeEnough = 1e-6

// Recompute works the latencies of each run out again, of its requests, and names the
// figures that come out otherwise. Runs without single requests are left out.
func (r *Result) Recompute() (checked, runs int, bad []string, err error) {
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Each == nil {
			continue
		}
		runs++
		n, wrong, err := run.recompute()
		if err != nil {
			return checked, runs, bad, err
		}
		checked += n
		bad = append(bad, wrong...)
	}
	return checked, runs, bad, nil
}

func (r *Run) recompute() (checked int, bad []string, err error) {
	values := map[string][]float64{}
	err = r.Each(func(q *Request) error {
		if q.Status != "ok" {
			return nil
		}
		for tag, v := range map[string]float64{
			metrics.TimeToFirstToken: q.TTFT, metrics.RequestLatency: q.Latency, metrics.InterTokenLatency: q.ITL,
		} {
			if !math.IsNaN(v) && !slices.Contains(r.rebuilt, tag) {
				values[tag] = append(values[tag], v)
			}
		}
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	for _, tag := range sortedKeys(values) {
		for _, f := range describe(tag, values[tag]) {
			if r.stepped && strings.HasPrefix(f.Stat, "p") {
				continue
			}
			for i := range r.Stats {
				want := r.Stats[i].Value(f.Stat)
				if r.Stats[i].Tag != tag || f.Stat == "count" || math.IsNaN(want) {
					continue
				}
				if checked++; math.Abs(f.Value-want) > closeEnough*math.Max(math.Abs(want), 1e-3) {
					bad = append(bad, fmt.Sprintf("%s %s of %s is %v, its requests say %v", tag, f.Stat, r.Label, want,
						f.Value))
				}
			}
		}
	}
	return checked, bad, nil
}
