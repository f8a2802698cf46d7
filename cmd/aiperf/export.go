package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report/page"
)

var reportCommand = command{
	words: resultDirs,
	name:  "report", usage: "write report.html of one or several result directories",
	help: `aiperf report DIR… writes one page that needs no network and no program: the
answer, the table of cells, the charts, the evidence.

  aiperf report results/quickstart-20261121T093000Z
  aiperf report results/before results/after --output compare.html`,
	flags: append([]argv.Switch{
		{Name: "output", Arg: "FILE", Doc: "file to write (default: report.html, or comparison.html of several, in the first directory)"},
		{Name: "paths", Arg: "DIR", Many: true, Doc: "result directory; the same as naming it without a flag"},
	}, expenseFlags...),
	run: func(a *app, p *argv.Line) error {
		dirs := append(slices.Clone(p.Values["paths"]), p.Words...)
		a.resultsInEach(dirs)
		if len(dirs) == 0 {
			return diag.New("report: which result directory?", "aiperf report DIR")
		}
		e, err := expense(p)
		if err != nil {
			return err
		}
		d, err := page.Load(dirs)
		if err != nil {
			return err
		}
		d.Expense = e
		b, err := page.Of(d, nil)
		if err != nil {
			return err
		}
		name := resultdir.ViewName
		if len(dirs) > 1 { // which the page of the first one alone is not
			name = resultdir.BothName
		}
		out := cmp.Or(p.Get("output"), besideResult(dirs[0], name))
		if err := atomicfile.Through(out, b); err != nil {
			return err
		}
		if isDir(dirs[0]) {
			if err := resultdir.AddViews(dirs[0], []string{out}); err != nil {
				return err
			}
		}
		if len(d.Compared) > 0 { // stdout is for what opens the page
			fmt.Fprintln(a.Err, words.Clean(d.Compared[0]))
		}
		fmt.Fprintln(a.Out, out)
		return nil
	},
}

var exportCommand = command{
	words: resultDirs,
	minor: true, name: "export", usage: "print a table of a result directory, or write AIPerf's files of it",
	help: `aiperf export DIR prints one table on stdout: metrics, or that of --table.

  aiperf export results/quickstart-20261121T093000Z > metrics.csv
  aiperf export DIR --table cells
  aiperf export DIR --table requests --format arrow > requests.arrow
  aiperf export DIR --to aiperf          AIPerf's files, beside the tables

Tables: ` + strings.Join(sinks.TableNames(), ", ") + ".",
	flags: []argv.Switch{
		{Name: "table", Arg: "NAME", Doc: "which table (default metrics)"},
		{
			Name: "format", Arg: "FORMAT", Words: []string{"csv", "arrow", "parquet"},
			Doc: "csv (default), arrow or parquet",
		},
		{Name: "to", Arg: "WHOSE", Words: []string{"aiperf"}, Doc: "write the files that AIPerf would have written"},
		{Name: "output", Arg: "FOLDER", Doc: "with --to: where they go (default: the directory itself)"},
		allowPlugins,
	},
	run: func(a *app, p *argv.Line) error {
		dir, err := onlyFile(p, "aiperf export DIR --table NAME")
		if err != nil {
			return err
		}
		if !isDir(dir) {
			return noResults(dir)
		}
		if p.Has("to") {
			return a.exportTheirs(dir, p)
		}
		if p.Has("output") {
			return diag.New("--output: a table goes to stdout", "aiperf export DIR --to aiperf --output FOLDER")
		}
		table, format := p.Get("table"), p.Get("format")
		if table == "" {
			table = "metrics"
		}
		if format == "" {
			format = "csv"
		}
		err = sinks.Export(dir, format, table, a.Out)
		if errors.Is(err, fs.ErrNotExist) {
			return diag.New(dir+": no table "+table+" there",
				"name a result directory that aiperf run or profile finished")
		}
		return asUsage(err)
	},
}

// exportTheirs writes AIPerf's files of a result directory.
func (a *app) exportTheirs(dir string, p *argv.Line) error {
	if p.Has("table") || p.Has("format") {
		return diag.New("--to: no table is printed", "leave out --table and --format")
	}
	to := cmp.Or(p.Get("output"), dir)
	files, notes, err := runner.Export(a.hosting(p.Has("allow-hooks")), dir, to)
	for _, n := range notes {
		a.note(n)
	}
	if err != nil {
		return asUsage(err)
	}
	fmt.Fprintf(a.Out, "%s in %s\n", words.Count(len(files), "file"), to)
	if len(notes) > 0 {
		return exit(diag.Failed)
	}
	return nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// besideResult is where a page or pictures of a result go: into its directory, or beside
// the file of another program, under its name.
func besideResult(path, name string) string {
	if isDir(path) {
		return filepath.Join(path, name)
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + "." + name
}
