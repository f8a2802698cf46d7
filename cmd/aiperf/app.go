package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/report/live"
	"aiperf.dev/aiperf/sweep"
)

// app is one invocation: its streams, its two contexts (issue ends at the first
// interrupt, hard at the second) and the exit code it will have.
type app struct {
	issue, hard context.Context
	stdio
	code diag.Code
	hide *secret.Masker                   // of the experiment, once it is known
	env  func(name string) (string, bool) // what an experiment reads of the environment; nil: all of it

	sharing   int // workers that share what an experiment sends; below 2 one process sends it
	temporary temporaries
	measured  func(*app, *sweep.Plan, *runner.Result) error // follows a measurement; nil for nothing
}

// run is main without the process around it. It returns the exit code.
func run(issue, hard context.Context, args []string, std stdio) diag.Code {
	a := &app{issue: issue, hard: hard, stdio: std}
	defer a.temporary.remove()
	if len(args) > 1 && (args[0] == "--help" || args[0] == "-h") {
		args = append([]string{"help"}, args[1:]...)
	}
	switch {
	case len(args) == 0, args[0] == "help" && (len(args) == 1 || args[1] == "help"):
		args = []string{"--help"}
	case args[0] == "help" && (args[1] == "--help" || args[1] == "-h"):
		args = []string{"--help"}
	case args[0] == "help" && slices.ContainsFunc(catalogue(), func(c command) bool { return c.name == args[1] }):
		args = append(having(args[1:], func(w string) bool { return w != "--help" && w != "-h" }), "--help")
	case args[0] == "help": // any other word, as profile knows it: it has every flag
		args = []string{"profile", "--help", strings.Join(args[1:], " ")}
	case args[0] == "-V":
		args = []string{"--version"}
	}
	for _, w := range args {
		if !utf8.ValidString(w) {
			a.fail(diag.New(fmt.Sprintf("%q is not UTF-8", w), ""))
			return a.code
		}
	}
	if args[0] == live.GuardWord {
		live.Guard(os.Stdin, os.Stdout, os.Stderr)
		return a.code
	}
	if args[0] == completeWord {
		a.complete(args[1:])
		return a.code
	}
	root := a.root()
	if name := args[0]; !strings.HasPrefix(name, "-") && root.Command(name) == nil && name != "help" {
		a.fail(unknownCommand(name, root))
		return a.code
	}
	if err := root.Run(hard, append([]string{"aiperf"}, args...)); err != nil {
		a.fail(err)
	}
	return a.code
}

// root is the command tree. Subcommands parse their own arguments (args.go),
// because flags come from the schema and follow its rules.
func (a *app) root() *cli.Command {
	root := &cli.Command{
		Name: "aiperf", Usage: "measure LLM inference servers, with evidence that the numbers are theirs",
		Version: version, Writer: a.Out, ErrWriter: a.Err, Reader: a.In,
		CustomRootCommandHelpTemplate: rootText(), HideHelpCommand: true,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		OnUsageError: func(_ context.Context, _ *cli.Command, err error, _ bool) error {
			if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
				return argv.NewTable([]argv.Switch{{Name: "version", Short: "v"}},
					nil).Unknown("--" + strings.TrimLeft(name, "-"))
			}
			return diag.New(err.Error(), "aiperf --help")
		},
	}
	for _, c := range catalogue() {
		root.Commands = append(root.Commands, a.command(c))
	}
	return root
}

// command is one subcommand: a row of the catalogue in commands.go.
type command struct {
	name  string
	usage string // one line for the list of commands
	help  string // shown by --help above the flags
	flags []argv.Switch
	// often are the flags that help shows first; the others are found by topic. Without
	// any it shows the command's own.
	often []section
	// chosen are settings whose default the command works out itself, and what help says of it; "" where the
	// text above does.
	chosen map[string]string
	// settings says that every setting of the experiment is also a flag.
	settings bool
	// files says that its words are names of files, not of commands.
	files  bool
	hidden bool
	minor  bool // help lists it by its name only
	// subs are the commands below this one; it does nothing by itself then, unless
	// it has words.
	subs []command
	// instead says what to use where a command of AIPerf's is not here.
	instead string
	// raw runs the command on its words as typed, for words that are not ours.
	raw func(*app, command, []string) error
	// words are what may stand where a plain word does, after those before it,
	// for completion; nil leaves the shell to offer files.
	words func(before []string) []string
	run   func(*app, *argv.Line) error
	// refused adds to what is said of a command line that cannot be read; nil adds nothing.
	refused func(error)
}

// category parts the commands that help explains from those it names.
func (c command) category() string {
	if c.minor {
		return "minor"
	}
	return ""
}

func (a *app) command(c command) *cli.Command {
	return &cli.Command{
		Name: c.name, Usage: c.usage, SkipFlagParsing: true, HideHelp: true, Hidden: c.hidden,
		HideHelpCommand: true, Category: c.category(),
		Action: func(_ context.Context, cmd *cli.Command) error { return a.dispatch(c, cmd.Args().Slice()) },
	}
}

// dispatch runs c, or the command below it that words name.
func (a *app) dispatch(c command, words []string) error {
	if c.instead != "" {
		return compat.Absent{Name: c.name, Instead: c.instead}.Refuse()
	}
	if len(c.subs) > 0 {
		sub, rest, err := c.below(words)
		if err != nil || sub != nil {
			if err != nil {
				return err
			}
			return a.dispatch(*sub, rest)
		}
	}
	if c.name == runCommand.name || c.name == profileCommand.name {
		if rest, there := onKube(words); there {
			return a.dispatch(kubeProfileCommand, rest)
		}
	}
	if done, err := a.help(c, words); done {
		return err
	}
	if c.raw != nil {
		return c.raw(a, c, words)
	}
	p, err := argv.Parse(words, c.flags, c.accepted())
	if err != nil {
		if c.refused != nil {
			c.refused(err)
		}
		return a.andValues(c, p, err)
	}
	if c.files {
		if err := second(p.Words); err != nil {
			return err
		}
	}
	a.note(p.Notes...)
	if c.settings {
		if err := a.environment(p); err != nil {
			return err
		}
	}
	return c.run(a, p)
}

