package runner

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/gclimit"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report/page"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/source"
)

// manyRequests is from where on memory is given back between the steps.
const manyRequests = 20_000

// finish turns what the runs left into results: estimates, verdict, tables,
// aggregates, and last of all the manifest. It is done after an interruption
// too; the manifest then says so and a later --resume does it again.
func (r *runner) finish() error {
	defer gclimit.Writing()()
	res := r.result
	res.Search, res.Adaptive = source.Found(r.plan, res.Outcomes), source.Adapt(r.plan, res.Outcomes)
	res.Results = decide.Aggregate(r.plan, res.Outcomes)
	res.PlanFindings = verdict.JudgePlan(r.planEvidence(), r.plan.Experiment.Verdict)
	if MarkByPlan(res.Outcomes, res.PlanFindings) {
		res.Results = decide.Aggregate(r.plan, res.Outcomes)
	}
	res.Verdict = max(verdict.Worst(res.PlanFindings), res.worstRun())
	if r.sent > manyRequests {
		debug.FreeOSMemory() // what measuring held: the tables need room of their own
	}
	in := r.tables()
	info, err := sinks.WriteTables(r.dir.Path, in)
	if err != nil {
		return err
	}
	if err := r.writeReceipts(); err != nil {
		return err
	}
	if err := r.judgeRules(); err != nil {
		return err
	}
	res.limit = diagnose.Of(diagnose.PlanCells(r.plan), diagnose.Rows(in.Metrics, in.Checks)).Headline()
	if err := r.writeTheirs(); err != nil {
		return err
	}
	if err := res.Report().WriteMarkdown(filepath.Join(r.dir.Path, resultdir.MarkdownName), info.Tables()); err != nil {
		return err
	}
	if err := r.writeAnswer(); err != nil {
		return err
	}
	if err := r.writePage(); err != nil {
		return err
	}
	if err := r.dir.Note(resultdir.Event{Event: "end", Plan: r.plan.Hash}); err != nil {
		return err
	}
	if r.result.Stopped != "" {
		r.log.say("WARNING", "the plan ended early: %s", r.result.Stopped)
	}
	r.log.say("INFO", "%d of %s are written, %d were not needed, verdict %s", len(r.result.Outcomes), r.size(),
		r.result.Spared, r.result.Verdict)
	if err := r.log.close(); err != nil { // complete before the manifest lists it
		return err
	}
	if r.over() && r.plan.Several() {
		if err := r.dir.FoldReports(r.runDirs(), notable); err != nil {
			return err
		}
	}
	if err := r.writeManifest(info); err != nil {
		return err
	}
	return r.removeJournals()
}

// writeReceipts says what each run delivered, by the tables. What was simulated was
// delivered to nobody.
func (r *runner) writeReceipts() error {
	if !r.opt.network() {
		return nil
	}
	d, err := results.MakeReceipts(r.dir.Path)
	if err != nil {
		return err
	}
	b, err := d.Bytes()
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(r.dir.Path, resultdir.ReceiptName), b)
}

// MarkByPlan hands what findings over the plan touch on to its runs, where findings of
// runs are, and reports whether they touch anything.
func MarkByPlan(runs []decide.Outcome, found []verdict.Finding) (some bool) {
	for i := range runs {
		o := &runs[i]
		if o.Run.Sentinel > 0 || o.Taints == nil {
			continue
		}
		for what, t := range verdict.TaintsAt(found, spot(o.Run)) {
			o.Taints.Add(what, t.Check, t.Level)
			o.Ranges.Drop(what)
			some = true
		}
	}
	return some
}

func spot(run sweep.Run) verdict.Spot { return verdict.Spot{Cell: run.Cell.Index, Trial: run.Trial} }

// keepsUp reports whether the server kept up over the trials of a run's cell: then
// what the run says about its own backlog is chance.
func (res *Result) keepsUp(run sweep.Run) bool {
	if res.Results == nil || run.Sentinel > 0 {
		return false
	}
	i := slices.IndexFunc(res.Results.Cells, func(c decide.CellResult) bool { return c.Cell == run.Cell })
	return i >= 0 && res.Results.Cells[i].KeepsUp()
}

// worstRun is the worst word on a run.
func (res *Result) worstRun() (worst verdict.Verdict) {
	for i := range res.Outcomes {
		o := &res.Outcomes[i]
		rep := res.Reports[o.Run.ID]
		switch {
		case rep == nil, !res.counts(o.Run):
		case o.Backlog != nil && res.keepsUp(o.Run):
			worst = max(worst, o.Apart)
		default:
			worst = max(worst, rep.Verdict)
		}
	}
	return worst
}

// writePage makes report.html of the tables. A plan that measured nothing has
// none.
func (r *runner) writePage() error {
	if !r.opt.Page || len(r.result.Outcomes) == 0 {
		return nil
	}
	d, err := page.Load([]string{r.dir.Path})
	if err != nil {
		return err
	}
	b, err := page.Of(d, r.result.Report().Sentences())
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(r.dir.Path, resultdir.ViewName), b); err != nil {
		return err
	}
	r.result.view = resultdir.ViewName
	return nil
}

