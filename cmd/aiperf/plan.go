package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/resultdir"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

var planCommand = command{
	name: "plan", usage: "show the matrix, its cost and its order, and send nothing",
	help: `aiperf plan FILE prints cells, trials, requests and the least time they take.

  aiperf plan sweep.cue
  aiperf plan sweep.cue --cells             every cell with its values
  aiperf plan sweep.cue --schedule 20       the first 20 arrivals of each phase
  aiperf plan sweep.cue --detect 5%         how many trials find a difference
  aiperf plan sweep.cue -o json             as plan.lock.json will hold it`,
	flags: []argv.Switch{
		setFlag, exprFlag, tagFlag, pkgFlag, outputFlag, lenient,
		{Name: "cells", Doc: "list every cell"},
		{Name: "schedule", Arg: "N", Doc: "print when the first N requests of each phase are due"},
		{Name: "detect", Arg: "SHARE", Doc: "say how many trials find a difference of that size, such as 5%"},
		{Name: "from", Arg: "DIR", Doc: "a past result that says how much trials vary (with --detect)"},
		{Name: "done", Arg: "DIR", Doc: "say how much of the plan DIR holds already"},
	},
	settings: true,
	run: func(a *app, p *argv.Line) error {
		file, err := onlyFile(p, "aiperf plan FILE")
		if err != nil {
			return err
		}
		asJSON, err := wantJSON(p)
		if err != nil {
			return err
		}
		doc, plan, err := a.expand("plan", file, p)
		if err != nil {
			return err
		}
		if err := supported(doc); err != nil {
			return err
		}
		if asJSON {
			return a.writeDoc(plan.Lock())
		}
		b, err := bound(file, plan)
		if err != nil {
			return asUsage(err)
		}
		printPlan(a.Out, plan, b)
		if p.Has("detect") {
			if err := printDetect(a.Out, plan, p); err != nil {
				return err
			}
		}
		if dir := p.Get("done"); dir != "" {
			printDone(a.Out, plan, dir)
		}
		if p.Has("cells") {
			printCells(a.Out, plan)
		}
		if p.Has("schedule") {
			return a.printSchedules(file, plan, p.Get("schedule"))
		}
		return nil
	},
}

// printPlan is the plan in a few lines.
func printPlan(w io.Writer, plan *sweep.Plan, b sweep.Bound) {
	requests := fmt.Sprintf("%s requests", words.Whole(b.Requests))
	if b.Open {
		requests = "requests as time allows"
		if b.Requests > 0 {
			requests = fmt.Sprintf("more than %s requests", words.Whole(b.Requests))
		}
	}
	fmt.Fprintf(w, "%s: %s = %s, %s, %s\n", plan.Name, size(plan), words.Count(len(plan.Runs), "run"), requests, lasts(b))
	if len(plan.Axes) > 0 {
		var axes []string
		for _, x := range plan.Axes {
			axes = append(axes, x.Name+" "+someOf(x.Labels))
		}
		line := strings.Join(axes, " · ")
		if plan.Where != "" {
			line += fmt.Sprintf(" · where %s dropped %d", plan.Where, plan.Dropped)
		}
		printTwoAt(w, "axes", line, 8)
	}
	for _, d := range plan.Derive {
		printTwoAt(w, "derive", d.Path+" = "+d.Expr, 8)
	}
	for _, f := range b.Phases {
		printTwoAt(w, "phase", fmt.Sprintf("%s: %s (%s); ends after %s", f.Name, f.Mode, f.Reason, f.Stop), 8)
	}
	line, doubts := plan.Layout()
	if line != "" {
		printTwoAt(w, "design", line, 8)
	}
	for _, d := range doubts {
		printTwoAt(w, "doubt", d, 8)
	}
	printTwoAt(w, "order", fmt.Sprintf("trials %s, cells %s, seed %d", plan.Order, plan.CellOrder, plan.BaseSeed), 8)
	printTwoAt(w, "lock", "sha256:"+plan.Hash, 8)
}

// lasts is how long the plan takes, as far as that is known before any answer.
func lasts(b sweep.Bound) string {
	said := "as long as the answers take"
	if b.AtLeast > 0 {
		said = "at least " + words.Span(b.AtLeast)
	}
	if b.Cooldown > 0 {
		said += " + " + words.Span(b.Cooldown) + " of cooldown"
	}
	return said
}

// bound is what the plan costs at least. file is the experiment's, beside which
// the rows of fixed schedules may lie; one that many cells replay is read once.
func bound(file string, plan *sweep.Plan) (sweep.Bound, error) {
	type sends struct {
		requests int64
		last     time.Duration
	}
	known := map[string]sends{}
	var bad error
	b := plan.Bound(func(run sweep.Run, f *schema.Phase) (int64, time.Duration) {
		key, err := json.Marshal([]any{run.Cell.Resolved.Benchmark.Datasets, f})
		s, ok := known[string(key)]
		if bad = cmp.Or(bad, err); !ok && bad == nil {
			s.requests, s.last, bad = runner.Replay(file, run, f)
			known[string(key)] = s
		}
		return s.requests, s.last
	})
	return b, bad
}

// someOf names a few values, and counts the rest: a sampled axis has thousands.
func someOf(labels []string) string {
	const most = 24
	if len(labels) <= most {
		return strings.Join(labels, ", ")
	}
	return fmt.Sprintf("%s … (%d values)", strings.Join(labels[:most/2], ", "), len(labels))
}

// size is "18 cells × 5 trials".
func size(plan *sweep.Plan) string {
	return fmt.Sprintf("%s × %s", words.Count(len(plan.Cells), "cell"), words.Count(plan.Trials, "trial"))
}

func printDone(w io.Writer, plan *sweep.Plan, dir string) {
	done, err := resultdir.Done(dir, plan)
	if err != nil {
		printTwoAt(w, "done", dir+": "+err.Error(), 8)
		return
	}
	printTwoAt(w, "done", fmt.Sprintf("%s in %s; %d to do", words.Count(done, "run"), dir, len(plan.Runs)-done), 8)
}

func printCells(w io.Writer, plan *sweep.Plan) {
	for _, c := range plan.Cells {
		fmt.Fprintf(w, "%4d  %s  seed %d  %s\n", c.Index, c.ID, c.Seed, c.Short())
	}
}

// printSchedules lists arrivals without sending anything: they are a pure
// function of the phase, the seed and the data.
func (a *app) printSchedules(file string, plan *sweep.Plan, text string) error {
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
			if err := a.printSchedule(heading, file, run, n); err != nil {
				return asUsage(err)
			}
		}
	}
	return nil
}

func (a *app) printSchedule(heading, file string, run sweep.Run, n int) error {
	phases, due, err := runner.Arrivals(file, run, n)
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
