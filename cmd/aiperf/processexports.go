package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/sinks/genaiperf"
)

var processExportsCommand = command{
	name: "process-export-files", usage: "merge results of GenAI-Perf into one", minor: true,
	help: `aiperf process-export-files -d DIR makes one result of the runs below DIR, each
in a folder of its own with what GenAI-Perf left of it. Requests are put
together and every figure is computed anew; throughputs are the sums of the
runs'.

  aiperf process-export-files -d runs -o merged --tokenizer builtin

The result has GenAI-Perf's three files; aiperf report reads them. Tokens are
counted by the tokenizer of the runs, or by --tokenizer; where neither is there,
what takes tokens is left out, which a note says; figures of GPUs always are.`,
	flags: []argv.Switch{
		{Name: "input-directory", Short: "d", Arg: "DIR", Doc: "folder with a folder for each run (default: aggregated)"},
		{Name: "artifact-dir", Short: "o", Arg: "DIR", Doc: "where the folder of the result is made (default: artifacts)"},
		{Name: "tokenizer", Arg: "NAME", Doc: "what counts tokens: builtin, a folder, or a model in the cache"},
	},
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) > 0 {
			return diag.New("process-export-files: unexpected "+words.Clip(p.Words[0], 80), "-d DIR names the folder")
		}
		runs, err := genaiperf.Find(cmp.Or(p.Get("input-directory"), "aggregated"))
		if err != nil {
			return err
		}
		name := cmp.Or(p.Get("tokenizer"), runs[0].Config.Tokenizer.Name)
		var tok tokenizer.Tokenizer
		if name != "" {
			tok, err = tokenizer.Open(name)
		}
		switch {
		case err != nil && p.Has("tokenizer"):
			return diag.New("--"+err.Error(), "")
		case err != nil:
			a.note("figures that take tokens are left out: " + err.Error() + "; --tokenizer names another")
		case name == "":
			a.note("figures that take tokens are left out: the runs name no tokenizer; --tokenizer names one")
		}
		if err != nil {
			tok = nil
		}
		m, err := genaiperf.Merge(runs, tok)
		if err != nil {
			return err
		}
		if unlike := m.Alike(); unlike != "" {
			a.note(unlike)
		}
		if slices.ContainsFunc(runs, func(r *genaiperf.Run) bool { return r.GPUs }) {
			a.note("figures of GPUs are left out: each run's file has statistics of them, and those of several runs " +
				"cannot be made of them")
		}
		dir := filepath.Join(cmp.Or(p.Get("artifact-dir"), "artifacts"), m.Folder())
		if err := m.Write(dir); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s of %s: %s\n", words.Count(m.Requests(), "request"), words.Count(len(runs), "run"), dir)
		return nil
	},
}
