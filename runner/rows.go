package runner

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
)

// tables is the input of the tables.
func (r *runner) tables() sinks.TablesInput {
	host, _ := os.Hostname()
	hostJSON, err := json.Marshal(map[string]any{"name": host, "cores": runtime.GOMAXPROCS(0)})
	if err != nil {
		panic(err) // plain strings and numbers
	}
	in := sinks.TablesInput{
		Plan: r.plan, T0: r.began(), Version: r.opt.Version, Verdict: r.result.said().String(), Host: string(hostJSON),
		Formats: r.plan.Experiment.Tables.Formats, Chunks: r.plan.Experiment.Tables.Chunks,
	}
	for i, o := range r.result.Outcomes {
		rep := r.result.Reports[o.Run.ID]
		if rep == nil {
			in.Runs = append(in.Runs, r.probed(i, failedRow(o)))
			continue
		}
		in.Journals = append(in.Journals, r.runJournal(o.Run, rep))
		in.Runs = append(in.Runs, r.probed(i, r.runRow(o, rep, in.T0)))
		in.Checks = append(in.Checks, checkRows(place(o.Run), "run", rep.Findings)...)
		if o.Interrupted { // figures of a part of a run are those of no trial
			continue
		}
		in.Metrics = append(in.Metrics, serverMetrics(place(o.Run), rep.servers)...)
		in.Metrics = append(in.Metrics, pluginMetrics(place(o.Run), rep.Told)...)
		for i := range o.Summaries {
			in.Metrics = append(in.Metrics, runMetrics(place(o.Run), &o.Summaries[i], o.Taints,
				sweep.Planned(o.Run.Cell.Resolved.Benchmark.Phases))...)
			in.Metrics = append(in.Metrics, networkMetrics(place(o.Run), &o.Summaries[i], rep.network)...)
			in.Metrics = append(in.Metrics, energyMetrics(place(o.Run), &o.Summaries[i], rep.energy)...)
		}
		for _, p := range o.Parts {
			in.Metrics = append(in.Metrics, partMetrics(place(o.Run), p, o.Taints)...)
		}
	}
	for i := range r.result.Results.Cells {
		c := &r.result.Results.Cells[i]
		in.Cells = append(in.Cells, r.cellRow(c))
		in.Metrics = append(in.Metrics, cellMetrics(c, "full", c.Full)...)
		in.Metrics = append(in.Metrics, cellMetrics(c, "steady", c.Steady)...)
		for _, p := range c.Parts {
			in.Metrics = append(in.Metrics, cellPart(c, p)...)
		}
	}
	for i := range in.Metrics {
		in.Metrics[i].Better = betterOf(in.Metrics[i].Metric)
	}
	in.Checks = append(in.Checks, checkRows(sinks.Place{Cell: sinks.All, Trial: sinks.All}, "plan",
		r.result.PlanFindings)...)
	return in
}

// began is the experiment's T0: the first run's.
func (r *runner) began() time.Time {
	t0 := r.result.Began
	for _, rep := range r.result.Reports {
		if rep.Started.Before(t0) {
			t0 = rep.Started
		}
	}
	return t0
}

func place(run sweep.Run) sinks.Place { return sinks.Place{Cell: run.Cell.Index, Trial: run.Trial} }

func (r *runner) runJournal(run sweep.Run, rep *RunReport) sinks.RunJournal {
	j := sinks.RunJournal{Place: place(run), Path: r.journalPath(run), SteadyStart: record.None, SteadyEnd: record.None}
	if start, end, ok := rep.steady(); ok {
		j.SteadyStart, j.SteadyEnd = start, end
	}
	return j
}

