package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/audit"
	"aiperf.dev/aiperf/internal/diag"
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
	dir := p.Get("artifact-dir")
	if dir == "" {
		if dir, err = os.MkdirTemp("", "aiperf-audit"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	} else if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return diag.New(dir+" is not empty", "name another directory")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	exe, err := self()
	if err != nil {
		return err
	}
	var results []*audit.Result
	for _, s := range scenarios {
		if s.Tokenizer = p.Get("tokenizer"); s.Tokenizer != "" {
			if s.Tokenizer, err = filepath.Abs(s.Tokenizer); err != nil {
				return err
			}
		}
		res, err := audit.Run(a.issue, exe, recipe, &s, filepath.Join(dir, s.Name))
		if err != nil {
			return err
		}
		if res == nil {
			continue
		}
		results = append(results, res)
		if err := res.WriteTable(a.Out); err != nil {
			return err
		}
		fmt.Fprintln(a.Out)
	}
	if len(results) == 0 {
		return diag.New("audit: the command has no place for the load of these scenarios", "{concurrency}, or {rate} and {law}")
	}
	fmt.Fprintln(a.Out, audit.Summary(results))
	text, err := json.MarshalIndent(audit.New(recipe.Name, results), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, audit.FileName), append(text, '\n'), 0o644); err != nil {
		return err
	}
	for _, res := range results {
		if slices.ContainsFunc(res.Lines, func(l audit.Line) bool { return l.Off != "" }) {
			return exit(diag.Missed)
		}
	}
	return nil
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
