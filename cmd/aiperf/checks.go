package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sinks"
)

var checksCommand = command{
	name: "checks", usage: "say what the verdict of a result directory rests on",
	help: `aiperf checks DIR prints every check that is not clean, worst first: what to do
about it, and each run that it doubts.

  aiperf checks results/quickstart-20261121T093000Z
  aiperf checks --list        what is checked, and what it means`,
	flags: []switchFlag{{Name: "list", Doc: "list all checks with their meaning"}, {Name: "all", Doc: "print clean checks too"}},
	run: func(a *app, p *parsed) error {
		if p.has("list") {
			for _, row := range runner.Describe() {
				printTwo(a.Out, row[0], row[1])
			}
			return nil
		}
		dir, err := onlyFile(p, "aiperf checks DIR")
		if err != nil {
			return err
		}
		reports, err := runner.Reports(dir)
		if err != nil {
			return &usageError{dir + ": " + err.Error(), "name a result directory"}
		}
		groups := grouped(reports, planFindings(dir), p.has("all"))
		for _, g := range groups {
			g.print(a.Out)
		}
		if len(groups) == 0 {
			fmt.Fprintf(a.Out, "%s: all checks of %s are clean\n", filepath.Base(dir), count(len(reports), "run"))
		}
		return nil
	},
}

// planFindings are what a finished directory says about its plan as a whole.
func planFindings(dir string) []runner.Finding {
	m, err := runner.ReadManifest(dir)
	if err != nil {
		return nil // not finished: the plan has not been judged
	}
	return m.Findings
}

// checkGroup is one check and what it said, of each run or of the plan.
type checkGroup struct {
	check   string
	verdict runner.Verdict // the worst
	runs    int            // 0 for a check of the plan
	said    []saying
}

type saying struct {
	who string // the run; "" for the plan
	f   runner.Finding
}

// grouped gathers findings by check, the worst checks first and within one the
// worst runs; clean ones only with all.
func grouped(reports []*runner.RunReport, plan []runner.Finding, all bool) []*checkGroup {
	var out []*checkGroup
	byName := map[string]*checkGroup{}
	take := func(who string, f runner.Finding) {
		if f.Verdict == runner.Valid && !all {
			return
		}
		g := byName[f.Check]
		if g == nil {
			g = &checkGroup{check: f.Check}
			byName[f.Check] = g
			out = append(out, g)
		}
		if who != "" {
			g.runs = len(reports)
		}
		g.verdict = max(g.verdict, f.Verdict)
		g.said = append(g.said, saying{who, f})
	}
	for _, f := range plan {
		take("", f)
	}
	for _, rep := range reports {
		for _, f := range rep.Findings {
			take(fmt.Sprintf("%s trial %d", rep.Label, rep.Trial+1), f)
		}
	}
	for _, g := range out {
		slices.SortStableFunc(g.said, func(a, b saying) int { return cmp.Compare(b.f.Verdict, a.f.Verdict) })
	}
	slices.SortStableFunc(out, func(a, b *checkGroup) int { return cmp.Compare(b.verdict, a.verdict) })
	return out
}

// print writes a check once, with what to do about it, and a line per finding.
func (g *checkGroup) print(w io.Writer) {
	of := ""
	if g.runs > 0 {
		of = fmt.Sprintf(": %d of %s", len(g.said), count(g.runs, "run"))
	}
	fmt.Fprintf(w, "%s %s%s\n", g.verdict, g.check, of)
	if try := g.said[0].f.Try; try != "" {
		fmt.Fprintln(w, "  try: "+try)
	}
	for _, s := range g.said {
		about := s.f.Verdict.String()
		if s.who != "" {
			about += " " + s.who
		}
		fmt.Fprintf(w, "  %s: %s\n", about, s.f.Detail)
	}
}

// validateResults checks a finished directory, ours or AIPerf's: that no file
// has changed, and that every summary follows from its records.
func (a *app) validateResults(dir string) error {
	runs, err := sinks.RecheckDirs(dir)
	if err != nil {
		return err
	}
	m, err := runner.ReadManifest(dir)
	ours := err == nil
	if done, total, begun := runner.Progress(dir); !ours && begun {
		return &failure{exitFailed, fmt.Errorf("%s: not finished: %d of %d runs are done", dir, done, total), "aiperf run … --artifact-dir " + dir + " --resume"}
	}
	if !ours && len(runs) == 0 {
		return a.nothingToCheck(dir)
	}
	bad := 0
	if ours {
		for _, b := range m.Verify(dir) {
			bad++
			fmt.Fprintln(a.Err, dir+"/"+b)
		}
	}
	checked := 0
	for _, run := range runs {
		c, err := sinks.RecheckProfile(run)
		if err != nil {
			return &usageError{err.Error(), "the file is damaged or no export of AIPerf's"}
		}
		checked += c.Checked
		for _, b := range c.Bad {
			bad++
			fmt.Fprintf(a.Err, "%s: %s\n", run, b)
		}
	}
	if bad > 0 {
		return exit(exitFailed)
	}
	said := fmt.Sprintf("%s recomputed from the records of %s", count(checked, "value"), count(len(runs), "run"))
	if ours {
		said = fmt.Sprintf("%d files as written; %s; %s", len(m.Files), m.Verdict, said)
		if m.Interrupted {
			said = "PARTIAL: the plan is not done; " + said
		}
	}
	fmt.Fprintf(a.Out, "%s: %s\n", dir, said)
	return nil
}

// nothingToCheck says what is missing in a directory that has no summary beside
// records.
func (a *app) nothingToCheck(dir string) error {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case has("profile_export_aiperf.json"):
		fmt.Fprintf(a.Out, "%s: a summary without records (--export-level summary): nothing to hold it against\n", dir)
		return nil
	case has("profile_export.jsonl"):
		return &failure{exitFailed, errors.New(dir + ": records without a summary"), "the run was stopped, or every request failed: AIPerf writes no summary then"}
	case has("inputs.json"), has("logs"):
		return &failure{exitFailed, errors.New(dir + ": neither records nor a summary"), "the run stopped before its first answer"}
	}
	return &usageError{dir + ": no results there", "name the directory that holds manifest.json or profile_export_aiperf.json"}
}
