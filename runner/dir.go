package runner

import (
	"fmt"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

// Admissible refuses a plan as Run would before it asks the machine or the servers
// for anything; nothing is written.
func Admissible(plan *sweep.Plan, opt Options) error {
	if err := allowed(plan, &opt); err != nil {
		return err
	}
	if opt.MoveAside || opt.Overwrite { // what is there makes room
		return nil
	}
	return resultdir.Check(opt.Dir, dirPlan(plan, opt), opt.Resume)
}

// openDir makes or opens the result directory of plan, which takes over what an
// earlier process drew.
func openDir(plan *sweep.Plan, opt Options) (*resultdir.Dir, error) {
	var redo []string
	for _, run := range opt.Redo {
		redo = append(redo, run.ID)
	}
	return resultdir.Open(opt.Dir, dirPlan(plan, opt), opt.Resume, redo...)
}

// dirPlan is what a result directory knows of plan.
func dirPlan(plan *sweep.Plan, opt Options) resultdir.Plan {
	changed := func(begun resultdir.Lock) []string {
		plan.Adopt(begun)
		lines := changedGates(opt.Dir, plan)
		if now := plan.Lock(); begun.PlanHash != now.PlanHash {
			lines = append(sweep.Diff(begun, now), lines...)
		}
		return lines
	}
	return resultdir.Plan{Lock: plan.Lock(), Writes: writes(plan), Changed: changed}
}

// writes are the paths that the runs of plan and its tables may write.
func writes(plan *sweep.Plan) []string {
	names := []string{
		"aggregate", "sweep_aggregate", "profile_runs", "server_log_1.jsonl",
		resultdir.RecordsKept, resultdir.ReportsName,
	}
	for _, table := range sinks.TableNames() {
		names = append(names, resultdir.Table(table, "parquet"), resultdir.Table(table, "arrow"),
			resultdir.Table(table, "csv"))
	}
	for _, run := range plan.Runs {
		if run.Dir != "" {
			names = append(names, run.Dir)
			continue
		}
		names = append(names, runFiles(run)...)
	}
	return names
}

// runFiles are what one run may leave in its directory.
func runFiles(run sweep.Run) []string {
	prefix := ""
	if run.Cell != nil && run.Cell.Resolved != nil {
		prefix = run.Cell.Resolved.Benchmark.Artifacts.Prefix
	}
	names, err := aiperf.ProfileNames(prefix)
	if err != nil {
		names, _ = aiperf.ProfileNames("") // always has an answer
	}
	own := append(sinks.SeriesFiles(), resultdir.StreamName, resultdir.ReportName, "server_log.jsonl", "phases",
		aiperf.TraceName)
	return append(own, names.All()...)
}

// changedGates says how the gates and the rules differ from those of the experiment that
// was begun. They are no part of the plan's hash: no request depends on them, but
// the exit code does.
func changedGates(dir string, plan *sweep.Plan) (lines []string) {
	var then struct {
		Experiment struct{ Gates, Rules []string }
	}
	if err := resultdir.ReadJSON(filepath.Join(dir, resultdir.ResolvedName), &then); err != nil {
		return nil // killed before it was written
	}
	if now := plan.Experiment.Gates; !slices.Equal(then.Experiment.Gates, now) {
		lines = append(lines, fmt.Sprintf("gates: %q → %q", then.Experiment.Gates, now))
	}
	if now := plan.Experiment.Rules; !slices.Equal(then.Experiment.Rules, now) {
		lines = append(lines, fmt.Sprintf("rules: %q → %q", then.Experiment.Rules, now))
	}
	return lines
}
