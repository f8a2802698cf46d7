package mockserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
)

// Serve is the body of the mock-server command: flags --port, --log, --seed
// and --parent, then a mock: URL or key=value words. It prints one line,
// "listening http://127.0.0.1:PORT", and serves until ctx ends or it crashes as scripted; with
// --parent also until stdin ends or that process is no longer our parent. A mistake in
// args is a *diag.Error of usage.
func Serve(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	o, err := parseServe(args)
	if err != nil {
		mistake := *diag.Of(err)
		mistake.Code = diag.Usage
		mistake.Message = "mock-server: " + mistake.Message
		return &mistake
	}
	return o.serve(ctx, stdin, stdout)
}

// serveOptions is a parsed command line.
type serveOptions struct {
	cfg    Config
	port   int
	log    string
	parent int
}

func parseServe(args []string) (serveOptions, error) {
	var o serveOptions
	var seed uint64
	f := flag.NewFlagSet("mock-server", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.IntVar(&o.port, "port", 0, "")
	f.StringVar(&o.log, "log", "", "")
	f.Uint64Var(&seed, "seed", 0, "")
	f.IntVar(&o.parent, "parent", 0, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.port < 0 || o.port > 65535 {
		return o, fmt.Errorf("--port %d: want 0 to 65535", o.port)
	}
	var err error
	if words := f.Args(); len(words) == 1 && strings.Contains(words[0], "mock:") {
		o.cfg, err = ParseURL(words[0])
	} else {
		o.cfg, err = ParseWords(words)
	}
	f.Visit(func(fl *flag.Flag) {
		if fl.Name == "seed" {
			o.cfg.Seed = seed
		}
	})
	return o, err
}

func (o serveOptions) serve(ctx context.Context, stdin io.Reader, stdout io.Writer) (err error) {
	if o.log != "" {
		file, openErr := os.Create(o.log)
		if openErr != nil {
			return fmt.Errorf("mock-server log: %w", openErr)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		o.cfg.Log = file
	}
	if o.parent != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		if err := followParent(o.parent); err != nil {
			return err
		}
		go func() { // ends with the process: a read of stdin cannot be called off
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	s := New(o.cfg)
	url, err := s.Start(o.port)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "listening %s\n", url); err != nil {
		return errors.Join(err, s.Close())
	}
	select {
	case <-ctx.Done():
	case <-s.crashed:
	}
	return s.Close()
}
