package main

import (
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep"
)

// rulesFlag is that of checks; run and profile have it as a setting.
var rulesFlag = argv.Switch{
	Name: "rules", Arg: "NAME", Many: true,
	Doc: "hold the result against rules of others: a built-in set or a file, with its case as in NAME:CASE",
}

// planColumn is where the second column of a plan begins.
const planColumn = 8

// foreseen says which of the rules that the experiment names the plan cannot meet.
func (a *app) foreseen(plan *sweep.Plan, file string) ([]string, error) {
	sets, err := runner.Rules(plan.Experiment, file)
	if err != nil {
		return nil, err
	}
	return runner.Foresee(plan, sets), nil
}

// printForeseen says it below a plan.
func (a *app) printForeseen(plan *sweep.Plan, file string) error {
	lines, err := a.foreseen(plan, file)
	if err != nil {
		return err
	}
	for _, line := range lines {
		words.TwoColumns(a.Out, "rules", strings.TrimPrefix(line, "rules "), planColumn)
	}
	if len(lines) == 0 && len(plan.Experiment.Rules) > 0 {
		words.TwoColumns(a.Out, "rules", words.And(plan.Experiment.Rules)+": nothing in the plan speaks against them",
			planColumn)
	}
	return nil
}

// checkRules holds a finished directory against sets of rules and prints every rule.
func (a *app) checkRules(dir string, names []string) error {
	sets, err := runner.Rules(schema.Experiment{Rules: names}, "")
	if err != nil {
		return err
	}
	d, err := results.JudgeRules(dir, sets)
	if err != nil {
		return diag.New(dir+": "+err.Error(), "name a result directory")
	}
	for i := range d.Sets {
		j := &d.Sets[i]
		sentence(a.Out, fmt.Sprintf("%s %s", dir, j.Said))
		for k := range j.Rules {
			head, text := j.Rules[k].Line()
			printTwo(a.Out, head, text)
		}
		for _, what := range j.Beyond {
			printTwo(a.Out, "- not here", what)
		}
		printTwo(a.Out, "source", j.Version+"; "+j.Source)
	}
	if code := d.Exit(); code != diag.OK {
		return exit(code)
	}
	return nil
}

// listRules prints the built-in sets with their cases.
func (a *app) listRules() error {
	for _, name := range rules.Names() {
		s, err := rules.Builtin(name)
		if err != nil {
			return err
		}
		text := s.Title
		if cases := s.CaseNames(); len(cases) > 0 {
			text += "; cases " + strings.Join(cases, ", ")
		}
		printTwo(a.Out, name, text)
	}
	return nil
}