// andValues adds to the mistakes of a command line the wrong values of its other
// settings, so that all are named at once. What follows from a flag that could not be
// read is left out: what is missing, and what several settings are together.
func (a *app) andValues(c command, p *argv.Line, err error) error {
	if !c.settings {
		return err
	}
	file := p.Get("config")
	if file == "" && len(p.Words) > 0 {
		file = p.Words[0]
	}
	_, also := a.open(c.name, file, p)
	var more schema.Errors
	if !errors.As(also, &more) {
		var one *diag.Error
		if !errors.As(also, &one) {
			return err
		}
		more = schema.Errors{one}
	}
	more = slices.DeleteFunc(slices.Clone(more), func(e *diag.Error) bool {
		return e.Missing || e.Ruled || e.Taken || e.Unknown || !e.Typed()
	})
	if len(more) == 0 {
		return err
	}
	var all schema.Errors
	if !errors.As(err, &all) {
		all = schema.Errors{diag.Of(err)}
	}
	return append(slices.Clone(all), more...)
}

// second refuses the name of a command among the words of another one, such as
// "profile validate": two were never meant at once. A file of that name is a file.
func second(words []string) error {
	for i, w := range words {
		row := slices.IndexFunc(catalogue(), func(c command) bool {
			return c.name == w && !c.hidden &&
				c.instead == ""
		})
		if _, err := os.Lstat(w); row < 0 || err == nil {
			continue
		}
		rest := strings.Join(slices.Concat(words[:i], words[i+1:]), " ")
		return diag.New(w+" is a separate command", "one command at a time, at the beginning: aiperf "+w+" "+
			cmp.Or(rest, "…"))
	}
	return nil
}

// below finds the command that the first word names; none is right only in
// front of --help.
func (c command) below(words []string) (sub *command, rest []string, err error) {
	var names []string
	for i := range c.subs {
		name := strings.TrimPrefix(c.subs[i].name, c.name+" ")
		if len(words) > 0 && words[0] == name {
			return &c.subs[i], words[1:], nil
		}
		if !c.subs[i].hidden {
			names = append(names, name)
		}
	}
	if c.words != nil {
		return nil, nil, nil // words of its own beside them
	}
	hint := "aiperf " + c.name + " " + strings.Join(names, ", ")
	if len(words) == 0 {
		return nil, nil, diag.New(c.name+": what?", hint)
	}
	if strings.HasPrefix(words[0], "-") {
		return nil, nil, nil
	}
	if s := schema.Suggest(words[0], names); s != "" {
		hint = "did you mean " + s + "?"
	}
	return nil, nil, diag.New(c.name+": unknown word "+words[0], hint)
}

// options are the settings that the command takes as flags and that have an effect;
// a flag of its own goes before the setting of its name.
func (c command) options() []schema.Option {
	if !c.settings {
		return nil
	}
	return slices.DeleteFunc(shownSettings(), func(o schema.Option) bool {
		return slices.ContainsFunc(c.flags, func(f argv.Switch) bool { return f.Name == o.Names[0] })
	})
}

// shownSettings are those that help lists: also one that a command has as a flag of its own.
func shownSettings() []schema.Option {
	return having(schema.Options(), func(o schema.Option) bool {
		return !o.Hidden && o.Instead == "" && !o.Unsupported
	})
}

// accepted are all that it knows, also those that are refused with what to do instead.
func (c command) accepted() []schema.Option {
	if !c.settings {
		return nil
	}
	return schema.Options()
}

// absent is the flag of AIPerf's of that name that has no effect here.
func absent(name string) (schema.Option, bool) {
	all := schema.Options()
	i := slices.IndexFunc(all, func(o schema.Option) bool {
		return (o.Instead != "" || o.Unsupported) && slices.Contains(o.Names, name)
	})
	if i < 0 {
		return schema.Option{}, false
	}
	return all[i], true
}

func unknownCommand(name string, root *cli.Command) error {
	var names []string
	for _, c := range root.VisibleCommands() {
		names = append(names, c.Name)
	}
	e := diag.New(name+": unknown command", "aiperf --help lists them")
	switch name { // blocks of an experiment
	case "search":
		e.Hint = `aiperf quick searches for the most users; in a file it is search: {path: "concurrency", range: [1, 64]}`
		return e
	case "sweep":
		e.Hint = "a list of values sweeps: aiperf profile … --concurrency 1,4,16; in a file it is sweep: {parameters: {…}}"
		return e
	}
	if s := schema.Suggest(name, names); s != "" {
		e.Hint = "did you mean " + s + "?"
	}
	return e
}

// environment applies AIPerf's variables: those that are honoured go below the
// flags, those that are not and change results are refused, all others are
// named in one warning.
func (a *app) environment(p *argv.Line) error {
	assigns, told, ignored, err := compat.Environment(os.Environ())
	if err != nil {
		return err
	}
	a.warn(told...)
	p.Assigns = append(assigns, p.Assigns...)
	switch len(ignored) {
	case 0:
	case 1:
		a.warn(ignored[0] + " has no effect here")
	default:
		a.warn(strings.Join(ignored, ", ") + " have no effect here")
	}
	return nil
}
