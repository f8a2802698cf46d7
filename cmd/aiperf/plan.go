package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/report/preview"
	"aiperf.dev/aiperf/sweep"
)

var planCommand = command{
	name: "plan", usage: "show the matrix, its cost and its order, and send nothing",
	help: `aiperf plan FILE prints cells, trials, load, order, requests and the least time
they take.

  aiperf plan sweep.cue
  aiperf plan sweep.cue --cells             every cell with its values
  aiperf plan sweep.cue --schedule 20       the first 20 arrivals of each phase
  aiperf plan sweep.cue --detect 5%         how many trials find a difference
  aiperf plan sweep.cue -o json             as plan.lock.json will hold it`,
	flags: []argv.Switch{
		setFlag, exprFlag, tagFlag, pkgFlag, modFlag, outputFlag, lenient,
		{Name: "cells", Doc: "list every cell"},
		{Name: "schedule", Arg: "N", Doc: "print when the first N requests of each phase are due"},
		{Name: "detect", Arg: "SHARE", Doc: "show how many trials find a change of that size, such as 5%"},
		{Name: "from", Arg: "DIR", Doc: "with --detect: past result whose trials show how much they vary"},
		{Name: "done", Arg: "DIR", Doc: "show how much of the plan DIR already holds"},
		allowPlugins,
	},
	settings: true, files: true,
	run: func(a *app, p *argv.Line) error {
		file, err := onlyFile(p, "aiperf plan FILE")
		if err != nil {
			return err
		}
		asJSON, err := wantJSON(p)
		if err != nil {
			return err
		}
		_, plan, err := a.expand("plan", file, p, runnable(runner.Data))
		if err != nil {
			return err
		}
		if asJSON {
			return a.writeDoc(plan.Lock())
		}
		b, err := runner.Bound(a.hosting(p.Has("allow-hooks")), file, plan)
		if err != nil {
			return asUsage(err)
		}
		preview.Plan(a.Out, plan, b)
		if err := a.printForeseen(plan, file); err != nil {
			return err
		}
		if p.Has("detect") {
			size, err := parseShare("--detect", p.Get("detect"))
			if err != nil {
				return err
			}
			if err := preview.Detect(a.Out, plan, size, p.Get("from")); err != nil {
				return err
			}
		}
		if dir := p.Get("done"); dir != "" {
			printDone(a.Out, plan, dir)
		}
		if p.Has("cells") {
			preview.Cells(a.Out, plan)
		}
		if p.Has("schedule") {
			return a.printSchedules(a.hosting(p.Has("allow-hooks")), file, plan, p.Get("schedule"))
		}
		return nil
	},
}

func printDone(w io.Writer, plan *sweep.Plan, dir string) {
	done, spared, err := resultdir.Done(dir, plan.Hash)
	if err != nil {
		words.TwoColumns(w, "done", dir+": "+err.Error(), 8)
		return
	}
	left := fmt.Sprintf("%d to do", len(plan.Runs)-done-spared)
	if len(plan.Runs) == 0 {
		left = "it decides during the run what to measure next"
	}
	if spared > 0 {
		left += fmt.Sprintf(", %d not needed", spared)
	}
	words.TwoColumns(w, "done", fmt.Sprintf("%s in %s; %s", words.Count(done, "run"), dir, left), 8)
}

// printSchedules lists arrivals without sending anything: they are a pure
// function of the phase, the seed and the data.
func (a *app) printSchedules(ctx context.Context, file string, plan *sweep.Plan, text string) error {
	var n int
	if _, err := fmt.Sscan(text, &n); err != nil || n < 1 || n > 1_000_000 {
		return diag.New("--schedule: expected a whole number from 1 to 1000000, got "+text, "")
	}
	for _, c := range plan.Cells {
		printed := map[int64]bool{}
		for _, run := range plan.Runs {
			if run.Cell != c || printed[run.Seed] {
				continue
			}
			heading := c.Short()
			if len(printed) > 0 {
				heading += fmt.Sprintf(", trial %d", run.Trial+1)
			}
			printed[run.Seed] = true
			if err := a.printSchedule(ctx, heading, file, run, n); err != nil {
				return asUsage(err)
			}
		}
	}
	return nil
}

func (a *app) printSchedule(ctx context.Context, heading, file string, run sweep.Run, n int) error {
	phases, due, err := runner.Arrivals(ctx, file, run, n)
	if err != nil {
		return err
	}
	for i, p := range phases {
		fmt.Fprintf(a.Out, "%s, phase %s\n", heading, p.Name)
		for k, at := range due[i] {
			fmt.Fprintf(a.Out, "  %6d  %.6f s\n", k, at.Seconds())
		}
	}
	return nil
}

// dryRun prints what would be run, unless a run would refuse it: what it does not
// know is what only the machine's speed and the servers show.
func (a *app) dryRun(file string, plan *sweep.Plan, opt runner.Options) error {
	if err := runner.Admissible(plan, opt); err != nil {
		return measureError(err)
	}
	b, err := runner.Bound(a.hosting(opt.AllowHooks), file, plan)
	if err != nil {
		return asUsage(err)
	}
	preview.Plan(a.Out, plan, b)
	preview.Workers(a.Out, plan, a.sharing)
	return a.printForeseen(plan, file)
}

// showTree prints the resolved experiment as data, as config expand does: fields that
// are declared and not built yet are in it, and data in a format that is not built is
// not read.
func (a *app) showTree(file string, doc *schema.Document, plan *sweep.Plan) error {
	missing := doc.Unsupported()
	a.warnOf(missing)
	if len(missing) == 0 {
		if err := runner.Data(doc, plan, file); err != nil {
			return err
		}
	}
	return a.writeDoc(preview.Expand(plan, nil, true))
}

// parseShare reads 5% or 0.05.
func parseShare(place, s string) (float64, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return 0, &diag.Error{
			Place: place, Message: fmt.Sprintf("%q is not a share between 0 and 1", s),
			Hint: "5% or 0.05",
		}
	}
	return v, nil
}
