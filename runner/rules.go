package runner

import (
	"fmt"
	"math"
	"path/filepath"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep"
)

// Rules are the sets of rules that an experiment names; file is the experiment's own.
func Rules(e schema.Experiment, file string) (sets []*rules.Set, err error) {
	var bad diag.Errors
	for i, word := range e.Rules {
		s, err := rules.Find(word, func(path string) string { return Beside(file, path) })
		if err != nil {
			one := *diag.Of(err)
			if one.Path == "" && one.Place == "" {
				one.Path = fmt.Sprintf("rules.%d", i)
			}
			bad = append(bad, &one)
			continue
		}
		sets = append(sets, s)
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return sets, nil
}

// Foresee says which rules the plan cannot meet, or nobody can check afterwards, each with
// what to type, before anything is sent.
func Foresee(plan *sweep.Plan, sets []*rules.Set) (lines []string) {
	var cells []rules.Cell
	bound := plan.Bound(nil)
	for _, b := range bound.Cells {
		c := results.RulesCell(b.Cell.Short(), b.Cell.Resolved.JSON)
		c.Planned, c.Trials = true, max(plan.Trials, 1)
		c.Runs = []rules.Run{plannedRun(b)}
		cells = append(cells, c)
	}
	for _, s := range sets {
		for _, o := range s.Judge(cells) {
			if o.State == rules.Met || o.Try == "" { // what only the answers show
				continue
			}
			word := "cannot be met"
			if o.State == rules.NotChecked {
				word = "cannot be checked"
			}
			lines = append(lines, fmt.Sprintf("rules %s: %s %s: %s; try %s", s.Spoken(), o.Rule, word, o.Found, o.Try))
		}
	}
	return lines
}

// plannedRun is what a plan says of one run of a cell.
func plannedRun(b sweep.CellBound) rules.Run {
	run := rules.Run{OK: sweep.Planned(b.Cell.Resolved.Benchmark.Phases), Sent: 0, Answered: math.NaN()}
	if run.OK == 0 {
		run.OK = -1
	}
	for i := range b.Cell.Resolved.Benchmark.Phases {
		p := &b.Cell.Resolved.Benchmark.Phases[i]
		if p.Kind == "warmup" {
			continue
		}
		switch {
		case p.Duration != nil && !math.IsInf(float64(*p.Duration), 1):
			run.Sent += float64(*p.Duration)
		case p.Rate > 0 && p.Requests > 0:
			run.Sent += float64(p.Requests) / p.Rate
		default:
			run.Sent = math.NaN() // the answers decide
		}
	}
	return run
}

// judgeRules holds what was written against the rules that the experiment names.
func (r *runner) judgeRules() error {
	if len(r.plan.Experiment.Rules) == 0 {
		return nil
	}
	sets, err := Rules(r.plan.Experiment, r.opt.SourceName)
	if err != nil {
		return err
	}
	d, err := results.JudgeRules(r.dir.Path, sets)
	if err != nil {
		return err
	}
	b, err := d.Bytes()
	if err != nil {
		return err
	}
	r.result.Rules = d
	return atomicfile.Write(filepath.Join(r.dir.Path, resultdir.RulesName), b)
}
