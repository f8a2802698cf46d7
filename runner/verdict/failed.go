package verdict

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

func errorShare(p *PhaseEvidence) (Reading, bool) {
	n := p.OK + p.Failed
	if n == 0 {
		return Reading{}, false
	}
	failed := p.Failed - p.ClientFaults
	said, try := fmt.Sprintf("%d of %s failed", failed, words.Count(n, "request")), ofFailures("")
	if failed > 0 {
		kinds := slices.DeleteFunc(p.Errors.Frequent(MaxKinds),
			func(e ErrorCount) bool { return strings.HasPrefix(e.Kind, string(record.Client)) })
		said += ": " + MostFrequent(kinds)
		if len(kinds) > 0 {
			try = ofFailures(kinds[0].Kind)
		}
	}
	r := Reading{Value: float64(failed) / float64(n), Warn: 0.001, Fail: 0.05, Detail: said, Try: try}
	p.withFailed(&r)
	return r, true
}

// withFailed bounds the percentiles of all requests, also of the m that failed beside n that did
// not: at worst each of those would have been the fastest of all, or the slowest. Quantile q of
// all, which is at place (n+m−1)·q among them, then lies between two of the ones that succeeded,
//
//	((n+m−1)·q − m)/(n−1)  and  (n+m−1)·q/(n−1)
//
// where both exist: beyond them nothing is known.
func (p *PhaseEvidence) withFailed(r *Reading) {
	n, m := float64(p.OK), float64(p.Failed)
	if n < 2 || m == 0 {
		return
	}
	for _, of := range []struct {
		tag    string
		sorted []float64
	}{
		{metrics.TimeToFirstToken, p.TTFT},
		{metrics.RequestLatency, p.Latency},
		{metrics.InterTokenLatency, p.ITL},
	} {
		for _, c := range percentiles {
			low, high := ((n+m-1)*c.q-m)/(n-1), (n+m-1)*c.q/(n-1)
			if len(of.sorted) > 0 && low >= 0 && high <= 1 {
				r.bounds(of.tag, c.name, stats.Quantile(of.sorted, c.q), stats.Quantile(of.sorted, low),
					stats.Quantile(of.sorted, high))
			}
		}
	}
}

// ofFailures is what to try where most failures are of a kind.
func ofFailures(kind string) string {
	const each = "; the table requests has each error_message"
	switch kind {
	case "rate_limited":
		return "a lower load: the server refuses what is above its limit (429)" + each
	case string(record.Truncated):
		return "the server's log, and that of a proxy in front of it: one of them closed the connection in the middle of answers" + each
	case string(record.Timeout):
		return "a lower load, or a longer --request-timeout-seconds" + each
	}
	return "the server's log" + each
}
