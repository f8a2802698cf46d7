package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/docgen"
	"aiperf.dev/aiperf/schema"
)

// manCommand is a function because its pages show the catalogue that it is in.
func manCommand() command {
	return command{
		minor: true, name: "man", usage: "write the manual pages",
		help: `aiperf man [COMMAND] prints a manual page; with --dir it writes all of them.

  aiperf man profile | man -l -
  aiperf man --dir ~/.local/share/man/man1`,
		flags: []argv.Switch{{Name: "dir", Arg: "DIR", Doc: "write the pages of all commands there"}},
		words: func([]string) (out []string) { return completions(catalogue(), []string{""}) },
		run: func(a *app, p *argv.Line) error {
			all := append([]docgen.CLICommand{{Usage: "measure LLM inference servers, and say what the numbers are worth", Help: programDescription}},
				cliCommands(catalogue())...)
			if dir := p.Get("dir"); dir != "" {
				return writeManual(dir, all)
			}
			name := strings.Join(p.Words, " ")
			for _, c := range all {
				if c.Name == name && c.Instead == "" {
					_, err := fmt.Fprint(a.Out, docgen.Man(c, all, schema.Options()))
					return err
				}
			}
			return diag.New("no command is called "+name, "aiperf --help lists them")
		},
	}
}

const programDescription = `An experiment in CUE, YAML, JSON or flags becomes a matrix of cells; every cell is
run several times; every result carries a verdict on its own measurement.
aiperf COMMAND --help explains each command.`

func writeManual(dir string, all []docgen.CLICommand) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range all {
		if c.Instead != "" {
			continue
		}
		page := docgen.Man(c, all, schema.Options())
		if err := os.WriteFile(filepath.Join(dir, docgen.ManName(c.Name)+".1"), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// cliCommands are the commands as pages show them, those below others too.
func cliCommands(all []command) []docgen.CLICommand {
	var out []docgen.CLICommand
	for _, c := range all {
		d := docgen.CLICommand{Name: c.name, Usage: c.usage, Help: c.help, Settings: c.settings, Instead: c.instead}
		for _, f := range c.flags {
			d.Flags = append(d.Flags, docgen.CLIFlag{Name: f.Name, Short: f.Short, Arg: f.Arg, Doc: f.Doc})
		}
		out = append(append(out, d), cliCommands(c.subs)...)
	}
	return out
}
