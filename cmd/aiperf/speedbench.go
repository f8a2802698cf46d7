package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/speedbench"
)

var speedBenchReportCommand = command{
	minor: true, name: "speed-bench-report", usage: "put runs of SPEED-Bench's categories together in one table",
	help: `aiperf speed-bench-report DIR… reads the runs in the folders and below them: a
row for each model, a column for each category of SPEED-Bench.

  aiperf speed-bench-report artifacts --metric throughput

Acceptance lengths and rates are those of the server's own metrics.`,
	flags: []argv.Switch{
		{Name: "output", Arg: "FILE", Doc: "the CSV file (default speed_bench_report.csv)"},
		{Name: "format", Arg: "FORMAT", Words: []string{"csv", "table", "both"}, Doc: "what is written (default both)"},
		{Name: "metric", Arg: "METRIC", Words: speedbench.Metrics(), Doc: "the figure (default accept_length)"},
	},
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) == 0 {
			return diag.New("speed-bench-report: of which runs?", "aiperf speed-bench-report DIR…")
		}
		runs, warnings := speedbench.Find(p.Words)
		a.warn(warnings...)
		if len(runs) == 0 {
			return &diag.Error{Code: diag.Failed, Message: "no result directories found in " + strings.Join(p.Words, ", ")}
		}
		fmt.Fprintf(a.Out, "Found %d run directories.\n", len(runs))
		r := speedbench.Read(runs, cmp.Or(p.Get("metric"), speedbench.Metrics()[0]))
		a.warn(r.Warnings...)
		if len(r.Models) == 0 {
			return &diag.Error{
				Code: diag.Failed, Message: "no results of SPEED-Bench in these directories",
				Hint: "a run with --custom-dataset-type speed_bench_CATEGORY, and --metric throughput without the server's metrics",
			}
		}
		form := cmp.Or(p.Get("format"), "both")
		if slices.Contains([]string{"table", "both"}, form) {
			r.Print(a.Out)
		}
		if form == "table" {
			return nil
		}
		file := cmp.Or(p.Get("output"), "speed_bench_report.csv")
		var b bytes.Buffer
		if err := r.CSV(&b); err != nil {
			return err
		}
		if err := atomicfile.Through(file, b.Bytes()); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "CSV written to %s\n", file)
		return nil
	},
}
