package metrics

import "aiperf.dev/aiperf/internal/record"

// Misses counts, of the successes of a run, those that missed a limit. Each limit is counted alone, by
// the clock of the request's load mode, so that the counts overlap: a request that missed two counts for both.
type Misses struct {
	Of      map[string]int64 // by metric
	Several int64            // missed more than one limit

	limits judge
}

// CountMisses prepares for a set of SLOs, tag → limit in display units.
func CountMisses(slos map[string]float64) *Misses {
	return &Misses{Of: map[string]int64{}, limits: newJudge(slos)}
}

// Add takes one record; those outside the window, and those that failed, count for nothing.
func (m *Misses) Add(r *record.Record) {
	if r.Warmup || !r.InWindow || !r.Succeeded() {
		return
	}
	missed := 0
	for i := range m.limits {
		if tag := m.limits[i:i+1].first(r, r.Open); tag != "" {
			m.Of[tag]++
			missed++
		}
	}
	if missed > 1 {
		m.Several++
	}
}
