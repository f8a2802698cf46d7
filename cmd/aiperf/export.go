package main

import (
	"errors"
	"io/fs"
	"os"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sinks"
)

var exportCommand = command{
	minor: true, name: "export", usage: "print a table of a result directory as CSV, Arrow or Parquet",
	help: `aiperf export DIR prints one table on stdout: all numbers, or another one by name.

  aiperf export results/quickstart-20261121T093000Z > metrics.csv
  aiperf export DIR --table cells
  aiperf export DIR --table requests --format arrow > requests.arrow

Tables: requests, chunks, runs, cells, metrics, checks.`,
	flags: []argv.Switch{
		{Name: "table", Arg: "NAME", Doc: "which table (default metrics)"},
		{Name: "format", Arg: "FORMAT", Words: []string{"csv", "arrow", "parquet"}, Doc: "csv (default), arrow or parquet"},
	},
	run: func(a *app, p *argv.Line) error {
		dir, err := onlyFile(p, "aiperf export DIR --table NAME")
		if err != nil {
			return err
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
			return diag.New(dir+": no table "+table+" there", "name a result directory that aiperf run or profile finished")
		}
		return asUsage(err)
	},
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
