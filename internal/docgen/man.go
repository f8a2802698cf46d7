package docgen

import (
	"fmt"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// ManName is the name of a command's page: aiperf-config-convert.
func ManName(command string) string {
	return strings.TrimSuffix("aiperf-"+strings.ReplaceAll(command, " ", "-"), "-")
}

// Man is the manual page of one command in section 1, in the man macros. The
// command without a name is the program itself: its page lists the others.
func Man(c CLICommand, all []CLICommand, options []schema.Option) string {
	var b strings.Builder
	full := strings.TrimSpace("aiperf " + c.Name)
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(strings.ToUpper(ManName(c.Name))),
		roff(ManName(c.Name)), roff(c.Usage), roff(full))
	if len(c.Flags) > 0 || c.Settings {
		b.WriteString("[options] ")
	}
	b.WriteString("[words]\n.SH DESCRIPTION\n" + roffText(c.Help))
	entry := func(names []string, value, doc string) {
		b.WriteString(".TP\n.B " + roff(strings.Join(names, ", ")))
		if value != "" {
			b.WriteString(" \\fI" + roff(value) + "\\fR")
		}
		b.WriteString("\n" + roff(doc) + "\n")
	}
	if len(c.Flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range c.Flags {
			names := []string{"--" + f.Name}
			if f.Short != "" {
				names = append(names, "-"+f.Short)
			}
			entry(names, f.Arg, f.Doc)
		}
	}
	if c.Settings {
		b.WriteString(".SH SETTINGS\n")
		group := ""
		for _, o := range options {
			if o.Hidden || o.Instead != "" {
				continue
			}
			if o.Group != group {
				group = o.Group
				b.WriteString(".SS " + roff(group) + "\n")
			}
			entry(dashes(o), o.Kind, o.Doc)
		}
	}
	if c.Name == "" {
		b.WriteString(".SH COMMANDS\n")
		for _, other := range all {
			if other.Name != "" && other.Instead == "" {
				entry([]string{"aiperf " + other.Name}, "", upperFirst(other.Usage)+".")
			}
		}
	} else {
		b.WriteString(".SH SEE ALSO\n.BR aiperf (1)\n")
	}
	return b.String()
}

// roff makes text safe in a line of a manual page.
func roff(s string) string {
	s = strings.NewReplacer("\\", "\\e", "-", "\\-", "`", "", "*", "").Replace(s)
	s = strings.Join(strings.Fields(s), " ")
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = "\\&" + s
	}
	return s
}

// roffText sets a help text: sentences flow, and lines that are indented, which are
// commands and lists, stand as they are, near the edge, so that they fit 80 columns.
func roffText(s string) string {
	var b strings.Builder
	shown := false
	show := func(now bool) {
		if now != shown {
			b.WriteString(map[bool]string{true: ".in 2n\n.nf\n", false: ".fi\n.in\n"}[now])
		}
		shown = now
	}
	for line := range strings.Lines(strings.TrimSpace(s) + "\n") {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			show(false)
			b.WriteString(".PP\n")
			continue
		}
		show(strings.HasPrefix(line, " "))
		line = strings.NewReplacer("\\", "\\e", "-", "\\-").Replace(strings.TrimPrefix(line, "  "))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = "\\&" + line
		}
		b.WriteString(line + "\n")
	}
	show(false)
	return b.String()
}
