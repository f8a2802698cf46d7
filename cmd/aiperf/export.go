package main

import (
	"errors"
	"io/fs"
	"os"

	"aiperf.dev/aiperf/sinks"
)

var exportCommand = command{
	name: "export", usage: "print a table of a result directory as CSV, Arrow or Parquet",
	help: `aiperf export DIR --table NAME prints one table on stdout.

  aiperf export results/quickstart-20261121T093000Z --table cells --format csv
  aiperf export DIR --table requests --format arrow > requests.arrow

Tables: requests, chunks, runs, cells, metrics, checks.`,
	flags: []switchFlag{
		{Name: "table", Arg: "NAME", Doc: "which table (default cells)"},
		{Name: "format", Arg: "FORMAT", Words: []string{"csv", "arrow", "parquet"}, Doc: "csv (default), arrow or parquet"},
	},
	run: func(a *app, p *parsed) error {
		dir, err := onlyFile(p, "aiperf export DIR --table NAME")
		if err != nil {
			return err
		}
		table, format := p.get("table"), p.get("format")
		if table == "" {
			table = "cells"
		}
		if format == "" {
			format = "csv"
		}
		err = sinks.Export(dir, format, table, a.Out)
		if errors.Is(err, fs.ErrNotExist) {
			return &usageError{dir + ": no table " + table + " there", "name a result directory that aiperf run or profile finished"}
		}
		return asUsage(err)
	},
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
