package runner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/source"
)

// Again is what came of making the results of a finished directory again.
type Again struct {
	Figures  int      // that were computed again: of runs, their parts and cells
	Bad      []string // a line for each that is stated otherwise
	Told     int      // figures that servers, GPUs and plug-ins told: they are in no record
	Judged   []string // checks that were made again of the records
	Reported []string // checks that rest on what the client saw of itself, which is no record
	Verdict  verdict.Verdict
	Unjudged []string // what the verdict stated says otherwise, a line each
}

// ErrNoRecords is the error of a directory that keeps no records.
var ErrNoRecords = errors.New("it keeps no records")

// MakeAgain computes every figure of a finished directory again from the records that it
// keeps, by the code that made them, and judges again. plan is the directory's own.
func MakeAgain(dir string, plan *sweep.Plan) (*Again, error) {
	runs, err := runsOf(dir, plan)
	if err != nil {
		return nil, err
	}
	a, err := sinks.OpenArchive(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoRecords
	}
	if err != nil {
		return nil, err
	}
	defer a.Close()
	kept, err := aiperf.ReadKept(a.About)
	if err != nil {
		return nil, err
	}
	reports, err := Reports(dir)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "aiperf-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // copies
	x := &again{
		runner: &runner{
			plan: plan, dir: &resultdir.Dir{Path: tmp}, hide: plan.Hide(),
			pages:  map[string]map[string]telemetry.Family{},
			result: &Result{Dir: dir, Plan: plan, Reports: map[string]*RunReport{}, Failures: map[string]error{}},
		},
		Again: &Again{}, from: dir, judged: map[string]bool{}, reported: map[string]bool{},
	}
	for _, k := range kept.Runs {
		i := slices.IndexFunc(runs, func(r sweep.Run) bool { return r.ID == k.ID })
		j := slices.IndexFunc(reports, func(r *RunReport) bool { return r.Run == k.ID })
		if i < 0 || j < 0 {
			return nil, fmt.Errorf("run %s has records, and no place in the plan or no report", k.ID)
		}
		journal, err := a.Journal(k.Dir, tmp)
		if err != nil {
			return nil, err
		}
		if err := x.run(runs[i], reports[j], journal); err != nil {
			return nil, err
		}
	}
	if err := x.sameBodies(); err != nil {
		return nil, err
	}
	x.judgePlan()
	return x.Again, errors.Join(x.figures(), x.cells())
}

// runsOf are the runs of a plan: those that it lists, of a search those that were made. It then
// gets back the search, which made them.
func runsOf(dir string, plan *sweep.Plan) (runs []sweep.Run, err error) {
	if len(plan.Runs) > 0 {
		return plan.Runs, nil
	}
	var kept struct {
		Experiment struct {
			Search *schema.Search `json:"search"`
		} `json:"experiment"`
	}
	if err := resultdir.ReadJSON(filepath.Join(dir, resultdir.ResolvedName), &kept); err != nil {
		return nil, err
	}
	if plan.Experiment.Search = kept.Experiment.Search; plan.Experiment.Search == nil {
		return nil, errors.New("an adaptive search chooses its runs as it goes, and its planner is not asked again")
	}
	for _, e := range resultdir.Events(dir) {
		if e.Event != "start" || slices.ContainsFunc(runs, func(r sweep.Run) bool { return r.ID == e.Run }) {
			continue // it was tried again
		}
		i := slices.IndexFunc(plan.Cells, func(c *sweep.Cell) bool { return c.ID == e.Cell })
		if i < 0 {
			return nil, fmt.Errorf("run %s is of no cell of the search", e.Run)
		}
		runs = append(runs, sweep.Run{Cell: plan.Cells[i], Trial: e.Trial, ID: e.Run, Dir: e.Dir})
	}
	return runs, nil
}

// sameBodies holds the experiment as it was resolved against the plan: both have the body of
// each cell that the plan began with.
func (x *again) sameBodies() error {
	lock, err := resultdir.ReadLock(x.from)
	if err != nil {
		return err
	}
	var resolved struct {
		Cells []struct {
			ID        string
			Benchmark any
		}
	}
	if err := resultdir.ReadJSON(filepath.Join(x.from, resultdir.ResolvedName), &resolved); err != nil {
		return err
	}
	for i, c := range resolved.Cells {
		var body any
		if i >= len(lock.Cells) || json.Unmarshal(lock.Cells[i].Benchmark, &body) != nil ||
			!reflect.DeepEqual(body, c.Benchmark) {
			x.Unjudged = append(x.Unjudged, fmt.Sprintf("cell %d of %s is not that of %s", i, resultdir.ResolvedName,
				resultdir.LockName))
		}
	}
	return nil
}

// again is one call of MakeAgain.
type again struct {
	*runner
	*Again
	from             string
	judged, reported map[string]bool // checks
}

