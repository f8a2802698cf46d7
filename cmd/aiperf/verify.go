package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/seal"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	aiperfiles "aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sinks/bundle"
	"aiperf.dev/aiperf/sweep/decide"
)

var verifyCommand = command{
	name: "verify", usage: "check a sealed result: files, signature, figures, verdict", minor: true,
	help: `aiperf verify FILE says what of a sealed result holds, and what was not checked:
that each file is the one that was sealed, who signed it, and that the statement
says what the files say.

  aiperf verify result.aiperf
  aiperf verify result.aiperf --key id_ed25519.pub
  aiperf verify result.aiperf --recompute       every figure from its records
  aiperf verify result.aiperf --unpack DIR      and keep the result directory

Exit code 0: all that was checked holds; 1: something does not; 2: the command
is wrong; 4: all holds, and the result itself is INVALID.`,
	flags: []argv.Switch{
		{Name: "key", Arg: "FILE", Doc: "public key of the signer; with it, another signature or none does not hold"},
		{Name: "recompute", Doc: "compute every figure again from the records, and judge again"},
		{Name: "unpack", Arg: "DIR", Doc: "leave the result directory there: report, compare and checks read it"},
		outputFlag,
	},
	run: func(a *app, p *argv.Line) error {
		file, err := onlyFile(p, "aiperf verify FILE")
		if err != nil {
			return err
		}
		asJSON, err := wantJSON(p)
		if err != nil {
			return err
		}
		var key *seal.PublicKey
		if name := p.Get("key"); name != "" {
			if key, err = publicKey(name); err != nil {
				return err
			}
		}
		o, err := bundle.Unpack(file, p.Get("unpack"))
		if err != nil {
			return err
		}
		defer o.Close()
		found := []bundle.Finding{o.Files(), o.Signature(key), o.Stated()}
		if p.Has("recompute") {
			found = append(found, o.Figures())
			found = append(found, a.madeAgain(o.Dir)...)
		} else {
			found = append(found, bundle.Finding{
				What: "figures", State: bundle.Open, Said: "not computed again (--recompute)",
			})
		}
		if err := a.printVerified(file, o, found, asJSON); err != nil {
			return err
		}
		switch {
		case bundle.Wrongs(found):
			return exit(diag.Failed)
		case o.Statement().Predicate.Verdict == "INVALID":
			return exit(diag.Invalid)
		}
		return nil
	},
}

// madeAgain computes what a directory states over several runs again, and judges again.
func (a *app) madeAgain(dir string) []bundle.Finding {
	figures, word := bundle.Finding{What: "cells", State: bundle.Open}, bundle.Finding{What: "verdict", State: bundle.Open}
	plan, _, err := runner.Restore(dir, func(map[string]any) error { return nil }, a.loadQuietly)
	var again *runner.Again
	if err == nil {
		again, err = runner.MakeAgain(dir, plan)
	}
	if errors.Is(err, runner.ErrNoRecords) && !hasAIPerfs(dir) {
		figures.State, figures.Said = bundle.Wrong, "it holds no records, so nothing can be computed again"
		word.Said = "cannot be judged again without records"
		return []bundle.Finding{figures, word}
	}
	if errors.Is(err, runner.ErrNoRecords) {
		figures.Said = "not made again: the records are AIPerf's files, whose summaries the line above is about"
		word.Said = "not judged again: AIPerf's files do not keep what that takes"
		return []bundle.Finding{figures, word}
	}
	if err != nil {
		why := strings.ReplaceAll(diag.Line(err), dir+string(filepath.Separator), "")
		figures.Said, word.Said = "cannot be made again: "+why, "cannot be judged again: "+why
		return []bundle.Finding{figures, word}
	}
	figures.State, figures.Said = bundle.Holds, fmt.Sprintf("%s of runs and cells made again from the records",
		words.Count(again.Figures, "figure"))
	if again.Told > 0 {
		figures.Said += fmt.Sprintf("; %s that servers and plug-ins told are in no record", words.Count(again.Told, "figure"))
	}
	if len(again.Bad) > 0 {
		figures.State, figures.Said, figures.More = bundle.Wrong, "do not follow from the records", clipped(again.Bad)
	}
	word.State, word.Said = bundle.Holds, fmt.Sprintf("%s; made again of the records: %s; as the client reported: %s",
		again.Verdict, words.And(again.Judged), words.And(again.Reported))
	if len(again.Unjudged) > 0 {
		word.State, word.Said, word.More = bundle.Wrong, "does not follow from the evidence", clipped(again.Unjudged)
	}
	return []bundle.Finding{figures, word}
}

// hasAIPerfs reports whether AIPerf's files keep the records of a directory.
func hasAIPerfs(dir string) bool {
	found, err := aiperfiles.RecheckDirs(dir)
	return err == nil && len(found) > 0
}

// loadQuietly reads an experiment that was read before, without a word.
func (a *app) loadQuietly(file string) (*schema.Document, error) {
	return schema.Load(schema.Source{File: file, Command: "run", Tags: decide.Names(), RunTags: runTags()})
}

// clipped are the first lines of many.
func clipped(lines []string) []string {
	const most = 5
	if n := len(lines) - most; n > 0 {
		return append(lines[:most:most], fmt.Sprintf("and %d more", n))
	}
	return lines
}

// printVerified prints a line for each thing that was looked at, the answer first.
func (a *app) printVerified(file string, o *bundle.Opened, found []bundle.Finding, asJSON bool) error {
	p := o.Statement().Predicate
	if asJSON {
		return a.writeDoc(struct {
			File     string           `json:"file"`
			Holds    bool             `json:"holds"`
			Verdict  string           `json:"verdict"`
			Findings []bundle.Finding `json:"findings"`
			Redacted []seal.Redaction `json:"redacted"`
		}{file, !bundle.Wrongs(found), p.Verdict, found, p.Redacted})
	}
	answer := "holds, as far as it was checked"
	if bundle.Wrongs(found) {
		answer = "does NOT hold"
	}
	fmt.Fprintf(a.Out, "%s %s; sealed as %s\n", file, answer, p.Verdict)
	for _, f := range found {
		said := f.Said
		if f.State != bundle.Holds {
			said = string(f.State) + ": " + said
		}
		printTwo(a.Out, f.What, said)
		for _, line := range f.More {
			printTwo(a.Out, "", line)
		}
	}
	for _, line := range o.Redacted() {
		printTwo(a.Out, "redacted", line)
	}
	return nil
}