// writeManifest lists what is there now.
func (r *runner) writeManifest(info sinks.TablesInfo) error {
	rows := map[string]int64{}
	for _, f := range info.Files {
		rows[f.Path] = f.Rows
	}
	r.wrote(r.dir.Path, info.Files...)
	var findings json.RawMessage
	if found := r.result.PlanFindings; len(found) > 0 {
		var err error
		if findings, err = json.Marshal(found); err != nil {
			return err
		}
	}
	return r.dir.WriteManifest(resultdir.Manifest{
		Tool: r.opt.Version, Experiment: r.plan.Name, PlanHash: r.plan.Hash, Verdict: r.result.said(),
		Interrupted: r.result.partial(), ExitCode: int(r.result.ExitCode()), Finished: time.Now().UTC(),
		Findings: findings, Conclusions: r.result.Report().Sentences(),
	}, rows, r.written)
}

// wrote keeps what is known of files in dir, so that the manifest need not read them.
func (r *runner) wrote(dir string, files ...sinks.FileInfo) {
	for _, f := range files {
		r.written[filepath.Join(dir, filepath.FromSlash(f.Path))] = resultdir.Described{
			Bytes:  f.Bytes,
			SHA256: f.SHA256,
		}
	}
}

// over reports whether nothing of the plan is left to do: no later process needs the
// runs' streams, which the tables hold.
func (r *runner) over() bool {
	if r.opt.KeepStreams || r.result.partial() || len(r.result.Reports) < len(r.result.Outcomes) {
		return false
	}
	for _, rep := range r.result.Reports {
		if rep.Aborted != "" || rep.Lost != "" {
			return false
		}
	}
	return true
}

// runDirs are the folders of the runs that were carried out.
func (r *runner) runDirs() (dirs []string) {
	for _, o := range r.result.Outcomes {
		dirs = append(dirs, o.Run.Dir)
	}
	return dirs
}

