package audit

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks/importer"
)

// Report is what a client says of its measured requests: figures by metric and statistic, with
// the names and units that metrics have here. A run's only value stands under avg.
type Report map[string]map[string]float64

// says is a figure; nil where the client does not say it.
func (r Report) says(metric, stat string) *float64 {
	if v, ok := r[metric][stat]; ok {
		return &v
	}
	return nil
}

// readReport reads the files that a client wrote into a folder, of whatever tool they are, and
// its version, where they tell.
func readReport(dir string) (out Report, version string, err error) {
	res, err := importer.Open(dir)
	if err != nil {
		return nil, "", err
	}
	if len(res.Runs) != 1 {
		return nil, "", diag.New(fmt.Sprintf("%s: %d runs of %s, one is expected", dir, len(res.Runs), res.Own()), "")
	}
	run := &res.Runs[0]
	out = Report{
		metrics.RequestCount: {"avg": float64(run.OK)}, metrics.ErrorRequestCount: {"avg": float64(run.Failed)},
	}
	for _, s := range run.Stats {
		if _, counted := out[s.Tag]; counted {
			continue
		}
		out[s.Tag] = map[string]float64{}
		for stat, v := range map[string]float64{"avg": s.Avg, "p50": s.P50, "p90": s.P90, "p99": s.P99} {
			if !math.IsNaN(v) {
				out[s.Tag][stat] = v
			}
		}
	}
	return out, res.Version, nil
}
