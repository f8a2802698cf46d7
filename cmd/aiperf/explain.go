package main

import (
	"fmt"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

var explainCommand = command{
	name: "explain", usage: "print every resolved value and where it came from",
	help: `aiperf explain FILE [PATH…] prints path, value and origin of each setting.

  aiperf explain sweep.cue
  aiperf explain sweep.cue phases endpoint.timeout

The origin is a place in a file, a flag, the environment, or the reason for a
default. Secrets are masked.`,
	flags: []argv.Switch{setFlag, exprFlag, tagFlag, pkgFlag, lenient}, settings: true,
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) == 0 {
			return diag.New("which experiment?", "aiperf explain FILE [PATH…]")
		}
		doc, err := a.load("explain", p.Words[0], p)
		if err != nil {
			return err
		}
		return doc.Explain(a.Out, p.Words[1:]...)
	},
}

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
