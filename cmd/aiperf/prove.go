package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/diagnose/prove"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// proveFlags are those that only --prove takes, beside all settings.
var proveFlags = []argv.Switch{
	{Name: "prove", Doc: "show the cause with an experiment, which is carried out against the same server"},
	{Name: "budget", Arg: "TIME", Doc: "with --prove: time for the experiment, such as 60s or 10m (default 5m)"},
	{Name: "cell", Arg: "NUMBER", Doc: "with --prove: cell to explain, counted from 0 (default: the one with most requests in flight)"},
	progressFlag,
}

// noProve refuses what only an experiment takes.
func noProve(p *argv.Line) error {
	for _, name := range []string{"budget", "cell", "progress"} {
		if p.Has(name) {
			return diag.New("--"+name+": nothing is measured", "--prove carries out an experiment")
		}
	}
	if len(p.Assigns) > 0 {
		return diag.New(p.Assigns[0].Origin.Where+": nothing is measured", "settings are for --prove, which carries out an experiment")
	}
	return nil
}

// prove carries out the experiment that tells causes apart. target is a result directory,
// or an experiment, which is measured for a short time first.
func (a *app) prove(target string, p *argv.Line) error {
	q := &quickly{app: a, p: p}
	limit, cell := 5*time.Minute, -1
	var err error
	if text := p.Get("budget"); text != "" {
		if limit, err = budget(text); err != nil {
			return err
		}
	}
	if text := p.Get("cell"); text != "" {
		if cell, err = strconv.Atoi(text); err != nil || cell < 0 {
			return diag.New("--cell: expected a number from 0 on, got "+words.Clip(text, 40), "cells are counted as aiperf plan FILE --cells lists them")
		}
	}
	for _, as := range p.Assigns {
		for _, part := range []string{"benchmark.phases", "benchmark.datasets"} {
			if strings.HasPrefix(as.Path, part) {
				return diag.New(as.Origin.Where+": the experiment has the load that is to be explained", "leave it out; --cell chooses among the loads that were measured")
			}
		}
	}
	base, limit, err := q.base(target, cell, limit)
	if err != nil {
		return err
	}
	x, err := base.Experiment(limit)
	if err != nil {
		q.tidy("prove")
		return err
	}
	if base.Made {
		a.note(fmt.Sprintf("makes prompts of its own, of %.0f tokens, with answers of %.0f", base.ISL, base.OSL))
	}
	k, err := q.kept("prove", fmt.Sprintf("What limits the server with %.0f requests at once: made by aiperf diagnose --prove %s.", base.Users, words.Line(target)), x.Text)
	if err != nil {
		return err
	}
	k.opt.Dir, k.opt.Latest, k.opt.Page = filepath.Join(q.dir, "runs"), "", false
	k.opt.Say = func(line string) { a.note(line) }
	a.note(fmt.Sprintf("sends load to the same server for about %s (--budget TIME allows less), one change at a time: %s, "+
		"each in %s of %s", words.Span(x.Takes.Round(time.Second)), changes(), words.Count(x.Trials, "trial"),
		words.Span(x.Length.Round(100*time.Millisecond))))
	end := a.showProgress(k.doc, k.plan, p, &k.opt)
	res, err := runner.Run(a.issue, a.hard, k.plan, k.opt)
	end()
	switch {
	case err != nil:
		return measureError(err)
	case res.Interrupted:
		return exit(diag.Interrupted)
	}
	if why := res.NothingMeasured(); why != nil {
		return why
	}
	return a.proved(base.Judge(res.Results, res.Outcomes), q.dir, k.file, p)
}

// changes are what is changed, in words.
func changes() string {
	var names []string
	for _, c := range prove.Changes() {
		names = append(names, c.Name)
	}
	return words.And(names)
}

// base is the load that is to be explained, and the time that is left for the experiment.
func (q *quickly) base(target string, cell int, limit time.Duration) (*prove.Base, time.Duration, error) {
	if holdsResults(target) {
		b, err := prove.Read(target, cell)
		if err != nil {
			return nil, 0, err
		}
		for _, path := range b.Hidden {
			given := func(as schema.Assignment) bool { return strings.HasPrefix(path, as.Path) }
			if !slices.ContainsFunc(q.p.Assigns, given) {
				return nil, 0, diag.New(target+" does not hold the secret in "+path, "give it again, with its flag or as --set "+path+"=…")
			}
		}
		if b.Streams, err = streams(b.Type); err != nil {
			return nil, 0, err
		}
		return b, limit, q.place("prove")
	}
	_, plan, err := q.expand("run", target, q.p, runnable(runner.Inputs))
	if err != nil {
		return nil, 0, err
	}
	if cell, err = highest(plan, target, cell); err != nil {
		return nil, 0, err
	}
	said := plan.Cells[cell].Resolved.JSON // with its secrets
	can, err := streams(plan.Cells[cell].Resolved.Benchmark.Endpoint.Type)
	if err != nil {
		return nil, 0, err
	}
	text, err := prove.Look(said, limit/lookPart)
	if err != nil {
		return nil, 0, err
	}
	if err := q.place("prove"); err != nil {
		return nil, 0, err
	}
	q.note("looks at " + words.Line(plan.Cells[cell].Short()) + " for " + words.Span((limit / lookPart).Round(100*time.Millisecond)))
	if _, err := q.look("look", text); err != nil {
		return nil, 0, err
	}
	b, err := prove.Read(filepath.Join(q.dir, "look"), 0)
	if err != nil {
		return nil, 0, err
	}
	b.Benchmark, b.Streams = said, can
	return b, limit - 2*limit/lookPart, nil
}

// lookPart is which part of the time a load is looked at that was not measured.
const lookPart = 8

// highest is the cell that was named, else the one with the highest load.
func highest(plan *sweep.Plan, file string, cell int) (int, error) {
	if cell >= len(plan.Cells) {
		return 0, diag.New(fmt.Sprintf("--cell: %s has the cells 0 to %d", file, len(plan.Cells)-1), "aiperf plan "+file+" --cells lists them")
	}
	if cell >= 0 {
		return cell, nil
	}
	cells := diagnose.PlanCells(plan)
	for i, c := range cells {
		if cell = max(cell, 0); c.Load > cells[cell].Load {
			cell = i
		}
	}
	return cell, nil
}

// streams reports whether an API can stream its answers, and refuses one without tokens.
func streams(api string) (bool, error) {
	spec, ok := endpoint.Lookup(api)
	if !ok || !spec.ProducesTokens || !spec.TakesText || spec.Ready {
		return false, diag.New("--prove: an experiment makes prompts and halves answers, and "+api+" has no tokens",
			"aiperf diagnose without --prove says what the figures show")
	}
	return spec.CanStream, nil
}

// proved prints what was found, and keeps it beside the experiment.
func (a *app) proved(p *prove.Proof, dir, file string, line *argv.Line) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, "proof.json"), append(text, '\n')); err != nil {
		return written(err)
	}
	if line.Get("format") == "json" {
		err = a.writeDoc(p)
	} else if err = p.WriteText(a.Out, screenWidth(a.Out)); err == nil {
		_, err = io.WriteString(a.Out, "  experiment "+file+"\n")
	}
	if err == nil && p.Cause == "" {
		return exit(diag.Invalid)
	}
	return err
}