// removeJournals deletes the streams that the tables now hold, the reports that were
// folded into one file, and the folders that they leave empty.
func (r *runner) removeJournals() error {
	if !r.over() {
		return nil
	}
	var errs []error
	names := append(sinks.SeriesFiles(), resultdir.StreamName)
	if r.plan.Several() {
		names = append(names, resultdir.ReportName)
	}
	for _, dir := range r.runDirs() {
		for _, name := range names {
			if err := os.Remove(filepath.Join(r.dir.Path, dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) == 0 {
		r.dir.RemoveEmpty(r.runDirs())
	}
	return errors.Join(errs...)
}

// planEvidence is what the plan's own checks look at: the metrics that the
// gates, SLOs and the ranking use.
func (r *runner) planEvidence() *verdict.PlanEvidence {
	e := &verdict.PlanEvidence{Trials: r.plan.Trials, Stamps: map[string][]verdict.Spot{}}
	for _, o := range r.result.Outcomes {
		if rep := r.result.Reports[o.Run.ID]; rep != nil {
			e.Stamps[rep.Stamps] = append(e.Stamps[rep.Stamps], spot(o.Run))
		}
	}
	for i := range r.result.Results.Cells {
		if c := &r.result.Results.Cells[i]; c.Status != decide.NotRun && r.result.counts(sweep.Run{Cell: c.Cell}) {
			e.Cells = append(e.Cells, r.cellEvidence(c))
		}
	}
	for _, o := range r.result.Results.Sentinel {
		if at, ok := sentinelLatency(o); ok {
			e.Sentinel = append(e.Sentinel, at)
		}
	}
	return e
}

// cellEvidence is what the trials of one cell say.
func (r *runner) cellEvidence(c *decide.CellResult) verdict.CellEvidence {
	e := verdict.CellEvidence{
		Index: c.Cell.Index, Label: c.Cell.Short(), OK: c.Trials + c.Left,
		Estimates: map[string]stats.Estimate{}, Medians: make([]float64, r.plan.Trials),
	}
	for _, o := range r.result.Results.Objectives {
		if est, ok := c.Full.Get(o.Key); ok {
			e.Estimates[o.String()] = est
		}
	}
	for i := range e.Medians {
		e.Medians[i] = math.NaN()
	}
	for _, o := range r.result.Outcomes {
		if o.Run.Cell != c.Cell || o.Run.Sentinel > 0 || len(o.Summaries) == 0 {
			continue
		}
		if rep := r.result.Reports[o.Run.ID]; rep != nil && rep.HalfShift != nil {
			e.Shifts = append(e.Shifts, *rep.HalfShift)
		}
		if o.Backlog != nil {
			e.Backlogs, e.BacklogLimit = append(e.Backlogs, o.Backlog.Share), max(e.BacklogLimit, o.Backlog.Limit)
		}
		if s, ok := o.Summaries[0].Get(metrics.RequestLatency); ok && o.Run.Trial < len(e.Medians) {
			e.Medians[o.Run.Trial] = s.P50
		}
	}
	return e
}

// sentinelLatency is the median latency of a run of the sentinel; false where it
// has none with an interval.
func sentinelLatency(o *decide.Outcome) (verdict.Median, bool) {
	if o.Err != "" || len(o.Summaries) == 0 || o.Verdict == verdict.Invalid {
		return verdict.Median{}, false
	}
	s, _ := o.Summaries[0].Get(metrics.RequestLatency)
	in, ok := s.Interval("p50")
	return verdict.Median{Value: s.P50, Low: in.Low, High: in.High}, ok
}

// said is the verdict that people and files read: of a plan of which nothing was
// measured, because no request was sent, all of them failed, or its only run was cut
// short, that it failed. The others are words on numbers, and there is none.
func (res *Result) said() verdict.Verdict {
	if res.NothingMeasured() != nil || res.Interrupted && !res.hasFigures() ||
		len(res.Outcomes) > 0 && !res.Measured() || res.allBroken() {
		return validity.Failed
	}
	return res.Verdict
}

// hasFigures reports whether the table has any: a run that was cut short gives none.
func (res *Result) hasFigures() bool {
	for _, o := range res.Outcomes {
		if o.Sent > 0 && !o.Interrupted {
			return true
		}
	}
	return false
}

// allBroken reports whether no run of the plan is a measurement of its server.
func (res *Result) allBroken() bool {
	for _, o := range res.Outcomes {
		if rep := res.Reports[o.Run.ID]; rep == nil || rep.Broken() == "" {
			return false
		}
	}
	return len(res.Outcomes) > 0
}

// partial reports whether a later --resume has something to do.
func (res *Result) partial() bool {
	return res.Interrupted || !res.complete
}

// Measured reports whether any request of the plan was answered.
func (res *Result) Measured() bool {
	for _, o := range res.Outcomes {
		if o.OK > 0 {
			return true
		}
	}
	return res.Finished != nil
}

// Broken reports whether a run ended itself because too many requests failed, or lost
// its server.
func (res *Result) Broken() bool {
	for _, rep := range res.Reports {
		if rep.Broken() != "" {
			return true
		}
	}
	return false
}

// LostRecords reports whether records of a run could not be written.
func (res *Result) LostRecords() bool {
	for _, rep := range res.Reports {
		if rep.Lost != "" {
			return true
		}
	}
	return false
}

// invalid reports whether the measurement is, as a whole or in a number that the
// experiment names.
func (res *Result) invalid() bool {
	return res.Verdict == verdict.Invalid || res.spoils(func(s decide.Spoiled) bool { return !s.ByDefault })
}

// spoils reports whether some number that was asked for is invalid.
func (res *Result) spoils(counts func(decide.Spoiled) bool) bool {
	return res.Results != nil && slices.ContainsFunc(res.Results.Spoiled(res.Plan), counts)
}

// missed reports whether something was decided, and against what was measured: a gate, or a
// comparison that is WORSE.
func (res *Result) missed() bool {
	worse := func(c *decide.Comparison) bool { return c.Outcome() == decide.Worse }
	return res.Results != nil && (res.Results.GatesMissed > 0 || slices.ContainsFunc(res.Results.Comparisons, worse)) ||
		res.Adaptive.NoneKeeps() || res.Rules.Exit() == diag.Missed
}

// refused reports whether every run failed because its input is wrong: nothing was sent.
func (res *Result) refused() bool {
	for _, o := range res.Outcomes {
		if wrong := (*onerun.InputError)(nil); !errors.As(res.Failures[o.Run.ID], &wrong) {
			return false
		}
	}
	return len(res.Outcomes) > 0
}

// ExitCode is what the program ends with; the highest need wins: interrupted,
// failed or results lost, invalid (the run, or a number that the experiment names) unless that
// is allowed, gates and comparisons that were missed. A number that is only used by default
// and is invalid counts where nothing was missed: it does not hide what was decided.
func (res *Result) ExitCode() diag.Code {
	if res.Finished != nil {
		return diag.Code(res.Finished.ExitCode)
	}
	failed, ran, broken := 0, 0, 0
	for _, o := range res.Outcomes {
		ran++
		if rep := res.Reports[o.Run.ID]; rep != nil && rep.Broken() != "" {
			broken++
		}
		if o.Err != "" {
			failed++
		}
	}
	switch {
	case res.Interrupted:
		return diag.Interrupted
	case res.refused():
		return diag.Usage
	case res.Search != nil && !res.LostRecords():
		return res.searchExit()
	case ran == 0 || failed == ran || broken > 0 || res.LostRecords() || !res.Measured():
		return diag.Failed
	case res.invalid() && !res.Plan.Experiment.AllowInvalid:
		return diag.Invalid
	case !res.missed() && !res.Plan.Experiment.AllowInvalid &&
		res.spoils(func(s decide.Spoiled) bool { return s.ByDefault }):
		return diag.Invalid
	case failed > 0:
		return diag.Failed
	case res.Results == nil:
		return diag.OK
	case res.missed():
		return diag.Missed
	}
	return cmp.Or(res.Results.Exit(), res.Rules.Exit())
}
