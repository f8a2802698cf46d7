package main

import (
	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
)

var explainCommand = command{
	name: "explain", usage: "print every resolved value and where it came from",
	help: `aiperf explain FILE [PATH…] prints path, value and origin of each setting.

  aiperf explain sweep.cue
  aiperf explain sweep.cue phases endpoint.timeout

The origin is a place in a file, a flag, the environment, or the reason for a
default. Secrets are masked.`,
	flags: []argv.Switch{setFlag, exprFlag, tagFlag, pkgFlag, lenient}, settings: true,
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) == 0 {
			return diag.New("which experiment?", "aiperf explain FILE [PATH…]")
		}
		doc, err := a.load("explain", p.Words[0], p)
		if err != nil {
			return err
		}
		return doc.Explain(a.Out, p.Words[1:]...)
	},
}