// run makes the outcome of one run again, and its findings as far as they rest on records.
func (x *again) run(run sweep.Run, rep *RunReport, journal string) error {
	dir, err := x.runDir(run)
	if err != nil {
		return err
	}
	at := filepath.Join(dir, resultdir.StreamName)
	if err := os.Rename(journal, at); err != nil {
		return err
	}
	defer os.Remove(at) //nolint:errcheck // a copy
	read, err := x.summarize(run, rep)
	if err != nil {
		return err
	}
	e := evidenceOf(run, rep)
	info, err := sinks.ReadMeasured(at, func(rec *record.Record) error { e.Add(rec); return nil })
	if err != nil {
		return err
	}
	e.Emitted = info.Records
	x.rejudge(rep, verdict.Judge(e, x.plan.Experiment.Verdict))
	if word := verdict.Word(rep.Findings, x.asked()); word != rep.Verdict {
		x.Unjudged = append(x.Unjudged, fmt.Sprintf("run %s is %s, and by its findings %s", rep.Run, rep.Verdict, word))
	}
	x.result.Outcomes = append(x.result.Outcomes, outcome(run, rep, read))
	x.result.Reports[run.ID] = rep
	return nil
}

// evidenceOf is the evidence of a run as far as its report has it: what it says of the
// client's machine in detail went with the process that measured.
func evidenceOf(run sweep.Run, rep *RunReport) *verdict.Evidence {
	var res loadgen.Result
	for _, p := range rep.Phases {
		res.Phases = append(res.Phases, p.result())
	}
	b := &run.Cell.Resolved.Benchmark
	e := verdict.NewEvidence(res, telemetry.Host{})
	spec, _ := endpoint.Lookup(b.Endpoint.Type)
	e.ServerTokens, e.Streaming = b.Endpoint.UseServerTokenCount, b.Endpoint.Streaming && spec.CanStream
	e.Stamps, e.Identity = rep.Stamps, rep.Identity
	e.BuiltIn = slices.ContainsFunc(b.Endpoint.URLs, mockserver.Named)
	e.IgnoresEnd = b.Endpoint.Extra.Get("ignore_eos") != nil || b.Endpoint.Extra.Get("min_tokens") != nil
	e.Reuse = reuseOf(b.Datasets)
	for _, d := range b.Datasets {
		e.Shared = e.Shared || d.Prefix != nil
	}
	return e
}

// result is what the engine said of the phase, as far as the report keeps it.
func (p *PhaseReport) result() loadgen.PhaseResult {
	r := loadgen.PhaseResult{
		Name: p.Name, Warmup: p.Warmup, Start: p.Start, End: p.End, Answered: record.None, Issued: p.Issued, OK: p.OK,
		Failed: p.Failed, CancelledCount: p.Cancelled, Cut: p.Cut, Unsent: p.Unsent, Skipped: p.Skipped, Stop: p.Stop,
		Target: p.Target, Rate: p.Rate, Closed: !p.Open, Stability: p.Stability,
	}
	r.Gauge = loadgen.Gauge{
		Mean: math.NaN(), HeldShare: math.NaN(), HeldRatio: math.NaN(),
		SteadyStart: record.None, SteadyEnd: record.None,
	}
	if p.Answered != nil {
		r.Answered = *p.Answered
	}
	if p.SteadyStart != nil {
		r.Gauge.SteadyStart, r.Gauge.SteadyEnd = *p.SteadyStart, *p.SteadyEnd
	}
	return r
}

// ofRecords are the checks that rest on records, the plan, and what a phase counted:
// what they find can be found again. All others also rest on what the client saw of its own
// machine while it measured.
var ofRecords = []string{
	"dispatch_lateness", "turnaround", "client_errors", validity.Errors, "censored", "admission_wait",
	validity.OSLHonoured, "streamed", "held_open", "resent", "dimensions", "flow_balance", validity.Stable,
}

// rejudge holds the findings of a report against those that were made again.
func (x *again) rejudge(rep *RunReport, found []verdict.Finding) {
	for _, f := range rep.Findings {
		i := slices.IndexFunc(found, func(g verdict.Finding) bool { return g.Check == f.Check })
		if !slices.Contains(ofRecords, f.Check) || i < 0 {
			x.reported[f.Check] = true
			continue
		}
		x.judged[f.Check] = true
		if g := found[i]; g.Verdict != f.Verdict || !same(g.Value, f.Value) {
			x.Unjudged = append(x.Unjudged, fmt.Sprintf("run %s: %s is %s with %.6g, and by the records %s with %.6g", rep.Run,
				f.Check, f.Verdict, f.Value, g.Verdict, g.Value))
		}
	}
	for _, g := range found {
		left := !slices.ContainsFunc(rep.Findings, func(f verdict.Finding) bool { return f.Check == g.Check })
		if slices.Contains(ofRecords, g.Check) && left && g.Verdict != verdict.Valid {
			x.Unjudged = append(x.Unjudged, fmt.Sprintf("run %s: %s is left out, and is %s by the records", rep.Run, g.Check,
				g.Verdict))
		}
	}
}

// same is equality of what was written as decimal digits.
func same(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b))
}

