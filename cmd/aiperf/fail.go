package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
)

// exit is an error that only sets the exit code: what there was to say has
// been said.
type exit diag.Code

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// fail prints err the way people read it and sets the exit code.
func (a *app) fail(err error) {
	var (
		code exit
		many diag.Errors
	)
	switch {
	case errors.As(err, &code):
		a.code = diag.Code(code)
	case errors.As(err, new(interrupt)): // by hand, while nothing was sent or written yet
		a.code = diag.Interrupted
		fmt.Fprintln(a.Err, "aiperf: interrupted; nothing is written")
	case errors.As(err, &many):
		a.code = diag.Usage
		a.mistakes(many)
	default:
		one := diag.Of(err)
		a.code = one.Exit()
		a.complain(one)
	}
}

// complain prints one mistake: its line, and a second one with what to try.
func (a *app) complain(e *diag.Error) {
	line := e.Error()
	if e.Place == "" || e.Typed() {
		line = "aiperf: " + line // a place in a file comes first, so that an editor finds it
	}
	fmt.Fprintln(a.Err, a.readable(line))
	for _, l := range e.More {
		fmt.Fprintln(a.Err, "  "+a.readable(l))
	}
	if hint := hintOf(e); hint != "" {
		fmt.Fprintf(a.Err, "  hint: %s\n", words.Clean(a.hide.Text(hint)))
	}
}

// mistakes prints every mistake of an experiment, twenty at most.
func (a *app) mistakes(es diag.Errors) {
	const most = 20
	for i, e := range es {
		if i == most {
			fmt.Fprintf(a.Err, "… and %d more\n", len(es)-most)
			break
		}
		a.complain(e)
	}
	if len(es) > 1 {
		fmt.Fprintf(a.Err, "%s; nothing was run\n", words.Count(len(es), "mistake"))
	}
}

// warn prints one line that does not stop anything.
func (a *app) warn(lines ...string) {
	for _, l := range lines {
		fmt.Fprintf(a.Err, "aiperf: warning: %s\n", a.readable(l))
	}
}

// note prints one line that is worth knowing and nothing to worry about.
func (a *app) note(lines ...string) {
	for _, l := range lines {
		said := []string{"aiperf: note: " + a.readable(l)}
		if width := widthOf(a.Err); width > 0 {
			said = words.Fold(said[0], width, "  ")
		}
		fmt.Fprintln(a.Err, strings.Join(said, "\n"))
	}
}

// readable makes a message fit for a screen, without secrets.
func (a *app) readable(message string) string { return readable(a.hide.Text(message)) }

// readable cuts words that no person reads, such as somebody's megabyte as an
// argument.
func readable(message string) string {
	const most = 300
	parts := strings.Split(words.Clean(message), " ")
	for i, w := range parts {
		if r := []rune(w); len(r) > most {
			parts[i] = fmt.Sprintf("%s…(%d characters)", string(r[:40]), len(r))
		}
	}
	return strings.Join(parts, " ")
}

// hintOf is what to try about a mistake. A value of the wrong kind brings no
// hint of its own: then it is what the field is for.
func hintOf(e *diag.Error) string {
	if e.Hint != "" || !e.Kind {
		return e.Hint
	}
	for _, o := range schema.Options() { // a flag that sets a part of its field, such as the mean
		name := strings.TrimLeft(e.Place, "-")
		if e.Typed() && o.At != "" && o.Doc != "" && slices.Contains(o.Names, name) {
			hint := name + ": " + strings.TrimSuffix(o.Doc, ".")
			if o.Default != "" && o.Default != "0" {
				hint += ", such as " + o.Default
			}
			return hint
		}
	}
	field := cmp.Or(e.Field, e.Path)
	for _, at := range []string{field, optionPath(field)} {
		for _, o := range schema.Options() {
			if o.Path == at && o.At == "" && o.Doc != "" {
				return at[strings.LastIndex(at, ".")+1:] + ": " + strings.TrimSuffix(o.Doc, ".")
			}
		}
	}
	return "aiperf schema prints what every field takes"
}

// optionPath is a path as the table of options has it: the flags are about the
// measured phase and the main data set.
func optionPath(path string) string {
	parts := strings.Split(path, ".")
	for i, one := range map[string]string{"phases": "profiling", "datasets": "main"} {
		if len(parts) > 3 && parts[0] == "benchmark" && parts[1] == i {
			parts[2] = one
		}
	}
	return strings.Join(parts, ".")
}

// allFailed says in one line why every request of a result failed, in the
// server's own words, with what to try. It says nothing of other results.
func (a *app) allFailed(res *runner.Result) {
	r := res.Report()
	n := r.Requests
	if n.Failed == 0 || n.Failed < n.In(record.WasSent) || len(r.Errors) == 0 {
		return
	}
	first := r.Errors[0]
	a.complain(diag.New(fmt.Sprintf("all %s failed: %s: %s", words.Count(n.Failed, "request"), first.Kind,
		words.Clip(first.Message, 200)),
		runner.FailedHint(a.hard, first, &res.Plan.Cells[0].Resolved.Benchmark)))
}
