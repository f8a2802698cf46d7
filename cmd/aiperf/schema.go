package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

var schemaCommand = command{
	minor: true, name: "schema", usage: "print the schema of experiments as CUE or JSON Schema",
	help: `aiperf schema prints the CUE schema that experiments are checked against.

  aiperf schema > schema.cue
  aiperf schema --json > experiment.schema.json   for editors
  aiperf schema vendor [DIR]                      for cue vet and editors in DIR
  aiperf schema publish DIR                       a CUE module, for a registry`,
	flags: []argv.Switch{{Name: "json", Doc: "print JSON Schema (draft 2020-12) instead"}},
	run: func(a *app, p *argv.Line) error {
		usage := "aiperf schema [--json], aiperf schema vendor [DIR], aiperf schema publish DIR"
		if len(p.Words) == 0 {
			return a.printSchema(p.Has("json"))
		}
		verb, dirs := p.Words[0], p.Words[1:]
		switch {
		case verb != "vendor" && verb != "publish":
			return diag.New("schema: unexpected "+verb, usage)
		case len(dirs) > 1:
			return diag.New("schema "+verb+": one folder at a time, got "+strings.Join(dirs, " "), usage)
		case verb == "publish" && len(dirs) == 0:
			return diag.New("schema publish: into which folder?", "aiperf schema publish DIR")
		case verb == "publish":
			return a.publishSchema(dirs[0])
		}
		return a.vendorSchema(append(dirs, ".")[0])
	},
}

func (a *app) printSchema(asJSON bool) error {
	text, err := schema.CUE()
	if asJSON {
		text, err = schema.JSONSchema()
		text = append(text, '\n')
	}
	if err != nil {
		return err
	}
	_, err = a.Out.Write(text)
	return err
}

func (a *app) vendorSchema(dir string) error {
	home, err := schema.Vendor(dir)
	if err := written(err); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s: cue vet -c FILE.cue works here now\n", dir)
	if home != dir {
		fmt.Fprintf(a.Out, "  the package is in %s, the module that the folder belongs to\n",
			filepath.Join(home, "cue.mod"))
	}
	return nil
}

func (a *app) publishSchema(dir string) error {
	version, err := schema.Publish(dir)
	if err := written(err); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s: the schema as a CUE module; cd %s && cue mod publish %s pushes it to $CUE_REGISTRY\n", dir,
		dir, version)
	return nil
}

// written is the one line for what could not be written.
func written(err error) error {
	var place *fs.PathError
	if errors.As(err, &place) {
		return fileError(place)
	}
	return err
}
