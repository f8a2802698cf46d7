package docgen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// CLICommand is a subcommand as the page shows it.
type CLICommand struct {
	Name, Usage, Help string
	Flags             []CLIFlag
	Settings          bool   // every setting is also a flag
	Instead           string // for a command of AIPerf's that is not here
}

// CLIFlag is a flag of the program itself.
type CLIFlag struct{ Name, Short, Arg, Doc string }

// CLI is docs/cli.md: commands with their own flags, then all settings.
func CLI(commands []CLICommand, options []schema.Option) string {
	var b strings.Builder
	b.WriteString(Mark("the command catalogue and the schema"))
	b.WriteString("# Command line\n\n")
	b.WriteString("A flag is written with `-` or `_`, with `=` or a space, and never shortened. Of a flag that takes one value, given twice, the last one counts.\n" +
		"A comma list on a flag that sweeps makes an axis: `--concurrency 1,4,16`. Words of a fixed choice ignore case and take `-` for `_`.\n\n")
	shared := sharedFlags(commands)
	for _, c := range commands {
		if c.Instead != "" {
			continue
		}
		fmt.Fprintf(&b, "## aiperf %s\n\n%s.\n\n```\n%s\n```\n\n", c.Name,
			upperFirst(c.Usage), strings.TrimSpace(c.Help))
		var own []CLIFlag
		var others []string
		for _, f := range c.Flags {
			if slices.Contains(shared, f) {
				others = append(others, "--"+f.Name)
			} else {
				own = append(own, f)
			}
		}
		b.WriteString(flagTable(own))
		if len(others) > 0 {
			b.WriteString("[Shared flags](#shared-flags): " + codes(others) + ".\n\n")
		}
		if c.Settings {
			b.WriteString("All [settings](#settings) are flags too.\n\n")
		}
	}
	b.WriteString("## Shared flags\n\n" + flagTable(shared))
	b.WriteString("## Settings\n\n")
	group := ""
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			fmt.Fprintf(&b, "### %s\n\n%s", group,
				table([]string{"flags", "value", "default", "sweeps", "what it does", "path"}, rows))
		}
		rows = nil
	}
	for _, o := range options {
		if o.Hidden || o.Instead != "" || o.Unsupported {
			continue
		}
		if o.Group != group {
			flush()
			group = o.Group
		}
		rows = append(rows, settingRow(o))
	}
	flush()
	b.WriteString("Commands and flags of AIPerf that are not here: [differences.md](differences.md).\n")
	return b.String()
}

// sharedFlags are the flags that two commands or more have.
func sharedFlags(commands []CLICommand) (shared []CLIFlag) {
	seen := map[CLIFlag]int{}
	for _, c := range commands {
		for _, f := range c.Flags {
			if seen[f]++; seen[f] == 2 {
				shared = append(shared, f)
			}
		}
	}
	return shared
}

func flagTable(flags []CLIFlag) string {
	var rows [][]string
	for _, f := range flags {
		name := "--" + f.Name
		if f.Arg != "" {
			name += " " + f.Arg
		}
		rows = append(rows, []string{code(name), code(dash(f.Short)), f.Doc})
	}
	if len(rows) == 0 {
		return ""
	}
	return table([]string{"flag", "short", "what it does"}, rows)
}

// AbsentFlags are the flags of AIPerf's that have no effect here, for docs/differences.md.
func AbsentFlags(options []schema.Option) string {
	var rows [][]string
	for _, o := range options {
		if o.Instead != "" || o.Unsupported {
			rows = append(rows, []string{codes(dashes(o)), cmp.Or(o.Instead, "not supported yet")})
		}
	}
	return table([]string{"flags", "instead"}, rows)
}

// Glossary is docs/glossary.md: a row for each word.
func Glossary(rows [][]string) string {
	return Mark("internal/glossary/terms.go") +
		"# Words\n\nWords that this program uses on its screens and pages. `aiperf help WORD` prints the same, and also knows metrics\n" +
		"([metrics.md](metrics.md)), checks ([verdict.md](verdict.md)) and flags ([cli.md](cli.md)).\n\n" +
		table([]string{"word", "also", "meaning"}, rows)
}

// dashes are all names of a flag as they are typed.
func dashes(o schema.Option) (names []string) {
	for _, n := range o.Names {
		names = append(names, "--"+n)
	}
	if o.Short != "" {
		names = append(names, "-"+o.Short)
	}
	if o.Neg != "" {
		names = append(names, "--"+o.Neg)
	}
	return names
}

func settingRow(o schema.Option) []string {
	value, doc, sweeps := o.Kind, o.Doc, ""
	switch {
	case len(o.Enum) > 0:
		value = codes(o.Built())
	case o.Kind == "bool":
		value = ""
	}
	if o.Unit != "" {
		value += ", " + o.Unit
	}
	if o.Words {
		value += ", several words"
	}
	if o.Sweep {
		sweeps = "yes"
	}
	if o.Deprecated != "" {
		doc += " *Deprecated: " + o.Deprecated + ".*"
	}
	path := strings.TrimPrefix(o.Path, "benchmark.")
	return []string{codes(dashes(o)), strings.TrimPrefix(value, ", "), code(o.Default), sweeps, doc, code(path)}
}

func dash(short string) string {
	if short == "" {
		return ""
	}
	return "-" + short
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
