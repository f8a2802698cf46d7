package main

import (
	"fmt"
	"os"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/audit"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/importer"
)

var importCommand = command{
	name: "import", usage: "make tables of results that another benchmark client wrote", minor: true,
	help: `aiperf import PATH… -o DIR reads result files of other benchmark clients, each
by its content, and makes a directory of ordinary tables: the originals with
their digests, every figure as it stands in them, single requests where they
are kept. Several files of one tool become the cells and trials of one result.

  aiperf import vllm.json -o results/vllm
  aiperf import artifacts/run1 artifacts/run2 -o results/aiperf

report, compare and plot take the originals directly, too. What a tool means by
a word: aiperf explain metric ttft --in vllm`,
	flags: []argv.Switch{
		{Name: "output", Short: "o", Arg: "DIR", Doc: "directory to make"},
		{Name: "audit", Arg: "FILE", Doc: "audit of the client, whose errors compare then names (aiperf help audit)"},
	},
	run: func(a *app, p *argv.Line) error {
		dir := p.Get("output")
		if len(p.Words) == 0 || dir == "" {
			return diag.New("import: which files, and into which directory?", "aiperf import PATH… -o DIR")
		}
		var carried []byte
		if path := p.Get("audit"); path != "" {
			if _, err := audit.Read(path); err != nil {
				return err
			}
			var err error
			if carried, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		res, err := importer.Write(p.Words, dir, version, carried)
		if err != nil {
			return asUsage(err)
		}
		for _, n := range res.Notes {
			a.note(n)
		}
		requests := "every request is kept"
		if !res.Recomputable() {
			requests = "cannot be recomputed: a summary without single requests"
		}
		fmt.Fprintf(a.Out, "%s: %s of %s; %s\n", dir, words.Count(len(res.Runs), "run"), res.Own(), requests)
		return nil
	},
}