// judgePlan aggregates and judges as finish does.
func (x *again) judgePlan() {
	res := x.result
	res.Search = source.Found(x.plan, res.Outcomes)
	res.Results = decide.Aggregate(x.plan, res.Outcomes)
	res.PlanFindings = verdict.JudgePlan(x.planEvidence(), x.plan.Experiment.Verdict)
	if MarkByPlan(res.Outcomes, res.PlanFindings) {
		res.Results = decide.Aggregate(x.plan, res.Outcomes)
	}
	res.Verdict = max(verdict.Worst(res.PlanFindings), res.worstRun())
	x.Verdict = res.said()
	x.Judged, x.Reported = slices.Sorted(maps.Keys(x.judged)), slices.Sorted(maps.Keys(x.reported))
	m, err := resultdir.ReadManifest(x.from)
	if err == nil && m.Verdict != x.Verdict {
		x.Unjudged = append(x.Unjudged, fmt.Sprintf("the verdict is %s, and by the findings %s", m.Verdict, x.Verdict))
	}
}

// place of a figure in the table metrics.
type figureAt struct {
	cell, trial                     int
	level, part, span, metric, stat string
}

func (f figureAt) String() string {
	at := fmt.Sprintf("cell %d", f.cell)
	if f.trial >= 0 {
		at += fmt.Sprintf(", trial %d", f.trial+1)
	}
	return fmt.Sprintf("%s %s of %s (%s%s)", f.metric, f.stat, at, f.span, strings.TrimRight(", "+f.part, ", "))
}

// figures holds the table metrics against the figures that were made again.
func (x *again) figures() error {
	rows, err := sinks.ReadTable(x.from, "metrics", nil)
	if err != nil {
		return err
	}
	made := map[figureAt]sinks.MetricRow{}
	for _, r := range x.tables().Metrics {
		made[figureAt{r.Cell, max(r.Trial, -1), r.Level, r.Part, r.Window, r.Metric, r.Stat}] = r
	}
	number := func(column string, i int) float64 {
		if v := rows.Floats[column]; i < len(v) {
			return v[i]
		}
		return math.NaN()
	}
	index := func(column string, i int) int {
		if v := number(column, i); !math.IsNaN(v) {
			return int(v)
		}
		return -1
	}
	stated := map[figureAt]bool{}
	for i := range rows.N {
		text := func(column string) string { return rows.Texts[column][i] }
		at := figureAt{
			index("cell_index", i), index("trial", i), text("level"), text("part"), text("span"), text("metric"), text("stat"),
		}
		r, ok := made[at]
		if !ok && x.told(text("metric"), text("method")) {
			x.Told++
			continue
		}
		stated[at] = true
		x.Figures++
		switch {
		case !ok:
			x.Bad = append(x.Bad, fmt.Sprintf("%s is %v, and by the records there is none", at, number("value", i)))
		case !same(r.Value, number("value", i)):
			x.Bad = append(x.Bad, fmt.Sprintf("%s is %v, and by the records %v", at, number("value", i), r.Value))
		case !same(r.Low, number("ci_low", i)) || !same(r.High, number("ci_high", i)):
			x.Bad = append(x.Bad, fmt.Sprintf("%s has the interval [%v, %v], and by the records [%v, %v]", at,
				number("ci_low", i), number("ci_high", i), r.Low, r.High))
		}
	}
	for at := range made {
		if !stated[at] {
			x.Bad = append(x.Bad, fmt.Sprintf("%s is left out", at))
		}
	}
	slices.Sort(x.Bad)
	return nil
}

// told reports whether a figure is one that somebody else told during the run.
func (x *again) told(metric, method string) bool {
	_, beside := telemetry.MeasureOf(metric)
	return beside || method == sinks.PluginMethod || slices.Contains([]string{
		"time_weighted", "increase", "bucket_edges", "counter", "trapezoid",
	}, method) || strings.HasPrefix(metric, "server_") || strings.HasPrefix(metric, "network_")
}

// cells holds the table cells against what was made again.
func (x *again) cells() error {
	rows, err := sinks.ReadTable(x.from, "cells", nil)
	if err != nil {
		return err
	}
	made := x.tables().Cells
	if rows.N != len(made) {
		x.Bad = append(x.Bad, fmt.Sprintf("%d cells, and by the records %d", rows.N, len(made)))
		return nil
	}
	for i, c := range made {
		for _, t := range []struct{ column, is string }{
			{"verdict", c.Verdict}, {"best_for", c.BestFor}, {"decision", c.Decision},
		} {
			if v := rows.Texts[t.column]; i < len(v) && v[i] != t.is {
				x.Unjudged = append(x.Unjudged, fmt.Sprintf("cell %d: %s is %s, and by the records %s", i, t.column,
					cmp.Or(v[i], "nothing"), cmp.Or(t.is, "nothing")))
			}
		}
		for k, f := range sinks.CellFigures() {
			v := rows.Floats[f.Name]
			if i >= len(v) || k >= len(c.Figures) {
				continue
			}
			x.Figures++
			if !same(v[i], c.Figures[k].Value) {
				x.Bad = append(x.Bad, fmt.Sprintf("%s of cell %d is %v, and by the records %v", f.Name, i, v[i],
					c.Figures[k].Value))
			}
		}
	}
	return nil
}
