package main

import (
	"fmt"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/runner/resultdir"
	"aiperf.dev/aiperf/schema"
)

// holdsResults tells a result directory from a package of experiments: it keeps
// a copy of its experiment, too.
func holdsResults(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, resultdir.LockName))
	return err == nil
}

var validateCommand = command{
	name: "validate", usage: "check an experiment, or verify a result directory",
	help: `aiperf validate FILE|DIR checks without sending anything.

  aiperf validate sweep.cue
  aiperf validate results/quickstart-20261121T093000Z    against its manifest

FILE is an experiment in CUE, YAML or JSON. Every cell is checked. Exit 0 when
all is well, 2 when the experiment is wrong, 1 when a directory is damaged.`,
	flags: []argv.Switch{setFlag, exprFlag, tagFlag, pkgFlag, lenient, strict}, settings: true,
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) > 0 && p.Words[0] == "mooncake-trace" {
			return diag.New("validate: mooncake-trace: AIPerf checks traces with this; that format is not read here yet", "aiperf validate FILE|DIR checks an experiment or results")
		}
		file, err := onlyFile(p, "aiperf validate FILE")
		if err != nil {
			return err
		}
		if isDir(file) && (holdsResults(file) || !schema.IsPackage(file)) {
			return a.validateResults(file)
		}
		doc, plan, err := a.expand("validate", file, p)
		if err != nil {
			return err
		}
		if err := supported(doc); err != nil {
			return err
		}
		if err := inputs(doc, plan, file); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s: valid; %s\n", file, size(plan))
		return nil
	},
}
