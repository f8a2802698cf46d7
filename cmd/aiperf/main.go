// Command aiperf measures LLM inference servers. This package holds arguments,
// streams, signals and exit codes and nothing else: each subcommand is one
// file with its help, its flags and one function of plain Go values.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"aiperf.dev/aiperf/internal/diag"
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
