package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/cluster"
)

var workersFlag = argv.Switch{
	Name: "workers", Arg: "N", Topic: "load",
	Doc: "send the load from N processes on this machine, which share each run: the load is what it is with one",
}

var workerCommand = command{
	minor: true, name: "worker", usage: "send a part of the load of another aiperf",
	help: `aiperf worker --join URL joins the program that aiperf run --workers has begun,
and sends its part of every run. It ends with it.`,
	flags: []argv.Switch{
		{Name: "join", Arg: "URL", Doc: "address of the coordinator, as in nats://127.0.0.1:4222"},
		{Name: "index", Arg: "K", Doc: "which worker it is, from 0 on; without it one that is missing"},
		{Name: "token-file", Arg: "FILE", Doc: "file with the token that the coordinator wants; - is stdin"},
	},
	run: func(a *app, p *argv.Line) error {
		if !p.Has("join") || !p.Has("token-file") {
			return diag.New("worker: --join and --token-file are needed",
				"aiperf run FILE --workers 2 starts its workers itself")
		}
		in := a.In
		if name := p.Get("token-file"); name != "-" {
			f, err := os.Open(name)
			if err != nil {
				return diag.New("--token-file: "+err.Error(), "")
			}
			defer f.Close()
			in = f
		}
		token, err := io.ReadAll(io.LimitReader(in, 1<<10))
		if err != nil {
			return diag.New("--token-file: "+err.Error(), "")
		}
		k := int64(-1)
		if p.Has("index") {
			if k, err = strconv.ParseInt(p.Get("index"), 10, 64); err != nil || k < 0 {
				return diag.New(fmt.Sprintf("--index: %s is no number from 0 on", p.Get("index")), "")
			}
		}
		return cluster.Join(a.hard, p.Get("join"), strings.TrimSpace(string(token)), version, k)
	},
}

// workers starts the processes that --workers asks for and has them send what the plan
// says. end lets them go.
func (a *app) workers(p *argv.Line, opt *runner.Options) (end func() error, err error) {
	if !p.Has("workers") {
		return func() error { return nil }, nil
	}
	n, err := strconv.Atoi(p.Get("workers"))
	if err != nil || n < 1 || n > mostWorkers {
		return nil, diag.New(fmt.Sprintf("--workers: %s is not a number from 1 to %d", p.Get("workers"), mostWorkers), "")
	}
	c, err := cluster.Open(a.issue, cluster.Options{
		Workers: n, Version: version,
		Launch: func(url, token string, k int64) (*cluster.Process, error) { return launch(opt.Exe, url, token, k) },
	})
	if err != nil {
		return nil, &diag.Error{Code: diag.Failed, Message: "--workers: " + err.Error(), Cause: err}
	}
	opt.Driver = c.Driver()
	return c.Close, nil
}

// mostWorkers is how many processes one machine is asked for at most.
const mostWorkers = 256

// launch starts a worker on this machine.
func launch(exe, url, token string, k int64) (*cluster.Process, error) {
	cmd := exec.Command(exe, "worker", "--join", url, "--token-file", "-", "--index", strconv.FormatInt(k, 10))
	cmd.Stdin = strings.NewReader(token)
	var said bytes.Buffer // a line, if anything
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &cluster.Process{Over: make(chan struct{}), Kill: func() { _ = cmd.Process.Kill() }}
	go func() {
		defer close(w.Over)
		if w.Err = cmd.Wait(); w.Err != nil && said.String() != "" {
			w.Err = fmt.Errorf("%w: %s", w.Err, strings.TrimSpace(said.String()))
		}
	}()
	return w, nil
}
