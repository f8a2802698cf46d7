package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/glossary"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

const rootHelp = `aiperf measures LLM inference servers, and says how far to trust each result.

Start with (mock: is the built-in server)
  aiperf profile -m demo -u mock: --streaming --request-count 200
  aiperf config init compare > ab.cue       then aiperf run ab.cue

Commands{{range .VisibleCommands}}{{if not .Category}}
  {{printf "%-12s" .Name}} {{.Usage}}{{end}}{{end}}
MINOR
CODES
`

// Help is written for 80 columns; on a wider terminal descriptions use up to mostHelp.
const (
	helpWidth = 80
	mostHelp  = 120
)

// rootText is rootHelp with the names of the commands that it only lists, and the
// exit codes.
func rootText() string {
	const head, more, width = "  also", "      ", helpWidth
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
	parts := strings.Fields("aiperf help WORD explains any word. Exit codes:")
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

// section is a few flags under a heading, by their names.
type section struct {
	title string
	flags []string
}

// help answers --help, --help-all and --help WORD. done says that it did.
func (a *app) help(c command, words []string) (done bool, err error) {
	i := slices.IndexFunc(words, func(w string) bool { return w == "--help" || w == "-h" || w == "--help-all" })
	if end := slices.Index(words, "--"); i < 0 || end >= 0 && end < i {
		return false, nil
	}
	h := helpText{a.Out, min(screenWidth(a.Out), mostHelp)}
	switch {
	case words[i] == "--help-all":
		h.everything(c)
	case i+1 < len(words) && strings.Trim(words[i+1], "-") != "":
		return true, h.word(c, words[i+1])
	default:
		h.screen(c)
	}
	return true, nil
}

// helpText is help on its way to a screen.
type helpText struct {
	w     io.Writer
	width int
}

// screen is what the command is for, the flags that people use most, and how to find
// the others.
func (h helpText) screen(c command) {
	if c.help != "" {
		fmt.Fprintln(h.w, strings.TrimSpace(c.help))
	}
	for _, s := range c.often {
		fmt.Fprintf(h.w, "\n%s\n", s.title)
		for _, name := range s.flags {
			h.named(c, name)
		}
	}
	if len(c.often) == 0 && len(c.flags) > 0 {
		fmt.Fprintln(h.w, "\nOptions")
		for _, f := range c.flags {
			if !f.Minor || !c.settings { // without settings there is no longer help
				h.own(f)
			}
		}
	}
	if !c.settings {
		return
	}
	var names []string
	for _, t := range topics() {
		names = append(names, t.Name)
	}
	fmt.Fprintf(h.w, "\nMore: --help TOPIC, or --help and a flag, a metric, or a word from a screen.\n")
	h.two("  topics", strings.Join(names, ", "), 10)
	fmt.Fprintf(h.w, "--help-all lists all %d settings.\n", len(shownSettings()))
}

// named is one of the command's flags, in short.
func (h helpText) named(c command, name string) {
	if i := slices.IndexFunc(c.flags, func(f argv.Switch) bool { return f.Name == name }); i >= 0 {
		h.own(c.flags[i])
		return
	}
	for _, o := range c.options() {
		if slices.Contains(o.Names, name) {
			if from, ok := c.chosen[name]; ok {
				o.Default = from
			}
			h.option(o, name)
		}
	}
}

// topics are the headings of flags: the settings', and that of a command's own file.
func topics() []schema.Topic {
	return append([]schema.Topic{{Name: "file", Doc: "the experiment's file, and values laid over it"}},
		schema.Topics()...)
}

// everything lists all flags by topic.
func (h helpText) everything(c command) {
	fmt.Fprintln(h.w, strings.TrimSpace(c.help))
	if !c.settings {
		h.screen(command{flags: c.flags})
		return
	}
	if own := having(c.flags, func(f argv.Switch) bool { return f.Topic == "" }); len(own) > 0 {
		h.screen(command{flags: own})
	}
	for _, t := range topics() {
		fmt.Fprintln(h.w)
		h.topic(c, t)
	}
}

// topic lists the flags of a topic.
func (h helpText) topic(c command, t schema.Topic) {
	fmt.Fprintf(h.w, "%s: %s\n", t.Name, t.Doc)
	for _, f := range c.flags {
		if f.Topic == t.Name {
			h.own(f)
		}
	}
	for _, o := range c.options() {
		if o.Topic() == t.Name {
			h.option(o, "")
		}
	}
}

// word is what a word means and which flags have to do with it: a topic, a flag, or a
// word of the glossary, else the flags that mention it.
func (h helpText) word(c command, word string) error {
	name := strings.ToLower(strings.TrimLeft(word, "-"))
	found := false
	part := func() {
		if found {
			fmt.Fprintln(h.w)
		}
		found = true
	}
	explain := func(k glossary.Kind) {
		entries, _ := k.Explain(name) // none where the word is of another kind
		for _, entry := range entries {
			part()
			for _, l := range entry {
				h.two("  "+l.Label, l.Text, 15)
			}
		}
	}
	for _, k := range explained() {
		explain(k)
	}
	for _, t := range topics() {
		if t.Name == name && c.settings {
			part()
			h.topic(c, t)
			return nil
		}
	}
	if o, ok := absent(name); ok && c.settings {
		return diag.New("--"+name+": a flag of AIPerf that has no effect here",
			cmp.Or(o.Instead, "leave it out"))
	}
	own, options := c.mention(name, !found)
	if len(own)+len(options) > 0 {
		if found {
			part()
			fmt.Fprintln(h.w, "Flags")
		}
		found = true
	}
	for _, f := range own {
		h.own(f)
	}
	for _, o := range options {
		h.option(o, "")
	}
	if k, ok := glossary.Find("setting"); ok && !found { // one that has no flag
		explain(k)
	}
	if k, ok := glossary.Find("term"); ok && !found { // a phrase of a screen
		for _, term := range glossary.Within(name) {
			name = term
			explain(k)
		}
	}
	if found {
		return nil
	}
	return diag.New(fmt.Sprintf("help knows no topic, flag, metric, column or other word %q", word), c.near(name))
}

// mention is the flags whose names have the word; where none has, and texts are to be
// searched, those whose descriptions have it.
func (c command) mention(word string, texts bool) (own []argv.Switch, options []schema.Option) {
	all := c.options()
	own = having(c.flags, func(f argv.Switch) bool { return calls(f.Name, word) })
	options = having(all, func(o schema.Option) bool {
		return slices.ContainsFunc(dashed(o), func(name string) bool { return calls(name, word) })
	})
	if len(own)+len(options) > 0 || !texts {
		return own, options
	}
	return having(c.flags, func(f argv.Switch) bool { return speaks(f.Doc, word, plural) }),
		having(all, func(o schema.Option) bool { return speaks(o.Doc, word, plural) || calls(o.Path, word) })
}

// calls reports whether the words of a name have those of word, one after another: each whole, or a
// beginning of three letters or more; a hyphen too many does not matter.
func calls(name, word string) bool {
	same := func(has, typed string) bool {
		return plural(has, typed) || len(typed) >= 3 && strings.HasPrefix(has, typed)
	}
	return speaks(name, word, same) || speaks(name, strings.ReplaceAll(word, "-", ""), same) // warm-up
}

// speaks reports whether a text has the words of a phrase, one after another.
func speaks(text, phrase string, same func(has, typed string) bool) bool {
	split := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
	}
	has, typed := split(text), split(phrase)
	for i := range len(has) - len(typed) + 1 {
		if len(typed) > 0 && slices.EqualFunc(has[i:i+len(typed)], typed, same) {
			return true
		}
	}
	return false
}

