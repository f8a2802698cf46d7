package docgen

import (
	"fmt"
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
	var absent []CLICommand
	for _, c := range commands {
		if c.Instead != "" {
			absent = append(absent, c)
			continue
		}
		fmt.Fprintf(&b, "## aiperf %s\n\n%s.\n\n```\n%s\n```\n\n", c.Name, upperFirst(c.Usage), strings.TrimSpace(c.Help))
		var rows [][]string
		for _, f := range c.Flags {
			name := "--" + f.Name
			if f.Arg != "" {
				name += " " + f.Arg
			}
			rows = append(rows, []string{code(name), code(dash(f.Short)), f.Doc})
		}
		if len(rows) > 0 {
			b.WriteString(table([]string{"flag", "short", "what it does"}, rows))
		}
		if c.Settings {
			b.WriteString("All [settings](#settings) are flags too.\n\n")
		}
	}
	b.WriteString("## Commands of AIPerf that are not here\n\nThey are refused by name, with exit code 2.\n\n")
	b.WriteString(Absent(absent))
	b.WriteString("## Settings\n\n")
	group := ""
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			fmt.Fprintf(&b, "### %s\n\n%s", group, table([]string{"flags", "value", "default", "sweeps", "what it does", "path"}, rows))
		}
		rows = nil
	}
	var missing [][]string
	for _, o := range options {
		if o.Hidden {
			continue
		}
		if o.Instead != "" {
			missing = append(missing, []string{codes(dashes(o)), o.Instead})
			continue
		}
		if o.Group != group {
			flush()
			group = o.Group
		}
		rows = append(rows, settingRow(o))
	}
	flush()
	if len(missing) > 0 {
		b.WriteString("## Flags of AIPerf that are not here\n\nThey are known by name: one that asks for something is refused with what to do instead.\n\n" +
			table([]string{"flags", "instead"}, missing))
	}
	return b.String()
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
	if o.Unsupported {
		doc += " *Not supported yet.*"
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
