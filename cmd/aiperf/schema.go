package main

import (
	"fmt"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

var schemaCommand = command{
	minor: true, name: "schema", usage: "print the schema of experiments as CUE or JSON Schema",
	help: `aiperf schema prints the CUE schema that experiments are checked against.

  aiperf schema > schema.cue
  aiperf schema --json > experiment.schema.json    for editors
  aiperf schema vendor DIR                         so that cue vet works in DIR`,
	flags: []argv.Switch{{Name: "json", Doc: "print JSON Schema (draft 2020-12) instead"}},
	run: func(a *app, p *argv.Line) error {
		switch {
		case len(p.Words) == 2 && p.Words[0] == "vendor":
			if err := schema.Vendor(p.Words[1]); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s: cue vet -c FILE.cue works here now\n", p.Words[1])
			return nil
		case len(p.Words) > 0:
			return diag.New("schema: unexpected "+p.Words[0], "aiperf schema [--json], aiperf schema vendor DIR")
		case !p.Has("json"):
			text, err := schema.CUE()
			if err == nil {
				_, err = a.Out.Write(text)
			}
			return err
		}
		b, err := schema.JSONSchema()
		if err != nil {
			return err
		}
		_, err = a.Out.Write(append(b, '\n'))
		return err
	},
}
