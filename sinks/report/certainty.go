package report

import (
	"cmp"
	"fmt"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// shownPercentiles are those of the table.
var shownPercentiles = []string{"p50", "p90", "p99"}

// Enough says for which of the percentiles of the table the requests of a run are enough.
func Enough(certified func(stat string) bool) (said string, all bool) {
	var sure, open []string
	for _, p := range shownPercentiles {
		if certified(p) {
			sure = append(sure, p)
		} else {
			open = append(open, p)
		}
	}
	switch {
	case len(open) == 0:
		return ", enough for " + words.And(sure), true
	case len(sure) == 0:
		return ", too few for any percentile", false
	}
	return ", enough for " + words.And(sure) + ", not for " + words.And(open), false
}

// certainty says for which percentiles there are requests enough, and what gives the
// others.
func (r *Report) certainty() (said, try string) {
	n := r.Requests.In(record.Answered)
	said = words.Count(n, "request")
	switch sent := r.Requests.In(record.WasSent); {
	case n < sent: // as the table counts them
		said = words.Whole(n) + " of " + words.Count(sent, "request") + " answered"
	case r.Requests.Failed > 0 && r.failuresSaid(): // the figures are of the others
		said = words.Whole(r.Requests.OK) + " of " + words.Whole(n) + " succeeded"
	case r.Requests.Failed > 0:
		said = r.failures(n)
	}
	d, timed := r.Full.Get(metrics.BenchmarkDuration)
	if timed = timed && d.Avg > 0; timed && d.Avg >= 0.1 {
		said += " in " + words.Number(d.Avg) + " s"
	} else if timed {
		said += " in " + words.Amount(1e3*d.Avg, "ms")
	}
	latency, ok := r.headline(metrics.RequestLatency)
	if !ok {
		return said, ""
	}
	for _, x := range rows { // of those that every table has, the one that is worth least
		if st, ok := r.headline(x.tag); ok && x.always && st.Count > 0 && st.NEff < latency.NEff {
			latency = st
		}
	}
	planned := int64(0)
	if c := r.Plan.Cells; len(c) > 0 && c[0].Resolved != nil {
		planned = sweep.Planned(c[0].Resolved.Benchmark.Phases)
	}
	enough, all := Enough(func(p string) bool {
		return decide.Certain(percentileOf[p], cmp.Or(planned, n),
			latency.NEff)
	})
	if r.spoiled() { // a number that is marked below is not one that can be relied on
		return said, ""
	}
	if w := r.waiting(); w.Asked > 0 && r.Verdict == validity.Valid { // of which no longer run is better
		return said, slower(w, metrics.Series(latency.Tag, ""))
	}
	if said += enough; all {
		return said, ""
	}
	if t := r.Taints.Of(metrics.RequestLatency, "p99"); !t.None() && (!byErrors(t) || r.mostFailed()) {
		return said, "" // the finding comes first: more requests would not cure it
	}
	of := sample{
		metrics.Series(latency.Tag, ""), float64(latency.Count), latency.NEff,
		max(float64(latency.Count), float64(r.Requests.In(record.WasSent))), r.waiting(),
	}
	need, ok := of.need(0.99)
	if !ok {
		return said, of.unsteady()
	}
	span := ""
	if timed {
		span = words.Span(time.Duration(need / float64(n) * d.Avg * 1e9))
	}
	switch {
	case planned > 0 || span == "":
		try = fmt.Sprintf("--request-count %.0f for a certain p99", need)
		if span != "" {
			try += ", about " + span + " at this rate"
		}
	default:
		try = fmt.Sprintf("--benchmark-duration %.0f for a certain p99", decide.RoundSeconds(need/float64(n)*d.Avg))
	}
	if r.folded == 0 { // why so many is not to be seen
		try += of.alike(0.99)
	}
	return said, try
}

// waiting is how the load of the only cell makes its requests wait.
func (r *Report) waiting() (w decide.Waiting) {
	if r.Results != nil && len(r.Results.Cells) == 1 {
		w = r.Results.Cells[0].Waiting()
	}
	return w
}

// slower says what an open loop that the server fell behind was asked for and gave, and what to try.
func slower(w decide.Waiting, metric string) string {
	return fmt.Sprintf("a lower rate, such as %s: %s requests/s were asked for and %s answered, "+
		"so the queue grew, and %s with it; "+
		"it depends on how long the run is", w.Slower(), words.Number(w.Asked), words.Number(w.Answered), metric)
}
