package runner

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// finish turns what the runs left into results: estimates, verdict, tables,
// aggregates, and last of all the manifest. It is done after an interruption
// too; the manifest then says so and a later --resume does it again.
func (r *runner) finish() error {
	defer thrift()()
	res := r.result
	res.Results = sweep.Aggregate(r.plan, res.Outcomes)
	res.PlanFindings = JudgePlan(r.planEvidence(), r.plan.Experiment.Verdict)
	res.Verdict = Worst(res.PlanFindings)
	for _, rep := range res.Reports {
		res.Verdict = max(res.Verdict, ParseVerdict(rep.Verdict))
	}
	info, err := sinks.WriteTables(r.dir.path, r.tables())
	if err != nil {
		return err
	}
	if err := r.writeAggregates(); err != nil {
		return err
	}
	if err := res.Report().WriteMarkdown(filepath.Join(r.dir.path, "summary.md")); err != nil {
		return err
	}
	if err := r.dir.journal.add(event{Event: "end", Plan: r.plan.Hash}); err != nil {
		return err
	}
	if r.result.Stopped != "" {
		r.log.say("WARNING", "the plan ended early: %s", r.result.Stopped)
	}
	r.log.say("INFO", "%d of %d runs are written, verdict %s", len(r.result.Outcomes), len(r.plan.Runs), r.result.Verdict)
	if err := r.log.close(); err != nil { // complete before the manifest lists it
		return err
	}
	if err := r.writeManifest(info); err != nil {
		return err
	}
	return r.removeJournals()
}

// writeManifest lists what is there now.
func (r *runner) writeManifest(info sinks.TablesInfo) error {
	rows := map[string]int64{}
	for _, f := range info.Files {
		rows[f.Path] = f.Rows
	}
	r.written.add(r.dir.path, info.Files)
	files, err := listFiles(r.dir.path, beside(r.dir.events), rows, r.written)
	if err != nil {
		return err
	}
	return writeJSON(filepath.Join(r.dir.path, manifestName), Manifest{
		Schema: "aiperf.manifest/1", Tool: r.opt.Version, Experiment: r.plan.Name, PlanHash: r.plan.Hash, Verdict: r.result.Verdict.String(),
		Interrupted: r.result.partial(), ExitCode: r.result.ExitCode(), Finished: time.Now().UTC(), Findings: r.result.PlanFindings, Files: files,
	})
}

// removeJournals deletes the streams that the tables now hold, unless a later
// process will need them to complete the plan.
func (r *runner) removeJournals() error {
	if r.result.partial() || len(r.result.Reports) < len(r.result.Outcomes) {
		return nil
	}
	var errs []error
	for _, o := range r.result.Outcomes {
		if err := os.Remove(r.journalPath(o.Run)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// planEvidence is what the plan's own checks look at: the metrics that the
// gates, SLOs and the ranking use.
func (r *runner) planEvidence() *PlanEvidence {
	e := &PlanEvidence{Trials: r.plan.Trials}
	for i := range r.result.Results.Cells {
		c := &r.result.Results.Cells[i]
		ce := CellEvidence{Label: c.Cell.Short(), OK: c.Trials, Estimates: map[string]stats.Estimate{}}
		for _, o := range r.result.Results.Objectives {
			k := o.Key
			if q, percentile := quantileOf(k.Stat); percentile && !stats.Certified(q, c.Info[k.Tag].NEff) {
				k.Stat = "p50" // too few requests for the tail: its interval says nothing about the trials
			}
			if est, ok := c.Full[k]; ok {
				ce.Estimates[k.String()] = est
			}
		}
		for _, o := range r.result.Outcomes {
			if o.Run.Cell != c.Cell || len(o.Summaries) == 0 {
				continue
			}
			if s, ok := o.Summaries[0].Get("request_latency"); ok && !math.IsNaN(s.P50) {
				ce.InOrder = append(ce.InOrder, s.P50)
			}
		}
		if c.Status != sweep.NotRun {
			e.Cells = append(e.Cells, ce)
		}
	}
	return e
}

// quantileOf is the quantile that a percentile's name means.
func quantileOf(stat string) (float64, bool) {
	for _, s := range statistics {
		if s.name == stat && s.q > 0 {
			return max(s.q, 1-s.q), true
		}
	}
	return 0, false
}

// partial tells whether a later --resume has something to do.
func (res *Result) partial() bool {
	return res.Interrupted || len(res.Outcomes) < len(res.Plan.Runs)
}

// ExitCode is what the program ends with; the highest need wins: interrupted,
// failed, invalid unless that is allowed, gates.
func (res *Result) ExitCode() int {
	if res.Finished != nil {
		return res.Finished.ExitCode
	}
	failed, ran, gaveUp := 0, 0, 0
	for _, o := range res.Outcomes {
		ran++
		if rep := res.Reports[o.Run.ID]; rep != nil && rep.gaveUp() {
			gaveUp++
		}
		if o.Err != "" {
			failed++
		}
	}
	switch {
	case res.Interrupted:
		return 130
	case ran == 0 || failed == ran || gaveUp > 0:
		return 1
	case res.Verdict == Invalid && !res.Plan.Experiment.AllowInvalid:
		return 4
	case failed > 0:
		return 1
	case res.Results != nil && res.Results.GatesMissed > 0:
		return 3
	}
	return 0
}
