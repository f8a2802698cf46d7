package aiperf

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// SweepSummary is what the cells of a sweep say side by side.
type SweepSummary struct {
	Parameters []SweepParameter
	Cells      []SweepCell // in plan order, those with at least one successful run
	NumRuns    int
	Successful int
	Failed     []FailedRun
	Mode       string // repeated, independent
	Level      float64
	Trials     int
	Recipe     string             // the recipe that made the sweep, "" for none
	Filters    []schema.SLAFilter // limits that make a cell feasible
	Post       *PostProcess       // what is worked out of the cells, nil for nothing
}

// SweepParameter is one axis with its values.
type SweepParameter struct {
	Path   string // phases.profiling.concurrency
	Values []Plain
}

// SweepCell is one cell: its point and its successful runs' summaries.
type SweepCell struct {
	Point []Parameter        // by the paths of the axes
	Runs  []*metrics.Summary `json:"-"`
	Dirs  []string           // of those runs, in the result directory
	Named map[string]Plain   // what a named cell says of itself
}

// WriteSweep writes profile_export_aiperf_sweep.json and .csv into dir. As in
// AIPerf, best and Pareto-optimal cells are those of the means (throughput
// against p99 of TTFT, or of latency where not every cell has TTFT); whether
// the intervals support that is said in the report.
func WriteSweep(dir string, s *SweepSummary) ([]sinks.FileInfo, error) {
	const stem = "profile_export_aiperf_sweep"
	b, err := appendJSON(nil, s.json())
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", filepath.Join(dir, stem+".json"), err)
	}
	return writePair(dir, stem, b, s.csv())
}

func (s *SweepSummary) json() object {
	params := []object{}
	for _, p := range s.Parameters {
		params = append(params, object{}.with("name", s.name(p.Path)).with("values", bare(p.Values)))
	}
	meta := object{}.with("sweep_parameters", params).with("num_combinations", len(s.Cells))
	if len(s.Filters) > 0 {
		feasible := 0
		for i := range s.Cells {
			if s.feasible(i) {
				feasible++
			}
		}
		meta = meta.with("sla_constraints", object{}.with("active_filters", filters(s.Filters)).with("feasible_count",
			feasible).with("infeasible_count", len(s.Cells)-feasible))
	}
	meta = meta.with("sweep_mode", s.Mode).with("confidence_level", number(s.Level)).with("num_trials_per_value",
		s.Trials)
	if axes, ok := paretoAxes[s.Recipe]; ok {
		meta = meta.with("pareto_axes", object{}.with("x_metric", axes[0]).with("x_stat", axes[1]).with("x_minimize",
			true).
			with("y_metric", axes[2]).with("y_stat", axes[3]).with("y_maximize", true).with("series_keys", []any{}))
	}
	meta = meta.with("aggregation_type", "sweep")
	cells := []object{}
	for i := range s.Cells {
		all := object{}
		for _, r := range s.metricsOf(i) {
			all = all.with(r.key, r.members)
		}
		cells = append(cells, object{}.with("parameters", s.point(i)).with("metrics", all))
	}
	best := object{}
	for _, b := range s.best() {
		best = best.with(b.name, object{}.with("parameters", s.point(b.cell)).with("metric",
			number(b.value)).with("unit", b.unit))
	}
	pareto := []object{}
	for _, i := range s.pareto() {
		pareto = append(pareto, s.point(i))
	}
	return object{}.with("aggregation_type", "sweep").with("num_profile_runs", s.NumRuns).with("num_successful_runs",
		s.Successful).
		with("failed_runs", failedRuns(s.Failed)).with("metadata", meta).with("per_combination_metrics", cells).
		with("best_configurations", best).with("pareto_optimal", pareto)
}

// sweepRow is one metric of one cell: a statistic over trials, or, with one
// trial per cell, a whole metric.
type sweepRow struct {
	key                      string
	mean, std, low, high, cv float64 // low, high: min and max
	members                  object
}

