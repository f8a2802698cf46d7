package main

import (
	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diagnose"
)

var diagnoseCommand = command{
	name: "diagnose", usage: "say what limits the server, with the evidence",
	help: `aiperf diagnose DIR reads a result and says, for each cell and for all of
them, what limits the server: slots, the KV cache, prompts, tokens, what is in
front of the engine, the client, or nothing yet. Each finding has its evidence,
what is ruled out, how certain it is, and what to measure next; what is not
known is said to be so. It needs the server's own metrics, which are read by
default.

  aiperf diagnose results/sweep-20261121T093000Z
  aiperf diagnose results/latest --format json

Several loads say more than one: --concurrency 1,8,32.

  aiperf diagnose --prove DIR|FILE    shows the cause with an experiment

--prove changes one thing at a time about the load with most requests in flight:
a quarter as many at once, prompts half as long, answers half as long. It
carries that out against the same server, in trials, and states a cause only
where every other one is contradicted. Exit code 0: a cause, or that nothing
limits the server; 4: the causes are not separable within the budget.`,
	words: resultDirs, settings: true,
	flags: append([]argv.Switch{{
		Name: "format", Arg: "FORMAT", Words: []string{"text", "json"},
		Doc: "text (default) or json",
	}}, proveFlags...),
	often: []section{
		{"Output", []string{"format"}},
		{"Experiment", []string{"prove", "budget", "cell", "api-key", "artifact-dir", "progress"}},
	},
	run: func(a *app, p *argv.Line) error {
		dir, err := onlyFile(p, "aiperf diagnose DIR")
		if err != nil {
			return err
		}
		dir = a.resultsIn(dir)
		if p.Has("prove") {
			return a.prove(dir, p)
		}
		if err := noProve(p); err != nil {
			return err
		}
		if !holdsResults(dir) {
			return noResults(dir)
		}
		r, err := diagnose.Dir(dir)
		if err != nil {
			return err
		}
		if p.Get("format") == "json" {
			return a.writeDoc(r)
		}
		return r.WriteText(a.Out, screenWidth(a.Out))
	},
}
