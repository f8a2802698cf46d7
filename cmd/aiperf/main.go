// Command aiperf measures LLM inference servers. This package holds arguments,
// streams, signals and exit codes and nothing else: a subcommand, or a family of
// them, is one file with its help, its flags and one function of plain Go values.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
)

func main() {
	// Two contexts: the first interrupt ends issue, the second ends hard.
	issue, stopIssuing := context.WithCancelCause(context.Background())
	hard, stopAll := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 3) // a third must not be lost while the second is handled
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup means to go on; a terminal that went away asks to end well
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		stopIssuing(interrupt{<-signals})
		stopAll(interrupt{<-signals})
		<-signals
		os.Exit(int(diag.Interrupted))
	}()
	signal.Ignore(syscall.SIGPIPE)
	out := &quietPipe{w: os.Stdout}
	out.ascii = terminal(out) && words.ASCIITerminal(os.Getenv)
	os.Exit(int(out.exit(run(issue, hard, os.Args[1:], stdio{os.Stdin, out, os.Stderr}), os.Stderr)))
}

// interrupt is the cause of a context that a signal ended.
type interrupt struct{ os.Signal }

func (i interrupt) Error() string { return i.String() }

// stdio is the three streams of a command. Out holds the result and nothing
// else; Err holds the rest.
type stdio struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// quietPipe is a stream whose reader may go away, as in aiperf … | head -1.
// What nobody reads any more is not written and is no failure: results are
// files, and the exit code is theirs. Other failures stay failures.
type quietPipe struct {
	w     io.Writer
	gone  bool
	ascii bool  // a terminal that shows nothing else
	err   error // the first failure: part of the result was not written
}

func (q *quietPipe) Write(b []byte) (int, error) {
	if q.gone {
		return len(b), nil
	}
	text := b
	if q.ascii {
		text = []byte(words.ASCII(string(b)))
	}
	_, err := q.w.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		q.gone, err = true, nil
	}
	if err != nil {
		q.err = cmp.Or(q.err, err)
		return 0, err
	}
	return len(b), nil
}

// exit is code, unless all went well but for the result itself: then stderr
// says so.
func (q *quietPipe) exit(code diag.Code, stderr io.Writer) diag.Code {
	if code != diag.OK || q.err == nil {
		return code
	}
	fmt.Fprintf(stderr, "aiperf: %v\n", q.err)
	return diag.Failed
}

// self is the path of this program, which is the built-in server too. Where
// the kernel does not tell, as without /proc, it is what was called.
func self() (string, error) {
	if exe, err := os.Executable(); err == nil {
		return exe, nil
	}
	exe, err := exec.LookPath(os.Args[0])
	if err != nil {
		return "", err
	}
	return filepath.Abs(exe)
}
