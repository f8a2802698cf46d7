package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/audit"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
)

var auditCommand = command{
	name: "audit", usage: "judge a benchmark client by a server that knows the truth", minor: true,
	help: `aiperf audit runs a client against the built-in server, which logs what it
really received and sent, and when. Each quantity that the client reports is
held against that log.

  aiperf audit self --scenario single,poisson
  aiperf audit guidellm --tokenizer DIR
  aiperf audit -o out -- bench --url {url} --users {concurrency}
      --requests {requests} --output {out}

A client that is known by name is started as the PATH finds it: aiperf (AIPerf),
endpoints, genai-bench, guidellm, inference-perf, sglang, vllm, and self.
A command has places for what is asked: {url}, {out}, {requests}, {warmup},
{isl}, {osl}, {model}, {tokenizer}, and {concurrency}, or {rate} and {law};
{prompts} is a file with them. --allow-hooks permits it. Scenarios for whose
load there is no place are left out. Reports are read as aiperf import does.

Times include those of the machine: on a busy one a client seems late. The
table is also written as audit.json beside logs and reports, for the --audit of
compare and import. Exit code 3 says that something does not agree.`,
	flags: []argv.Switch{
		{Name: "scenario", Arg: "NAME,…", Doc: "only these; without it all"},
		{Name: "artifact-dir", Short: "o", Arg: "DIR", Doc: "where logs and reports stay (default: they are removed)"},
		{Name: "tokenizer", Arg: "DIR", Doc: "folder with tokenizer.json, which the server counts with"},
		allowPrograms,
	},
	run: (*app).audit,
}

// allowPrograms is the permission to run the client.
var allowPrograms = argv.Switch{Name: "allow-hooks", Doc: "run the command that is audited"}

func (a *app) audit(p *argv.Line) error {
	recipe, err := auditRecipe(p)
	if err != nil {
		return err
	}
	scenarios, err := auditScenarios(p.Get("scenario"))
	if err != nil {
		return err
	}
	dir, kept := p.Get("artifact-dir"), true
	if dir == "" {
		if dir, err = os.MkdirTemp("", "aiperf-audit"); err != nil {
			return err
		}
		kept = false
	} else if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return diag.New(dir+" is not empty", "name another directory")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	results, failed := a.scenarios(p, recipe, scenarios, dir)
	stopped := errors.As(failed, new(interrupt))
	if !kept && (failed == nil || stopped) { // what a client printed tells why it failed
		defer os.RemoveAll(dir)
	}
	if failed != nil && !stopped {
		return failed
	}
	if len(results) == 0 && !stopped {
		return diag.New("audit: the command has no place for the load of these scenarios", "{concurrency}, or {rate} and {law}")
	}
	if len(results) > 0 {
		fmt.Fprintln(a.Out, audit.Summary(results))
		text, err := json.MarshalIndent(audit.New(recipe.Name, results), "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, audit.FileName), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if stopped {
		said := fmt.Sprintf("interrupted: %d of %s done", len(results), words.Count(len(scenarios), "scenario"))
		if kept {
			said += "; logs and reports are in " + p.Get("artifact-dir")
		}
		fmt.Fprintln(a.Err, "aiperf: "+said)
		return exit(diag.Interrupted)
	}
	for _, res := range results {
		if slices.ContainsFunc(res.Lines, func(l audit.Line) bool { return l.Off != "" }) {
			return exit(diag.Missed)
		}
	}
	return nil
}

// scenarios carries them out one by one, and prints the table of each. An error comes with the
// results so far.
func (a *app) scenarios(
	p *argv.Line, recipe *audit.Recipe, list []audit.Scenario, dir string,
) (done []*audit.Result, err error) {
	exe, err := self()
	if err != nil {
		return nil, err
	}
	tokenizer := p.Get("tokenizer")
	if tokenizer != "" {
		if tokenizer, err = filepath.Abs(tokenizer); err != nil {
			return nil, err
		}
	}
	for _, s := range list {
		s.Tokenizer = tokenizer
		res, err := audit.Run(a.issue, exe, recipe, &s, filepath.Join(dir, s.Name))
		if err != nil {
			return done, err
		}
		if res == nil {
			continue
		}
		done = append(done, res)
		if err := res.WriteTable(a.Out); err != nil {
			return done, err
		}
		fmt.Fprintln(a.Out)
	}
	return done, nil
}

// auditRecipe is what is audited: a recipe by its name, or the command after --.
func auditRecipe(p *argv.Line) (*audit.Recipe, error) {
	recipes, err := audit.Recipes()
	if err != nil {
		return nil, err
	}
	var names []string
	for i, r := range recipes {
		if len(p.Words) == 1 && p.Words[0] == r.Name {
			return &recipes[i], nil
		}
		names = append(names, r.Name)
	}
	if len(p.Words) < 2 {
		return nil, diag.New("audit: which client?", "one of "+strings.Join(names, ", ")+", or a command: aiperf audit -- CMD")
	}
	if !p.Has("allow-hooks") {
		return nil, diag.New("audit: a command runs only with --allow-hooks", "aiperf audit --allow-hooks -- "+strings.Join(p.Words, " "))
	}
	return audit.Own(p.Words)
}

// auditScenarios are those that are named.
func auditScenarios(list string) ([]audit.Scenario, error) {
	all := audit.Scenarios()
	if list == "" {
		return all, nil
	}
	var out []audit.Scenario
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(s audit.Scenario) bool { return s.Name == name })
		if i < 0 {
			var names []string
			for _, s := range all {
				names = append(names, s.Name)
			}
			return nil, diag.New(fmt.Sprintf("--scenario: %q is not one of %s", name, strings.Join(names, ", ")), "")
		}
		out = append(out, all[i])
	}
	return out, nil
}
