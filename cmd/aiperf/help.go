package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

const rootHelp = `aiperf measures LLM inference servers, and says how far to trust each result.

Start with
  aiperf run examples/experiments/quickstart.cue   on the built-in server
  aiperf profile -m MODEL -u URL --streaming --concurrency 8
  aiperf config init > my.cue                      a file to start from

Commands{{range .VisibleCommands}}{{if not .Category}}
  {{printf "%-12s" .Name}} {{.Usage}}{{end}}{{end}}
MINOR

CODES
`

// helpWidth is how wide help is written, in columns.
const helpWidth = 80

// rootText is rootHelp with the names of the commands that it only lists, and the
// exit codes.
func rootText() string {
	const head, more, width = "  also        ", "              ", helpWidth
	text, line := "", head
	for _, c := range catalogue() {
		if !c.minor {
			continue
		}
		if len(line)+len(c.name)+1 > width {
			text, line = text+strings.TrimRight(line, " ")+"\n", more
		}
		line += " " + c.name
	}
	return strings.NewReplacer("MINOR", text+line, "CODES", exitCodes()).Replace(rootHelp)
}

// exitCodes is the end of the root's help, wrapped; a code and its first word
// stay together.
func exitCodes() string {
	parts := strings.Fields("aiperf COMMAND --help tells more. Exit codes:")
	for i, m := range diag.Meanings() {
		said := strings.Fields(m.Short)
		end := ","
		if i == len(diag.Meanings())-1 {
			end = "."
		}
		parts = append(append(parts, fmt.Sprintf("%d %s", m.Code, said[0])), said[1:]...)
		parts[len(parts)-1] += end
	}
	out, line := "", ""
	for _, w := range parts {
		if len(line)+1+len(w) > helpWidth {
			out, line = out+line+"\n", ""
		} else if line != "" {
			line += " "
		}
		line += w
	}
	return out + line
}

// help answers --help, --help-all and --help WORD. done says that it did.
func (a *app) help(c command, words []string) (done bool, err error) {
	i := slices.IndexFunc(words, func(w string) bool { return w == "--help" || w == "-h" || w == "--help-all" })
	if end := slices.Index(words, "--"); i < 0 || end >= 0 && end < i {
		return false, nil
	}
	var word string
	if i+1 < len(words) {
		word = strings.TrimLeft(words[i+1], "-")
	}
	switch {
	case words[i] == "--help-all":
		c.helpAll(a.Out)
	case word != "":
		return true, c.helpWord(a.Out, word)
	default:
		c.helpShort(a.Out)
	}
	return true, nil
}

// helpShort fits a screen: what the command is for, its own flags and, where
// settings are flags, the commonest of them.
func (c command) helpShort(w io.Writer) {
	fmt.Fprintln(w, strings.TrimSpace(c.help))
	if len(c.flags) > 0 {
		fmt.Fprintln(w, "\nOptions")
		for _, f := range c.flags {
			if f.Minor && c.settings { // --help-all has them; without settings nothing else would
				continue
			}
			printSwitch(w, f)
		}
	}
	if !c.settings {
		return
	}
	fmt.Fprintln(w, "\nCommon settings")
	for _, o := range schema.Options() {
		if slices.Contains(common, o.Names[0]) {
			printOption(w, o, false)
		}
	}
	fmt.Fprintf(w, "\n--help-all lists all %d settings; --help WORD searches them.\n", len(settings()))
}

// settings are the flags that can be used.
func settings() []schema.Option {
	return slices.DeleteFunc(schema.Options(), func(o schema.Option) bool { return o.Instead != "" })
}

// common are the settings that most command lines use.
var common = []string{
	"model-names", "url", "endpoint-type", "streaming", "api-key", "concurrency", "request-rate",
	"request-count", "benchmark-duration", "warmup-request-count", "prompt-input-tokens-mean", "prompt-output-tokens-mean",
	"num-dataset-entries", "input-file", "tokenizer", "goodput", "num-profile-runs", "random-seed", "output-artifact-dir",
}