func (s *SweepSummary) metricsOf(cell int) []sweepRow {
	c := s.Cells[cell]
	var out []sweepRow
	if s.Trials == 1 && len(c.Runs) == 1 {
		for _, st := range told(c.Runs[0]) {
			out = append(out, singleRow(st))
		}
		return out
	}
	for _, r := range aggregateRows(c.Runs, s.Level) {
		e := r.est
		out = append(out, sweepRow{r.key, e.Mean, e.StdDev, e.Min, e.Max, e.CV(), spread(e).with("unit", r.unit)})
	}
	return out
}

// singleRow is a metric of a cell that ran once: its own distribution; what
// only trials could tell is null.
func singleRow(st metrics.Stat) sweepRow {
	nan := math.NaN()
	low, high := st.Min, st.Max
	if st.Scalar {
		low, high = st.Avg, st.Avg
	}
	o := object{}.with("mean", number(st.Avg)).with("avg", number(st.Avg)).with("std", number(nan)).
		with("min", number(low)).with("max", number(high)).with("cv", number(nan)).
		with("ci_low", number(nan)).with("ci_high", number(nan)).with("unit", st.Unit)
	for _, m := range statJSON(st) {
		if strings.HasPrefix(m.key, "p") || m.key == "count" || m.key == "sum" {
			o = append(o, m)
		}
	}
	return sweepRow{st.Tag, st.Avg, nan, low, high, nan, o}
}

// mean is the mean over a cell's trials of one statistic; NaN if it has none.
func (s *SweepSummary) mean(cell int, tag, stat string) (v float64, unit string) {
	var values []float64
	for _, sum := range s.Cells[cell].Runs {
		if st, ok := sum.Get(tag); ok && isFinite(st.Value(stat)) {
			values, unit = append(values, st.Value(stat)), st.Unit
		}
	}
	return stats.Mean(values), unit
}

// latencyTag is the metric whose p99 is the second objective: it must be in
// every cell.
func (s *SweepSummary) latencyTag() string {
	for i := range s.Cells {
		if v, _ := s.mean(i, metrics.TimeToFirstToken, "p99"); math.IsNaN(v) {
			return metrics.RequestLatency
		}
	}
	return metrics.TimeToFirstToken
}

type bestCell struct {
	name  string
	cell  int
	value float64
	unit  string
}

// best are the cell with the highest throughput and the one with the lowest
// latency; the first of equal ones.
func (s *SweepSummary) best() []bestCell {
	var out []bestCell
	for _, o := range []struct {
		name, tag, stat string
		better          func(a, b float64) bool
	}{
		{"best_throughput", metrics.RequestThroughput, "avg", func(a, b float64) bool { return a > b }},
		{"best_latency_p99", s.latencyTag(), "p99", func(a, b float64) bool { return a < b }},
	} {
		b := bestCell{name: o.name, cell: -1}
		for i := range s.Cells {
			if v, unit := s.mean(i, o.tag, o.stat); !math.IsNaN(v) &&
				s.feasible(i) && (b.cell < 0 || o.better(v, b.value)) {
				b.cell, b.value, b.unit = i, v, unit
			}
		}
		if b.cell >= 0 {
			out = append(out, b)
		}
	}
	return out
}

// pareto are the cells no other beats in throughput and latency.
func (s *SweepSummary) pareto() []int {
	var points [][]float64
	var at []int
	for i := range s.Cells {
		if !s.feasible(i) {
			continue
		}
		x, _ := s.mean(i, metrics.RequestThroughput, "avg")
		y, _ := s.mean(i, s.latencyTag(), "p99")
		points, at = append(points, []float64{x, y}), append(at, i)
	}
	var out []int
	for k, on := range stats.Pareto(points, []stats.Direction{stats.Maximise, stats.Minimise}) {
		if on {
			out = append(out, at[k])
		}
	}
	return out
}

// feasible reports whether a cell keeps the limits of the sweep.
func (s *SweepSummary) feasible(cell int) bool { return len(s.breaches(cell, s.Filters)) == 0 }

