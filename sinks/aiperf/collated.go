package aiperf

import (
	"fmt"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sinks"
)

// CollatedRun is a trial whose requests are brought together with the others'.
type CollatedRun struct{ Label, Records string } // Records is the path of its profile_export.jsonl

// mostValues bounds how many values are held at once: 64 MiB. More are read in
// several goes.
const mostValues = 8 << 20

// WriteCollated writes profile_export_aiperf_collated.json into dir: for every
// metric of single requests what all runs' requests are as one population, and
// each run's mean. It is made of the runs' own records.
func WriteCollated(dir string, a *Aggregate, runs []CollatedRun) (sinks.FileInfo, error) {
	const name = "profile_export_aiperf_collated.json"
	all, err := collate(runs)
	if err != nil {
		return sinks.FileInfo{}, err
	}
	meta := object{}.with("aggregation_type", "detailed").with("num_profile_runs", len(a.Runs)+len(a.Failed)).
		with("num_successful_runs", len(a.Runs)).with("failed_runs", failedRuns(a.Failed)).with("run_labels",
		a.labels())
	b, err := indented(object{}.with("schema_version", "1.0.0").with("aiperf_version", a.Version).
		with("description", "Every request of every run as one population. profile_export_aiperf_aggregate.json is about the runs' own statistics.").
		with("metadata", meta).with("metrics", all))
	if err != nil {
		return sinks.FileInfo{}, fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return sinks.WriteArtifact(dir, name, "aggregate", b)
}

// collate is the member metrics, in the catalogue's order.
func collate(runs []CollatedRun) (object, error) {
	seen, requests := map[string]bool{}, 0
	for _, run := range runs {
		err := eachRecord(run.Records, func(r recheckRecord) {
			requests++
			for tag := range r.Metrics {
				seen[tag] = true
			}
		})
		if err != nil {
			return nil, err
		}
	}
	var tags []string
	for _, m := range metrics.Catalogue() {
		if seen[m.Tag] && m.List == nil { // of a list AIPerf takes nothing
			tags = append(tags, m.Tag)
		}
	}
	out := object{}
	for part := range slices.Chunk(tags, max(1, mostValues/max(1, requests))) {
		some, err := collateSome(runs, part)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// collateSome reads the values of some metrics and sums them up.
func collateSome(runs []CollatedRun, tags []string) (object, error) {
	values := make([][][]float64, len(tags)) // by metric, by run
	for i := range values {
		values[i] = make([][]float64, len(runs))
	}
	for n, run := range runs {
		err := eachRecord(run.Records, func(r recheckRecord) {
			if !r.measured() || r.failed() {
				return
			}
			for i, tag := range tags {
				if v := r.value(tag); isFinite(v) {
					values[i][n] = append(values[i][n], v)
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	out := object{}
	for i, tag := range tags {
		if pooled := slices.Concat(values[i]...); len(pooled) > 0 {
			out = out.with(tag, object{}.with("combined", population(pooled)).with("per_run", means(runs, values[i])))
		}
	}
	return out, nil
}

// population is what all requests are together. The spread is the sample's, as
// AIPerf has it here; one value has none.
func population(values []float64) object {
	slices.Sort(values)
	return object{}.with("mean", number(stats.Mean(values))).with("std", number(stats.StdSample(values))).
		with("p50", number(stats.Quantile(values, 0.5))).with("p90", number(stats.Quantile(values, 0.9))).
		with("p95", number(stats.Quantile(values, 0.95))).with("p99",
		number(stats.Quantile(values, 0.99))).with("count", len(values))
}

// means is each run's own share; a run without the metric has none.
func means(runs []CollatedRun, values [][]float64) []object {
	out := []object{}
	for i, run := range runs {
		if len(values[i]) > 0 {
			out = append(out, object{}.with("label", run.Label).with("mean",
				number(stats.Mean(values[i]))).with("count", len(values[i])))
		}
	}
	return out
}