func (r *runner) runRow(o decide.Outcome, rep *RunReport, t0 time.Time) sinks.RunRow {
	shift := rep.Started.Sub(t0).Nanoseconds()
	row := sinks.RunRow{
		Place: place(o.Run), Started: rep.Started.UnixNano(), Ended: rep.Ended.UnixNano(),
		Planned: record.None, Sent: o.Sent, OK: o.OK, Failed: o.Failed,
		Cancelled: o.Cancelled, Cut: o.Cut, Unsent: o.Unsent, WindowStart: record.None, WindowEnd: record.None,
		SteadyStart: record.None, SteadyEnd: record.None,
		Seed: rep.Seed, ClientCPU: math.NaN(), Verdict: rep.Verdict.String(), Attempt: int64(rep.Attempt),
		Sentinel: sentinelNumber(o.Run), Path: o.Run.Dir, Replay: rep.Fidelity.row(),
	}
	if n := planned(o.Run); n > 0 {
		row.Planned = n
	}
	if start, end, ok := rep.window(); ok {
		row.WindowStart, row.WindowEnd = start+shift, end+shift
	}
	if start, end, ok := rep.steady(); ok {
		row.SteadyStart, row.SteadyEnd = start+shift, end+shift
	}
	if h := rep.Host; h.CPUSeconds != nil && h.WallSeconds > 0 {
		row.ClientCPU = *h.CPUSeconds / h.WallSeconds / float64(h.Cores)
	}
	return row
}

// probed adds to the row of run i what a search made of it.
func (r *runner) probed(i int, row sinks.RunRow) sinks.RunRow {
	row.Probe = record.None
	if a := r.result.Adaptive; a != nil {
		row.Probe, row.Search, row.Decision = int64(i+1), r.result.Outcomes[i].Why, a.Decision(i/r.plan.Trials)
	}
	if a := r.result.Search; a != nil {
		row.Probe, row.Search, row.Decision = int64(i+1), r.result.Outcomes[i].Why, "unusable"
		if a.After[i] != "" {
			row.Decision = r.decision(a.Decision(i))
		}
	}
	return row
}

// decision is what a search makes of a load: for a knee it only measures.
func (r *runner) decision(said string) string {
	if r.plan.Experiment.Search.Find == string(search.Knee) {
		return "measured"
	}
	return said
}

// found adds to the row of a cell what a search found at its load.
func (r *runner) found(row *sinks.CellRow, c *sweep.Cell) {
	row.CurveGood, row.CurveRate = math.NaN(), math.NaN()
	a := r.result.Search
	if a == nil {
		return
	}
	if said := a.DecisionAt(c.Load()); said != "" {
		row.Decision = r.decision(said)
	}
	last := false // of the loads up to the knee
	for i, p := range a.Curve.Points {
		if p.Load == c.Load() {
			row.CurveGood = p.Share
			if p.Rate > 0 { // the law is known as far as the rates that it was fitted to
				row.CurveRate = p.Law
			}
			last = i+1 == len(a.Curve.Points) || a.Knee != nil && a.Curve.Points[i+1].Load > a.Knee.At.Value
		}
	}
	if a.Knee != nil && a.Knee.ThroughputShown {
		row.Knee = yes(last && c.Load() <= a.Knee.At.Value)
	}
}

func sentinelNumber(r sweep.Run) int64 {
	if r.Sentinel > 0 {
		return int64(r.Sentinel)
	}
	return record.None
}

// failedRow is a run that gave nothing: it is in the table all the same.
func failedRow(o decide.Outcome) sinks.RunRow {
	return sinks.RunRow{
		Place: place(o.Run), Started: record.None, Ended: record.None, Planned: record.None, Sent: 0, OK: 0, Failed: 0,
		Cancelled:   0,
		WindowStart: record.None, WindowEnd: record.None, SteadyStart: record.None, SteadyEnd: record.None,
		Seed: o.Run.Seed, ClientCPU: math.NaN(), Verdict: validity.Failed.String(), Attempt: record.None,
		Sentinel: sentinelNumber(o.Run), Path: o.Run.Dir, Replay: sinks.NoReplay(),
	}
}

// planned is the number of requests the profiling phases were to send, 0 when
// only time bounds them.
func planned(run sweep.Run) int64 {
	var n int64
	for _, p := range run.Cell.Resolved.Benchmark.Phases {
		if p.Kind != "warmup" {
			n += p.Requests
		}
	}
	return n
}