// paretoAxes are those of AIPerf's recipes: metric and statistic to be small, then to be large.
var paretoAxes = map[string][4]string{
	"concurrency-ramp":          {metrics.RequestLatency, "p95", metrics.OutputTokenThroughput, "avg"},
	"max-concurrency-under-sla": {metrics.RequestLatency, "p95", "concurrency", "value"},
	"pareto-sweep":              {frontX[0], frontX[1], frontY[0], frontY[1]},
}

// name is what the files call the axis at a path: its last word (concurrency),
// or the whole path where another axis ends with the same word (prompts.isl.mean
// beside prompts.osl.mean).
func (s *SweepSummary) name(path string) string {
	short := lastWord(path)
	for _, p := range s.Parameters {
		if p.Path != path && lastWord(p.Path) == short {
			return path
		}
	}
	return short
}

func lastWord(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// point is a cell's values by the names of its axes.
func (s *SweepSummary) point(cell int) object {
	named := slices.Clone(s.Cells[cell].Point)
	for i := range named {
		named[i].Name = s.name(named[i].Name)
	}
	return parameters(named)
}

func (s *SweepSummary) names() []string {
	var out []string
	for _, p := range s.Parameters {
		out = append(out, s.name(p.Path))
	}
	return out
}

// cells are a point's values as CSV cells, in the order of the parameters.
func (s *SweepSummary) cells(point []Parameter) []string {
	var out []string
	for _, p := range s.Parameters {
		v := ""
		for _, q := range point {
			if q.Name == p.Path {
				if v, _ = q.Value.V.(string); v == "" {
					v = python(q.Value.V)
				}
			}
		}
		out = append(out, v)
	}
	return out
}

func (s *SweepSummary) csv() []byte {
	b := s.csvMetrics()
	b = csvLine(append(b, "\r\n"...), "Best Configurations")
	if best := s.best(); len(best) > 0 {
		b = csvLine(b, slices.Concat([]string{"Configuration"}, s.names(), []string{"Metric", "Unit"})...)
		title := map[string]string{"best_throughput": "Best Throughput", "best_latency_p99": "Best Latency P99"}
		for _, c := range best {
			b = csvLine(b, slices.Concat([]string{title[c.name]}, s.cells(s.Cells[c.cell].Point),
				[]string{decimals(c.value, 2), c.unit})...)
		}
	}
	b = csvLine(append(b, "\r\n"...), "Pareto Optimal Points")
	if pareto := s.pareto(); len(pareto) == 0 {
		b = csvLine(b, "None")
	} else {
		b = csvLine(b, s.names()...)
		for _, i := range pareto {
			b = csvLine(b, s.cells(s.Cells[i].Point)...)
		}
	}
	b = csvLine(append(b, "\r\n"...), "Metadata")
	b = csvLine(b, "Field", "Value")
	b = csvLine(b, "Aggregation Type", "sweep")
	b = csvLine(b, "Sweep Parameters", strings.Join(s.names(), ", "))
	b = csvLine(b, "Number of Combinations", strconv.Itoa(len(s.Cells)))
	b = csvLine(b, "Number of Profile Runs", strconv.Itoa(s.NumRuns))
	return csvLine(b, "Number of Successful Runs", strconv.Itoa(s.Successful))
}

// csvMetrics is the first block: a line per cell, five columns per metric.
func (s *SweepSummary) csvMetrics() []byte {
	byCell := make([]map[string]sweepRow, len(s.Cells))
	var keys []string
	for i := range s.Cells {
		byCell[i] = map[string]sweepRow{}
		for _, r := range s.metricsOf(i) {
			byCell[i][r.key] = r
			keys = append(keys, r.key)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	head := s.names()
	for _, k := range keys {
		head = append(head, k+"_mean", k+"_std", k+"_min", k+"_max", k+"_cv")
	}
	b := csvLine(nil, head...)
	for i := range s.Cells {
		line := s.cells(s.Cells[i].Point)
		for _, k := range keys {
			r, ok := byCell[i][k]
			if !ok {
				line = append(line, "", "", "", "", "")
				continue
			}
			line = append(line, decimals(r.mean, 2), decimals(r.std, 2), decimals(r.low, 2), decimals(r.high, 2),
				decimals(r.cv, 4))
		}
		b = csvLine(b, line...)
	}
	return b
}
