package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
)

var reportCommand = command{
	name: "report", usage: "write report.html of one or several result directories",
	help: `aiperf report DIR… writes one page that needs no network and no program: the
answer, the table of cells, the charts, the evidence.

  aiperf report results/quickstart-20261121T093000Z
  aiperf report results/before results/after --output compare.html`,
	flags: []argv.Switch{
		{Name: "output", Arg: "FILE", Doc: "where it goes (default: report.html in the first directory)"},
		{Name: "paths", Arg: "DIR", Many: true, Doc: "result directory; the same as naming it without a flag"},
	},
	run: func(a *app, p *argv.Line) error {
		dirs := append(slices.Clone(p.Values["paths"]), p.Words...)
		if len(dirs) == 0 {
			return diag.New("report: which result directory?", "aiperf report DIR")
		}
		b, err := htmlPage(dirs)
		if err != nil {
			return err
		}
		out := orElse(p.Get("output"), filepath.Join(dirs[0], "report.html"))
		if err := atomicfile.Write(out, b); err != nil {
			return err
		}
		fmt.Fprintln(a.Out, out)
		return nil
	},
}