// plural reports whether two words are the same, but for an s at the end of one.
func plural(a, b string) bool { return strings.TrimSuffix(a, "s") == strings.TrimSuffix(b, "s") }

func having[T any](all []T, has func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool { return !has(x) })
}

// explained are the kinds of words that help knows beside flags.
func explained() []glossary.Kind {
	return having(glossary.Kinds(), func(k glossary.Kind) bool { return k.Name != "setting" })
}

// near is the hint for a word that help does not know: the nearest that it does.
func (c command) near(word string) string {
	var known []string
	for _, t := range topics() {
		known = append(known, t.Name)
	}
	for _, k := range explained() {
		known = append(known, k.Names()...)
	}
	for _, f := range c.flags {
		known = append(known, f.Name)
	}
	for _, o := range c.options() {
		known = append(known, o.Names...)
	}
	if near := suggest.Some(word, known, 3); len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "?"
	}
	return "aiperf " + c.name + " --help names the topics"
}

// own prints a flag of the program.
func (h helpText) own(f argv.Switch) {
	name := "--" + f.Name
	if f.Short != "" {
		name = "-" + f.Short + ", " + name
	}
	if f.Arg != "" {
		name += " " + f.Arg
	}
	h.two("  "+name, f.Doc, 30)
}

// dashed are the long names of a flag as they are typed.
func dashed(o schema.Option) (names []string) {
	for _, n := range o.Names {
		names = append(names, "--"+n)
	}
	if o.Neg != "" {
		names = append(names, "--"+o.Neg)
	}
	return names
}

// option prints a setting: all of its names and all that is known of its value, or in
// short by one name.
func (h helpText) option(o schema.Option, brief string) {
	names := dashed(o)
	if brief != "" {
		names = []string{"--" + brief}
	}
	if o.Short != "" {
		names = append([]string{"-" + o.Short}, names...)
	}
	left := strings.Join(names, ", ")
	if o.Kind != "bool" {
		left += " " + strings.ToUpper(o.Kind)
	}
	right := strings.TrimSuffix(strings.TrimSpace(o.Doc), ".")
	if brief != "" {
		right, _, _ = strings.Cut(right, ". ")
	}
	if right = lowerFirst(right); strings.HasPrefix(o.Path, "benchmark.phases.warmup.") {
		right = "warmup: " + right
	}
	var notes []string
	if o.Unit != "" && brief == "" && !strings.Contains(right, "seconds") {
		notes = append(notes, "in "+o.Unit)
	}
	if words := o.Built(); len(words) > 0 && brief == "" {
		notes = append(notes, strings.Join(words, " | "))
	}
	if o.Default != "" && (o.Kind != "bool" || o.Default != "false") {
		notes = append(notes, "default "+o.Default)
	}
	if o.Sweep && brief == "" {
		notes = append(notes, "a,b,c sweeps")
	}
	if o.Deprecated != "" {
		notes = append(notes, "deprecated: "+o.Deprecated)
	}
	if len(notes) > 0 {
		right += " (" + strings.Join(notes, "; ") + ")"
	}
	lines := words.Fold(left, h.width-2, "  ")
	for _, l := range lines[:len(lines)-1] {
		fmt.Fprintln(h.w, "  "+l)
	}
	h.two("  "+lines[len(lines)-1], right, 30)
}

// lowerFirst makes a sentence an entry of a list; an abbreviation such as HTTP stays.
func lowerFirst(s string) string {
	if len(s) > 1 && 'A' <= s[0] && s[0] <= 'Z' && !('A' <= s[1] && s[1] <= 'Z') {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

func (h helpText) two(left, right string, column int) {
	words.TwoColumnsWithin(h.w, left, right, column, h.width)
}

// printTwo prints a name and its text, the text wrapped at 80 columns.
func printTwo(w io.Writer, left, right string) { words.TwoColumns(w, "  "+left, right, 30) }
