package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/preview"
	"aiperf.dev/aiperf/sinks/results"
)

// holdsResults tells a result directory from a package of experiments: it keeps
// a copy of its experiment, too.
func holdsResults(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, resultdir.LockName))
	return err == nil
}

// resultsIn is dir, or the folder in it that holds results: the search of quick, or the only one.
func resultsIn(dir string) string {
	if holdsResults(dir) {
		return dir
	}
	if _, err := os.Stat(filepath.Join(dir, quickFile)); err == nil && holdsResults(filepath.Join(dir, quickSearch)) {
		return filepath.Join(dir, quickSearch) // the results beside it led there
	}
	if schema.IsPackage(dir) {
		return dir
	}
	found := dir
	entries, _ := os.ReadDir(dir) // what cannot be read holds nothing
	for _, e := range entries {
		if inside := filepath.Join(dir, e.Name()); e.IsDir() && holdsResults(inside) {
			if found != dir {
				return dir // which one is not known
			}
			found = inside
		}
	}
	return found
}

// resultsIn is the same and says which one it took, where that is another one.
func (a *app) resultsIn(dir string) string {
	found := resultsIn(dir)
	if found != dir {
		a.note("reads " + found)
	}
	return found
}

// resultsInEach is resultsIn of the words of a command.
func (a *app) resultsInEach(dirs []string) {
	for i := range dirs {
		dirs[i] = a.resultsIn(dirs[i])
	}
}

// noResults refuses a place that is not a result directory.
func noResults(dir string) error {
	if inside := resultsIn(dir); inside != dir {
		return diag.New(dir+": not a result directory", "its results are in "+inside)
	}
	return diag.New(dir+": not a result directory", "name a directory that aiperf run or profile has written")
}

var validateCommand = command{
	name: "validate", usage: "check an experiment, or verify a result directory",
	help: `aiperf validate FILE…|DIR checks without sending anything.

  aiperf validate sweep.cue
  aiperf validate experiments/*.cue               one by one
  aiperf validate team -e experiments.smoke       a folder as one CUE package
  aiperf validate results/quickstart-20261121T093000Z    against its manifest

FILE is an experiment in CUE, YAML or JSON. Every cell is checked. Exit 0 when
all is well, 2 when the experiment is wrong, 1 when a directory is damaged.`,
	flags: []argv.Switch{setFlag, exprFlag, tagFlag, pkgFlag, modFlag, lenient, strict}, settings: true, files: true,
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) > 0 && p.Words[0] == "mooncake-trace" {
			return checkTrace(a, p.Words[1:])
		}
		if len(p.Words) < 2 {
			file, err := onlyFile(p, "aiperf validate FILE")
			if err != nil {
				return err
			}
			return a.validate(file, p)
		}
		for _, file := range p.Words { // each says what is wrong with it
			if err := a.validate(file, p); err != nil {
				worst := a.code
				a.fail(err)
				a.code = max(worst, a.code)
			}
		}
		if a.code != diag.OK {
			return exit(a.code)
		}
		return nil
	},
}

// validate checks an experiment, or a finished directory.
func (a *app) validate(file string, p *argv.Line) error {
	if isDir(file) && (holdsResults(file) || !schema.IsPackage(file)) {
		return a.validateResults(file)
	}
	_, plan, err := a.expand("validate", file, p, runnable(runner.Inputs))
	if err != nil {
		return err
	}
	sentence(a.Out, fmt.Sprintf("%s: valid; %s", file, preview.Size(plan)))
	return nil
}

// validateResults checks a finished directory and prints what does not hold.
func (a *app) validateResults(dir string) error {
	said, bad, err := results.Recheck(dir)
	for _, b := range bad {
		sentence(a.Err, b)
	}
	switch {
	case err != nil:
		return err
	case len(bad) > 0:
		return exit(diag.Failed)
	}
	sentence(a.Out, dir+": "+said)
	return nil
}

var checksCommand = command{
	words: resultDirs,
	name:  "checks", usage: "show the checks behind a verdict",
	help: `aiperf checks DIR prints every check that moves the verdict, worst first: what
to do about it, and what it found in each cell.

  aiperf checks results/quickstart-20261121T093000Z
  aiperf checks --list        what is checked, and what it means
  aiperf checks DIR --rules sla-p99          check it against rules of others
  aiperf checks vllm.json --rules sla-p99    … a result of another client
  aiperf checks --rules list                 the sets that are built in`,
	flags: []argv.Switch{
		{Name: "list", Doc: "list all checks with their meaning"},
		{Name: "all", Doc: "also print the checks that passed"},
		{Name: "runs", Doc: "one line per run instead of one per cell"},
		rulesFlag,
	},
	run: func(a *app, p *argv.Line) error {
		if p.Has("list") {
			for _, row := range verdict.Describe() {
				printTwo(a.Out, row[0], row[1])
			}
			return nil
		}
		if slices.Equal(p.Values["rules"], []string{"list"}) && len(p.Words) == 0 {
			return a.listRules()
		}
		dir, err := onlyFile(p, "aiperf checks DIR")
		if err != nil {
			return err
		}
		rules := p.Values["rules"]
		if r, err := results.Find(dir); err == nil && r.Runs != nil && len(rules) > 0 { // of another program
			return a.checkRules(dir, rules)
		}
		if dir = a.resultsIn(dir); !holdsResults(dir) {
			return noResults(dir)
		}
		if len(rules) > 0 {
			return a.checkRules(dir, rules)
		}
		reports, err := runner.Reports(dir)
		if err != nil {
			return diag.New(dir+": "+err.Error(), "name a result directory")
		}
		if len(reports) == 0 {
			return diag.New(dir+": no run has ended there: nothing to check",
				"the command that began it, with --resume, goes on")
		}
		c := report.Checks{
			Plan: runner.PlanFindings(dir), All: p.Has("all"), Every: p.Has("runs"), Requests: map[string]record.Counts{},
		}
		for _, r := range reports {
			name := cmp.Or(r.Short, r.Label)
			c.Requests[name] = c.Requests[name].Plus(r.Counts())
			c.Runs = append(c.Runs, report.RunFindings{
				Cell: name, Trial: r.Trial,
				Verdict: r.Verdict, Findings: r.Findings,
			})
		}
		printed, notes, err := c.Write(a.Out)
		if err != nil {
			return err
		}
		if printed == 0 {
			left := ""
			if done, total, begun := resultdir.Progress(dir); begun && done < total {
				left = fmt.Sprintf("; %d of the plan's %s have not ended well", total-done, words.Count(total, "run"))
			}
			fmt.Fprintf(a.Out, "%s: all checks of %s passed%s\n", filepath.Base(dir), words.Count(len(reports), "run"),
				left)
		}
		if len(notes) > 0 {
			sentence(a.Out, "noted, with no effect on the verdict: "+words.And(notes)+" (--all shows what they found)")
		}
		return nil
	},
}