// statistics are the columns of a Stat in the metrics table.
var statistics = []struct {
	name string
	of   func(*metrics.Stat) float64
	q    float64 // of a percentile; 0 otherwise
}{
	{"avg", func(s *metrics.Stat) float64 { return s.Avg }, 0},
	{"min", func(s *metrics.Stat) float64 { return s.Min }, 0},
	{"max", func(s *metrics.Stat) float64 { return s.Max }, 0},
	{"sum", func(s *metrics.Stat) float64 { return s.Sum }, 0},
	{"std", func(s *metrics.Stat) float64 { return s.Std }, 0},
	{"p1", func(s *metrics.Stat) float64 { return s.P1 }, 0.01},
	{"p5", func(s *metrics.Stat) float64 { return s.P5 }, 0.05},
	{"p10", func(s *metrics.Stat) float64 { return s.P10 }, 0.1},
	{"p25", func(s *metrics.Stat) float64 { return s.P25 }, 0.25},
	{"p50", func(s *metrics.Stat) float64 { return s.P50 }, 0.5},
	{"p75", func(s *metrics.Stat) float64 { return s.P75 }, 0.75},
	{"p90", func(s *metrics.Stat) float64 { return s.P90 }, 0.9},
	{"p95", func(s *metrics.Stat) float64 { return s.P95 }, 0.95},
	{"p99", func(s *metrics.Stat) float64 { return s.P99 }, 0.99},
	{"p999", func(s *metrics.Stat) float64 { return s.P999 }, 0.999},
}

