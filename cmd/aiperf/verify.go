package main

import (
	"fmt"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/seal"
	"aiperf.dev/aiperf/sinks/bundle"
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
