package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"aiperf.dev/aiperf/schema"
)

// app is one invocation: its streams, its two contexts (issue ends at the first
// interrupt, hard at the second) and the exit code it will have.
type app struct {
	issue, hard context.Context
	stdio
	code int
}

// run is main without the process around it. It returns the exit code.
func run(issue, hard context.Context, args []string, std stdio) int {
	a := &app{issue: issue, hard: hard, stdio: std}
	if len(args) == 0 || args[0] == "help" && len(args) == 1 {
		args = []string{"--help"}
	}
	for _, w := range args {
		if !utf8.ValidString(w) {
			a.fail(&usageError{fmt.Sprintf("%q is not UTF-8", w), ""})
			return a.code
		}
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
		CustomRootCommandHelpTemplate: rootHelp, HideHelpCommand: true,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		OnUsageError: func(_ context.Context, _ *cli.Command, err error, _ bool) error {
			return &usageError{err.Error(), "aiperf --help"}
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
	flags []switchFlag
	// settings says that every setting of the experiment is also a flag.
	settings bool
	hidden   bool
	// subs are the commands below this one; it does nothing by itself then.
	subs []command
	// instead says what to use where a command of AIPerf's is not here.
	instead string
	// raw runs the command on its words as typed, for words that are not ours.
	raw func(*app, command, []string) error
	run func(*app, *parsed) error
}

func (a *app) command(c command) *cli.Command {
	return &cli.Command{
		Name: c.name, Usage: c.usage, SkipFlagParsing: true, HideHelp: true, Hidden: c.hidden, HideHelpCommand: true,
		Action: func(_ context.Context, cmd *cli.Command) error { return a.dispatch(c, cmd.Args().Slice()) },
	}
}

// dispatch runs c, or the command below it that words name.
func (a *app) dispatch(c command, words []string) error {
	if c.instead != "" {
		return c.refuse()
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
	if done, err := a.help(c, words); done {
		return err
	}
	if c.raw != nil {
		return c.raw(a, c, words)
	}
	p, err := parseArgs(words, c.flags, c.options())
	if err != nil {
		return err
	}
	if c.settings {
		if err := a.environment(p); err != nil {
			return err
		}
	}
	return c.run(a, p)
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
		names = append(names, name)
	}
	hint := "aiperf " + c.name + " " + strings.Join(names, ", ")
	if len(words) == 0 {
		return nil, nil, &usageError{c.name + ": what?", hint}
	}
	if strings.HasPrefix(words[0], "-") {
		return nil, nil, nil
	}
	if s := schema.Suggest(words[0], names); s != "" {
		hint = "did you mean " + s + "?"
	}
	return nil, nil, &usageError{c.name + ": unknown word " + words[0], hint}
}

func (c command) options() []schema.Option {
	if !c.settings {
		return nil
	}
	return schema.Options()
}

func unknownCommand(name string, root *cli.Command) error {
	var names []string
	for _, c := range root.VisibleCommands() {
		names = append(names, c.Name)
	}
	e := &usageError{name + ": unknown command", "aiperf --help lists them"}
	if s := schema.Suggest(name, names); s != "" {
		e.hint = "did you mean " + s + "?"
	}
	return e
}

// exit is an error that only sets the exit code: what there was to say has
// been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// failure is an error that ends with an exit code of its own and a hint.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail prints err the way people read it and sets the exit code.
func (a *app) fail(err error) {
	var (
		code  exit
		use   *usageError
		many  schema.Errors
		fatal *failure
	)
	a.code = exitUsage
	switch {
	case errors.As(err, &code):
		a.code = int(code)
	case errors.As(err, &many):
		a.mistakes(many)
	case errors.As(err, &use):
		a.complain(use.message, use.hint)
	case errors.As(err, &fatal):
		a.code = fatal.code
		a.complain(fatal.Error(), fatal.hint)
	default:
		a.code = exitFailed
		a.complain(err.Error(), "")
	}
}

func (a *app) complain(message, hint string) {
	fmt.Fprintf(a.Err, "aiperf: %s\n", readable(message))
	if hint != "" {
		fmt.Fprintf(a.Err, "  hint: %s\n", hint)
	}
}

// readable cuts words that no person reads: somebody's megabyte as an argument.
func readable(message string) string {
	const most = 300
	words := strings.Split(message, " ")
	for i, w := range words {
		if r := []rune(w); len(r) > most {
			words[i] = fmt.Sprintf("%s…(%d characters)", string(r[:40]), len(r))
		}
	}
	return strings.Join(words, " ")
}

// mistakes prints every mistake of an experiment, twenty at most.
func (a *app) mistakes(es schema.Errors) {
	const most = 20
	for i, e := range es {
		if i == most {
			fmt.Fprintf(a.Err, "… and %d more\n", len(es)-most)
			break
		}
		line := e.Error()
		if e.Place == "" || strings.HasPrefix(e.Place, "-") {
			line = "aiperf: " + line
		}
		fmt.Fprintln(a.Err, readable(line))
		if hint := hintOf(e); hint != "" {
			fmt.Fprintf(a.Err, "  hint: %s\n", hint)
		}
	}
	if len(es) > 1 {
		fmt.Fprintf(a.Err, "%d mistakes; nothing was run\n", len(es))
	}
}

// warn prints one line that does not stop anything.
func (a *app) warn(lines ...string) {
	for _, l := range lines {
		fmt.Fprintf(a.Err, "aiperf: warning: %s\n", l)
	}
}