// helpAll lists everything, under the headings of the schema.
func (c command) helpAll(w io.Writer) {
	c.helpShort(w)
	for _, f := range c.flags {
		if f.Minor {
			printSwitch(w, f)
		}
	}
	group := ""
	for _, o := range c.options() {
		if o.Hidden {
			continue
		}
		if o.Group != group {
			group = o.Group
			fmt.Fprintf(w, "\n%s\n", group)
			if o.Instead != "" {
				fmt.Fprintln(w, "  Flags of AIPerf that this program knows by name only.")
			}
		}
		printOption(w, o, true)
	}
}

// helpWord lists the flags that have word in a name or in what they do.
func (c command) helpWord(w io.Writer, word string) error {
	found := 0
	for _, f := range c.flags {
		if strings.Contains(f.Name+" "+strings.ToLower(f.Doc), strings.ToLower(word)) {
			printSwitch(w, f)
			found++
		}
	}
	for _, o := range c.options() {
		text := strings.Join(o.Names, " ") + " " + o.Short + " " + o.Doc + " " + o.Path
		if strings.Contains(strings.ToLower(text), strings.ToLower(strings.ReplaceAll(word, "_", "-"))) {
			printOption(w, o, true)
			found++
		}
	}
	if found == 0 {
		return diag.New(fmt.Sprintf("no flag of %s has to do with %q", c.name, word), "aiperf "+c.name+" --help-all lists all")
	}
	return nil
}

func printSwitch(w io.Writer, f argv.Switch) {
	name := "--" + f.Name
	if f.Short != "" {
		name = "-" + f.Short + ", " + name
	}
	if f.Arg != "" {
		name += " " + f.Arg
	}
	printTwo(w, name, f.Doc)
}

// printOption prints names, value, doc and what is known about the value.
func printOption(w io.Writer, o schema.Option, all bool) {
	names := []string{}
	if o.Short != "" {
		names = append(names, "-"+o.Short)
	}
	shown := o.Names
	if !all && len(shown) > 1 { // the shortest name is the one people type
		shown = []string{slices.MinFunc(o.Names, func(a, b string) int { return len(a) - len(b) })}
	}
	for _, n := range shown {
		names = append(names, "--"+n)
	}
	if o.Neg != "" && all {
		names = append(names, "--"+o.Neg)
	}
	left := strings.Join(names, ", ")
	if o.Instead != "" {
		printTwo(w, left, "not here: "+o.Instead)
		return
	}
	if o.Kind != "bool" {
		left += " " + strings.ToUpper(o.Kind)
	}
	right := strings.TrimSuffix(strings.TrimSpace(o.Doc), ".")
	if strings.HasPrefix(o.Path, "benchmark.phases.warmup.") {
		right = "Warmup: " + strings.ToLower(right[:1]) + right[1:]
	}
	var notes []string
	if o.Unit != "" {
		notes = append(notes, "in "+o.Unit)
	}
	if words := o.Built(); len(words) > 0 && (all || len(words) <= 2) {
		notes = append(notes, strings.Join(words, " | "))
	}
	if o.Default != "" {
		notes = append(notes, "default "+o.Default)
	}
	if o.Sweep {
		notes = append(notes, "a,b,c sweeps")
	}
	if o.Unsupported {
		notes = append(notes, "not supported yet")
	}
	if o.Deprecated != "" {
		notes = append(notes, "deprecated: "+o.Deprecated)
	}
	if len(notes) > 0 {
		right += " (" + strings.Join(notes, "; ") + ")"
	}
	printTwo(w, left, right)
}

// printTwo prints a name and its text, the text wrapped at 80 columns.
func printTwo(w io.Writer, left, right string) { words.TwoColumns(w, "  "+left, right, 30) }
