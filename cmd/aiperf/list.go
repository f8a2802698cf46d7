package main

import (
	"fmt"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

var listCommand = command{
	name: "list", usage: "name the experiments in a CUE package", minor: true,
	help: `aiperf list DIR names the experiments in a CUE package, as -e takes them.

  aiperf list examples/experiments/team
  aiperf run examples/experiments/team -e experiments.smoke`,
	flags: []argv.Switch{tagFlag, pkgFlag},
	run: func(a *app, p *argv.Line) error {
		dir, err := onlyFile(p, "aiperf list DIR")
		if err != nil {
			return err
		}
		found, err := schema.Experiments(dir, selection(p))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return &diag.Error{Message: dir + ": no experiment here", Hint: "an experiment is a value with benchmark: schema.#Experiment & {…}"}
		}
		for _, expr := range found {
			if expr == "" {
				expr = dir
			}
			fmt.Fprintln(a.Out, expr)
		}
		return nil
	},
}
