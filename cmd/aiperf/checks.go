package main

import (
	"fmt"
	"path/filepath"

	"aiperf.dev/aiperf/runner"
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

// validateResults checks every file of a finished directory.
func (a *app) validateResults(dir string) error {
	m, err := runner.ReadManifest(dir)
	if err != nil {
		return &usageError{dir + ": no finished results there", "results without a manifest are not finished: aiperf run … --resume"}
	}
	bad := m.Verify(dir)
	for _, b := range bad {
		fmt.Fprintln(a.Err, dir+"/"+b)
	}
	if len(bad) > 0 {
		return exit(exitFailed)
	}
	fmt.Fprintf(a.Out, "%s: %d files as written; %s\n", dir, len(m.Files), m.Verdict)
	return nil
}
