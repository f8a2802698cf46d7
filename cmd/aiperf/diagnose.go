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

Several loads say more than one: --concurrency 1,8,32.`,
	words: resultDirs,
	flags: []argv.Switch{{
		Name: "format", Arg: "FORMAT", Words: []string{"text", "json"},
		Doc: "text (default) or json",
	}},
	run: func(a *app, p *argv.Line) error {
		dir, err := onlyFile(p, "aiperf diagnose DIR")
		if err != nil {
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
