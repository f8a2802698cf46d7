package aiperf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sinks"
)

// Aggregate is what trials of one cell say together.
type Aggregate struct {
	Version  string
	Runs     []AggregateRun // the successful ones
	Failed   []FailedRun
	Level    float64 // confidence level, 0.95
	Cooldown float64 // s

	// For a cell of a sweep; VariationLabel is "" without one.
	VariationLabel  string
	VariationValues []Parameter
	SweepMode       string // repeated, independent
	Model           string
}

// AggregateRun is one successful trial.
type AggregateRun struct {
	Label   string
	Dir     string           // its folder in the result directory
	Summary *metrics.Summary `json:"-"`
}

// FailedRun is one that is not in the numbers.
type FailedRun struct{ Label, Error string }

func failedRuns(fs []FailedRun) []object {
	out := []object{}
	for _, f := range fs {
		out = append(out, object{}.with("label", f.Label).with("error", f.Error))
	}
	return out
}

func (a *Aggregate) labels() []string {
	out := []string{}
	for _, r := range a.Runs {
		out = append(out, r.Label)
	}
	return out
}

// WriteAggregate writes profile_export_aiperf_aggregate.json and .csv into
// dir: for every statistic of every metric its mean over the trials with a
// Student t interval. With one trial there is no spread and no interval: null
// (AIPerf writes 0 and an interval without width).
func WriteAggregate(dir string, a *Aggregate) ([]sinks.FileInfo, error) {
	const stem = "profile_export_aiperf_aggregate"
	rows := a.rows()
	b, err := appendJSON(nil, a.json(rows))
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", filepath.Join(dir, stem+".json"), err)
	}
	return writePair(dir, stem, b, a.csv(rows))
}

// writePair writes a JSON file and its CSV.
func writePair(dir, stem string, json, csv []byte) ([]sinks.FileInfo, error) {
	j, err := sinks.WriteArtifact(dir, stem+".json", "aggregate", json)
	if err != nil {
		return nil, err
	}
	c, err := sinks.WriteArtifact(dir, stem+".csv", "aggregate", csv)
	if err != nil {
		return []sinks.FileInfo{j}, err
	}
	return []sinks.FileInfo{j, c}, nil
}

// aggregateRow is one statistic over the trials.
type aggregateRow struct {
	key, unit string
	est       stats.Estimate
}

// rows are the statistics that at least one trial has: in the order of the
// first trial that has the metric, then as in the summary. A statistic some
// trials lack is estimated from the others.
func (a *Aggregate) rows() []aggregateRow {
	var summaries []*metrics.Summary
	for _, r := range a.Runs {
		summaries = append(summaries, r.Summary)
	}
	return aggregateRows(summaries, a.Level)
}

func aggregateRows(summaries []*metrics.Summary, level float64) []aggregateRow {
	var out []aggregateRow
	for _, m := range metricsOf(summaries) {
		for _, stat := range jsonStats() {
			if stat == "count" || m.Scalar && stat != "avg" {
				continue
			}
			var values []float64
			for _, s := range summaries {
				st, ok := s.Get(m.Tag)
				if ok && isFinite(st.Value(stat)) && (st.Avg != 0 || !place(st).NoZero) {
					values = append(values, st.Value(stat))
				}
			}
			if len(values) > 0 {
				out = append(out, aggregateRow{m.Tag + "_" + stat, m.Unit, stats.Interval(values, level)})
			}
		}
	}
	return out
}

// metricsOf is the first Stat of every tag.
func metricsOf(summaries []*metrics.Summary) []metrics.Stat {
	seen := map[string]bool{}
	var out []metrics.Stat
	for _, s := range summaries {
		for _, st := range told(s) {
			if !seen[st.Tag] {
				seen[st.Tag] = true
				out = append(out, st)
			}
		}
	}
	return out
}

// members are the statistics of an estimate; what does not exist is null.
func members(e stats.Estimate) object {
	return object{}.with("mean", number(e.Mean)).with("std", number(e.StdDev)).with("min", number(e.Min)).with("max",
		number(e.Max)).
		with("cv", number(e.CV())).with("se", number(e.StdErr())).with("ci_low", number(e.Low)).with("ci_high",
		number(e.High)).
		with("t_critical", number(e.TCritical()))
}

// spread is what a cell of a sweep says about a metric over its trials: AIPerf
// leaves these two out there.
func spread(e stats.Estimate) object {
	return slices.DeleteFunc(members(e), func(m member) bool { return m.key == "se" || m.key == "t_critical" })
}

func (a *Aggregate) json(rows []aggregateRow) object {
	meta := object{}.with("aggregation_type", "confidence").with("num_profile_runs", len(a.Runs)+len(a.Failed)).
		with("num_successful_runs", len(a.Runs)).with("failed_runs", failedRuns(a.Failed)).
		with("confidence_level", number(a.Level)).with("run_labels", a.labels())
	if a.single() {
		meta = meta.with("single_run", true)
	}
	meta = meta.with("cooldown_seconds", number(a.Cooldown))
	if a.VariationLabel != "" {
		meta = meta.with("variation_label", a.VariationLabel).with("variation_values", parameters(a.VariationValues)).
			with("sweep_mode", a.SweepMode).with("model", a.Model)
	}
	all := object{}
	for _, r := range rows {
		all = all.with(r.key, members(r.est).with("unit", r.unit))
	}
	return object{}.with("schema_version", "1.0").with("aiperf_version", a.Version).with("metadata",
		meta).with("metrics", all)
}

func (a *Aggregate) single() bool { return len(a.Runs)+len(a.Failed) == 1 }

func (a *Aggregate) csv(rows []aggregateRow) []byte {
	b := csvLine(nil, "metric", "mean", "std", "min", "max", "cv", "se", "ci_low", "ci_high", "t_critical", "unit")
	for _, r := range rows {
		e := r.est
		b = csvLine(b, r.key, decimals(e.Mean, 2), decimals(e.StdDev, 2), decimals(e.Min, 2), decimals(e.Max, 2),
			decimals(e.CV(), 4), decimals(e.StdErr(), 4), decimals(e.Low, 2),
			decimals(e.High, 2), decimals(e.TCritical(), 4), r.unit)
	}
	b = csvLine(append(b, "\r\n"...), "Aggregation Type", "confidence")
	b = csvLine(b, "Total Runs", strconv.Itoa(len(a.Runs)+len(a.Failed)))
	b = csvLine(b, "Successful Runs", strconv.Itoa(len(a.Runs)))
	b = csvLine(b, "Confidence Level", python(a.Level))
	b = csvLine(b, "Run Labels", python(a.labels()))
	if a.single() {
		b = csvLine(b, "Single Run", python(true))
	}
	b = csvLine(b, "Cooldown Seconds", python(a.Cooldown))
	if a.VariationLabel != "" {
		b = csvLine(b, "Variation Label", a.VariationLabel)
		b = csvLine(b, "Variation Values", python(parameters(a.VariationValues)))
		b = csvLine(b, "Sweep Mode", a.SweepMode)
		b = csvLine(b, "Model", a.Model)
	}
	return b
}
