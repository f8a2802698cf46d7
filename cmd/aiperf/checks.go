package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/resultdir"
	"aiperf.dev/aiperf/runner/verdict"
	aiperfiles "aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sinks/report"
)

var checksCommand = command{
	name: "checks", usage: "say what the verdict of a result directory rests on",
	help: `aiperf checks DIR prints every check that is not clean, worst first: what to do
about it, and what it found in each cell.

  aiperf checks results/quickstart-20261121T093000Z
  aiperf checks --list        what is checked, and what it means`,
	flags: []argv.Switch{
		{Name: "list", Doc: "list all checks with their meaning"},
		{Name: "all", Doc: "print clean checks too"},
		{Name: "runs", Doc: "a line for each run, not for each cell"},
	},
	run: func(a *app, p *argv.Line) error {
		if p.Has("list") {
			for _, row := range verdict.Describe() {
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
			return diag.New(dir+": "+err.Error(), "name a result directory")
		}
		c := report.Checks{Plan: planFindings(dir), All: p.Has("all"), Every: p.Has("runs")}
		for _, r := range reports {
			c.Runs = append(c.Runs, report.RunFindings{Cell: cmp.Or(r.Short, r.Label), Trial: r.Trial, Findings: r.Findings})
		}
		named, err := c.Write(a.Out)
		if err != nil {
			return err
		}
		if named == 0 {
			fmt.Fprintf(a.Out, "%s: all checks of %s are clean\n", filepath.Base(dir), words.Count(len(reports), "run"))
		}
		return nil
	},
}

// planFindings are what a finished directory says about its plan as a whole.
func planFindings(dir string) []verdict.Finding {
	m, err := resultdir.ReadManifest(dir)
	if err != nil {
		return nil // not finished: the plan has not been judged
	}
	return m.Findings
}

// validateResults checks a finished directory, ours or AIPerf's: that no file
// has changed, and that every summary follows from its records.
func (a *app) validateResults(dir string) error {
	runs, err := aiperfiles.RecheckDirs(dir)
	if err != nil {
		return err
	}
	m, err := resultdir.ReadManifest(dir)
	ours := err == nil
	if done, total, begun := resultdir.Progress(dir); !ours && begun {
		return &diag.Error{
			Code: diag.Failed, Place: dir, Message: fmt.Sprintf("not finished: %d of %s are done", done, words.Count(total, "run")),
			Hint: "aiperf run … --artifact-dir " + dir + " --resume",
		}
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
		c, err := aiperfiles.RecheckProfile(run)
		if err != nil {
			return diag.New(err.Error(), "the file is damaged or no export of AIPerf's")
		}
		checked += c.Checked
		for _, b := range c.Bad {
			bad++
			fmt.Fprintf(a.Err, "%s: %s\n", run, b)
		}
	}
	if bad > 0 {
		return exit(diag.Failed)
	}
	said := fmt.Sprintf("%s recomputed from the records of %s", words.Count(checked, "value"), words.Count(len(runs), "run"))
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
		return &diag.Error{Code: diag.Failed, Place: dir, Message: "records without a summary", Hint: "the run was stopped, or every request failed: AIPerf writes no summary then"}
	case has("inputs.json"), has("logs"):
		return &diag.Error{Code: diag.Failed, Place: dir, Message: "neither records nor a summary", Hint: "the run stopped before its first answer"}
	}
	return diag.New(dir+": no results there", "name the directory that holds manifest.json or profile_export_aiperf.json")
}
