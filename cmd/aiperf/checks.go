package main

import (
	"fmt"
	"path/filepath"

	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sinks"
)

var checksCommand = command{
	name: "checks", usage: "say what the verdict of a result directory rests on",
	help: `aiperf checks DIR prints every check that is not clean, run by run, worst first.

  aiperf checks results/quickstart-20261121T093000Z
  aiperf checks --list        what is checked, and what it means`,
	flags: []switchFlag{{Name: "list", Doc: "list all checks with their meaning"}, {Name: "all", Doc: "print clean checks too"}},
	run: func(a *app, p *parsed) error {
		if p.has("list") {
			for _, row := range runner.Describe() {
				printTwo(a.Out, row[0], row[1])
			}
			return nil
		}
		dir, err := onlyFile(p, "aiperf checks DIR")
		if err != nil {
			return err
		}
		reports, err := runner.Reports(dir)
		if err != nil {
			return &usageError{dir + ": " + err.Error(), "name a result directory"}
		}
		unclean := 0
		for _, rep := range reports {
			for _, f := range rep.Findings {
				if f.Verdict == runner.Valid && !p.has("all") {
					continue
				}
				unclean++
				fmt.Fprintf(a.Out, "%-8s %s trial %d  %s\n", f.Verdict, rep.Label, rep.Trial+1, f.Line())
			}
		}
		if unclean == 0 {
			fmt.Fprintf(a.Out, "%s: all checks of %d runs are clean\n", filepath.Base(dir), len(reports))
		}
		return nil
	},
}

// validateResults checks a finished directory, ours or AIPerf's: that no file
// has changed, and that every summary follows from its records.
func (a *app) validateResults(dir string) error {
	runs, err := sinks.RecheckDirs(dir)
	if err != nil {
		return err
	}
	m, err := runner.ReadManifest(dir)
	ours := err == nil
	if done, total, begun := runner.Progress(dir); !ours && begun {
		return &failure{exitFailed, fmt.Errorf("%s: not finished: %d of %d runs are done", dir, done, total), "aiperf run … --artifact-dir " + dir + " --resume"}
	}
	if !ours && len(runs) == 0 {
		return &usageError{dir + ": no results there", "name a result directory"}
	}
	bad := 0
	if ours {
		for _, b := range m.Verify(dir) {
			bad++
			fmt.Fprintln(a.Err, dir+"/"+b)
		}
	}
	checked := 0
	for _, run := range runs {
		c, err := sinks.RecheckProfile(run)
		if err != nil {
			return &usageError{err.Error(), "the file is damaged or no export of AIPerf's"}
		}
		checked += c.Checked
		for _, b := range c.Bad {
			bad++
			fmt.Fprintf(a.Err, "%s: %s\n", run, b)
		}
	}
	if bad > 0 {
		return exit(exitFailed)
	}
	said := fmt.Sprintf("%s recomputed from the records of %s", count(checked, "value"), count(len(runs), "run"))
	if ours {
		said = fmt.Sprintf("%d files as written; %s; %s", len(m.Files), m.Verdict, said)
	}
	fmt.Fprintf(a.Out, "%s: %s\n", dir, said)
	return nil
}