// runMetrics are the rows of one window of one run that plans so many requests, 0 where
// that is not known.
func runMetrics(at sinks.Place, sum *metrics.Summary, taints validity.Taints, planned int64) []sinks.MetricRow {
	var rows []sinks.MetricRow
	for i := range sum.Stats {
		s := &sum.Stats[i]
		for _, k := range statistics {
			v, name := k.of(s), k.name
			if math.IsNaN(v) || math.IsInf(v, 0) || s.Scalar && name != "avg" {
				continue
			}
			row := sinks.MetricRow{
				Place: at, Level: "run", Window: sum.Window, Metric: s.Tag, Stat: name, Value: v, Unit: s.Unit,
				Low: math.NaN(), High: math.NaN(), CV: math.NaN(), N: s.Count, NEff: s.NEff,
				Certified: record.None, Taint: taints.Of(s.Tag, k.name).String(),
			}
			if s.Scalar { // a figure of the whole run rests on no sample
				row.N = record.None
			}
			if k.q > 0 {
				row.Method, row.Certified = "linear", yes(decide.Certain(k.q, cmp.Or(planned, s.Count), s.NEff))
				if in, ok := s.Interval(name); ok {
					row.Low, row.High = in.Low, in.High
				}
			}
			if k.name == "avg" && !s.Scalar && s.Count > 0 && !math.IsNaN(s.Sum) {
				row.Certified = yes(s.Max <= mostOfSum*s.Sum)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// mostOfSum is the share of a sum that one value may be before the mean is marked:
// it is then the mean of little more than that value.
const mostOfSum = 0.1

// partMetrics are the rows of one target, or of one model, of one run.
func partMetrics(at sinks.Place, p metrics.Part, taints validity.Taints) (rows []sinks.MetricRow) {
	for i := range p.Summaries {
		rows = append(rows, runMetrics(at, &p.Summaries[i], taints, 0)...)
	}
	for i := range rows {
		rows[i].Level, rows[i].Part = p.Kind, p.Name
	}
	return rows
}

// unitOf is the unit of a statistic of a metric: how many values there were has none.
func unitOf(stat, unit string) string {
	switch {
	case stat == "count" || stat == "n_effective":
		return ""
	case stat == "rate" && unit != "":
		return unit + "/s"
	}
	return unit
}

// cellMetrics are the rows of one window of one cell: estimates over trials.
func cellMetrics(c *decide.CellResult, window string, of decide.Estimates) []sinks.MetricRow {
	var rows []sinks.MetricRow
	for k, e := range of.All() {
		if math.IsNaN(e.Mean) || math.IsInf(e.Mean, 0) {
			continue
		}
		row := sinks.MetricRow{
			Place: sinks.Place{Cell: c.Cell.Index, Trial: sinks.All}, Level: "cell", Window: window, Metric: k.Tag,
			Stat:  k.Stat,
			Value: e.Mean, Unit: unitOf(k.Stat, c.Info[k.Tag].Unit), Low: e.Low, High: e.High,
			CV: math.NaN(), N: int64(e.N), NEff: math.NaN(),
			Certified: record.None, Method: e.Method, Taint: of.Taint(k).String(),
		}
		if c.Stopped != nil && c.Stopped.Marked && row.Method != "" {
			row.Method += ", stopped when narrow"
		}
		if e.Mean != 0 {
			row.CV = e.StdDev / math.Abs(e.Mean)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b sinks.MetricRow) int {
		return compareText(a.Metric, b.Metric, a.Stat, b.Stat)
	})
	return rows
}

// cellPart are the rows of one target, or of one model, of one cell.
func cellPart(c *decide.CellResult, p decide.PartResult) []sinks.MetricRow {
	rows := append(cellMetrics(c, "full", p.Full), cellMetrics(c, "steady", p.Steady)...)
	for i := range rows {
		rows[i].Level, rows[i].Part = p.Kind, p.Name
	}
	return rows
}

func (r *runner) cellRow(c *decide.CellResult) sinks.CellRow {
	row := sinks.CellRow{
		Place: sinks.Place{Cell: c.Cell.Index, Trial: sinks.All}, Trials: int64(c.Trials), Verdict: c.Verdict.String(),
		Pareto: record.None, Knee: yes(c.Knee), BestFor: joined(c.BestFor), Reason: c.Reason,
	}
	if c.Front == decide.OnFront || c.Front == decide.Dominated {
		row.Pareto = yes(c.Front == decide.OnFront)
	}
	if c.Status != decide.Complete && row.Reason == "" {
		row.Reason = string(c.Status)
	}
	for _, o := range r.result.Outcomes {
		if o.Run.Cell == c.Cell && o.Run.Sentinel == 0 && !o.Interrupted {
			row.N += o.OK
		}
	}
	r.found(&row, c.Cell)
	for _, f := range sinks.CellFigures() {
		out, headline := sinks.Figure{Value: math.NaN(), Low: math.NaN(), High: math.NaN()}, c.Headline()
		if e, ok := headline.Get(decide.Key{Tag: f.Tag, Stat: f.Stat}); ok {
			out = sinks.Figure{Value: e.Mean, Low: e.Low, High: e.High}
			if !e.HasInterval() {
				out.Low, out.High = math.NaN(), math.NaN()
			}
		}
		row.Figures = append(row.Figures, out)
	}
	return row
}

func checkRows(at sinks.Place, level string, found []verdict.Finding) []sinks.CheckRow {
	var rows []sinks.CheckRow
	for _, f := range found {
		row := sinks.CheckRow{
			Place: at, Level: level, Check: f.Check, Kind: string(f.Kind), Severity: f.Verdict.Severity(),
			Verdict: f.Verdict.Mark(),
			Value:   f.Value, Limit: math.NaN(), Unit: f.Unit, Detail: f.Sentence(),
		}
		if f.Noted {
			row.Verdict = validity.NotedMark
		}
		if l := f.Limit(); l != nil {
			row.Limit = *l
		}
		rows = append(rows, row)
	}
	return rows
}

// betterOf is which way a metric is better; "" for one of the work or of the load, which is not
// better in either.
func betterOf(tag string) string {
	if m, ok := metrics.Lookup(tag); ok && m.Neutral {
		return ""
	}
	if decide.LargerIsBetter(tag) {
		return "higher"
	}
	return "lower"
}

func yes(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func joined(words []string) string { return strings.Join(words, ", ") }

// compareText orders pairs of words.
func compareText(a1, b1, a2, b2 string) int {
	return cmp.Or(strings.Compare(a1, b1), strings.Compare(a2, b2))
}
