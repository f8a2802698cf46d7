package main

import (
	"errors"
	"io/fs"
	"os"

	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// inputs refuses a plan whose request files are not there, before anything is
// sent or written; file is the experiment's own.
func inputs(doc *schema.Document, plan *sweep.Plan, file string) error {
	var bad schema.Errors
	seen := map[string]bool{}
	for _, c := range plan.Cells {
		for _, d := range c.Resolved.Benchmark.Datasets {
			if d.Path == "" || seen[d.Path] {
				continue
			}
			seen[d.Path] = true
			if _, err := os.Stat(runner.Beside(file, d.Path)); errors.Is(err, fs.ErrNotExist) {
				bad = append(bad, &schema.Error{
					Place: placeOf(doc.Said(), "path", d.Path), Path: "benchmark.datasets." + d.Name + ".path",
					Message: "no such file: " + d.Path, Hint: "paths are seen from the working directory, else from the experiment's folder",
				})
			}
		}
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}
