package main

import (
	"fmt"

	"aiperf.dev/aiperf/schema"
)

var schemaCommand = command{
	name: "schema", usage: "print the schema of experiments as CUE or JSON Schema",
	help: `aiperf schema prints the CUE schema that experiments are checked against.

  aiperf schema > schema.cue
  aiperf schema --json > experiment.schema.json    for editors
  aiperf schema vendor DIR                         so that cue vet works in DIR`,
	flags: []switchFlag{{Name: "json", Doc: "print JSON Schema (draft 2020-12) instead"}},
	run: func(a *app, p *parsed) error {
		switch {
		case len(p.words) == 2 && p.words[0] == "vendor":
			if err := schema.Vendor(p.words[1]); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s: cue vet -c FILE.cue works here now\n", p.words[1])
			return nil
		case len(p.words) > 0:
			return &usageError{"schema: unexpected " + p.words[0], "aiperf schema [--json], aiperf schema vendor DIR"}
		case !p.has("json"):
			_, err := a.Out.Write(schema.CUE())
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
